package plan

import (
	"iter"

	"bulkload/internal/parallel"
	"bulkload/jobs/pipeline/sorting"
	"bulkload/jobs/stats"
	"bulkload/partition"
)

// forecastSpill predicts the sort's memory and what it spills. The sort's own rules tell which entries are spilled, and
// packing the sample into blocks tells how many bytes they take.
func (p *planner) forecastSpill(c *candidate, f *stats.Forecast) {
	r := c.report
	weight, all := p.weight(c)
	f.SortMemory = sorting.SortMemory(p.options.Memory) * weight / all
	if r.Rows == 0 {
		return
	}
	shape := partition.Shape{Mean: float64(r.SortBytes) / float64(r.Rows), Largest: c.stats.rows.Largest(),
		Shards: p.shares(r.Rows)}
	spilled := partition.ForecastSpill(f.SortMemory, shape)
	f.SortNeeds = partition.MemoryWithoutSpill(shape, 0)
	if f.Runs = spilled.Runs; spilled.Entries == 0 {
		return
	}
	f.Memory = sorting.MemoryFor(f.SortNeeds, weight, all)
	bytes := float64(spilled.Entries) * shape.Mean
	plain, compressed := partition.Stored(f.SortMemory, c.sampled())
	uncompressed := min(float64(sorting.UncompressedSpill(p.options, p.source.Text)*weight/all), bytes)
	sample := max(float64(c.stats.rows.Bytes()), 1)
	f.Spill = int64(uncompressed*float64(plain)/sample + (bytes-uncompressed)*float64(compressed)/sample)
}

// weight returns an output's share of the memory, and the sum of all shares.
func (p *planner) weight(c *candidate) (weight, all int64) {
	if c.proposed { // it is planned as if it replaced the job's own key
		return 1, 1
	}
	for _, o := range p.candidates {
		if !o.proposed {
			all += sorting.Weight(o.target)
		}
	}
	return sorting.Weight(c.target), all
}

// shares distributes rows over the goroutines of a run: each reads the next split when it has finished one.
func (p *planner) shares(rows int64) []int64 {
	shards := make([]int64, parallel.Workers())
	if p.reading.sample {
		for i := range shards {
			shards[i] = rows / int64(len(shards))
		}
		return shards
	}
	var all int64
	for _, piece := range p.reading.pieces {
		all += piece.split.End - piece.split.Start
	}
	for _, piece := range p.reading.pieces {
		least := 0
		for i := range shards {
			if shards[i] < shards[least] {
				least = i
			}
		}
		shards[least] += int64(float64(rows) * float64(piece.split.End-piece.split.Start) / float64(max(all, 1)))
	}
	return shards
}

// sampled yields the sampled rows in the order of their keys, as the sort holds them.
func (c *candidate) sampled() iter.Seq[partition.Entry] {
	return func(yield func(partition.Entry) bool) {
		for i := range c.stats.rows.Len() {
			key, payload := c.stats.rows.Row(i)
			if !yield(partition.Entry{Key: key, Payload: payload}) {
				return
			}
		}
	}
}
