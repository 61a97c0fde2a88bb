package jobs

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"bulkload/hfilewriter"
	"bulkload/internal/printable"
	"bulkload/jobs/failure"
	"bulkload/jobs/jobfile"
	"bulkload/load"
	"bulkload/partition"
)

// target is the table as files are made for it: its boundaries, and each family's settings.
type target struct {
	splits   [][]byte
	regions  *partition.Regions
	sorted   *partition.Regions // the same as the sort's keys have them
	layout   *layout
	families []targetFamily // as in layout
	maxSize  int64
	maxFiles int64 // of a region and family
}

type targetFamily struct {
	name     string
	settings hfilewriter.Settings
}

// planTarget takes boundaries and settings from the job or from the live table, and refuses what can't be loaded. table
// is nil where no cluster is asked.
func planTarget(j *jobfile.Job, s *site, table *load.Table) (*target, error) {
	t, splits := &target{}, j.Regions.Splits
	if j.Regions.From == "table" {
		splits = table.Splits()
	}
	err := t.setSplits(splits, j.Wide != nil)
	if err != nil {
		return nil, err
	}
	if salts := j.RowKey.Salts(); salts != nil {
		if err := t.regions.CheckSalts(salts); err != nil {
			return nil, failure.Refusef("rowkey %s does not suit the region boundaries: %w", j.RowKey, err)
		}
	}
	if t.layout, err = newLayout(j); err != nil {
		return nil, err
	}
	if t.maxSize, err = maxSize(j, s); err != nil {
		return nil, err
	}
	if t.maxFiles, err = s.maxFiles(); err != nil {
		return nil, err
	}
	for _, f := range t.layout.families {
		settings, err := familySettings(j, f.name, table)
		if err != nil {
			return nil, err
		}
		if err := s.adjust(&settings); err != nil {
			return nil, err
		}
		if err := settings.Check(); err != nil {
			return nil, failure.Refusef("the settings of table %s, family %s, with the properties of the site files: %w", j.Table, f.name, err)
		}
		t.families = append(t.families, targetFamily{f.name, settings})
	}
	if table != nil && j.Regions.From != "table" {
		err = checkBoundaries(t.splits, table)
	}
	return t, err
}

// setSplits sets the boundaries: of rows, and of the sort's keys, which in a wide table are more than rows.
func (t *target) setSplits(splits [][]byte, wide bool) (err error) {
	t.splits = splits
	if t.regions, err = partition.NewRegions(splits); err != nil {
		return failure.Refusef("region boundaries: %w", err)
	}
	if t.sorted = t.regions; !wide {
		return nil
	}
	of := make([][]byte, len(splits))
	for i, s := range splits {
		of[i] = partition.AppendRow(nil, s)
	}
	if t.sorted, err = partition.NewRegions(of); err != nil {
		return failure.Refusef("region boundaries of a wide table: %w", err)
	}
	return nil
}

// splitKey takes a key of the sort apart: the row, a view of it where it has no zero byte, and what the record's qualifiers
// begin with.
func (t *target) splitKey(key []byte) (row, named []byte, err error) {
	if !t.layout.wide {
		return key, nil, nil
	}
	row, named, ok := partition.CutRow(nil, key)
	if !ok {
		return nil, nil, errPayload
	}
	return row, named, nil
}

const defaultMaxSize = 10 << 30 // hbase.hregion.max.filesize in hbase-default.xml

func maxSize(j *jobfile.Job, s *site) (int64, error) {
	if j.HFile.MaxSize > 0 {
		return j.HFile.MaxSize, nil
	}
	return s.maxSize(defaultMaxSize)
}

// liveTable looks the table up; nil without a cluster.
func (w *workplace) liveTable(ctx context.Context) (*load.Table, error) {
	if w.cluster == nil {
		return nil, nil
	}
	return lookUp(ctx, w.cluster, w.job.Table)
}

// checkPlace refuses an output from which the load would be refused in the end.
func (w *workplace) checkPlace(ctx context.Context, table *load.Table) error {
	if table == nil || !w.job.Load || w.options.NoLoad {
		return nil
	}
	var families []string
	for _, f := range w.target.families {
		families = append(families, f.name)
	}
	if err := w.cluster.CheckRead(ctx, table, families); err != nil {
		return err
	}
	return w.cluster.CheckPlace(ctx, w.fsys, table, w.fsys.URI(w.dir))
}

func lookUp(ctx context.Context, c *load.Cluster, name string) (*load.Table, error) {
	table, err := c.Table(ctx, name)
	if err != nil {
		return nil, failure.New(kindOfLookup(err), fmt.Errorf("look up table %s: %w", name, err))
	}
	return table, nil
}

// kindOfLookup: whatever a cluster refuses to tell of a table, nothing was changed yet.
func kindOfLookup(err error) failure.Kind {
	if kind := failure.KindOf(err); kind != failure.Failed {
		return kind
	}
	return failure.Refused
}

// familySettings are a family's, from the live table if there is one, else from the job.
func familySettings(j *jobfile.Job, name string, table *load.Table) (hfilewriter.Settings, error) {
	if table == nil {
		return j.HFile.Settings, nil
	}
	i := slices.IndexFunc(table.Families, func(f load.Family) bool { return f.Name == name })
	if i < 0 {
		var names []string
		for _, f := range table.Families {
			names = append(names, f.Name)
		}
		return hfilewriter.Settings{}, failure.Refusef("table %s has no family %s; it has %s", table.Name, name, strings.Join(names, ", "))
	}
	live, err := liveSettings(&table.Families[i])
	if err != nil {
		return live, failure.Refusef("table %s, family %s: %w", table.Name, name, err)
	}
	return live, contradictions(j, table.Name, name, live)
}

// contradictions compares what the job file says of a family with what the table has.
func contradictions(j *jobfile.Job, table, family string, live hfilewriter.Settings) error {
	said := j.HFile.Settings
	for _, c := range []struct {
		key        string
		said, live any
	}{
		{"compression", said.Compression, live.Compression},
		{"encoding", said.Encoding, live.Encoding},
		{"bloom", said.Bloom, live.Bloom},
		{"block_size", said.BlockSize, live.BlockSize},
	} {
		if j.HFile.Given[c.key] && c.said != c.live {
			return failure.Refusef("%s: hfile.%s is %v, but table %s has %v for family %s; change the one or the other, or leave it out",
				j.Path, c.key, c.said, table, c.live, family)
		}
	}
	return nil
}

// liveSettings translates a family's settings.
func liveSettings(f *load.Family) (hfilewriter.Settings, error) {
	var s hfilewriter.Settings
	var err error
	if s.Compression, err = hfilewriter.ParseCompression(f.Compression); err != nil {
		return s, err
	}
	if s.Encoding, err = hfilewriter.ParseEncoding(f.DataBlockEncoding); err != nil {
		return s, err
	}
	if s.Bloom, err = hfilewriter.ParseBloom(f.BloomFilter); err != nil {
		return s, err
	}
	if s.Bloom == hfilewriter.BloomRowPrefix {
		text := f.Attributes["RowPrefixBloomFilter.prefix_length"]
		if s.BloomPrefix, err = strconv.Atoi(text); err != nil {
			return s, fmt.Errorf("RowPrefixBloomFilter.prefix_length is %q, not a number", text)
		}
	}
	s.BlockSize = f.BlockSize
	return s, nil
}

// checkBoundaries wants every live boundary among the job's: then no file crosses one.
func checkBoundaries(splits [][]byte, table *load.Table) error {
	for _, live := range table.Splits() {
		if !slices.ContainsFunc(splits, func(s []byte) bool { return bytes.Equal(s, live) }) {
			return failure.Refusef("table %s has a region boundary at %s, which regions of the job file does not have; use regions: {from: table}",
				table.Name, printable.Bytes(live))
		}
	}
	return nil
}
