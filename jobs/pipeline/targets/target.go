// Package targets is the table as the files are made for it: its region boundaries, from the job, the table or the
// input, and each family's settings.
package targets

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
	"bulkload/jobs/env/site"
	"bulkload/jobs/pipeline/entry"
	"bulkload/jobs/spec/jobfile"
	"bulkload/load"
	"bulkload/partition"
	"bulkload/sortentry"
)

// Target is the table as the files are made for it: its boundaries, and each family's settings.
type Target struct {
	Splits   [][]byte
	Regions  *partition.Regions
	Sorted   *partition.Regions // the same boundaries in the form of the sort's keys
	Layout   *entry.RowLayout
	Families []TargetFamily // as in layout
	MaxSize  int64
	MaxFiles int64 // of a region and family
}

// TargetFamily is a family of the table.
type TargetFamily struct {
	Name     string
	Settings hfilewriter.Settings
}

// Problem is a reason why no files can be made for a table.
type Problem struct {
	Check string // what is wrong: one of the constants below
	Err   error
}

// The values of Problem.Check.
const (
	CheckFamilies   = "families"   // the table's families and their settings
	CheckBoundaries = "boundaries" // the region boundaries and the row key's salts
	CheckSettings   = "settings"   // the properties of the site files
)

// New combines boundaries and settings from the job or from the live table, and refuses what can't be loaded. table
// is nil if there is no cluster.
func New(j *jobfile.Job, s *site.Site, table *load.Table) (*Target, error) {
	t, problems := Examine(j, s, table)
	if len(problems) > 0 {
		return nil, problems[0].Err
	}
	return t, nil
}

// Examine is New, but continues after a problem and returns all of them. Without problems the target can be used. If a
// table's regions are unknown (nil), the boundaries are not examined.
func Examine(j *jobfile.Job, s *site.Site, table *load.Table) (*Target, []Problem) {
	t := &Target{}
	var problems []Problem
	add := func(check string, err error) {
		if err != nil {
			problems = append(problems, Problem{check, err})
		}
	}
	add(CheckBoundaries, t.setBoundaries(j, table))
	var err error
	if t.Layout, err = entry.NewLayout(j); err != nil {
		return t, append(problems, Problem{CheckFamilies, err})
	}
	t.MaxSize, err = maxSize(j, s)
	add(CheckSettings, err)
	t.MaxFiles, err = s.MaxFiles()
	add(CheckSettings, err)
	for _, f := range t.Layout.Families {
		settings, err := familySettings(j, f.Name, table)
		if err != nil {
			add(CheckFamilies, err)
			continue
		}
		if err := s.Adjust(&settings); err != nil {
			add(CheckSettings, err)
			continue
		}
		if err := settings.Check(); err != nil {
			add(CheckFamilies, errcode.TableSettings.Errorf(
				"the settings of table %s, family %s, with the properties of the site files: %w", j.Table, f.Name, err))
		}
		if err := settings.ReadableBy(j.HBaseVersion); err != nil {
			add(CheckFamilies, errcode.TableSettings.Errorf("%s: hfile.hbase_version, family %s: %w", j.Path, f.Name, err))
		}
		t.Families = append(t.Families, TargetFamily{f.Name, settings})
	}
	return t, problems
}

// Reading makes the target of a job whose rows are only compared with its live table. The boundaries are the table's,
// whatever the job says; without a table (nil) there are none. Nothing is written, so salts may share a region, and the
// settings of the families don't matter.
func Reading(j *jobfile.Job, s *site.Site, table *load.Table) (t *Target, err error) {
	t = &Target{}
	var splits [][]byte
	if table != nil {
		splits = table.Splits()
	}
	if err = t.SetSplits(splits, j.Wide != nil); err == nil {
		t.Layout, err = entry.NewLayout(j)
	}
	if err == nil {
		t.MaxSize, err = maxSize(j, s)
	}
	if err == nil {
		t.MaxFiles, err = s.MaxFiles()
	}
	return t, err
}

// setBoundaries sets the region boundaries of the job or of the live table, and compares them with the salts.
func (t *Target) setBoundaries(j *jobfile.Job, table *load.Table) error {
	splits := j.Regions.Splits
	if j.Regions.From == "table" {
		if table.Regions == nil {
			return nil
		}
		splits = table.Splits()
	}
	if err := t.SetSplits(splits, j.Wide != nil); err != nil {
		return err
	}
	if salts := j.RowKey.Salts(); salts != nil {
		if err := t.Regions.CheckSalts(salts); err != nil {
			return errcode.Regions.Errorf("rowkey %s does not suit the region boundaries: %w; %s",
				j.RowKey, err, atSalts(j, salts))
		}
	}
	return nil
}

// saltsShown is how many salts the advice names.
const saltsShown = 20

// atSalts says what to change in the source of the job's boundaries: every salt but the first must be one.
func atSalts(j *jobfile.Job, salts [][]byte) string {
	var shown []string
	for _, salt := range salts[1:min(len(salts), saltsShown+1)] {
		shown = append(shown, "'"+printable.Bytes(salt)+"'")
	}
	all := strings.Join(shown, ", ")
	if len(salts) > saltsShown+1 {
		all += ", …"
	}
	switch j.Regions.From {
	case "splits":
		return "list each salt but the first: splits: [" + all + "]"
	case "file":
		return "the file needs a line for each salt but the first: " + all
	}
	return "split the table at each salt but the first: " + all
}

// SetSplits sets the boundaries of rows, and those of the sort's keys, which in a wide table are longer than rows.
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

// familySettings returns a family's settings, from the live table if there is one, otherwise from the job.
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
		return hfilewriter.Settings{}, errcode.TableSettings.Errorf("table %s has no family %s; it has %s", table.Name,
			name, strings.Join(names, ", "))
	}
	live, err := liveSettings(&table.Families[i])
	if err != nil {
		return live, errcode.TableSettings.Errorf("table %s, family %s: %w", table.Name, name, err)
	}
	return live, contradictions(j, table.Name, name, live)
}

// contradictions compares a family's settings in the job file with the table's.
func contradictions(j *jobfile.Job, table, family string, live hfilewriter.Settings) error {
	said := j.HFile.Settings
	var differ []string
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
			differ = append(differ, fmt.Sprintf("hfile.%s is %v, but table %s has %v for family %s", c.key,
				c.said, table, c.live, family))
		}
	}
	if differ == nil {
		return nil
	}
	return errcode.TableSettings.Errorf("%s: %s; change one of them, or leave it out of the job file",
		j.Path, strings.Join(differ, "; "))
}

// liveSettings converts a family's settings.
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

// TableSettings returns the settings that a new file of a family must have now: the table's, and those of the site
// files for all files. If the table no longer has the family, the error has errcode.TableSettings.
func TableSettings(s *site.Site, table *load.Table, family string) (hfilewriter.Settings, error) {
	i := slices.IndexFunc(table.Families, func(f load.Family) bool { return f.Name == family })
	if i < 0 {
		return hfilewriter.Settings{}, errcode.TableSettings.Errorf("table %s no longer has family %s", table.Name, family)
	}
	settings, err := liveSettings(&table.Families[i])
	if err == nil {
		err = s.Adjust(&settings)
	}
	if err == nil {
		err = settings.Check()
	}
	if err != nil {
		return settings, errcode.TableSettings.Errorf("table %s, family %s: %w", table.Name, family, err)
	}
	return settings, nil
}

// Further lists the table's boundaries that the files will not have because the job names others. The load cuts the
// files there.
func (t *Target) Further(table *load.Table) (further []string) {
	for _, live := range table.Splits() {
		if _, found := slices.BinarySearchFunc(t.Splits, live, bytes.Compare); !found {
			further = append(further, printable.Bytes(live))
		}
	}
	return further
}

// FileLimitHelp returns the advice for too many files. raw is the largest number of a family's KeyValue bytes in a
// region.
func (t *Target) FileLimitHelp(raw int64) string {
	return fmt.Sprintf("%s is %d. Set hfile.max_size, which is %s, to %s or more, raise the property (in the site "+
		"files, or with -D), or split the region",
		load.MaxFilesProperty, t.MaxFiles, bytesize.Format(t.MaxSize), bytesize.Format(raw/t.MaxFiles+1))
}

// KeyValueOverhead is a KeyValue's length without row, family, qualifier and value
// (KeyValue.KEYVALUE_INFRASTRUCTURE_SIZE and the key's own fields).
const KeyValueOverhead = 4 + 4 + 2 + 1 + 8 + 1

// KeySampleBytes is how many bytes of row keys are sampled to find the boundaries of regions.
const KeySampleBytes = 8 << 20
