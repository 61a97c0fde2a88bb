package preflight

import (
	"fmt"

	"bulkload/hfilewriter"
	"bulkload/internal/bytesize"
	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/jobs/base/options"
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/jobs/pipeline/sorting"
	"bulkload/jobs/pipeline/targets"

	"golang.org/x/sys/unix"
)

// Disks are the disks that a run fills: that of the work folder and those of its outputs. The needs are estimated from
// the size of the input, rather too low than too high, as is the decompressed size of a file: see
// compressed.ExpansionFactor.
type Disks struct {
	Options   options.Options
	Unchecked bool  // the disks are not checked: input.check_space is false
	Spill     int64 // about how many bytes the sort will still spill to the work folder
	Outputs   []OutputDisk
}

// OutputDisk is an output that is to be written.
type OutputDisk struct {
	FS      storage.FS
	Dir     string
	Target  *targets.Target    // nil: the input decides it
	Text    int64              // bytes of the input's text
	Part    float64            // about the output's share of them
	Written []*hfiles.FileMeta // files of the run that exist
	// Runs is about how many bytes of sorted runs tasks leave in the output. Left returns how many bytes they have left
	// there so far.
	Runs int64
	Left func() (int64, error)
}

// The names of the disk checks: for the disks of outputs, and for the work folder's if that is another one.
const (
	diskCheck = "disk"
	workCheck = "work disk"
)

// Check compares what a run needs on its disks with what is free there.
func (d *Disks) Check() CheckResults {
	sorting.WarnOfSpillsInMemory(d.Options, d.Spill)
	if d.Unchecked {
		return CheckResults{{Name: diskCheck, State: Unknown, Detail: "not checked (input.check_space: false)"}}
	}
	spill, err := d.spill()
	if err != nil {
		return CheckResults{Fail(workCheck, err, "")}
	}
	var found CheckResults
	var needs []diskNeed
	if spill.need > 0 {
		needs = append(needs, spill)
	} else {
		found = append(found, CheckResult{Name: workCheck, State: OK, Detail: "the sort fits in memory: nothing is spilled"})
	}
	for i := range d.Outputs {
		output, err := d.Outputs[i].need(d.Options)
		if err != nil {
			found = append(found, CheckResult{Name: diskCheck, State: Unknown, Detail: err.Error()})
			continue
		}
		needs = joinNeeds(needs, output)
	}
	for _, n := range needs {
		found = append(found, n.finding())
	}
	return found
}

// spill returns the need for sorted runs in the work folder. If nothing is spilled, it does not examine the folder.
func (d *Disks) spill() (spill diskNeed, err error) {
	spill = diskNeed{check: workCheck, what: "spilling sorted runs to", fsys: storage.Local, need: d.Spill}
	if spill.need == 0 {
		return spill, nil
	}
	if spill.where, err = sorting.WorkFolder(d.Options.WorkDir); err != nil {
		return spill, errcode.Folder.Errorf("the sort will spill about %s, and --work-dir %s can't be used: %w",
			bytesize.Format(spill.need), d.Options.WorkDir, err)
	}
	spill.dir = spill.where
	if spill.free, err = storage.Local.Free(spill.where); err != nil {
		return spill, errcode.Folder.Errorf("look up the free space of --work-dir: %w", err)
	}
	return spill, nil
}

// need estimates the space that the output still needs. It returns an error if that, or the free space, is unknown.
func (o *OutputDisk) need(log options.Options) (diskNeed, error) {
	need := diskNeed{check: diskCheck, what: "writing HFiles to", where: o.FS.URI(o.Dir), fsys: o.FS, dir: o.Dir}
	if o.Target == nil {
		return need, fmt.Errorf("how much space the output %s needs is not known", need.where)
	}
	left, err := o.Left()
	if err != nil {
		return need, fmt.Errorf("how much space the output %s needs is not known: %w", need.where, err)
	}
	// What tasks have left is already a part of the need, or is deleted before anything is written.
	need.need = max(0, o.Files(o.Target)+o.Runs-left)
	if need.free, err = o.FS.Free(o.Dir); err != nil {
		log.Warnf("the free space of the output can't be determined: %v", err)
		return need, fmt.Errorf("the free space of the output %s can't be determined: %w", need.where, err)
	}
	return need, nil
}

// Files estimates how many bytes of HFiles are not written yet, with the settings of a target.
func (o *OutputDisk) Files(t *targets.Target) int64 {
	least := OutputRatio(&t.Families[0].Settings)
	for i := range t.Families {
		least = min(least, OutputRatio(&t.Families[i].Settings))
	}
	need := int64(least * o.Part * float64(o.Text))
	for _, f := range o.Written {
		need -= f.Bytes
	}
	return max(need, 0)
}

// OutputRatio returns the least number of bytes of HFiles for each byte of input: less than was measured with the check
// table, which has many short columns, because text in few columns gives less.
func OutputRatio(s *hfilewriter.Settings) float64 {
	encoded := s.Encoding != hfilewriter.EncodeNone && s.Encoding != hfilewriter.EncodeRowIndexV1
	switch {
	case s.Compression == hfilewriter.CompressNone && !encoded:
		return 1.5
	case s.Compression == hfilewriter.CompressNone:
		return 1
	case s.Compression == hfilewriter.CompressZSTD || s.Compression == hfilewriter.CompressGZ:
		return 0.35
	case !encoded:
		return 0.7
	}
	return 0.5
}

// diskNeed is the space that is needed on a disk, and the space that is free there.
type diskNeed struct {
	check, what, where string
	fsys               storage.FS
	dir                string
	need, free         int64
}

func (n diskNeed) finding() CheckResult {
	detail := fmt.Sprintf("%s %s needs about %s; %s is free there", n.what, n.where,
		bytesize.Format(n.need), bytesize.Format(n.free))
	if n.need <= n.free {
		return CheckResult{Name: n.check, State: OK, Detail: detail}
	}
	return Fail(n.check, errcode.DiskSpace.Errorf("%s %s needs about %s, and only %s is free there: free some space, "+
		"choose another directory, or skip this check with input.check_space: false",
		n.what, n.where, bytesize.Format(n.need), bytesize.Format(n.free)), "")
}

// joinNeeds adds up the needs on the same disk.
func joinNeeds(all []diskNeed, n diskNeed) []diskNeed {
	root := n.fsys.URI("/")
	remote := root != storage.Local.URI("/")
	for i := range all {
		if o := &all[i]; o.fsys.URI("/") == root && (remote || sameDisk(o.dir, n.dir)) {
			o.check, o.what, o.where = diskCheck, o.what+" "+o.where+" and "+n.what, n.where
			o.need += n.need
			return all
		}
	}
	return append(all, n)
}

func sameDisk(a, b string) bool {
	var x, y unix.Stat_t
	return unix.Stat(sorting.NearestFolder(a), &x) == nil &&
		unix.Stat(sorting.NearestFolder(b), &y) == nil && x.Dev == y.Dev
}
