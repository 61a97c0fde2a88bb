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
	Rows  int64  `json:"rows"`  // rows that the source no longer has at all
	Cells int64  `json:"cells"` // in these rows and in rows that the source still has
	File  string `json:"file"`  // where they are listed
}

// ListStale compares the table's cells that have the job's timestamp with the source, and lists in a file those that
// the source does not have. They come from an earlier export of the same date, because no load removes its cells, or
// from another job with the same timestamp. The file is private, because row keys and columns may be personal data.
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

// scanAt visits the cells with a timestamp that are not deleted. A family that keeps deleted cells (kept) shows them to
// a scan of a past time. So there scanAt reads the newest versions of all cells since then, and visits those with the
// timestamp. It misses cells that newer versions hide.
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

// keepsDeleted reports whether any of the families (nil: all of the table) keeps deleted cells, because its
// KEEP_DELETED_CELLS is TRUE or TTL.
func keepsDeleted(t *load.Table, families []string) bool {
	return slices.ContainsFunc(t.Families, func(f load.Family) bool {
		keep := f.Attributes["KEEP_DELETED_CELLS"]
		wanted := families == nil || slices.Contains(families, f.Name)
		return wanted && keep != "" && !strings.EqualFold(keep, "FALSE")
	})
}

// staleList is a file with one line for each cell.
type staleList struct {
	name string // of the finished file
	mu   sync.Mutex
	file *os.File
	out  *bufio.Writer
}

func newStaleList(name string) (*staleList, error) {
	f, err := os.CreateTemp(filepath.Dir(name), ".stale-*") // only its owner can read it
	if err != nil {
		return nil, err
	}
	return &staleList{name: name, file: f, out: bufio.NewWriter(f)}, nil
}

// add lists a cell. ofSource says that the source still has other cells of its row. save reports failed writes.
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

// save completes the file and gives it its name.
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
	_ = os.Remove(l.file.Name()) // fails if it was saved, and so renamed
	return l.file.Close()
}
