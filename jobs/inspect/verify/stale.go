package verify

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"bulkload/cell"
	"bulkload/internal/errcode"
	"bulkload/internal/printable"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/spec/jobfile"
	"bulkload/load"
)

// Stale is what the table has of a job and date that the source no longer has.
type Stale struct {
	Rows  int64  `json:"rows"`  // of which the source has nothing any more
	Cells int64  `json:"cells"` // of these rows, and of others
	File  string `json:"file"`  // where they are listed
}

// ListStale compares the cells in the table that have the job's timestamp with the source, and lists those in a file
// that the source does not have: what an earlier export of the same date had, and no load takes away. The file is
// private, since row keys and columns are personal data. Cells of another job with the same timestamp are in it, too.
func ListStale(ctx context.Context, j *jobfile.Job, o options.Options, file string) (report *Verification, err error) {
	report = &Verification{Outcome: failure.NewOutcome(), Differences: []Difference{}}
	if o, err = o.WithDefaults(); err != nil {
		return report, err
	}
	for _, out := range j.Feeds() {
		if out.Moments != "" {
			return report, errcode.Command.Errorf("%s: table %s has each row's own timestamp, so cells of this date can't be "+
				"distinguished from others", j.Path, out.Table)
		}
	}
	list, err := newStaleList(file)
	if err != nil {
		return report, errcode.Command.Errorf("--stale: %w", err)
	}
	v, err := openVerifyRun(ctx, j, o, true, nil)
	for _, out := range v.outputs {
		out.stale = list
	}
	if err == nil {
		err = v.run(ctx, report)
	}
	report.nameTarget(j, true)
	if err = errors.Join(err, v.close()); err == nil || failure.KindOf(err) == failure.Differs {
		err = errors.Join(err, list.save())
		report.Stale = &Stale{Rows: report.ExtraRows, Cells: report.Extra, File: file}
	}
	err = errors.Join(err, list.close())
	if ctx.Err() != nil && err != nil {
		err = failure.New(failure.Interrupted, err)
	}
	return report, err
}

// scanAt visits the cells with a timestamp that are not deleted. A family that keeps deleted cells (kept) shows them
// to a scan of a time in the past. So there the newest versions of all cells since then are read, and those with the
// timestamp visited: not the ones that newer versions hide.
func scanAt(
	ctx context.Context, c *load.Cluster, table string, families []string, kept bool,
	start, end []byte, timestamp int64, visit func(*cell.Cell) error,
) error {
	if !kept {
		return c.ScanTimestamp(ctx, table, families, start, end, timestamp, visit)
	}
	return c.ScanSince(ctx, table, families, start, end, timestamp, func(found *cell.Cell) error {
		if found.Timestamp != timestamp {
			return nil
		}
		return visit(found)
	})
}

// keepsDeleted reports whether one of some families of a table (nil: all) keeps deleted cells: KEEP_DELETED_CELLS is
// TRUE or TTL.
func keepsDeleted(t *load.Table, families []string) bool {
	return slices.ContainsFunc(t.Families, func(f load.Family) bool {
		keep := f.Attributes["KEEP_DELETED_CELLS"]
		wanted := families == nil || slices.Contains(families, f.Name)
		return wanted && keep != "" && !strings.EqualFold(keep, "FALSE")
	})
}

// staleList is a file with a line a cell.
type staleList struct {
	name string // in the end
	mu   sync.Mutex
	file *os.File
	out  *bufio.Writer
}

func newStaleList(name string) (*staleList, error) {
	f, err := os.CreateTemp(filepath.Dir(name), ".stale-*") // which only its owner can read
	if err != nil {
		return nil, err
	}
	return &staleList{name: name, file: f, out: bufio.NewWriter(f)}, nil
}

// add lists a cell; its row is of the source where that still has other cells of it. Failures show when the file is
// saved.
func (l *staleList) add(c *cell.Cell, ofSource bool) {
	what := "row"
	if ofSource {
		what = "cell"
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = fmt.Fprintf(l.out, "%s\t%s\t%s:%s\t%d\n", what, printable.Bytes(c.Row), printable.Bytes(c.Family),
		printable.Bytes(c.Qualifier), c.Timestamp)
}

// save gives the file its name.
func (l *staleList) save() error {
	if err := l.out.Flush(); err != nil {
		return fmt.Errorf("list stale cells: %w", err)
	}
	if err := os.Rename(l.file.Name(), l.name); err != nil {
		return fmt.Errorf("list stale cells: %w", err)
	}
	return nil
}

func (l *staleList) close() error {
	_ = os.Remove(l.file.Name()) // which is gone where it was saved
	return l.file.Close()
}
