package parquet

import (
	"os"
	"path/filepath"
	"testing"

	"bulkload/ingest"
	"bulkload/internal/storage"

	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/schema"
)

// TestRejectsAreInput: a row's text comes back unchanged from the file of rejects, also a text that looks like a null
// or like the delimiter between the rejects of other forms.
func TestRejectsAreInput(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "in.parquet")
	texts := []string{`\N`, `\\N`, "N", "", "\x1e", "\x1e\x1e", "\n\x1e\n", "\x01", `\`, "a\\\nb"}
	values := make([]parquet.ByteArray, len(texts))
	for i, text := range texts {
		values[i] = parquet.ByteArray(text)
	}
	writeGroup(t, name, []string{"text"}, []schema.Node{required("text", parquet.Types.ByteArray, schema.StringLogicalType{})}, []any{values})
	form := &FlatForm{Columns: []string{"text"}}
	kept := filepath.Join(dir, ingest.RejectsFile)
	rejects := ingest.NewRejects(storage.Local, dir, ingest.Limit{Count: 100}, form.RejectDelimiter())
	files := listed(t, name)
	r, err := form.Open(storage.Local, ingest.Split{File: files[0], End: files[0].Size})
	if err != nil {
		t.Fatal(err)
	}
	err = drain(r, func(rec *ingest.Record) {
		if err := rejects.Add(&ingest.BadRecord{Position: rec.Position, Raw: rec.Raw}); err != nil {
			t.Error(err)
		}
	}, func(b *ingest.BadRecord) { t.Error(b) })
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	if err := rejects.Close(10); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(kept, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString("\\N\n"); err != nil { // a null
		t.Fatal(err)
	}
	file.Close()
	files = listed(t, kept)
	again, err := form.Rejects().Open(storage.Local, ingest.Split{File: files[0], End: files[0].Size})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	var rows []row
	if err := drain(again, func(rec *ingest.Record) { rows = append(rows, keep(rec)) }, func(b *ingest.BadRecord) { t.Error(b) }); err != nil {
		t.Fatal(err)
	}
	if len(rows) != len(texts)+1 || rows[len(texts)][0] != nil {
		t.Fatalf("%d rows", len(rows))
	}
	for i, text := range texts {
		if got := rows[i][0]; got == nil || *got != text {
			t.Errorf("row %d is %s, want %q", i, quote(got), text)
		}
	}
}
