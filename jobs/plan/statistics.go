package plan

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"time"

	"bulkload/ingest"
	"bulkload/jobs/entry"
	"bulkload/jobs/jobfile"
	"bulkload/jobs/plan/stats"
	"bulkload/jobs/target"
	"bulkload/jobs/timing"
	"bulkload/keys"
	"bulkload/values"
)

// planStatistics are what the records become in one table, in bounded memory.
type planStatistics struct {
	rows     *stats.Sample // to encode
	keys     *stats.Sample // to cut into regions
	groups   *stats.Groups
	seen     *stats.Seen
	distinct stats.Distinct  // query keys
	frequent *stats.Frequent // likewise
	asks     []*ask

	// What follows the lanes add to at their ends, with the reading's lock.
	counts   tableCounts
	filtered int64
	rejected int64 // of a key that is only compared
	rejects  map[rejectReason]*stats.RejectReason
}

// ask is a query of the job's list as the key meets it.
type ask struct {
	jobfile.Query
	keyPath
	paths *stats.Paths
}

// tableCounts are what is added up without a question.
type tableCounts struct {
	regions  []regionCounts
	shares   stats.ByteShares
	raw      []int64 // a family each
	cells    int64
	shortest int
	longest  int
	keys     int64 // bytes
	entries  int64 // bytes of keys and packed columns
	order    stats.Order
	widths   []stats.Widths // an input column each
	beyond   []int64        // records whose key was refused for a number beyond desc's base: a column each, and all others
	oldest   int64
	newest   int64
	keyTime  time.Duration // of one record in timing.SampleEvery
	keyTimed int64         // records
}

// regionCounts is what one region gets.
type regionCounts struct{ rows, cells, raw, entries int64 }

func newTableCounts(c *candidate) tableCounts {
	counts := tableCounts{regions: make([]regionCounts, c.target.Regions.Len()), raw: make([]int64, len(c.target.Layout.Families)),
		shortest: math.MaxInt, widths: make([]stats.Widths, len(c.job.Columns)), beyond: make([]int64, len(c.job.Columns)+1), oldest: math.MaxInt64}
	for i := range counts.widths {
		counts.widths[i] = stats.Widths{Column: c.job.Columns[i].Name, Shortest: math.MaxInt}
	}
	return counts
}

func (t *tableCounts) add(o *tableCounts) {
	for i := range t.regions {
		r, s := &t.regions[i], &o.regions[i]
		r.rows += s.rows
		r.cells += s.cells
		r.raw += s.raw
		r.entries += s.entries
	}
	for i := range t.raw {
		t.raw[i] += o.raw[i]
	}
	t.shares.Row += o.shares.Row
	t.shares.Family += o.shares.Family
	t.shares.Qualifier += o.shares.Qualifier
	t.shares.Frame += o.shares.Frame
	t.shares.Value += o.shares.Value
	t.cells += o.cells
	t.shortest, t.longest = min(t.shortest, o.shortest), max(t.longest, o.longest)
	t.keys += o.keys
	t.entries += o.entries
	t.order.Up += o.order.Up
	t.order.Down += o.order.Down
	for i := range t.widths {
		t.widths[i].Shortest = min(t.widths[i].Shortest, o.widths[i].Shortest)
		t.widths[i].Longest = max(t.widths[i].Longest, o.widths[i].Longest)
	}
	for i, n := range o.beyond {
		t.beyond[i] += n
	}
	t.oldest, t.newest = min(t.oldest, o.oldest), max(t.newest, o.newest)
	t.keyTime += o.keyTime
	t.keyTimed += o.keyTimed
}

// scale turns what was counted at a place of the input into what it stands for. Extremes and times are left alone, and so
// is what is only told of the rows read.
func (t *tableCounts) scale(by float64) {
	for i := range t.regions {
		r := &t.regions[i]
		*r = regionCounts{scaled(r.rows, by), scaled(r.cells, by), scaled(r.raw, by), scaled(r.entries, by)}
	}
	for i, n := range t.raw {
		t.raw[i] = scaled(n, by)
	}
	s := &t.shares
	*s = stats.ByteShares{Row: scaled(s.Row, by), Family: scaled(s.Family, by), Qualifier: scaled(s.Qualifier, by), Frame: scaled(s.Frame, by), Value: scaled(s.Value, by)}
	t.cells, t.keys, t.entries = scaled(t.cells, by), scaled(t.keys, by), scaled(t.entries, by)
}

// newPlanStatistics shares out the memory: a sixteenth for the rows to encode, a quarter for the keys to compare.
func newPlanStatistics(c *candidate, memory int64) *planStatistics {
	s := &planStatistics{
		rows: stats.NewSample(int(memory / 16)), keys: stats.NewSample(int(min(memory/64, target.KeySampleBytes))),
		groups: stats.NewGroups(groupsKept), seen: stats.NewSeen(memory / 4), frequent: stats.NewFrequent(frequentKept),
		counts: newTableCounts(c), rejects: map[rejectReason]*stats.RejectReason{},
	}
	for _, q := range c.job.Queries {
		s.asks = append(s.asks, &ask{Query: q, keyPath: pathOf(c.job, q.Columns), paths: stats.NewPaths(groupsKept)})
	}
	return s
}

// tableLane is what one goroutine adds to a table's statistics.
type tableLane struct {
	*candidate
	key      entry.Key
	counts   tableCounts
	places   tableCounts // of the places of a sample that have been read, each with its weight
	place    int
	frequent *stats.Frequent
	distinct stats.Distinct
	asks     []*askLane
	rejects  planRejects

	usable   bool   // the present record has a key
	unwanted bool   // the job's filter does not take it
	entry    []byte // its key as it is sorted, and its values
	values   []values.Value
	before   []byte // the beginning of the row before
	first    []byte // the values of its columns, where it has no fixed width
	fresh    bool   // there is none
	n        int64
	filtered int64

	timedEvery int64 // records

	columns []int  // of the key
	query   []int  // columns
	present []byte // the values of the query columns of the records before
	next    []byte
	hash    uint64
	run     int64 // records that have them

	seen []stats.SeenRow
}

type askLane struct {
	*ask
	columns   []int
	evaluator *keys.Evaluator
}

func newTableLane(c *candidate, timedEvery int64) *tableLane {
	t := &tableLane{candidate: c, timedEvery: timedEvery, key: entry.NewKey(c.job), counts: newTableCounts(c), places: newTableCounts(c), frequent: stats.NewFrequent(frequentKept),
		values: make([]values.Value, len(c.target.Layout.Sources)), columns: c.job.RowKey.Columns(), query: columnsOf(c.job, c.job.Query),
		seen: make([]stats.SeenRow, 0, batchedSeen)}
	t.rejects.reasons = map[rejectReason]*stats.RejectReason{}
	for _, a := range c.stats.asks {
		lane := &askLane{ask: a, columns: columnsOf(c.job, a.Columns)}
		if a.prefix != nil {
			lane.evaluator = a.prefix.Evaluator()
		}
		t.asks = append(t.asks, lane)
	}
	return t
}

func columnsOf(j *jobfile.Job, names []string) []int {
	var out []int
	for _, name := range names {
		if i, ok := j.Column(name); ok {
			out = append(out, i)
		}
	}
	return out
}

func (t *tableLane) beginPiece(place int) { t.place, t.fresh = place, true }

// endPlace counts a place of a sample, each of whose rows stands for so many of the input.
func (t *tableLane) endPlace(stands float64) {
	t.counts.scale(stands)
	t.places.add(&t.counts)
	t.counts = newTableCounts(t.candidate)
}

// begin makes the record's key; the error is an *ingest.BadRecord where that can't be done.
func (t *tableLane) begin(r *ingest.Record) error {
	timed := t.n%t.timedEvery == 0
	t.n++
	begun := timing.NowIf(timed)
	t.key.Fault = nil
	err := t.key.Build(t.entry[:0], r)
	if timed {
		t.counts.keyTime += time.Since(begun)
		t.counts.keyTimed++
	}
	t.usable, t.unwanted = err == nil, errors.Is(err, entry.ErrFiltered)
	if t.unwanted {
		return nil
	}
	if fault := t.key.Fault; fault != nil && fault.Beyond {
		t.counts.beyond[columnOrRest(fault.Column, len(t.job.Columns))]++
	}
	return err
}

// columnOrRest is a column's place among n, or the one behind them where it is none of them.
func columnOrRest(column, n int) int {
	if column < 0 || column >= n {
		return n
	}
	return column
}

func (t *tableLane) refuse(bad *ingest.BadRecord) { _ = t.rejects.Add(bad) } // which never fails

// commit counts the record whose key was made.
func (t *tableLane) commit(r *ingest.Record) {
	n := len(t.key.Key)
	t.entry = t.target.Layout.Pack(t.key.Key, t.key.Values, t.key.Timestamp)
	payload := t.entry[n:]
	raw := t.count(payload)
	t.follow(r.Fields)
	hash := stats.Hash(t.entry[:n])
	t.compare(hash, payload)
	row := hash
	if t.target.Layout.Wide {
		row = stats.Hash(t.key.Row)
	}
	group := row
	if len(t.query) > 0 {
		t.ask(r.Fields)
		group = t.hash
	}
	t.counts.oldest, t.counts.newest = min(t.counts.oldest, t.key.Timestamp), max(t.counts.newest, t.key.Timestamp)
	t.stats.rows.AddAt(t.place, group, hash, t.entry, n, raw)
	t.stats.keys.AddAt(t.place, row, row, t.key.Row, len(t.key.Row), raw)
	for _, a := range t.asks {
		a.add(r.Fields, t.key.Row, &t.next)
	}
	for _, i := range t.columns {
		w := &t.counts.widths[i]
		w.Shortest, w.Longest = min(w.Shortest, r.Fields[i].Len()), max(w.Longest, r.Fields[i].Len())
	}
}

// count adds up the record's cells, and gives their KeyValue bytes.
func (t *tableLane) count(payload []byte) int64 {
	c, layout, row, named := &t.counts, t.target.Layout, t.key.Row, len(t.key.Named())
	if _, err := layout.Unpack(payload, t.values); err != nil {
		return 0 // it was packed a moment ago
	}
	var raw, cells int64
	for i := range layout.Families {
		f := &layout.Families[i]
		var own, held, qualifiers int64
		for j := f.First; j < f.Last; j++ {
			if v := t.values[j]; !v.Null() {
				own++
				held += int64(v.Len())
				qualifiers += int64(len(f.Qualifiers[j-f.First]) + named)
			}
		}
		rows, family := own*int64(len(row)), own*int64(len(f.Name))
		c.shares.Row += rows
		c.shares.Family += family
		c.shares.Qualifier += qualifiers
		c.shares.Frame += own * target.KeyValueOverhead
		c.shares.Value += held
		all := rows + family + qualifiers + own*target.KeyValueOverhead + held
		c.raw[i] += all
		raw += all
		cells += own
	}
	c.cells += cells
	c.keys += int64(len(row))
	c.entries += int64(len(t.entry))
	c.shortest, c.longest = min(c.shortest, len(row)), max(c.longest, len(row))
	region := &c.regions[t.target.Regions.Find(row)]
	region.rows++
	region.cells += cells
	region.raw += raw
	region.entries += int64(len(t.entry))
	return raw
}

// beginning is the part of the key that decides to which region a row goes: the first that is not the same in every key.
type beginning struct {
	bytes   int   // of the key up to its end; -1: not always as many
	columns []int // that it rests on
}

func beginningOf(e *keys.Expr) (b beginning) {
	for _, p := range e.Parts() {
		if b.columns = p.Columns; !p.Width.Fixed() {
			b.bytes = -1
			return b
		}
		if b.bytes += p.Width.Max; !p.Literal {
			return b
		}
	}
	return b
}

// follow looks whether the beginning of the key went up or down since the last record. Where it has no fixed width, whole
// keys are compared, of records in which its columns differ.
func (t *tableLane) follow(fields []values.Value) {
	row := t.key.Row
	if t.beginning.bytes >= 0 {
		row = row[:t.beginning.bytes]
	} else {
		t.next = appendFields(t.next[:0], fields, t.beginning.columns)
		if bytes.Equal(t.next, t.first) && !t.fresh {
			return
		}
		t.first = append(t.first[:0], t.next...)
	}
	if !t.fresh {
		switch order := bytes.Compare(row, t.before); {
		case order > 0:
			t.counts.order.Up++
		case order < 0:
			t.counts.order.Down++
		}
	}
	t.before, t.fresh = append(t.before[:0], row...), false
}

// compare looks for the row key among those seen, a batch at a time.
func (t *tableLane) compare(hash uint64, payload []byte) {
	t.seen = append(t.seen, stats.SeenRow{Key: hash, Content: uint32(stats.Hash(payload))})
	if len(t.seen) == cap(t.seen) {
		t.stats.seen.Add(t.seen)
		t.seen = t.seen[:0]
	}
}

// ask counts the record for its query key. Records of one query key often come one behind the other.
func (t *tableLane) ask(fields []values.Value) {
	t.next = appendFields(t.next[:0], fields, t.query)
	if t.run > 0 && bytes.Equal(t.next, t.present) {
		t.run++
		return
	}
	t.endRun()
	t.present, t.next = t.next, t.present
	t.hash, t.run = stats.Hash(t.present), 1
}

func (t *tableLane) endRun() {
	if t.run > 0 {
		t.distinct.Add(t.hash)
		t.frequent.Add(t.hash, t.present, t.run)
		t.stats.groups.Add(t.hash, t.run)
	}
	t.run = 0
}

// appendFields appends values, each its length and one as a uvarint, 0 for a null, and its bytes.
func appendFields(dst []byte, fields []values.Value, columns []int) []byte {
	for _, c := range columns {
		value := fields[c]
		if value.Null() {
			dst = append(dst, 0)
			continue
		}
		dst = binary.AppendUvarint(dst, uint64(value.Len())+1)
		dst = append(dst, value.Bytes()...)
	}
	return dst
}

// showFields writes what appendFields made, which may be cut at its end, for people.
func showFields(b []byte) string {
	var shown []string
	for len(b) > 0 {
		n, size := binary.Uvarint(b)
		if size <= 0 {
			break
		}
		b = b[size:]
		if n == 0 {
			shown = append(shown, "null")
			continue
		}
		n = min(n-1, uint64(len(b)))
		shown = append(shown, printableText(b[:n]))
		b = b[n:]
	}
	return strings.Join(shown, ", ")
}

// add counts the record for a query of the job's list.
func (a *askLane) add(fields []values.Value, row []byte, buffer *[]byte) {
	b := appendFields((*buffer)[:0], fields, a.columns)
	whole := stats.Hash(b)
	prefix := whole
	switch {
	case a.query == nil:
	case a.spans != nil:
		b = b[:0]
		for _, s := range a.spans {
			b = append(b, row[s.from:s.to]...)
		}
		prefix = stats.Hash(b)
	case a.evaluator != nil:
		if text, err := a.evaluator.Append(b[:0], fields); err == nil {
			prefix, b = stats.Hash(text), text
		}
	}
	a.paths.Add(whole, prefix)
	*buffer = b
}

// close hands over what the lane holds; the reading's lock is held.
func (t *tableLane) close() {
	t.endRun()
	s := t.stats
	s.seen.Add(t.seen)
	s.distinct.Merge(&t.distinct)
	s.frequent.Merge(t.frequent)
	s.counts.add(&t.places)
	s.counts.add(&t.counts)
	s.filtered += t.filtered
	s.rejected += t.rejects.count
	mergeReasons(s.rejects, t.rejects.reasons)
}
