package tasks

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"bulkload/ingest"
	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/pipeline/source"
)

// gathered is a sink that keeps what it is given.
type gathered []*ingest.BadRecord

func (g *gathered) Add(b *ingest.BadRecord) error { *g = append(*g, b); return nil }
func (g *gathered) Count() int64                  { return int64(len(*g)) }
func (g *gathered) Close(int64) error             { return nil }

// rejectsOf writes the log of some rejects, and describes it.
func rejectsOf(t *testing.T, limit ingest.Limit, of *source.Source, n, bytes int) (at folder, log *rejectLog, added []*ingest.BadRecord, err error) {
	t.Helper()
	at = folder{fs: storage.Local, dir: t.TempDir()}
	sink := newRejectSink(at, limit)
	for i := 0; i < n && err == nil; i++ {
		b := &ingest.BadRecord{Position: ingest.PositionIn(of.FS, of.Files[0], int64(i), 0), Column: "id", Value: fmt.Sprint(i), Reason: "no number",
			Code: errcode.RejectType, Raw: []byte(strings.Repeat("x", bytes))}
		added = append(added, b)
		err = sink.Add(b)
	}
	if closed := sink.Close(int64(n)); closed != nil {
		t.Fatal(closed)
	}
	if sink.Count() != int64(len(added)) {
		t.Errorf("%d rejects are counted, want %d", sink.Count(), len(added))
	}
	return at, sink.log(), added, err
}

var oneFile = &source.Source{FS: storage.Local, Files: []ingest.SourceFile{{Path: "/in/a", Size: 1 << 20}}}

// TestRejectsOfATask: the driver gets what the task has rejected, with its code and its value, also if the log is
// longer than what is held in memory. A task without rejects leaves no log.
func TestRejectsOfATask(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ n, bytes int }{{0, 0}, {1, 10}, {3, 1 << 20}} {
		at, log, added, err := rejectsOf(t, ingest.Limit{Count: 5}, oneFile, c.n, c.bytes)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(at.path(rejectsName)); (log != nil) != (c.n > 0) || (err == nil) != (c.n > 0) {
			t.Errorf("%d rejects: log %+v, its file: %v", c.n, log, err)
		}
		if c.n == 0 {
			continue
		}
		var replayed gathered
		if err := log.replay(at, oneFile, &replayed); err != nil || !reflect.DeepEqual([]*ingest.BadRecord(replayed), added) {
			t.Errorf("%d rejects: %d are replayed (%v)", c.n, len(replayed), err)
		}
	}
}

// TestTaskWithTooManyRejects: a task that alone has more rejects than the run may have ends, and its log has them all.
// A percentage is the run's: a task does not know what the others have read.
func TestTaskWithTooManyRejects(t *testing.T) {
	t.Parallel()
	at, log, _, err := rejectsOf(t, ingest.Limit{Count: 2}, oneFile, 9, 10)
	var limit *ingest.LimitError
	if !errors.As(err, &limit) || limit.Rejects != 3 || failure.CodeOf(err) != errcode.RejectType || log == nil || log.Records != 3 {
		t.Errorf("%v, log %+v", err, log)
	}
	var replayed gathered
	if err := log.replay(at, oneFile, &replayed); err != nil || len(replayed) != 3 {
		t.Errorf("%d are replayed (%v)", len(replayed), err)
	}
	if _, _, _, err := rejectsOf(t, ingest.Limit{Percent: 1}, oneFile, 9, 10); err != nil {
		t.Errorf("a percentage: %v", err)
	}
}

// TestDamagedRejectsOfATask: a log with a changed byte, one that is cut short, one with more and one that is gone are
// never passed on, not even in part.
func TestDamagedRejectsOfATask(t *testing.T) {
	t.Parallel()
	at, log, _, err := rejectsOf(t, ingest.Limit{Count: 5}, oneFile, 2, 10)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(at.dir, rejectsName)
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	try := func(what string, changed []byte) {
		t.Helper()
		if err := os.WriteFile(name, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		var replayed gathered
		if err := errors.Join(log.replay(at, oneFile, &replayed), log.check(at)); !errors.Is(err, errNoDocument) || len(replayed) > 0 {
			t.Errorf("%s: %d are replayed, %v", what, len(replayed), err)
		}
	}
	for i := range text {
		changed := append([]byte(nil), text...)
		changed[i] ^= 1
		try(fmt.Sprintf("byte %d", i), changed)
		try(fmt.Sprintf("cut at %d", i), text[:i])
	}
	try("with another line", append(append([]byte(nil), text...), text...))
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if err := log.check(at); err == nil {
		t.Error("a log that is gone is sound")
	}
}
