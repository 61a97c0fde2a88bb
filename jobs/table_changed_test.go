package jobs

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/errcode"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
)

// changes are what an operator may do to a table whose files bulkload has loaded. before is done before the load.
var changes = map[string]struct{ before, after func(t *testing.T, l *live) }{
	"truncated": {nil, func(t *testing.T, l *live) { l.oracle(t, "truncate", l.table, "-preserve") }},
	"truncated without its splits": {nil, func(t *testing.T, l *live) {
		l.oracle(t, "truncate", l.table)
	}},
	"one region truncated": {nil, func(t *testing.T, l *live) { l.oracle(t, "truncate-region", l.table, "4") }},
	"dropped and created": {nil, func(t *testing.T, l *live) {
		l.oracle(t, "drop", l.table)
		l.table10(t)
	}},
	"restored from a snapshot": {
		func(t *testing.T, l *live) { l.oracle(t, "snapshot", "restore_"+l.table, l.table) },
		func(t *testing.T, l *live) { l.oracle(t, "restore", "restore_"+l.table, l.table) },
	},
	"dropped and cloned": {
		func(t *testing.T, l *live) { l.oracle(t, "snapshot", "clone_"+l.table, l.table) },
		func(t *testing.T, l *live) { l.oracle(t, "reclone", "clone_"+l.table, l.table) },
	},
}

// changedTable is a table with the night's input, on which a change is about to be tried.
func changedTable(t *testing.T, before func(t *testing.T, l *live)) *live {
	t.Helper()
	l := newLive(t)
	l.table10(t)
	l.night(t, night20, 600, 60)
	if before != nil {
		before(t, l)
	}
	return l
}

// wantRefusedThenForced runs the job, which must not say that it is done, and then with --force.
func (l *live) wantRefusedThenForced(t *testing.T) {
	t.Helper()
	s, err := Run(context.Background(), l.job(t, night20), l.options())
	if failure.KindOf(err) != failure.Refused || !strings.Contains(err.Error(), "does not serve") || !strings.Contains(err.Error(), "--force") {
		t.Errorf("%s, %v", s.Status, err)
	}
	// Dropping, creating and truncating show in hbase:meta. After a finished load, whose identity of the table is known, the
	// message may name the cause.
	if test, what := filepath.Split(t.Name()); test == "TestTableIsNotTheOneItWas/" && (what == "truncated" || what == "dropped_and_created") {
		if err == nil || !strings.Contains(err.Error(), "The table was changed after the load: created again, truncated") {
			t.Errorf("%v", err)
		}
	}
	o := l.options()
	o.Force = true
	if strings.Contains(t.Name(), "without_its_splits") { // the salts want them
		l.oracle(t, "drop", l.table)
		l.table10(t)
	}
	mustRun(t, l.job(t, night20), o)
	l.wantDigest(t, "with --force", night20)
	l.wantAgain(t, night20)
}

// TestTableIsNotTheOneItWas: after a finished load the table loses its rows. The job is not done any more.
func TestTableIsNotTheOneItWas(t *testing.T) {
	for what, change := range changes {
		t.Run(what, func(t *testing.T) {
			l := changedTable(t, change.before)
			mustRun(t, l.job(t, night20), l.options())
			change.after(t, l)
			l.wantRefusedThenForced(t)
		})
	}
}

// TestTableChangesInTheMiddle: a load is stopped half-way, the table loses its rows, and the same command continues.
func TestTableChangesInTheMiddle(t *testing.T) {
	for _, what := range []string{"truncated", "dropped and created", "one region truncated"} {
		t.Run(what, func(t *testing.T) {
			l := changedTable(t, nil)
			l.crash(t, night20, options.FilesLoaded, 7)
			changes[what].after(t, l)
			s, err := Run(context.Background(), l.job(t, night20), l.options())
			if what == "one region truncated" && err == nil { // its file may not have been loaded yet
				l.wantDigest(t, s.Status, night20)
				return
			}
			l.wantRefusedThenForced(t)
		})
	}
}

// TestDeletedRows: rows that were deleted after the load are named.
func TestDeletedRows(t *testing.T) {
	l := changedTable(t, nil)
	s := mustRun(t, l.job(t, night20), l.options())
	l.oracle(t, "delete", l.table, s.Files[3].FirstRow)
	if _, err := Run(context.Background(), l.job(t, night20), l.options()); failure.KindOf(err) != failure.Refused || !strings.Contains(err.Error(), "hidden by a delete marker") || !strings.Contains(err.Error(), "until a major compaction") {
		t.Error(err)
	}
}

// TestRestoredToBeforeACorrection: the table had the same first and last cells before the load already, so that they don't
// show whether the correction is in it. All rows of the input do, and one that is not in the table is named. Without the input
// it is for a person.
func TestRestoredToBeforeACorrection(t *testing.T) {
	l := changedTable(t, nil)
	mustRun(t, l.job(t, night20), l.options())
	l.oracle(t, "snapshot", "correct_"+l.table, l.table)
	l.correct(t, night20)
	o := l.options()
	o.Force = true
	mustRun(t, l.job(t, night20), o)
	l.wantDigest(t, "corrected", night20)
	l.wantAgain(t, night20)
	l.oracle(t, "restore", "correct_"+l.table, l.table)
	l.wantCode(t, "restored", night20, errcode.LoadLost)
	l.withoutOutput(t, night20)
	l.wantCode(t, "restored, output deleted", night20, errcode.LoadLost)
	in, away := filepath.Join(l.dir, "in", night20), filepath.Join(l.dir, "archive")
	if err := os.Rename(in, away); err != nil {
		t.Fatal(err)
	}
	l.wantCode(t, "restored, output deleted, input archived", night20, errcode.LoadUnsure)
	if err := os.Rename(away, in); err != nil {
		t.Fatal(err)
	}
	mustRun(t, l.job(t, night20), o)
	l.wantDigest(t, "with --force", night20)
}
