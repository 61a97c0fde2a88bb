package jobs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"bulkload/hfilewriter"
	"bulkload/ingest"
	"bulkload/load"

	"golang.org/x/sync/errgroup"
)

// PlanReport says what a run would do.
type PlanReport struct {
	Outcome
	Run        RunInfo         `json:"run"`
	Sample     bool            `json:"sample"` // not all of the input was read
	InputFiles int             `json:"input_files"`
	InputBytes int64           `json:"input_bytes"`
	Rows       int64           `json:"rows"`
	Rejected   int64           `json:"rows_rejected"`
	Cells      int64           `json:"cells"`
	RawBytes   int64           `json:"raw_bytes"` // KeyValue lengths, before encoding and compression
	KeyBytes   KeyWidth        `json:"key_bytes"`
	Regions    []PlannedRegion `json:"regions"`
	Skew       float64         `json:"skew"` // largest region over the mean, by raw bytes
	TableFound bool            `json:"table_found"`
	Created    bool            `json:"created"`
	Splits     []string        `json:"splits"`
	Create     string          `json:"create"` // as HBase's shell takes it
	Notes      []string        `json:"notes"`
	Outputs    []*PlanReport   `json:"outputs,omitempty"` // of a job with several: what stands above is theirs then
}

// KeyWidth is the width of the row keys; Max is -1 where the expression does not bound it.
type KeyWidth struct {
	Min int `json:"min"`
	Max int `json:"max"`
}

// PlannedRegion is a region's share of the input.
type PlannedRegion struct {
	Region   int    `json:"region"`
	Start    string `json:"start"`
	End      string `json:"end"`
	Rows     int64  `json:"rows"`
	RawBytes int64  `json:"raw_bytes"`
}

// Plan reads the input, or the first sample rows of it where sample is above 0, and changes nothing; with create it
// makes the table with the splits and settings that it shows.
func Plan(ctx context.Context, j *Job, o Options, sample int64, create bool) (report *PlanReport, err error) {
	report = &PlanReport{Outcome: newOutcome(), Run: j.runInfo(),
		Regions: []PlannedRegion{}, Splits: []string{}, Notes: []string{}}
	if o, err = o.withDefaults(); err != nil {
		return report, err
	}
	if j.Outputs != nil {
		return report, report.planEach(ctx, j, o, sample, create)
	}
	p := &planning{job: j, options: o, report: report, sample: sample}
	err = errors.Join(p.run(ctx, create), p.close())
	if err == nil {
		report.Status = StatusDone
	} else if ctx.Err() != nil {
		err = &kindError{Interrupted, err}
	}
	return report, err
}

// planEach plans several outputs, one after the other.
func (r *PlanReport) planEach(ctx context.Context, j *Job, o Options, sample int64, create bool) error {
	for _, out := range j.Outputs {
		of, err := Plan(ctx, out, o, sample, create)
		r.Outputs = append(r.Outputs, of)
		if err != nil {
			return fmt.Errorf("table %s: %w", out.Table, err)
		}
	}
	r.Status = StatusDone
	return nil
}

// planning is one Plan.
type planning struct {
	job     *Job
	options Options
	report  *PlanReport
	sample  int64
	site    *site
	source  *source
	cluster *load.Cluster
	target  *target
	taken   atomic.Int64 // rows of a sample
	meter   *meter
}

func (p *planning) run(ctx context.Context, create bool) (err error) {
	j := p.job
	live := j.Regions.From == "table" || create
	if p.site, err = openSite(p.options, j.HBase.Conf, live || j.remote(Options{NoLoad: true})); err != nil {
		return err
	}
	if p.source, err = openSource(j, p.site); err != nil {
		return err
	}
	if live {
		if p.cluster, err = p.site.connect(ctx); err != nil {
			return err
		}
	}
	if err := p.planTable(ctx, create); err != nil {
		return err
	}
	if err := p.measure(ctx); err != nil {
		return err
	}
	p.note()
	if create {
		return p.create(ctx)
	}
	return nil
}

func (p *planning) close() error {
	var errs []error
	if p.cluster != nil {
		errs = append(errs, p.cluster.Close())
	}
	if p.source != nil {
		errs = append(errs, p.source.close())
	}
	return errors.Join(errs...)
}

// planTable takes the live table if there is one, else what the job suggests.
func (p *planning) planTable(ctx context.Context, create bool) error {
	j := p.job
	var table *load.Table
	if p.cluster != nil {
		var err error
		table, err = p.cluster.Table(ctx, j.Table)
		p.report.TableFound = err == nil
		if err != nil && !errors.Is(err, load.ErrNotFound) {
			return fmt.Errorf("look up table %s: %w", j.Table, err)
		}
	}
	if table != nil && create {
		return refusef("table %s exists already; plan without --create shows its regions", j.Table)
	}
	suggested := *j
	if table == nil && j.Regions.From == "table" {
		suggested.Regions = Regions{From: "splits", Splits: p.suggestedSplits()}
		suggested.HFile = suggestedHFile(j.HFile)
		p.report.Notes = append(p.report.Notes, fmt.Sprintf("table %s does not exist yet; regions and settings are suggestions", j.Table))
	}
	var err error
	p.target, err = planTarget(&suggested, p.site, table)
	return err
}

// suggestedSplits begins a region with every salt.
func (p *planning) suggestedSplits() [][]byte {
	salts := p.job.RowKey.Salts()
	if len(salts) == 0 {
		return nil
	}
	return salts[1:]
}

// suggestedHFile is what suits text that is read by a key prefix, where the job does not say.
func suggestedHFile(h HFile) HFile {
	if !h.Given["compression"] {
		h.Settings.Compression = hfilewriter.CompressSnappy
	}
	if !h.Given["encoding"] {
		h.Settings.Encoding = hfilewriter.EncodeFastDiff
	}
	return h
}

// share is what one goroutine found in one region.
type share struct{ rows, cells, raw int64 }

// measure reads the records and counts what they become, region by region.
func (p *planning) measure(ctx context.Context) error {
	regions := p.target.regions
	p.meter = &meter{watch: p.options.Watch, phase: "plan", total: p.source.bytes, bytes: true}
	var mu sync.Mutex
	total := make([]share, regions.Len())
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(workers())
	if p.sample > 0 {
		group.SetLimit(1) // the first rows, in order
	}
	splits, err := p.job.Input.Form.Splits(p.source.fsys, p.source.files, splitSize)
	if err != nil {
		return fmt.Errorf("look into the input: %w", err)
	}
	for _, split := range splits {
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if p.sample > 0 && p.taken.Load() >= p.sample {
				p.report.Sample = true // splits come one at a time where a sample is taken
				return nil
			}
			part, rejected, err := p.measureSplit(ctx, split)
			mu.Lock()
			defer mu.Unlock()
			p.report.Rejected += rejected
			for i, s := range part {
				total[i].rows += s.rows
				total[i].cells += s.cells
				total[i].raw += s.raw
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	p.fill(total)
	return nil
}

func (p *planning) measureSplit(ctx context.Context, split ingest.Split) (part []share, rejected int64, err error) {
	part = make([]share, p.target.regions.Len())
	rejects := &countedRejects{}
	records := newRecordReader(p.job.Input.Form, p.source.fsys, rejects, p.meter)
	keys := newRecordKey(p.job)
	var row []byte
	_, err = records.readSplit(ctx, split, func(r *ingest.Record) error {
		if p.sample > 0 && p.taken.Add(1) > p.sample {
			p.report.Sample = true
			return errEnough
		}
		key, err := keys.append(row[:0], r)
		if err != nil {
			return records.reject(err)
		}
		row = key
		part[p.target.regions.Find(row)].add(p.target.layout, row, r.Fields)
		return nil
	})
	return part, rejects.Count(), err
}

// keyValueOverhead is a KeyValue's length without row, family, qualifier and value (KeyValue.KEYVALUE_INFRASTRUCTURE_SIZE
// and the key's own fields).
const keyValueOverhead = 4 + 4 + 2 + 1 + 8 + 1

// add counts one record.
func (s *share) add(l *layout, row []byte, fields [][]byte) {
	s.rows++
	for _, f := range l.families {
		for i := f.first; i < f.last; i++ {
			if value := fields[l.sources[i]]; value != nil {
				s.cells++
				s.raw += int64(keyValueOverhead + len(row) + len(f.name) + len(f.qualifiers[i-f.first]) + len(value))
			}
		}
	}
}

// fill turns the shares into the report.
func (p *planning) fill(total []share) {
	r, regions := p.report, p.target.regions
	r.InputFiles, r.InputBytes = len(p.source.files), p.source.bytes
	width := p.job.RowKey.Width()
	r.KeyBytes = KeyWidth{width.Min, width.Max}
	r.Splits = printables(p.target.splits)
	r.Create = p.createStatement()
	var largest int64
	for i, s := range total {
		r.Regions = append(r.Regions, PlannedRegion{i, Printable(regions.Start(i)), Printable(regions.End(i)), s.rows, s.raw})
		r.Rows += s.rows
		r.Cells += s.cells
		r.RawBytes += s.raw
		largest = max(largest, s.raw)
	}
	if r.RawBytes > 0 {
		r.Skew = float64(largest) * float64(len(total)) / float64(r.RawBytes)
	}
}

// createStatement is the table as HBase's shell creates it.
func (p *planning) createStatement() string {
	var parts []string
	for _, f := range p.target.families {
		parts = append(parts, fmt.Sprintf("{NAME => '%s', COMPRESSION => '%v', DATA_BLOCK_ENCODING => '%v', BLOOMFILTER => '%v', BLOCKSIZE => '%d'}",
			f.name, f.settings.Compression, f.settings.Encoding, f.settings.Bloom, f.settings.BlockSize))
	}
	if len(p.target.splits) > 0 {
		var splits []string
		for _, s := range p.target.splits {
			splits = append(splits, shellText(s))
		}
		parts = append(parts, "{SPLITS => ["+strings.Join(splits, ", ")+"]}")
	}
	return fmt.Sprintf("create '%s', %s", p.job.Table, strings.Join(parts, ", "))
}

// shellText is a Ruby literal: in single quotes where it is plain, else in double quotes, where \xHH means a byte.
func shellText(b []byte) string {
	text := Printable(b)
	if !strings.ContainsAny(text, `\'`) {
		return "'" + text + "'"
	}
	return `"` + strings.NewReplacer(`"`, `\"`, `#`, `\#`).Replace(text) + `"`
}

// note tells what an operator should know before the first run.
func (p *planning) note() {
	r, j := p.report, p.job
	if j.Timestamp > 0 && j.Timestamp%86_400_000 == 0 {
		r.Notes = append(r.Notes, "the cells' timestamp is midnight: a Put later that day wins over a loaded cell of the same row and column")
	}
	if r.KeyBytes.Min != r.KeyBytes.Max {
		r.Notes = append(r.Notes, "row keys are not all of one width")
	}
	for _, region := range r.Regions {
		if region.Rows == 0 && r.Rows > 0 {
			r.Notes = append(r.Notes, fmt.Sprintf("region %d [%s, %s) gets no row", region.Region, region.Start, region.End))
		}
	}
}

// create makes the table as it was planned.
func (p *planning) create(ctx context.Context) error {
	var families []load.Family
	for _, f := range p.target.families {
		families = append(families, load.Family{Name: f.name, Compression: f.settings.Compression.String(),
			DataBlockEncoding: f.settings.Encoding.String(), BloomFilter: f.settings.Bloom.String(), BlockSize: f.settings.BlockSize})
	}
	if err := p.cluster.Create(ctx, p.job.Table, families, p.target.splits); err != nil {
		return fmt.Errorf("create table %s: %w", p.job.Table, err)
	}
	p.report.Created = true
	return nil
}
