package plan

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"bulkload/cell"
	"bulkload/hfilewriter"
	"bulkload/internal/bytesize"
	"bulkload/internal/digest"
	"bulkload/internal/parallel"
	"bulkload/jobs/pipeline/entry"
	"bulkload/jobs/stats"
	"bulkload/partition"
	"bulkload/values"
)

// trialEncoder writes the sampled rows to HFiles in memory and discards them. Their size predicts the size of all
// HFiles, and the time that they take predicts a run's speed.
type trialEncoder struct {
	*candidate
	sample *stats.Sample
	values []values.Value
	sorted stopwatch // digest, sort
	took   stopwatch // encoding, compression
	read   stopwatch // files read back
	sizes  []familySize
}

// stopwatch measures how long something took, and for how many bytes.
type stopwatch struct {
	bytes int64
	took  time.Duration
}

// Work that takes less than leastWork is repeated, at most mostTimes, because a shorter measurement says little.
const (
	leastWork = 100 * time.Millisecond
	mostTimes = 100
)

// measure runs do, which returns how many bytes it processed, until enough work was measured.
func (w *stopwatch) measure(do func() (int64, error)) error {
	for range mostTimes {
		begun := time.Now()
		n, err := do()
		if w.took += time.Since(begun); err != nil {
			return err
		}
		if w.bytes += n; w.took >= leastWork || n == 0 {
			break
		}
	}
	return nil
}

func (w stopwatch) rate() float64 { return rate(w.bytes, w.took) }

// familySize is the result of encoding one family's sampled cells.
type familySize struct {
	raw, bytes int64
	fixed      int64 // bytes of a file with one row
	fixedRaw   int64 // KeyValue bytes of that row

	firstBytes, firstRaw int64   // with only one row of each query key; 0 if its rows are together in the input
	scatter              float64 // see stats.Sample.Scatter
}

// estimate predicts the size of the HFiles. unique is the share of rows whose key no later row repeats.
func (c *candidate) estimate(unique float64) error {
	e := &trialEncoder{candidate: c, sample: c.stats.rows, values: make([]values.Value, len(c.target.Layout.Sources))}
	report := &c.report.HFiles
	report.Families = []stats.FamilyEstimate{}
	if e.sample.Len() == 0 {
		return nil
	}
	e.sample.Sort()
	scatter := 1.0
	if c.report.Sample {
		scatter = e.sample.Scatter(float64(c.report.Rows))
	}
	report.Scattered = scatter < minScattered
	if err := e.sorted.measure(e.replay); err != nil {
		return fmt.Errorf("sort a sample: %w", err)
	}
	for i := range c.target.Families {
		if err := e.encode(i, scatter); err != nil {
			return fmt.Errorf("encode a sample: %w", err)
		}
	}
	report.SampleRows = int64(e.sample.Len())
	for i, s := range e.sizes {
		report.SampleRaw += s.raw
		report.SampleSize += s.bytes
		raw := c.stats.counts.raw[i]
		size := int64(s.bytesOf(float64(raw)*unique, c.files()))
		report.Bytes += size
		settings := c.target.Families[i].Settings
		report.Families = append(report.Families,
			stats.FamilyEstimate{Family: c.target.Families[i].Name, RawBytes: raw, Bytes: size,
				Settings: fmt.Sprintf("%v, %v, bloom %v, blocks of %s", settings.Compression, settings.Encoding, settings.Bloom,
					bytesize.Format(int64(settings.BlockSize)))})
	}
	if c.report.RawBytes > 0 {
		report.Ratio = float64(report.Bytes) / float64(c.report.RawBytes)
	}
	return e.measure()
}

// files returns the minimum number of files that a run writes for a family: one for each region with rows.
func (c *candidate) files() int {
	n := 0
	for _, r := range c.stats.counts.regions {
		if r.rows > 0 {
			n++
		}
	}
	return n
}

// bytesOf scales the size of the sample's file to raw KeyValue bytes in the given number of files.
func (s *familySize) bytesOf(raw float64, files int) float64 {
	if s.raw == 0 {
		return 0
	}
	fixed := float64(s.fixed)
	if s.raw <= s.fixedRaw { // one row
		return float64(s.bytes) / float64(s.raw) * raw
	}
	slope := (float64(s.bytes) - fixed) / float64(s.raw-s.fixedRaw)
	own := fixed - slope*float64(s.fixedRaw) // of a file without its one row
	if s.firstRaw > 0 && s.firstRaw < s.raw {
		slope = s.scatteredSlope(own)
	}
	return slope*raw + own*float64(files)
}

// minScattered is the fraction below which the rows of a query key are reported as scattered over the input.
const minScattered = 0.9

// scatteredSlope returns the encoded size of a byte of KeyValues if the sample has fewer rows of each query key than
// the input. A query key's first row and its other rows are as large as in the sample, but first rows are a smaller
// share of the input.
func (s *familySize) scatteredSlope(own float64) float64 {
	first := (float64(s.firstBytes) - own) / float64(s.firstRaw)
	other := max(float64(s.bytes-s.firstBytes)/float64(s.raw-s.firstRaw), 0)
	share := float64(s.firstRaw) / float64(s.raw) * s.scatter
	return share*first + (1-share)*other
}

// encode writes one family of the sample, and records the sizes.
func (e *trialEncoder) encode(i int, scatter float64) error {
	size := familySize{scatter: scatter}
	err := e.took.measure(func() (raw int64, err error) {
		size.bytes, size.raw, err = e.write(i, e.sample.Len(), nil, io.Discard)
		return size.raw, err
	})
	if err != nil {
		return err
	}
	if size.raw > 0 {
		if size.fixed, size.fixedRaw, err = e.write(i, 1, nil, io.Discard); err != nil {
			return err
		}
	}
	if scatter < minScattered {
		if size.firstBytes, size.firstRaw, err = e.write(i, e.sample.Len(), e.sample.Firsts(), io.Discard); err != nil {
			return err
		}
	}
	e.sizes = append(e.sizes, size)
	return nil
}

// write writes a family's cells of the first rows that have any, and returns the sizes of the file and of the
// KeyValues; 0 if there are no cells. If only is not nil, it leaves out all rows that are not in it.
func (e *trialEncoder) write(i, rows int, only []bool, out io.Writer) (size, raw int64, err error) {
	w, err := hfilewriter.NewWriter(out, e.target.Families[i].Settings,
		hfilewriter.Provenance{Created: 1, Loaded: 1, Task: "plan"})
	if err != nil {
		return 0, 0, err
	}
	family := &e.target.Layout.Families[i]
	var before []byte
	for at := 0; at < e.sample.Len() && rows > 0; at++ {
		key, payload := e.sample.Row(at)
		if only != nil && !only[at] || bytes.Equal(key, before) { // a run writes one row of each key
			continue
		}
		before = key
		timestamp, err := e.target.Layout.Unpack(payload, e.values)
		if err != nil {
			return 0, 0, err
		}
		if family.Count(e.values) == 0 {
			continue
		}
		rows--
		if err := e.append(w, family, key, timestamp); err != nil {
			return 0, 0, err
		}
	}
	if raw = w.RawSize(); raw == 0 {
		return 0, 0, nil
	}
	summary, err := w.Close()
	if err != nil {
		return 0, 0, err
	}
	return summary.Bytes, raw, nil
}

// append writes the cells of one family of the record that was unpacked into e.values.
func (e *trialEncoder) append(w *hfilewriter.Writer, family *entry.FamilyCells, key []byte, timestamp int64) error {
	if !e.target.Layout.Wide {
		return w.AppendRow(family.Columns, key, timestamp, e.values[family.First:family.Last])
	}
	row, named, err := e.target.SplitKey(key)
	if err != nil {
		return err
	}
	return e.target.Layout.Cells(row, named, e.values, timestamp, func(c *cell.Cell) error {
		if string(c.Family) != family.Name {
			return nil
		}
		return w.Append(c)
	})
}

// replay sorts the sample as a run would, and returns how many bytes it sorted.
func (e *trialEncoder) replay() (all int64, err error) {
	for i := range e.sample.Len() {
		row, payload := e.sample.Row(i)
		all += int64(len(row) + len(payload))
	}
	sorter, err := partition.NewSorter(partition.SortOptions{Regions: e.target.Sorted, Memory: 4*all + 1<<20, Shards: 1})
	if err != nil {
		return 0, err
	}
	shard := sorter.NewShard()
	var sum digest.Sum
	for i := range e.sample.Len() {
		// The sample is sorted but a run's rows are not, so take it in another order.
		key, payload := e.sample.Row(int(uint64(i) * 2654435761 % uint64(e.sample.Len())))
		row, named, err := e.target.SplitKey(key)
		var timestamp int64
		if err == nil {
			timestamp, err = e.target.Layout.Unpack(payload, e.values)
		}
		if err == nil {
			e.target.Layout.DigestValues(&sum, row, named, e.values, timestamp)
			packed := append(append(shard.Buffer(), key...), payload...)
			err = shard.Commit(packed, len(key)-len(named), len(key), partition.EntryOrigin{Offset: int64(i)})
		}
		if err != nil {
			return 0, errors.Join(err, shard.Close(), sorter.Discard())
		}
	}
	return all, errors.Join(shard.Close(), sorter.Discard())
}

// readBack is how many bytes of KeyValues are written and read back to measure the speed.
const readBack = 8 << 20

// measure converts times to rates.
func (e *trialEncoder) measure() error {
	e.rates.Cores, e.rates.Sort, e.rates.Write = parallel.Workers(), e.sorted.rate(), e.took.rate()
	rows := int(int64(e.sample.Len()) * min(readBack, e.report.HFiles.SampleRaw) / max(e.report.HFiles.SampleRaw, 1))
	var file bytes.Buffer
	if _, raw, err := e.write(0, max(rows, 1), nil, &file); err != nil || raw == 0 {
		return err
	}
	err := e.read.measure(func() (int64, error) { return int64(file.Len()), readEncoded(file.Bytes()) })
	e.rates.Verify = e.read.rate()
	e.measured = []float64{e.sorted.took.Seconds(), e.took.took.Seconds(), e.read.took.Seconds()}
	return err
}

// readEncoded reads an HFile as a verification does.
func readEncoded(file []byte) error {
	r, err := hfilewriter.Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return err
	}
	var cells digest.Stream
	_, err = r.Verify(func(run *hfilewriter.CellBatch) error {
		cells.AddRun(run.Cell, run.Column, run.Columns, run.Values)
		return nil
	})
	return err
}

func rate(n int64, took time.Duration) float64 { return float64(n) / max(took.Seconds(), 1e-9) }
