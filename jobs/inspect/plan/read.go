package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"bulkload/ingest"
	"bulkload/internal/parallel"
	"bulkload/jobs/base/options"
	"bulkload/jobs/base/timing"
	"bulkload/jobs/pipeline/entry"
	"bulkload/jobs/spec/jobfile"
	"bulkload/jobs/stats"
)

const (
	samplePlaces  = 64       // positions at which a sample is taken
	fewestPlaces  = 8        // with fewer positions the whole input is read, because a few say little about it
	smallestPlace = 64 << 10 // minimum bytes of the input that a position represents
	rejectedShown = 10       // reject reasons that are listed
	maxReasons    = 1000     // different reasons that are counted separately
	batchedSeen   = 512      // row keys that are compared in one batch
	frequentKept  = 4096     // counters for the most frequent query keys
	frequentShown = 10
	groupsKept    = 1 << 18 // query keys whose rows are counted exactly
)

// planPiece is a part of the input that one goroutine reads: a split, or its first rows.
type planPiece struct {
	split   ingest.Split
	rows    int64 // maximum; 0: all
	place   int   // index of the sample's position
	number  int   // index in input order
	stretch int64 // bytes of the input that the position represents
}

// planReading says which part of the input is read, and collects the counts that do not depend on the key.
type planReading struct {
	pieces  []planPiece
	sample  bool
	how     string
	weights []float64 // for each position of a sample: how many rows of the input each of its rows represents

	mu       sync.Mutex
	rows     int64 // records, including rejected ones
	bytes    int64
	rejected int64
	rejects  map[rejectReason]*stats.RejectCount
	shown    []shownReject // the first ones
	times    timing.ReadTimes
}

type rejectReason struct{ column, reason string }

// choosePieces selects all splits or, for a sample, the first rows of splits that are spread over the input.
func (p *planner) choosePieces(ctx context.Context) error {
	r, form, files := &p.reading, p.job.Input.Form, p.source.Files
	r.how, r.rejects = "all of it", map[rejectReason]*stats.RejectCount{}
	size := p.source.SplitSize()
	if p.Sample > 0 {
		size = max(p.source.Bytes/samplePlaces, smallestPlace)
	}
	splits, err := form.Splits(p.source.Until(ctx), files, size)
	if err != nil {
		return fmt.Errorf("read the input: %w", err)
	}
	switch {
	case p.Sample > 0 && len(splits) >= fewestPlaces:
		r.pieces, r.sample = spread(splits, p.Sample, p.source.Bytes), true
		r.weights = make([]float64, len(r.pieces))
		r.how = fmt.Sprintf("%s rows: the first %s at each of %d places, spread evenly over the input", stats.Count(p.Sample),
			stats.Count(r.pieces[0].rows), len(r.pieces))
	case p.Sample > 0 && size > smallestPlace:
		r.how = fmt.Sprintf("all of it: reading can begin at %s, too few for a sample", jobfile.Plural(len(splits), "place"))
		fallthrough
	default:
		for _, s := range splits {
			r.pieces = append(r.pieces, planPiece{split: s})
		}
	}
	for i := range r.pieces {
		r.pieces[i].number = i
	}
	return nil
}

// spread selects splits at even distances. Each position represents the splits around it by their share of the input's
// bytes, because some formats measure a split's length in rows.
func spread(splits []ingest.Split, rows, bytes int64) []planPiece {
	var all int64
	for _, s := range splits {
		all += s.End - s.Start
	}
	n := int(min(samplePlaces, int64(len(splits)), rows))
	pieces := make([]planPiece, n)
	for i := range pieces {
		share := rows*int64(i+1)/int64(n) - rows*int64(i)/int64(n)
		pieces[i] = planPiece{split: splits[(2*i+1)*len(splits)/(2*n)], rows: share, place: i}
		for _, s := range splits[i*len(splits)/n : (i+1)*len(splits)/n] {
			pieces[i].stretch += s.End - s.Start
		}
		pieces[i].stretch = int64(float64(bytes) * float64(pieces[i].stretch) / float64(max(all, 1)))
	}
	return pieces
}

// read reads the pieces on all cores, into the statistics of all candidates.
func (p *planner) read(ctx context.Context) error {
	if err := p.choosePieces(ctx); err != nil {
		return err
	}
	for _, c := range p.candidates {
		c.stats = newPlanStatistics(c, p.options.Memory/int64(len(p.candidates)))
	}
	p.meter = options.NewMeter(p.options.Watch, "plan", p.source.Bytes, true)
	var workers []*planWorker
	for range min(parallel.Workers(), max(len(p.reading.pieces), 1)) {
		workers = append(workers, p.newWorker())
	}
	err := parallel.Share(ctx, workers, p.reading.pieces,
		func(ctx context.Context, l *planWorker, piece planPiece) error { return l.read(ctx, piece) })
	for _, l := range workers {
		l.close()
	}
	return err
}

// planWorker is the state of one goroutine that reads.
type planWorker struct {
	*planner
	records entry.RecordReader
	rejects planRejects
	tables  []*tableWorker
	bytes   int64 // of the input, for the records read
}

func (p *planner) newWorker() *planWorker {
	l := &planWorker{planner: p}
	l.rejects.reasons = map[rejectReason]*stats.RejectCount{}
	l.records = entry.NewReader(p.job.Input.Form, p.source.FS, &l.rejects, p.meter)
	for _, c := range p.candidates {
		l.tables = append(l.tables, newTableWorker(c, p.timedEvery()))
	}
	return l
}

// timedEvery returns n if every n-th record is timed. In a sample, every record is.
func (p *planner) timedEvery() int64 {
	if p.reading.sample {
		return 1
	}
	return timing.SampleEvery
}

func (l *planWorker) read(ctx context.Context, piece planPiece) error {
	for _, t := range l.tables {
		t.beginPiece(piece.place)
		t.records.piece = piece.number
	}
	if piece.rows > 0 {
		return l.readPlace(ctx, piece)
	}
	bytes, err := l.records.ReadSplit(ctx, piece.split, l.add)
	l.bytes += bytes
	return err
}

// readPlace reads the rows of a position and weights them so that they represent its whole stretch.
func (l *planWorker) readPlace(ctx context.Context, piece planPiece) error {
	before := l.bytes
	if err := l.readFirst(ctx, piece); err != nil {
		return err
	}
	if read := l.bytes - before; read > 0 {
		l.reading.weights[piece.place] = float64(piece.stretch) / float64(read)
	}
	for _, t := range l.tables {
		t.endPlace(l.reading.weights[piece.place])
	}
	return nil
}

// readFirst counts the first rows of a split and the bytes that they take.
func (l *planWorker) readFirst(ctx context.Context, piece planPiece) (err error) {
	in, err := l.records.Form.Open(l.records.FS, piece.split)
	if err != nil {
		return fmt.Errorf("open the input: %w", err)
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	last := l.records.Read + piece.rows
	for n := 1; l.records.Read < last; n++ {
		err = l.records.NextTimed(in, l.add)
		if errors.Is(err, io.EOF) {
			l.bytes += in.Bytes()
			return ctx.Err()
		}
		if err == nil && n%entry.CheckEvery == 0 {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
	}
	bytes, err := bytesOf(in, piece.rows)
	l.bytes += bytes
	l.meter.Add(bytes)
	return errors.Join(err, ctx.Err())
}

// stepsRead is how many steps of read-ahead in a compressed file are enough to estimate the length of its rows.
const stepsRead = 8

// bytesOf returns the bytes of the records that were read. A compressed file is read ahead in large steps, so there it
// estimates them from the rows between steps, or from all rows if the file ends first.
func bytesOf(in ingest.Records, rows int64) (int64, error) {
	begun, last := in.Bytes(), in.Bytes()
	var first, step int64 // rows read at the first step, and number of steps
	for n := rows + 1; ; n++ {
		_, err := in.Next()
		switch {
		case err == nil, errors.As(err, new(*ingest.BadRecord)):
		case errors.Is(err, io.EOF):
			return in.Bytes() * rows / max(n-1, 1), nil
		default:
			return 0, err
		}
		now := in.Bytes()
		if now == last {
			continue
		}
		if n == rows+1 { // nothing is read ahead: the position moves with each record
			return begun, nil
		}
		if last, step = now, step+1; step == 1 {
			begun, first = now, n
		} else if step > stepsRead {
			return (now - begun) * rows / (n - first), nil
		}
	}
}

// add counts a record for each table. As in a run, a record that one table can't use counts for no table. A record that
// only the compared key refuses counts for the others.
func (l *planWorker) add(r *ingest.Record) error {
	for _, t := range l.tables {
		err := t.begin(r)
		if err != nil && t.proposed {
			var bad *ingest.BadRecord
			if !errors.As(err, &bad) {
				return err
			}
			t.refuse(bad)
			t.records.addRefused(t.candidate, r, err)
			continue
		}
		if err != nil {
			t.records.addRefused(t.candidate, r, err)
			return l.records.Reject(err)
		}
	}
	for _, t := range l.tables {
		if t.usable {
			t.commit(r)
		} else if t.unwanted {
			t.filtered++
			t.records.addRefused(t.candidate, r, entry.ErrFiltered)
		}
	}
	return nil
}

func (l *planWorker) close() {
	r := &l.reading
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rows += l.records.Read
	r.bytes += l.bytes
	r.rejected += l.rejects.count
	mergeReasons(r.rejects, l.rejects.reasons)
	r.shown = firstRejects(r.shown, l.rejects.shown)
	r.times.Add(l.records.Times)
	for _, t := range l.tables {
		t.close()
	}
}

// planRejects counts rejects by their reasons.
type planRejects struct {
	count   int64
	reasons map[rejectReason]*stats.RejectCount
	shown   []shownReject // the first ones, since a goroutine reads pieces in ascending order
}

func (p *planRejects) Add(bad *ingest.BadRecord) error {
	if p.count++; len(p.shown) < rejectsShown {
		p.shown = append(p.shown, newShownReject(bad))
	}
	reason := rejectReason{bad.Column, bad.Reason}
	known := p.reasons[reason]
	if known == nil {
		if len(p.reasons) >= maxReasons {
			return nil
		}
		known = &stats.RejectCount{Column: bad.Column, Reason: bad.Reason, First: bad.Location()}
		p.reasons[reason] = known
	}
	known.Rows++
	return nil
}

func (p *planRejects) Count() int64      { return p.count }
func (p *planRejects) Close(int64) error { return nil }

func mergeReasons(into, from map[rejectReason]*stats.RejectCount) {
	for reason, r := range from {
		if known := into[reason]; known != nil {
			known.Rows += r.Rows
			known.First = min(known.First, r.First)
		} else if len(into) < maxReasons {
			into[reason] = r
		}
	}
}

// mostReasons lists the most frequent reasons.
func mostReasons(all map[rejectReason]*stats.RejectCount) []stats.RejectCount {
	list := []stats.RejectCount{}
	for _, r := range all {
		list = append(list, *r)
	}
	slices.SortFunc(list, func(a, b stats.RejectCount) int {
		return cmp.Or(cmp.Compare(b.Rows, a.Rows), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Reason, b.Reason))
	})
	return list[:min(len(list), rejectedShown)]
}
