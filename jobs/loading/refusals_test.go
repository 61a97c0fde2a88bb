package loading

import (
	"strings"
	"testing"

	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/internal/test/outputtest"
	"bulkload/internal/test/testwords"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/site"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/output"
	"bulkload/jobs/spec/jobfile"
	"bulkload/load"
)

// tableOf is a table with family f and these region boundaries.
func tableOf(splits ...string) *load.Table {
	table := &load.Table{Name: "t", Families: []load.Family{{Name: "f", Compression: "NONE", DataBlockEncoding: "NONE", BloomFilter: "ROW", BlockSize: 65536}}}
	start := ""
	for _, end := range append(splits, "") {
		table.Regions = append(table.Regions, load.Region{Start: []byte(start), End: []byte(end)})
		start = end
	}
	return table
}

// localOutput is a local directory that a command has locked.
func localOutput(t *testing.T, o options.Options) *output.Dir {
	t.Helper()
	return outputtest.Lock(t, dirAt(t, storage.Local, t.TempDir(), o))
}

// dirAt is a directory of a file system that nobody has locked.
func dirAt(t *testing.T, fsys storage.FS, dir string, o options.Options) *output.Dir {
	t.Helper()
	o, err := o.WithDefaults()
	if err != nil {
		t.Fatal(err)
	}
	s, err := site.Open(o, jobfile.HBase{}, false)
	if err != nil {
		t.Fatal(err)
	}
	return output.At(fsys, dir, s, o)
}

// TestNameOfTheTable: a load of a directory knows a table in the default namespace by the name that jobs have for it.
func TestNameOfTheTable(t *testing.T) {
	t.Parallel()
	r, err := Directory(t.Context(), t.TempDir(), "default:t", options.Options{})
	if failure.CodeOf(err) != errcode.Command || r.Table != "t" {
		t.Errorf("it is %s, %v", r.Table, err)
	}
}

// TestTooManyFilesForARegion: HBase's limit is for each region and family. A file counts where it certainly has rows:
// in the regions of its first and its last row.
func TestTooManyFilesForARegion(t *testing.T) {
	t.Parallel()
	out := localOutput(t, options.Options{Properties: map[string]string{load.MaxFilesProperty: "2"}})
	for files, fits := range map[string]bool{
		"": true, "f:a-a f:a-a": true, "f:a-a f:a-a g:a-a g:a-a": true, "f:a-a f:a-a f:b-b f:b-b": true,
		"f:a-a f:a-a f:a0-a0": false, "f:a-b f:a-b": true, "f:a-b f:a-b f:b-b": false, "f:a-c f:a-c f:a-c": false, "f:a-c f:a-c f:b-b": true,
	} {
		var all []load.HFile
		for _, text := range strings.Fields(files) {
			family, rows, _ := strings.Cut(text, ":")
			first, last, _ := strings.Cut(rows, "-")
			all = append(all, load.HFile{Family: family, FirstRow: []byte(first), LastRow: []byte(last)})
		}
		err := checkCounts(out, tableOf("b", "c"), all, "")
		if fits != (err == nil) || err != nil &&
			(failure.CodeOf(err) != errcode.FilesLimit || !testwords.Names(err, "table t", "family ")) {
			t.Errorf("%s: %v", files, err)
		}
	}
}

// TestAlteredFamily: files that are not loaded must have the settings that their family has now. Without such files
// nothing is refused.
func TestAlteredFamily(t *testing.T) {
	t.Parallel()
	record, _ := loadOf(t, 1)
	table := tableOf()
	m := record.out.Manifest
	check := func(written string, loaded bool) errcode.Code {
		m.Families = map[string]string{"f": written}
		m.Files()[0].Loaded = loaded
		if err := checkSettings(record.out, table); err != nil {
			return failure.CodeOf(err)
		}
		return ""
	}
	if code := check("other settings", false); code != errcode.OutputChanged {
		t.Errorf("other settings: %s", code)
	}
	if code := check("other settings", true); code != "" {
		t.Errorf("other settings, and all files are loaded: %s", code)
	}
	table.Families = nil
	if code := check("", false); code != errcode.TableSettings {
		t.Errorf("the family is gone: %s", code)
	}
}

// TestStatesOfADirectory: a directory whose job has to go on first is refused. The run of another table's job is no
// part of this load.
func TestStatesOfADirectory(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		state, table string
		want         errcode.Code
		recorded     bool // in the manifest
	}{
		"written":                    {manifest.Written, "t", "", true},
		"loaded":                     {manifest.Loaded, "t", "", true},
		"loading":                    {manifest.Loading, "t", "", true},
		"writing":                    {manifest.Writing, "t", errcode.OutputUnfinished, false},
		"writing, of another table":  {manifest.Writing, "u", errcode.OutputUnfinished, false},
		"loading into another table": {manifest.Loading, "u", errcode.OutputUnfinished, false},
		"loaded into another table":  {manifest.Loaded, "u", "", false},
		"written for another table":  {manifest.Written, "u", "", false},
	} {
		command := commandIn(t, "t")
		m, err := command.checkState(&manifest.Manifest{State: c.state, Run: jobfile.RunInfo{Table: c.table}})
		if err != nil && failure.CodeOf(err) != c.want || err == nil && c.want != "" || (m != nil) != c.recorded {
			t.Errorf("%s: %v, recorded in its manifest: %t", name, err, m != nil)
		}
	}
}
