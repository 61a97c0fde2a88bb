package entry

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bulkload/ingest"
	"bulkload/ingest/csv"
	"bulkload/ingest/delimited"
	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
)

// TestFileThatChangesWhileItIsRead: a file that is overwritten by one of the same size while it is read ends the
// reading with an error, whatever its form.
func TestFileThatChangesWhileItIsRead(t *testing.T) {
	text := []byte("id,a\n" + strings.Repeat("1,x\n", 1000))
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write(text)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	plain := &delimited.Form{Columns: []string{"id", "a"}, FieldDelimiter: []byte{','}, RecordDelimiter: []byte{'\n'}}
	for name, c := range map[string]struct {
		form    ingest.Format
		content []byte
	}{
		"delimited": {plain, text}, "delimited.gz": {plain, packed.Bytes()}, "csv": {&csv.Form{Columns: []string{"id", "a"}, Delimiter: ',', Quote: '"'}, text},
	} {
		for _, change := range []bool{false, true} {
			full := filepath.Join(t.TempDir(), name)
			if err := os.WriteFile(full, c.content, 0o600); err != nil {
				t.Fatal(err)
			}
			files, err := ingest.List(storage.Local, full)
			if err != nil {
				t.Fatal(err)
			}
			r := NewReader(c.form, storage.Local, new(CountedRejects), options.NewMeter(nil, "", 0, true))
			_, err = r.ReadSplit(t.Context(), ingest.Split{File: files[0], End: files[0].Size}, func(*ingest.Record) error {
				if !change || r.Read > 1 {
					return nil
				}
				if err := os.WriteFile(full, bytes.ToUpper(c.content), 0o600); err != nil {
					return err
				}
				later := files[0].ModTime.Add(time.Millisecond)
				return os.Chtimes(full, later, later)
			})
			if change && failure.CodeOf(err) != errcode.InputChanged || !change && err != nil {
				t.Errorf("%s, changed %t: %v", name, change, err)
			}
		}
	}
}
