package verify

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"bulkload/cell"
	"bulkload/internal/errcode"
	"bulkload/internal/printable"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/spec/jobfile"
)

// Stale is what the table has of a job and date that the source no longer has.
type Stale struct {
	Rows  int64  `json:"rows"`  // of which the source has nothing any more
	Cells int64  `json:"cells"` // of these rows, and of others
	File  string `json:"file"`  // where they are listed
}

// ListStale compares the cells in the table that have the job's timestamp with the source, and lists those in a file that the
// source does not have: what an earlier export of the same date had, and no load takes away. The file is private, since row
// keys and columns are personal data. Cells of another job with the same timestamp are in it, too.
func ListStale(ctx context.Context, j *jobfile.Job, o options.Options, file string) (report *Report, err error) {
	report = &Report{Outcome: failure.NewOutcome(), Differences: []Difference{}}
	if o, err = o.WithDefaults(); err != nil {
		return report, err
	}
	for _, out := range j.Feeds() {
		if out.Moments != "" {
			return report, errcode.Command.Errorf("%s: table %s has each row's own timestamp, so cells of this date can't be distinguished from others", j.Path, out.Table)
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

// add lists a cell; its row is of the source where that still has other cells of it. Failures show when the file is saved.
func (l *staleList) add(c *cell.Cell, ofSource bool) {
	what := "row"
	if ofSource {
		what = "cell"
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = fmt.Fprintf(l.out, "%s\t%s\t%s:%s\t%d\n", what, printable.Bytes(c.Row), printable.Bytes(c.Family), printable.Bytes(c.Qualifier), c.Timestamp)
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
