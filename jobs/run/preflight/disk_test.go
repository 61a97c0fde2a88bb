package preflight

import (
	"errors"
	"strings"
	"testing"

	"bulkload/hfilewriter"
	"bulkload/internal/storage"
	"bulkload/jobs/base/options"
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/jobs/pipeline/targets"
)

// disk is a file system whose free space is known, or not.
type disk struct {
	storage.FS
	root string
	free int64
	err  error
}

func (d disk) Free(string) (int64, error) { return d.free, d.err }

func (d disk) URI(name string) string { return d.root + name }

// output is an output on a disk, for 1000 bytes of text, written without compression: it needs 1500 bytes.
func output(d disk) OutputDisk {
	return OutputDisk{FS: d, Dir: "/out", Target: &targets.Target{Families: []targets.TargetFamily{{Settings: hfilewriter.Settings{Compression: hfilewriter.CompressNone, Encoding: hfilewriter.EncodeNone}}}}, Text: 1000, Part: 1,
		Left: func() (int64, error) { return 0, nil }}
}

// states are what a check of disks finds.
func states(found CheckResults) (all string) {
	for _, f := range found {
		all += string(f.State) + ": " + f.Text() + "\n"
	}
	return all
}

// TestDisks: the needs of outputs on one disk are added up, existing files reduce the need, and an unknown need is no
// failure.
func TestDisks(t *testing.T) {
	t.Parallel()
	on := func(free int64) OutputDisk { return output(disk{root: "hdfs://a", free: free}) }
	written, left, alone, unplanned := on(1499), on(1499), on(1500), on(0)
	written.Written = []*hfiles.FileMeta{{Bytes: 1}}
	left.Runs, left.Left = 300, func() (int64, error) { return 301, nil }
	unplanned.Target = nil
	other := output(disk{root: "hdfs://b", free: 1500})
	for what, c := range map[string]struct {
		outputs []OutputDisk
		failed  bool
		says    string
	}{
		"enough":                    {[]OutputDisk{alone}, false, "needs about 1.5 KiB"},
		"a byte too few":            {[]OutputDisk{on(1499)}, true, "skip this check with input.check_space: false"},
		"two on one disk":           {[]OutputDisk{alone, alone}, true, "hdfs://a/out and writing HFiles to hdfs://a/out"},
		"two on two disks":          {[]OutputDisk{alone, other}, false, "hdfs://b/out"},
		"a file is written":         {[]OutputDisk{written}, false, "is free there"},
		"tasks have left something": {[]OutputDisk{left}, false, "is free there"},
		"no target":                 {[]OutputDisk{unplanned}, false, "is not known"},
	} {
		d := &Disks{Outputs: c.outputs}
		found := d.Check()
		if failed := found.Err() != nil; failed != c.failed || !strings.Contains(states(found), c.says) || !strings.Contains(states(found), "the sort fits in memory") {
			t.Errorf("%s: %s", what, states(found))
		}
		d.Unchecked = true
		if found := d.Check(); found.Err() != nil || len(found) != 1 {
			t.Errorf("%s, unchecked: %s", what, states(found))
		}
	}
}

// TestUnknownDiskSize: a run is not refused because its file system does not report its free space.
func TestUnknownDiskSize(t *testing.T) {
	t.Parallel()
	said := ""
	o, err := options.Options{Say: func(text string) { said += text }}.WithDefaults()
	if err != nil {
		t.Fatal(err)
	}
	d := &Disks{Options: o, Outputs: []OutputDisk{output(disk{root: "hdfs://a", err: errors.New("no statfs here")})}}
	if found := d.Check(); found.Err() != nil || !strings.Contains(said, "can't be determined") || !strings.Contains(states(found), "no statfs here") {
		t.Errorf("%s; said %q", states(found), said)
	}
}
