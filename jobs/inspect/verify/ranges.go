package verify

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"bulkload/cell"
	"bulkload/internal/digest"
	"bulkload/internal/printable"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/ledger"
	"bulkload/jobs/spec/jobfile"
	"bulkload/load"

	"golang.org/x/sync/errgroup"
)

// keyRange is a range of rows and how far it has been read. A digest is a sum, so parts of a range may be added up by
// several processes.
type keyRange struct {
	First string     `json:"first"`          // in the notation of cell.Printable
	Last  string     `json:"last"`           // the last row of the range
	Next  string     `json:"next,omitempty"` // the row to continue with; "": First
	Done  bool       `json:"done,omitempty"`
	Rows  int64      `json:"rows"`
	Sum   digest.Sum `json:"digest"`

	Begun    time.Time `json:"begun,omitzero"`     // when the first read of the range began
	Openings string    `json:"openings,omitempty"` // openings of its regions before that; see load.Table

	first, last, next []byte
	resumed           bool // an earlier process has read rows of it
}

// savedRanges is what the ledger has of an interrupted verification. The next one continues it only if all fields
// before Begun match. Otherwise it starts over, because the sums would be those of other cells.
type savedRanges struct {
	Run       string     `json:"run"`
	Digest    digest.Sum `json:"expected"` // of what was loaded
	Timestamp int64      `json:"timestamp"`
	Columns   string     `json:"columns"` // hash of the columns that are added up
	// when the table was created, enabled, truncated or restored, in epoch milliseconds
	Opened int64 `json:"table_enabled"`
	// hash that changes with each load of cells with the timestamp into the table
	Loads  string     `json:"loads"`
	Begun  time.Time  `json:"begun"`
	Ranges []keyRange `json:"ranges"`
}

// rangeReader adds up the table's cells in ranges of rows, several ranges at a time, and saves its progress.
type rangeReader struct {
	options options.Options
	cluster *load.Cluster
	ledger  *ledger.Ledger
	job     *jobfile.Job
	want    map[string]bool // columns as family:qualifier; nil: all of the families
	kept    bool            // see scanAt
	read    *options.Meter  // rows

	mu       sync.Mutex // guards what follows
	saved    savedRanges
	finished int       // ranges since the last save
	savedAt  time.Time // time of the last save
}

// A verification may be killed, so it saves its progress after saveEvery, or after a 64th of the ranges.
const (
	saveEvery   = 5 * time.Second
	savedShares = 64
	rowsPerLook = 1024 // rows of a range between two looks at the clock
)

// maxSavedAge limits the age of a range's sum, because cells may have been deleted since, and nothing records that.
const maxSavedAge = 24 * time.Hour

// regionsTimeout is how long to wait for regions that are moving.
const regionsTimeout = time.Minute

// resume takes over what an interrupted verification of the same run has read, except ranges whose regions were opened
// since, because such a region may have been truncated.
func (r *rangeReader) resume(ctx context.Context, e *ledger.Entry, ranges []keyRange, loads string) error {
	opened, err := r.cluster.Enabled(ctx, e.Table)
	if err != nil {
		return err
	}
	table, err := r.cluster.Describe(ctx, e.Table)
	if r.kept = err != nil; r.kept { // HBase hides the families from a user without the right C
		table = &load.Table{Name: e.Table}
	}
	r.kept = r.kept || keepsDeleted(table, r.job.Families())
	if err := r.cluster.LookUpRegions(ctx, table, regionsTimeout); err != nil {
		return err
	}
	for i := range ranges {
		ranges[i].Openings = table.Openings(ranges[i].first, ranges[i].last)
	}
	r.saved = savedRanges{Run: e.Run, Digest: e.Digest, Timestamp: r.job.Timestamp, Columns: r.columnsText(),
		Opened: opened, Loads: loads,
		Begun: time.Now().UTC().Truncate(time.Second), Ranges: ranges}
	r.savedAt = time.Now()
	var old savedRanges
	found, err := r.ledger.ReadVerification(e, &old)
	if err != nil || !found || !r.continues(&old) {
		return err
	}
	for i := range old.Ranges {
		if err := ranges[i].takeOver(&old.Ranges[i]); err != nil {
			return err
		}
	}
	if earlier := r.resumed(); earlier != nil {
		r.saved.Begun = old.Begun
		r.read.Add(r.rows())
		r.options.Infof("going on with the verification that was begun at %s: %d rows are read",
			old.Begun.Format(time.DateTime+" MST"), r.rows())
	}
	return nil
}

// continues reports whether the sums of an interrupted verification are parts of this one's.
func (r *rangeReader) continues(old *savedRanges) bool {
	now := &r.saved
	same := func(a, b keyRange) bool { return a.First == b.First && a.Last == b.Last }
	return old.Run == now.Run && old.Digest == now.Digest && old.Timestamp == now.Timestamp &&
		old.Columns == now.Columns && old.Opened == now.Opened &&
		old.Loads == now.Loads && slices.EqualFunc(old.Ranges, now.Ranges, same)
}

// takeOver takes over what an earlier process has read of the range, if that is still valid.
func (k *keyRange) takeOver(old *keyRange) (err error) {
	if old.Begun.IsZero() || time.Since(old.Begun) > maxSavedAge || old.Openings != k.Openings {
		return nil
	}
	if k.next, err = printable.Parse(old.Next); err != nil {
		return fmt.Errorf("read the ledger: %w", err)
	}
	k.Next, k.Done, k.Rows, k.Sum, k.Begun, k.resumed = old.Next, old.Done, old.Rows, old.Sum, old.Begun, true
	return nil
}

// forget resets the range to unread.
func (k *keyRange) forget() {
	k.Next, k.next, k.Done, k.Rows, k.Sum, k.Begun, k.resumed = "", nil, false, 0, digest.Sum{}, time.Time{}, false
}

// ResumedVerification is what an interrupted verification had read.
type ResumedVerification struct {
	Rows  int64     `json:"rows"`
	Since time.Time `json:"since"` // when the first of them was read
}

// resumed describes the ranges that an earlier process has read in part or in full; nil if it has read no range.
func (r *rangeReader) resumed() (earlier *ResumedVerification) {
	for i := range r.saved.Ranges {
		k := &r.saved.Ranges[i]
		if !k.resumed {
			continue
		}
		if earlier == nil {
			earlier = &ResumedVerification{Since: k.Begun}
		}
		earlier.Rows += k.Rows
		if k.Begun.Before(earlier.Since) {
			earlier.Since = k.Begun
		}
	}
	return earlier
}

func (r *rangeReader) columnsText() string {
	text := fmt.Sprintf("%q", r.job.Families())
	for _, name := range slices.Sorted(maps.Keys(r.want)) {
		text += fmt.Sprintf(" %q", name)
	}
	hash := sha256.Sum256([]byte(text))
	return hex.EncodeToString(hash[:8])
}

// sum returns the sum of all ranges. If it differs from the ledger's, sum reads again what an earlier process has read,
// because rows may have been added since.
func (r *rangeReader) sum(ctx context.Context,
	e *ledger.Entry) (sum digest.Sum, earlier *ResumedVerification, err error) {
	earlier = r.resumed()
	sum, err = r.run(ctx, e)
	if err == nil && sum != e.Digest && earlier != nil {
		r.options.Infof("the sums differ: reading again the %d rows that the interrupted verification has read since %s",
			earlier.Rows, earlier.Since.Format(time.DateTime+" MST"))
		for i := range r.saved.Ranges {
			if k := &r.saved.Ranges[i]; k.resumed {
				k.forget()
			}
		}
		r.read.Add(-earlier.Rows)
		earlier = nil
		sum, err = r.run(ctx, e)
	}
	if err != nil {
		return sum, earlier, errors.Join(failure.Early(err), r.save(e))
	}
	return sum, earlier, r.ledger.RemoveVerification(e)
}

// run reads what is not read yet, and returns the sum of all ranges.
func (r *rangeReader) run(ctx context.Context, e *ledger.Entry) (sum digest.Sum, err error) {
	group, running := errgroup.WithContext(ctx)
	group.SetLimit(load.Scans())
	for i := range r.saved.Ranges {
		if r.saved.Ranges[i].Done {
			continue
		}
		group.Go(func() error { return r.readRange(running, e, i) })
	}
	err = group.Wait()
	for i := range r.saved.Ranges {
		sum.Add(r.saved.Ranges[i].Sum)
	}
	return sum, err
}

// countSince counts the cells of the run's columns, in all ranges, that have a version with the run's timestamp or a
// later one.
func (r *rangeReader) countSince(ctx context.Context, e *ledger.Entry) (cells int64, err error) {
	group, running := errgroup.WithContext(ctx)
	group.SetLimit(load.Scans())
	sums := make([]rangeSum, len(r.saved.Ranges))
	for i := range r.saved.Ranges {
		at := &r.saved.Ranges[i]
		sums[i] = rangeSum{columns: r.want, look: func([]byte) error { return nil }}
		group.Go(func() error {
			return r.cluster.ScanSince(running, e.Table, r.job.Families(), at.first, append(bytes.Clone(at.last), 0),
				r.job.Timestamp, sums[i].add)
		})
	}
	err = group.Wait()
	for i := range sums {
		cells += sums[i].stream.Sum.Cells
	}
	return cells, err
}

func (r *rangeReader) rows() (n int64) {
	for i := range r.saved.Ranges {
		n += r.saved.Ranges[i].Rows
	}
	return n
}

// readRange reads the rest of one range.
func (r *rangeReader) readRange(ctx context.Context, e *ledger.Entry, i int) error {
	at := &r.saved.Ranges[i]
	if at.Begun.IsZero() {
		r.mu.Lock()
		at.Begun = time.Now().UTC()
		r.mu.Unlock()
	}
	s := &rangeSum{columns: r.want}
	s.stream.Sum = at.Sum
	before := at.Rows
	counted := int64(0)
	s.look = func(row []byte) error { // before the first cell of a row
		r.read.Add(s.rows - counted)
		counted = s.rows
		return r.advance(e, at, row, s.stream.Sum, before+s.rows, false)
	}
	start := at.first
	if at.next != nil && at.Next != "" {
		start = at.next
	}
	end := append(bytes.Clone(at.last), 0)
	err := scanAt(ctx, r.cluster, e.Table, r.job.Families(), r.kept, start, end, r.job.Timestamp, s.add)
	if err != nil {
		return err
	}
	r.read.Add(s.rows - counted)
	return r.advance(e, at, nil, s.stream.Sum, before+s.rows, true)
}

// advance records the progress of a range, and saves that of all ranges from time to time.
func (r *rangeReader) advance(e *ledger.Entry, at *keyRange, next []byte, sum digest.Sum, rows int64, done bool) error {
	r.mu.Lock()
	at.Sum, at.Rows, at.Done = sum, rows, done
	if next != nil {
		at.Next = printable.Bytes(next)
	}
	if done {
		r.finished++
	}
	due := time.Since(r.savedAt) >= saveEvery || r.finished*savedShares >= len(r.saved.Ranges)
	r.mu.Unlock()
	if !due {
		return nil
	}
	return r.save(e)
}

// save writes the progress of all ranges to the ledger.
func (r *rangeReader) save(e *ledger.Entry) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.finished, r.savedAt = 0, time.Now()
	if err := r.ledger.WriteVerification(e, &r.saved); err != nil {
		return err
	}
	r.options.Failpoint.Reached(options.RangesSaved)
	return nil
}

// rangeSum adds up the cells of one range.
type rangeSum struct {
	columns map[string]bool // nil: all
	look    func(row []byte) error
	stream  digest.Stream
	rows    int64
	row     []byte
	name    []byte
}

func (s *rangeSum) add(c *cell.Cell) error {
	if s.columns != nil {
		s.name = append(append(append(s.name[:0], c.Family...), ':'), c.Qualifier...)
		if !s.columns[string(s.name)] {
			return nil
		}
	}
	if s.rows == 0 || !bytes.Equal(s.row, c.Row) {
		if s.rows > 0 && s.rows%rowsPerLook == 0 {
			if err := s.look(c.Row); err != nil {
				return err
			}
		}
		s.row = append(s.row[:0], c.Row...)
		s.rows++
	}
	s.stream.Add(c)
	return nil
}
