package checkpoint

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"bulkload/ingest"
	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/internal/test/storednames"
	"bulkload/jobs/pipeline/source"
)

// gathered is a sink that keeps what it is given.
type gathered []*ingest.BadRecord

func (g *gathered) Add(b *ingest.BadRecord) error { *g = append(*g, b); return nil }
func (g *gathered) Count() int64                  { return int64(len(*g)) }
func (g *gathered) Close(int64) error             { return nil }

// TestRejectLogKeepsAll: a reject that a killed run has kept comes back with all that the files of rejects are made of.
func TestRejectLogKeepsAll(t *testing.T) {
	t.Parallel()
	files := []ingest.SourceFile{{Path: "/in/a.csv", Size: 9}, {Path: "/in/b.csv", Size: 7, Ordinal: 1}}
	k := &RunStore{source: &source.Source{FS: storage.Local, Files: files}, dir: t.TempDir(), journal: &Journal{}}
	csv := ingest.PositionIn(storage.Local, files[1], 17, 3)
	csv.Heading = "\"ID\",\"\xd6\xd0\""
	row := ingest.PositionIn(storage.Local, files[0], 4, 5)
	row.Rows = true
	want := gathered{
		{Position: csv, Column: "id", Value: "\xff 7", Reason: "no \"number\"", Code: errcode.RejectType, Hint: "a hint", Raw: []byte("1,\"\xff\n\x00")},
		{Position: row, Reason: "no row key", Code: errcode.RejectKey, Raw: []byte{}},
	}
	var now, again gathered
	log := NewRejectLog(k, &now, 0)
	for _, b := range want {
		if err := log.Add(b); err != nil {
			t.Fatal(err)
		}
	}
	span, err := log.CutSpan()
	if err != nil || span == nil {
		t.Fatal(span, err)
	}
	if err := k.checkRejects(span); err != nil {
		t.Error(err)
	}
	if err := k.Replay(span, &again); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(now, want) || !reflect.DeepEqual(again, want) {
		t.Errorf("replayed %+v %+v, want %+v %+v", again[0], again[1], want[0], want[1])
	}
	if err := errors.Join(log.CloseFile(), os.Remove(filepath.Join(k.dir, span.File))); err != nil {
		t.Error(err)
	}
	if err := k.Replay(span, &again); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without the file: %v", err)
	}
	if err := k.checkRejects(span); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the check without the file: %v", err)
	}
}

// TestRejectLogThatCantBeRead: what can't be read, or ends within a reject, is an error, and no checksum.
func TestRejectLogThatCantBeRead(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	if _, _, err := SumRejects(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("checksum: %v", err)
	}
	of := &source.Source{FS: storage.Local, Files: []ingest.SourceFile{{Path: "/in/a.csv", Size: 9}}}
	k := &RunStore{source: of, dir: t.TempDir(), journal: &Journal{}}
	log := NewRejectLog(k, new(gathered), 0)
	if err := log.Add(&ingest.BadRecord{Position: ingest.PositionIn(storage.Local, of.Files[0], 1, 1), Reason: "no", Raw: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	span, err := log.CutSpan()
	if err = errors.Join(err, log.CloseFile()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(k.dir, span.File))
	if err != nil {
		t.Fatal(err)
	}
	for name, log := range map[string]io.Reader{"without its end": bytes.NewReader(text[:len(text)-1]),
		"broken after it": io.MultiReader(bytes.NewReader(text), iotest.ErrReader(broken)),
		"not JSON":        strings.NewReader("{\n")} {
		var rejects gathered
		if err := ReplayRejects(log, "log", of, &rejects); err == nil {
			t.Errorf("%s: no error, %d rejects", name, len(rejects))
		}
	}
}

// TestLoggedRejectNames: what is stored as JSON has a name for each field that is not the one of Go's.
func TestLoggedRejectNames(t *testing.T) {
	t.Parallel()
	if unnamed, _ := storednames.Check(reflect.TypeFor[loggedReject]()); len(unnamed) > 0 {
		t.Errorf("without a name: %v", unnamed)
	}
}
