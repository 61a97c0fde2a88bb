package lookup

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"slices"
	"strconv"
	"sync"

	"bulkload/cell"
	"bulkload/internal/errcode"
	"bulkload/load"

	"github.com/zeebo/xxh3"
	"golang.org/x/sync/errgroup"
)

// Request is a look-up by the values of a job's query columns. The answer has the rows in the order of their keys
// without what comes before the query's part of the key, such as a salt that the query does not determine.
type Request struct {
	Values []string // of the query columns, in the order of query
	// Since and Until restrict the rows to a range of the column that orders the rows of one query: from Since to before
	// Until, as exactly as the key has it; nil: no limit.
	Since, Until *string
	Order        RowOrder
	Rows         int    // in the answer, at most; 0: all
	Bytes        int    // of the answer's cells, at most; 0: no limit
	After        string // Next of the answer before this one; "": from the beginning
	Memory       *Memory
}

// RowOrder is the order of an answer's rows.
type RowOrder int

// The orders. Newest and Oldest go by the column that orders the rows of one query.
const (
	ByKey RowOrder = iota
	Newest
	Oldest
)

// Found is the answer to a request.
type Found struct {
	Rows  []Row
	Next  string // asks for the rest; "": there is none
	Scans int    // more than one if the query does not determine a salt
	Read  int64  // rows, wanted or not
	held  *held
}

// Release gives the rows' memory back. They must not be used afterwards.
func (f *Found) Release() { f.held.release() }

// Row is a row, with those of its cells that the query wants, each in its newest version.
type Row struct {
	Key   []byte
	Cells []cell.Cell
	size  int // bytes of the cells
	held  int // bytes of memory
}

// cellMemory is roughly what a copy of a cell takes in addition to its bytes.
const cellMemory = 160

// add adds a copy of a cell, unless the row has more than that many bytes of cells already (0: no limit). The error is
// that of a lack of memory.
func (r *Row) add(c *cell.Cell, most int, memory *held) error {
	n, m := len(c.Family), len(c.Family)+len(c.Qualifier)
	r.size += m + len(c.Value)
	if most > 0 && r.size > most && len(r.Cells) > 0 {
		return nil
	}
	need := m + len(c.Value) + cellMemory
	if len(r.Cells) == 0 {
		need += len(r.Key)
	}
	r.held += need
	if err := memory.take(need); err != nil {
		return err
	}
	all := slices.Concat(c.Family, c.Qualifier, c.Value)
	r.Cells = append(r.Cells, cell.Cell{Row: r.Key, Family: all[:n:n], Qualifier: all[n:m:m], Timestamp: c.Timestamp,
		Type: c.Type, Value: all[m:]})
	return nil
}

// parallelScans is how many of a query's scans run at a time.
const parallelScans = 16

// leastAnswer is how many bytes a server may send at a time, at least. A request's scans share the bytes of its answer.
const leastAnswer = 64 << 10

// errEnough ends a scan whose further rows don't belong to the answer.
var errEnough = errors.New("enough rows")

// scan visits the cells of the rows of a range. Several may run at a time.
type scan func(ctx context.Context, r load.Range, visit func(*cell.Cell) error) error

// find answers a request. With forward, rows can be read only in ascending order.
func (q *query) find(ctx context.Context, r *Request, scan scan, forward bool) (*Found, error) {
	ranges, err := q.ranges(r)
	if err != nil {
		return nil, err
	}
	reversed, err := q.reversed(r.Order)
	if err != nil {
		return nil, err
	}
	mark := q.mark(r)
	after, err := parsePosition(r.After, mark, len(ranges))
	if err != nil {
		return nil, err
	}
	memory := &held{of: r.Memory}
	p := &page{rows: r.Rows, bytes: r.Bytes, reversed: reversed, memory: memory}
	found := &Found{Scans: len(ranges), held: memory}
	var mu sync.Mutex // of found.Read
	group, running := errgroup.WithContext(ctx)
	group.SetLimit(parallelScans)
	for i := range ranges {
		within := ranges[i]
		if after != nil {
			after.restrict(&within, q.prefixes[i], i, reversed)
		}
		if len(within.End) > 0 && bytes.Compare(within.Start, within.End) >= 0 {
			continue
		}
		within.Reversed, within.Cache = reversed && !forward, true
		if r.Rows > 0 {
			within.Rows = uint32(r.Rows) + 2 // a row ends where the next one begins
		}
		if r.Bytes > 0 {
			within.Bytes = uint64(max(r.Bytes/len(ranges), leastAnswer))
		}
		group.Go(func() error {
			reader := rowReader{query: q, most: r.Bytes, memory: memory}
			reader.found = func(row Row) bool {
				enough := p.add(position{row.Key[len(q.prefixes[i]):], i}, row)
				return enough && reversed == within.Reversed
			}
			err := scan(running, within, reader.visit)
			if err == nil {
				reader.end()
			} else if errors.Is(err, errEnough) {
				err = nil
			}
			mu.Lock()
			found.Read += reader.read
			mu.Unlock()
			return err
		})
	}
	if err := group.Wait(); err != nil {
		memory.release()
		return nil, err
	}
	for _, f := range p.found {
		if r.Bytes > 0 && f.row.size > r.Bytes { // it is the first, since none follows one that fills the page
			memory.release()
			return nil, errcode.ServeLarge.Errorf("row %s has more than %d bytes of cells", cell.Printable(f.row.Key), r.Bytes)
		}
		found.Rows = append(found.Rows, f.row)
	}
	if n := len(p.found); p.more && n > 0 {
		found.Next = p.found[n-1].position.text(mark)
	}
	return found, nil
}

// page collects the first rows of several scans.
type page struct {
	rows, bytes int // how many it may have; 0: no limit
	reversed    bool
	memory      *held // from which the rows' memory was taken

	mu    sync.Mutex
	found []foundRow // in order
	more  bool       // some did not fit
}

type foundRow struct {
	position
	row Row
}

// add adds a row, and removes those for which there is no room any more. It reports whether there is none for rows that
// follow this one.
func (a *page) add(at position, row Row) (enough bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	i, _ := slices.BinarySearchFunc(a.found, at, func(f foundRow, at position) int { return a.compare(f.position, at) })
	if i == len(a.found) && a.more {
		a.memory.give(row.held)
		return true
	}
	a.found = slices.Insert(a.found, i, foundRow{at, row})
	n, size := 0, 0
	for n < len(a.found) && (a.rows == 0 || n < a.rows) {
		if size += a.found[n].row.size; a.bytes > 0 && size > a.bytes && n > 0 {
			break
		}
		n++
	}
	if n < len(a.found) {
		for _, f := range a.found[n:] {
			a.memory.give(f.row.held)
		}
		clear(a.found[n:])
		a.found, a.more = a.found[:n], true
	}
	return a.more && i >= len(a.found)-1
}

func (a *page) compare(x, y position) int {
	if a.reversed {
		x, y = y, x
	}
	return cmp.Or(bytes.Compare(x.rest, y.rest), x.prefix-y.prefix)
}

// position is the place of a row among those of a query.
type position struct {
	rest   []byte // of the key, after the prefix
	prefix int    // its number
}

// mark tells apart what requests ask for, so that a position in one answer is not taken for one in another.
func (q *query) mark(r *Request) uint64 {
	h := xxh3.New()
	part := func(text string) { _, _ = h.WriteString(strconv.Itoa(len(text)) + ":" + text) } // can't fail
	part(q.job.Table)
	part(q.job.RowKey.String())
	part(strconv.Itoa(int(r.Order)))
	for i := range r.Values {
		part(q.job.Query[i])
		part(r.Values[i])
	}
	for _, limit := range []*string{r.Since, r.Until} {
		if limit == nil {
			part("-")
		} else {
			part("+" + *limit)
		}
	}
	return h.Sum64()
}

// text is the position as a token: the mark, 8 bytes big-endian; the prefix's number as a uvarint; the rest of the key.
func (p position) text(mark uint64) string {
	b := binary.AppendUvarint(binary.BigEndian.AppendUint64(nil, mark), uint64(p.prefix))
	return base64.RawURLEncoding.EncodeToString(append(b, p.rest...))
}

// parsePosition reads a token; nil for "". It need not be one that this program made.
func parsePosition(text string, mark uint64, prefixes int) (*position, error) {
	if text == "" {
		return nil, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil && len(b) > 8 && binary.BigEndian.Uint64(b) == mark {
		if prefix, n := binary.Uvarint(b[8:]); n > 0 && prefix < uint64(prefixes) {
			return &position{b[8+n:], int(prefix)}, nil
		}
	}
	return nil, errcode.Command.Errorf("this is no token of an answer to the same request: give the next of the answer " +
		"before, and everything else as it was")
}

// restrict leaves of the i-th range, with a prefix, the rows that come after a position.
func (p *position) restrict(r *load.Range, prefix []byte, i int, reversed bool) {
	row := slices.Concat(prefix, p.rest)
	next := append(bytes.Clone(row), 0)
	switch {
	case reversed && i < p.prefix:
		r.End = earlierEnd(r.End, next)
	case reversed:
		r.End = earlierEnd(r.End, row)
	case i <= p.prefix:
		r.Start = later(r.Start, next)
	default:
		r.Start = later(r.Start, row)
	}
}
