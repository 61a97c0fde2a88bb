package checkpoint

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"testing"

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
}

// TestLoggedRejectNames: what is stored as JSON has a name for each field that is not the one of Go's.
func TestLoggedRejectNames(t *testing.T) {
	t.Parallel()
	if unnamed, _ := storednames.Check(reflect.TypeFor[loggedReject]()); len(unnamed) > 0 {
		t.Errorf("without a name: %v", unnamed)
	}
}
