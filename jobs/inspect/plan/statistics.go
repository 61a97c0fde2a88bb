package plan

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"bulkload/ingest"
	"bulkload/jobs/base/timing"
	"bulkload/jobs/pipeline/entry"
	"bulkload/jobs/pipeline/targets"
	"bulkload/jobs/spec/jobfile"
	"bulkload/jobs/stats"
	"bulkload/keys"
	"bulkload/values"
)

// planStatistics holds one table's statistics in bounded memory.
type planStatistics struct {
	rows     *stats.Sample // encoded to predict the HFiles' size
	keys     *stats.Sample // for the region boundaries
	groups   *stats.GroupCounts
	seen     *stats.DuplicateSketch
	distinct stats.HyperLogLog   // query keys
	frequent *stats.HeavyHitters // query keys
	asks     []*weighedQuery

	// The workers add to the following fields when they end. The reading's lock guards them.
	counts   tableCounts
	records  shownRecords
	filtered int64
	rejected int64 // by a key that is only compared
	rejects  map[rejectReason]*stats.RejectCount
}

// weighedQuery is one of the job's queries, with the way in which the key serves it and what that costs.
type weighedQuery struct {
	jobfile.Query
	keyPath
	paths *stats.QueryCost
}

// tableCounts are the sums and extremes that each worker collects for itself.
type tableCounts struct {
	regions  []regionCounts
	shares   stats.ByteShares
	raw      []int64 // by family
	cells    int64
	shortest int
	longest  int
	keys     int64 // bytes
	entries  int64 // bytes of keys and packed columns
	order    stats.KeyTrend
	widths   []stats.KeyWidths // by input column
	beyond   []int64           // records refused for a number above desc's base, by column; last: without a column
	unzoned  []int64           // values without an offset that the key reads as UTC for lack of a zone, by column
	spelled  []spellings       // of the values that become cells or keys, by column
	oldest   int64
	newest   int64
	keyTime  time.Duration // of the timed records
	keyTimed int64         // how many were timed
}

// regionCounts counts one region's content.
type regionCounts struct{ rows, cells, raw, entries int64 }

func newTableCounts(c *candidate) tableCounts {
	counts := tableCounts{regions: make([]regionCounts, c.target.Regions.Len()),
		raw:      make([]int64, len(c.target.Layout.Families)),
		shortest: math.MaxInt, widths: make([]stats.KeyWidths, len(c.job.Columns)),
		beyond:  make([]int64, len(c.job.Columns)+1),
		unzoned: make([]int64, len(c.job.Columns)), spelled: make([]spellings, len(c.job.Columns)), oldest: math.MaxInt64}
	for i := range counts.widths {
		counts.widths[i] = stats.KeyWidths{Column: c.job.Columns[i].Name, Shortest: math.MaxInt}
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
	for i, n := range o.unzoned {
		t.unzoned[i] += n
	}
	for i := range o.spelled {
		t.spelled[i] |= o.spelled[i]
	}
	t.oldest, t.newest = min(t.oldest, o.oldest), max(t.newest, o.newest)
	t.keyTime += o.keyTime
	t.keyTimed += o.keyTimed
}

// scale multiplies the counts of a position so that they stand for the input that it represents. Extremes, times and
// figures that are reported only for the rows read stay as they are.
func (t *tableCounts) scale(factor float64) {
	for i := range t.regions {
		r := &t.regions[i]
		*r = regionCounts{scaled(r.rows, factor), scaled(r.cells, factor), scaled(r.raw, factor), scaled(r.entries, factor)}
	}
	for i, n := range t.raw {
		t.raw[i] = scaled(n, factor)
	}
	s := &t.shares
	*s = stats.ByteShares{Row: scaled(s.Row, factor), Family: scaled(s.Family, factor),
		Qualifier: scaled(s.Qualifier, factor),
		Frame:     scaled(s.Frame, factor), Value: scaled(s.Value, factor)}
	t.cells, t.keys, t.entries = scaled(t.cells, factor), scaled(t.keys, factor), scaled(t.entries, factor)
}

// newPlanStatistics divides the memory: a sixteenth for the rows to encode, at most a 64th for the sampled keys, and a
// quarter for finding repeated keys.
func newPlanStatistics(c *candidate, memory int64) *planStatistics {
	s := &planStatistics{
		rows: stats.NewSample(int(memory / 16)), keys: stats.NewSample(int(min(memory/64, targets.KeySampleBytes))),
		groups: stats.NewGroupCounts(groupsKept), seen: stats.NewDuplicateSketch(memory / 4),
		frequent: stats.NewHeavyHitters(frequentKept),
		counts:   newTableCounts(c), rejects: map[rejectReason]*stats.RejectCount{},
	}
	for _, q := range c.job.Queries {
		s.asks = append(s.asks, &weighedQuery{Query: q, keyPath: pathOf(c.job, q.Columns),
			paths: stats.NewQueryCost(groupsKept)})
	}
	return s
}

// tableWorker is one goroutine's part of a table's statistics.
type tableWorker struct {
	*candidate
	key      entry.Key
	counts   tableCounts
	records  shownRecords
	places   tableCounts // of the sample's positions read so far, each scaled by its weight
	place    int
	frequent *stats.HeavyHitters
	distinct stats.HyperLogLog
	asks     []*queryWorker
	rejects  planRejects

	usable   bool   // the current record has a key
	unwanted bool   // the job's filter drops it
	entry    []byte // its sort key and its packed values
	values   []values.Value
	before   []byte // the previous row's leading part
	first    []byte // the values of that part's columns, if its width varies
	fresh    bool   // there is no previous row
	n        int64
	filtered int64

	timedEvery int64 // one record in timedEvery is timed

	columns []int  // of the key
	unzoned []int  // columns that the key reads as UTC unless a value has an offset
	stored  []int  // columns whose text becomes a cell or part of a key
	query   []int  // columns
	present []byte // the query key of the last record, as appendFields writes it
	next    []byte
	hash    uint64
	run     int64 // how many records in a row have that query key

	seen []stats.SketchRow
}

type queryWorker struct {
	*weighedQuery
	columns   []int
	evaluator *keys.Evaluator
}

func newTableWorker(c *candidate, timedEvery int64) *tableWorker {
	t := &tableWorker{candidate: c, timedEvery: timedEvery, key: entry.NewKey(c.job), counts: newTableCounts(c),
		places: newTableCounts(c), frequent: stats.NewHeavyHitters(frequentKept),
		values: make([]values.Value, len(c.target.Layout.Sources)), columns: c.job.RowKey.Columns(),
		unzoned: unzonedColumns(c.job), stored: storedColumns(c.job), query: columnsOf(c.job, c.job.Query),
		seen: make([]stats.SketchRow, 0, batchedSeen)}
	t.rejects.reasons = map[rejectReason]*stats.RejectCount{}
	for _, a := range c.stats.asks {
		worker := &queryWorker{weighedQuery: a, columns: columnsOf(c.job, a.Columns)}
		if a.prefix != nil {
			worker.evaluator = a.prefix.Evaluator()
		}
		t.asks = append(t.asks, worker)
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

// unzonedColumns returns the columns that the row key reads as UTC because neither the key nor columns_map gives a
// zone. Columns with zone: UTC in columns_map are not among them.
func unzonedColumns(j *jobfile.Job) []int {
	var columns []int
	for _, p := range j.RowKey.Parts() {
		for _, i := range p.Unzoned {
			if j.Columns[i].Type.Zone == "" && !slices.Contains(columns, i) {
				columns = append(columns, i)
			}
		}
	}
	return columns
}

func (t *tableWorker) beginPiece(place int) { t.place, t.fresh = place, true }

// endPlace adds the counts of a sample's position, where each row represents weight rows of the input.
func (t *tableWorker) endPlace(weight float64) {
	t.counts.scale(weight)
	t.places.add(&t.counts)
	t.counts = newTableCounts(t.candidate)
}

// begin builds the record's key. If it can't, the error is an *ingest.BadRecord.
func (t *tableWorker) begin(r *ingest.Record) error {
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

// columnOrRest returns column if it is an index below n, else n.
func columnOrRest(column, n int) int {
	if column < 0 || column >= n {
		return n
	}
	return column
}

func (t *tableWorker) refuse(bad *ingest.BadRecord) { _ = t.rejects.Add(bad) } // it never fails

// commit counts the record whose key was built.
func (t *tableWorker) commit(r *ingest.Record) {
	if t.records.wants() {
		t.records.add(t.candidate, r, &t.key)
	}
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
	for _, i := range t.unzoned {
		if clock, problem := values.ParseClock(r.Fields[i].Bytes()); problem == "" && !clock.Zoned {
			t.counts.unzoned[i]++
		}
	}
	for _, i := range t.stored {
		t.counts.spelled[i] |= spellingOf(r.Fields[i].Bytes())
	}
}

// count adds up the record's cells, and returns their KeyValue bytes.
func (t *tableWorker) count(payload []byte) int64 {
	c, layout, row, named := &t.counts, t.target.Layout, t.key.Row, len(t.key.Named())
	if _, err := layout.Unpack(payload, t.values); err != nil {
		return 0 // can't happen: it was packed a moment ago
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
		c.shares.Frame += own * targets.KeyValueOverhead
		c.shares.Value += held
		all := rows + family + qualifiers + own*targets.KeyValueOverhead + held
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

// leadingPart is the part of the key that decides a row's region: the first one that differs between keys.
type leadingPart struct {
	bytes   int   // length of the key up to the end of this part; -1: it varies
	columns []int // that it depends on
}

func leadingPartOf(e *keys.Expr) (b leadingPart) {
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

// follow checks whether the leading part of the key ascended or descended since the last record. If the part's width
// varies, it compares the whole keys of records that differ in the part's columns.
func (t *tableWorker) follow(fields []values.Value) {
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

// compare looks the row key up among the earlier ones, a batch at a time.
func (t *tableWorker) compare(hash uint64, payload []byte) {
	t.seen = append(t.seen, stats.SketchRow{Key: hash, Content: uint32(stats.Hash(payload))})
	if len(t.seen) == cap(t.seen) {
		t.stats.seen.Add(t.seen)
		t.seen = t.seen[:0]
	}
}

// ask counts the record for its query key. It counts whole runs, because records of one query key are often
// consecutive.
func (t *tableWorker) ask(fields []values.Value) {
	t.next = appendFields(t.next[:0], fields, t.query)
	if t.run > 0 && bytes.Equal(t.next, t.present) {
		t.run++
		return
	}
	t.endRun()
	t.present, t.next = t.next, t.present
	t.hash, t.run = stats.Hash(t.present), 1
}

func (t *tableWorker) endRun() {
	if t.run > 0 {
		t.distinct.Add(t.hash)
		t.frequent.Add(t.hash, t.present, t.run)
		t.stats.groups.Add(t.hash, t.run)
	}
	t.run = 0
}

// appendFields appends values. Each is its length plus one as a uvarint, or 0 for a null, and its bytes.
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

// showFields makes readable what appendFields wrote. b may be cut off at its end.
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
func (a *queryWorker) add(fields []values.Value, row []byte, buffer *[]byte) {
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

// close adds the worker's counts to the reading; the reading's lock must be held.
func (t *tableWorker) close() {
	t.endRun()
	s := t.stats
	s.seen.Add(t.seen)
	s.distinct.Merge(&t.distinct)
	s.frequent.Merge(t.frequent)
	s.counts.add(&t.places)
	s.counts.add(&t.counts)
	s.records.merge(&t.records)
	s.filtered += t.filtered
	s.rejected += t.rejects.count
	mergeReasons(s.rejects, t.rejects.reasons)
}
