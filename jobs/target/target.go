// Package target is the table as the files are made for it: its region boundaries, from the job, the table or the
// input, and each family's settings.
package target

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"bulkload/hfilewriter"
	"bulkload/internal/bytesize"
	"bulkload/internal/errcode"
	"bulkload/internal/printable"
	"bulkload/jobs/entry"
	"bulkload/jobs/jobfile"
	"bulkload/jobs/site"
	"bulkload/load"
	"bulkload/partition"
	"bulkload/sortentry"
)

// Target is the table as the files are made for it: its boundaries, and each family's settings.
type Target struct {
	Splits   [][]byte
	Regions  *partition.Regions
	Sorted   *partition.Regions // the same boundaries in the form of the sort's keys
	Layout   *entry.Layout
	Families []Family // as in layout
	MaxSize  int64
	MaxFiles int64 // of a region and family
}

// Family is a family of the table.
type Family struct {
	Name     string
	Settings hfilewriter.Settings
}

// New combines boundaries and settings from the job or from the live table, and refuses what can't be loaded. table
// is nil if there is no cluster.
func New(j *jobfile.Job, s *site.Site, table *load.Table) (*Target, error) {
	t, splits := &Target{}, j.Regions.Splits
	if j.Regions.From == "table" {
		splits = table.Splits()
	}
	err := t.SetSplits(splits, j.Wide != nil)
	if err != nil {
		return nil, err
	}
	if salts := j.RowKey.Salts(); salts != nil {
		if err := t.Regions.CheckSalts(salts); err != nil {
			return nil, errcode.Salts.Errorf("rowkey %s does not suit the region boundaries: %w", j.RowKey, err)
		}
	}
	if t.Layout, err = entry.NewLayout(j); err != nil {
		return nil, err
	}
	if t.MaxSize, err = maxSize(j, s); err != nil {
		return nil, err
	}
	if t.MaxFiles, err = s.MaxFiles(); err != nil {
		return nil, err
	}
	for _, f := range t.Layout.Families {
		settings, err := familySettings(j, f.Name, table)
		if err != nil {
			return nil, err
		}
		if err := s.Adjust(&settings); err != nil {
			return nil, err
		}
		if err := settings.Check(); err != nil {
			return nil, errcode.HFileSettings.Errorf("the settings of table %s, family %s, with the properties of the site files: %w", j.Table, f.Name, err)
		}
		t.Families = append(t.Families, Family{f.Name, settings})
	}
	if table != nil && j.Regions.From != "table" {
		err = checkBoundaries(t.Splits, table)
	}
	return t, err
}

// SetSplits sets the boundaries: those of rows, and those of the sort's keys, which in a wide table are more than
// rows.
func (t *Target) SetSplits(splits [][]byte, wide bool) (err error) {
	t.Splits = splits
	if t.Regions, err = partition.NewRegions(splits); err != nil {
		return errcode.Regions.Errorf("region boundaries: %w", err)
	}
	if t.Sorted = t.Regions; !wide {
		return nil
	}
	of := make([][]byte, len(splits))
	for i, s := range splits {
		of[i] = sortentry.AppendRow(nil, s)
	}
	if t.Sorted, err = partition.NewRegions(of); err != nil {
		return errcode.Regions.Errorf("region boundaries of a wide table: %w", err)
	}
	return nil
}

// SplitKey splits a key of the sort: the row, a view of the key if it has no zero byte, and the beginning of the
// record's qualifiers.
func (t *Target) SplitKey(key []byte) (row, named []byte, err error) {
	if !t.Layout.Wide {
		return key, nil, nil
	}
	row, named, ok := sortentry.CutRow(nil, key)
	if !ok {
		return nil, nil, entry.ErrPayload
	}
	return row, named, nil
}

// DefaultMaxSize is hbase.hregion.max.filesize in hbase-default.xml.
const DefaultMaxSize = 10 << 30

func maxSize(j *jobfile.Job, s *site.Site) (int64, error) {
	if j.HFile.MaxSize > 0 {
		return j.HFile.MaxSize, nil
	}
	return s.MaxSize(DefaultMaxSize)
}

// familySettings are a family's settings, from the live table if there is one, otherwise from the job.
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
		return hfilewriter.Settings{}, errcode.TableFamily.Errorf("table %s has no family %s; it has %s", table.Name, name, strings.Join(names, ", "))
	}
	live, err := LiveSettings(&table.Families[i])
	if err != nil {
		return live, errcode.TableSettings.Errorf("table %s, family %s: %w", table.Name, name, err)
	}
	return live, contradictions(j, table.Name, name, live)
}

// contradictions compares a family's settings in the job file with the table's.
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
			return errcode.TableSettings.Errorf("%s: hfile.%s is %v, but table %s has %v for family %s; change one of them, or leave it out of the job file",
				j.Path, c.key, c.said, table, c.live, family)
		}
	}
	return nil
}

// LiveSettings converts a family's settings.
func LiveSettings(f *load.Family) (hfilewriter.Settings, error) {
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

// checkBoundaries checks that every live boundary is one of the job's: then no file crosses one.
func checkBoundaries(splits [][]byte, table *load.Table) error {
	for _, live := range table.Splits() {
		if _, found := slices.BinarySearchFunc(splits, live, bytes.Compare); !found {
			return errcode.TableRegions.Errorf("table %s has a region boundary at %s, which the job file's regions lack; use regions: {from: table}",
				table.Name, printable.Bytes(live))
		}
	}
	return nil
}

// FileLimitHelp is the advice for too many files: raw is the largest number of a family's KeyValue bytes in a region.
func (t *Target) FileLimitHelp(raw int64) string {
	return fmt.Sprintf("%s is %d. Set hfile.max_size, which is %s, to %s or more, raise the property (in the site files, or with -D), or split the region",
		load.MaxFilesProperty, t.MaxFiles, bytesize.Format(t.MaxSize), bytesize.Format(raw/t.MaxFiles+1))
}

// KeyValueOverhead is a KeyValue's length without row, family, qualifier and value (KeyValue.KEYVALUE_INFRASTRUCTURE_SIZE
// and the key's own fields).
const KeyValueOverhead = 4 + 4 + 2 + 1 + 8 + 1

// KeySampleBytes is how many bytes of row keys say where regions begin.
const KeySampleBytes = 8 << 20
