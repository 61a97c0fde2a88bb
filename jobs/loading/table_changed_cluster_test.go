package loading_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/errcode"
	"bulkload/internal/test/livetest"
	"bulkload/internal/test/runtest"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/run"
)

// changes are what an operator may do to a table whose files bulkload has loaded. before is done before the load.
var changes = map[string]struct {
	before, after func(t *testing.T, l *livetest.Live)
}{
	"truncated": {nil, func(t *testing.T, l *livetest.Live) { l.Ask(t, "truncate", l.Table, "-preserve") }},
	"truncated without its splits": {nil, func(t *testing.T, l *livetest.Live) {
		l.Ask(t, "truncate", l.Table)
	}},
	"one region truncated": {nil, func(t *testing.T, l *livetest.Live) { l.Ask(t, "truncate-region", l.Table, "4") }},
	"dropped and created": {nil, func(t *testing.T, l *livetest.Live) {
		l.Ask(t, "drop", l.Table)
		l.Table10(t)
	}},
	"restored from a snapshot": {
		func(t *testing.T, l *livetest.Live) { l.Ask(t, "snapshot", "restore_"+l.Table, l.Table) },
		func(t *testing.T, l *livetest.Live) { l.Ask(t, "restore", "restore_"+l.Table, l.Table) },
	},
	"dropped and cloned": {
		func(t *testing.T, l *livetest.Live) { l.Ask(t, "snapshot", "clone_"+l.Table, l.Table) },
		func(t *testing.T, l *livetest.Live) { l.Ask(t, "reclone", "clone_"+l.Table, l.Table) },
	},
}

// wantRefusedThenForced runs the job, which must not say that it is done, and then with --force.
func wantRefusedThenForced(t *testing.T, l *livetest.Live) {
	t.Helper()
	s, err := run.Job(context.Background(), nil, l.Job(t, livetest.Night20), l.Options())
	if failure.CodeOf(err) != errcode.LoadLost {
		t.Errorf("%s, %v", s.Status, err)
	}
	// Dropping, creating and truncating show in hbase:meta. After a finished load, whose identity of the table is known,
	// the message may name the cause.
	if test, what := filepath.Split(t.Name()); test == "TestTableIsNotTheOneItWas/" && (what == "truncated" || what == "dropped_and_created") {
		if err == nil || !strings.Contains(err.Error(), "The table was changed after the load: created again, truncated") {
			t.Errorf("%v", err)
		}
	}
	o := l.Options()
	o.Force = true
	if strings.Contains(t.Name(), "without_its_splits") { // the salts want them
		l.Ask(t, "drop", l.Table)
		l.Table10(t)
	}
	runtest.Must(t, l.Job(t, livetest.Night20), o)
	l.WantDigest(t, "with --force", livetest.Night20)
	l.WantNothing(t, "again", livetest.Night20)
}

// TestTableIsNotTheOneItWas: after a finished load the table loses its rows. The job is not done any more.
func TestTableIsNotTheOneItWas(t *testing.T) {
	for what, change := range changes {
		t.Run(what, func(t *testing.T) {
			l := livetest.NewNight(t, change.before)
			runtest.Must(t, l.Job(t, livetest.Night20), l.Options())
			change.after(t, l)
			wantRefusedThenForced(t, l)
		})
	}
}

// TestTableChangesInTheMiddle: a load is stopped half-way, the table loses its rows, and the same command continues.
func TestTableChangesInTheMiddle(t *testing.T) {
	for _, what := range []string{"truncated", "dropped and created", "one region truncated"} {
		t.Run(what, func(t *testing.T) {
			l := livetest.NewNight(t, nil)
			l.Crash(t, livetest.Night20, options.FilesLoaded, 7)
			changes[what].after(t, l)
			s, err := run.Job(context.Background(), nil, l.Job(t, livetest.Night20), l.Options())
			if what == "one region truncated" && err == nil { // its file may not have been loaded yet
				l.WantDigest(t, s.Status, livetest.Night20)
				return
			}
			wantRefusedThenForced(t, l)
		})
	}
}

// TestDeletedRows: rows that were deleted after the load are named.
func TestDeletedRows(t *testing.T) {
	l := livetest.NewNight(t, nil)
	s := runtest.Must(t, l.Job(t, livetest.Night20), l.Options())
	l.Ask(t, "delete", l.Table, s.Files[3].FirstRow)
	if _, err := run.Job(context.Background(), nil, l.Job(t, livetest.Night20), l.Options()); failure.CodeOf(err) != errcode.LoadLost || !strings.Contains(err.Error(), "hidden by a delete marker") || !strings.Contains(err.Error(), "until a major compaction") {
		t.Error(err)
	}
}

// TestRestoredToBeforeACorrection: the table had the same first and last cells before the load already, so that they
// don't show whether the correction is in it. All rows of the input do, and one that is not in the table is named.
// Without the input it is for a person.
func TestRestoredToBeforeACorrection(t *testing.T) {
	l := livetest.NewNight(t, nil)
	runtest.Must(t, l.Job(t, livetest.Night20), l.Options())
	l.Ask(t, "snapshot", "correct_"+l.Table, l.Table)
	l.Correct(t, livetest.Night20)
	o := l.Options()
	o.Force = true
	runtest.Must(t, l.Job(t, livetest.Night20), o)
	l.WantDigest(t, "corrected", livetest.Night20)
	l.WantNothing(t, "again", livetest.Night20)
	l.Ask(t, "restore", "correct_"+l.Table, l.Table)
	l.WantCode(t, "restored", livetest.Night20, errcode.LoadLost)
	l.WithoutOutput(t, livetest.Night20)
	l.WantCode(t, "restored, output deleted", livetest.Night20, errcode.LoadLost)
	in, away := filepath.Join(l.Folder, "in", livetest.Night20), filepath.Join(l.Folder, "archive")
	if err := os.Rename(in, away); err != nil {
		t.Fatal(err)
	}
	l.WantCode(t, "restored, output deleted, input archived", livetest.Night20, errcode.LoadUnsure)
	if err := os.Rename(away, in); err != nil {
		t.Fatal(err)
	}
	runtest.Must(t, l.Job(t, livetest.Night20), o)
	l.WantDigest(t, "with --force", livetest.Night20)
}
