package load

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"bulkload/internal/hbase"

	"golang.org/x/sync/errgroup"
)

// Columns are columns of a family; nil Qualifiers mean all of them.
type Columns = hbase.FamilyColumns

// Lookup asks whether readers find a row.
type Lookup struct {
	Row     []byte
	Columns []Columns // of which any may have a cell; nil: all
	// Other is a timestamp, in epoch milliseconds, that does not count: a row whose cells all have it does not exist.
	// If negative, all timestamps count.
	Other int64
}

// LookupsPerCall is the largest number of rows in one call to a region server.
const LookupsPerCall = 1000

// Exist reports for each row whether readers of a table find it. It asks the servers in parallel, with one call for at
// most LookupsPerCall rows of a server, and waits for regions that move or whose server has died. A server skips the
// store files whose row bloom filter lacks the row. It needs the permission to read.
func (c *Cluster) Exist(ctx context.Context, table string, rows []Lookup) ([]bool, error) {
	id, err := parseName(table)
	if err != nil {
		return nil, err
	}
	l := &lookups{reader: c.reader, table: id.String(), rows: rows, found: make([]bool, len(rows)),
		onCall: c.onLookUpCall, usable: func(ctx context.Context) error { return c.usable(ctx, id) }}
	if err := l.run(ctx); err != nil {
		return nil, fmt.Errorf("look up rows in table %s: %w", table, classify(ctx, err))
	}
	return l.found, nil
}

// lookups are the questions of one call of Exist.
type lookups struct {
	reader *reader
	table  string
	rows   []Lookup
	found  []bool                      // the answers
	onCall func(rows int)              // for tests; nil
	usable func(context.Context) error // see retries

	mu     sync.Mutex
	left   []int // without an answer yet: indexes of rows
	failed error // why some rows have no answer
}

// run asks until every row has an answer. It gives up after some time without any, or if asking again is useless.
func (l *lookups) run(ctx context.Context) error {
	tries := l.reader.newTries()
	tries.timeout, tries.usable = max(l.reader.limits.outage, l.reader.limits.idle), l.usable
	l.left = make([]int, len(l.rows))
	for i := range l.left {
		l.left[i] = i
	}
	for len(l.left) > 0 {
		before := len(l.left)
		l.failed = nil
		if err := l.round(ctx); err != nil {
			l.failed = err
		}
		if len(l.left) < before {
			tries.answered = time.Now()
			tries.progressed()
		}
		if len(l.left) == 0 {
			break
		}
		if err := tries.wait(ctx, l.failed); err != nil {
			return err
		}
	}
	return nil
}

// round asks once about each remaining row.
func (l *lookups) round(ctx context.Context) error {
	calls, err := l.calls(ctx)
	if err != nil {
		return err
	}
	l.left = nil
	var group errgroup.Group
	group.SetLimit(l.reader.limits.parallel)
	for _, c := range calls {
		group.Go(func() error {
			again, err := l.ask(ctx, c)
			l.mu.Lock()
			defer l.mu.Unlock()
			l.left = append(l.left, again...)
			if err != nil && (l.failed == nil || remedyOf(err) == noRetry) {
				l.failed = err
			}
			return nil
		})
	}
	return group.Wait()
}

// existCall is one call to a server.
type existCall struct {
	server string
	rows   []existRow
}

// existRow is a row of a call, and the region that is asked about it.
type existRow struct {
	index  int
	region *Region
}

// calls groups the remaining rows by server. The rows of a region stay in their given order, which is usually
// ascending.
func (l *lookups) calls(ctx context.Context) (calls []existCall, err error) {
	limited, cancel := context.WithTimeout(ctx, l.reader.limits.idle)
	defer cancel()
	byServer := map[string][]existRow{}
	for _, i := range l.left {
		region, err := l.reader.locate(limited, l.table, l.rows[i].Row, false)
		if err != nil {
			return nil, err
		}
		byServer[region.Server] = append(byServer[region.Server], existRow{i, region})
	}
	for _, server := range slices.Sorted(maps.Keys(byServer)) {
		for rows := range slices.Chunk(byServer[server], LookupsPerCall) {
			calls = append(calls, existCall{server, rows})
		}
	}
	return calls, nil
}

// ask makes one call, and returns the rows without an answer, with the reason.
func (l *lookups) ask(ctx context.Context, c existCall) (retry []int, failed error) {
	var asked []hbase.RegionRows
	for i, row := range c.rows {
		if i == 0 || c.rows[i-1].region != row.region {
			asked = append(asked, hbase.RegionRows{Region: row.region.Name})
		}
		at := &asked[len(asked)-1]
		at.Gets = append(at.Gets, l.questions(row.index)...)
	}
	limited, cancel := context.WithTimeout(ctx, l.reader.limits.call)
	defer cancel()
	var answers []hbase.GetAnswer // to all questions of all rows, in order
	conn, err := l.reader.servers.region(limited, c.server)
	if err == nil {
		if l.onCall != nil {
			l.onCall(len(c.rows))
		}
		var byRegion [][]hbase.GetAnswer
		byRegion, err = conn.MultiRows(limited, asked)
		l.reader.servers.overdue(conn, err)
		answers = slices.Concat(byRegion...)
		l.reader.rate.Wait(sizeOf(answers))
	}
	next := 0
	var dropped *Region
	for _, row := range c.rows {
		problem := err
		found := false
		if err == nil {
			for range l.questions(row.index) {
				found = found || len(answers[next].Cells) > 0
				if answers[next].Err != nil {
					problem = answers[next].Err
				}
				next++
			}
		}
		if problem == nil {
			l.found[row.index] = found // each index belongs to one call
			continue
		}
		if row.region != dropped {
			l.reader.invalidate(l.table, row.region, nil, problem)
			dropped = row.region
		}
		retry, failed = append(retry, row.index), problem
	}
	return retry, failed
}

// sizeOf is the approximate size of answers in bytes.
func sizeOf(answers []hbase.GetAnswer) (n int) {
	const overhead = 20 // of a cell: lengths, timestamp, type
	for i := range answers {
		for _, c := range answers[i].Cells {
			n += overhead + len(c.Family) + len(c.Qualifier) + len(c.Value)
		}
	}
	return n
}

// questions are the reads that answer a look-up: one, or two to cover the timestamps before and after Other.
func (l *lookups) questions(i int) []hbase.RowGet {
	q := &l.rows[i]
	get := hbase.RowGet{Row: q.Row, Columns: q.Columns, First: true}
	if q.Other < 0 {
		return []hbase.RowGet{get}
	}
	before, after := get, get
	before.From, before.To = 0, q.Other
	after.From, after.To = q.Other+1, math.MaxInt64
	if q.Other == 0 {
		return []hbase.RowGet{after}
	}
	return []hbase.RowGet{before, after}
}
