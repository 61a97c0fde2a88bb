package jobs

import (
	"fmt"

	"bulkload/hfilewriter"
	"bulkload/internal/bytesize"
	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/jobs/checkpoint"
	"bulkload/jobs/preflight"
	"bulkload/jobs/sorting"
	"bulkload/jobs/target"
	"bulkload/jobs/tasks"

	"golang.org/x/sys/unix"
)

// outputRatio is how many bytes of HFiles result from each byte of input, at least. The check table, of many short
// columns, has 11, 2.3, 1.6, 0.8 and 0.5 in this order; text in few columns has less.
func outputRatio(s *hfilewriter.Settings) float64 {
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

// diskNeed is the space that is needed on a disk, and what is free there.
type diskNeed struct {
	what, where string
	fsys        storage.FS
	dir         string
	need, free  int64
}

func (r diskNeed) finding() preflight.Finding {
	detail := fmt.Sprintf("%s %s needs about %s; %s is free there", r.what, r.where, bytesize.Format(r.need), bytesize.Format(r.free))
	if r.need <= r.free {
		return preflight.Finding{Name: diskCheck, State: preflight.OK, Detail: detail}
	}
	return preflight.Fail(diskCheck, errcode.DiskSpace.Errorf("%s %s needs about %s, and only %s is free there: free some space, choose another directory, or skip this check with input.check_space: false",
		r.what, r.where, bytesize.Format(r.need), bytesize.Format(r.free)), "")
}

// diskCheck is the name of the checks of disks.
const diskCheck = "disk"

// checkDisk compares what a run needs on its disks with what is free there. The need is estimated from the size of the
// input, low rather than high. So is the decompressed size of a file: see compressed.ExpansionFactor.
func (r *runner) checkDisk(todo []*outputRun) preflight.Findings {
	need := r.spillNeed(todo)
	sorting.WarnOfSpillsInMemory(r.options, need)
	if r.job.Input.SpaceUnchecked {
		return preflight.Findings{{Name: diskCheck, State: preflight.Unknown, Detail: "not checked (input.check_space: false)"}}
	}
	spill, err := r.spillDisk(need)
	if err != nil {
		return preflight.Findings{preflight.Fail(diskCheck, err, "")}
	}
	var found preflight.Findings
	var rooms []diskNeed
	if spill.need > 0 {
		rooms = append(rooms, spill)
	} else {
		found = append(found, preflight.Finding{Name: diskCheck, State: preflight.OK, Detail: "the sort fits in memory: nothing is spilled"})
	}
	for _, w := range todo {
		output, err := w.outputDisk()
		if err != nil {
			found = append(found, preflight.Finding{Name: diskCheck, State: preflight.Unknown, Detail: err.Error()})
			continue
		}
		rooms = joinNeeds(rooms, output)
	}
	for _, room := range rooms {
		found = append(found, room.finding())
	}
	return found
}

// joinNeeds adds up the needs on the same disk.
func joinNeeds(rooms []diskNeed, r diskNeed) []diskNeed {
	root := r.fsys.URI("/")
	remote := root != storage.Local.URI("/")
	for i := range rooms {
		if o := &rooms[i]; o.fsys.URI("/") == root && (remote || sameDisk(o.dir, r.dir)) {
			o.what, o.where = o.what+" "+o.where+" and "+r.what, r.where
			o.need += r.need
			return rooms
		}
	}
	return append(rooms, r)
}

// spillDisk is the need for sorted runs in the work folder. If need is 0, the folder is not examined.
func (r *runner) spillDisk(need int64) (spill diskNeed, err error) {
	spill = diskNeed{what: "spilling sorted runs to", fsys: storage.Local, need: need}
	if spill.need == 0 {
		return spill, nil
	}
	if spill.where, err = sorting.WorkFolder(r.options.WorkDir); err != nil {
		return spill, errcode.WorkDir.Errorf("the sort will spill about %s, and --work-dir %s can't be used: %w", bytesize.Format(spill.need), r.options.WorkDir, err)
	}
	spill.dir = spill.where
	if spill.free, err = storage.Local.Free(spill.where); err != nil {
		return spill, errcode.WorkDir.Errorf("look up the free space of --work-dir: %w", err)
	}
	return spill, nil
}

// outputDisk is the need of the files that are not written yet; an error if that or the free space is unknown.
func (w *outputRun) outputDisk() (diskNeed, error) {
	output := diskNeed{what: "writing HFiles to", where: w.out.FS.URI(w.out.Path), fsys: w.out.FS, dir: w.out.Path}
	if w.target == nil {
		return output, fmt.Errorf("the need of the output %s is not known", output.where)
	}
	left, err := tasks.Left(w.out.FS, w.out.Path)
	if err != nil {
		return output, fmt.Errorf("the need of the output %s is not known: %w", output.where, err)
	}
	// What tasks have left is a part of the need that is on the disk already, or it is deleted before anything is written.
	output.need = max(0, w.outputNeed(w.target)+w.runsNeed()-left)
	if output.free, err = w.out.FS.Free(w.out.Path); err != nil {
		w.out.Options.Warnf("the free space of the output can't be determined: %v", err)
		return output, fmt.Errorf("the free space of the output %s can't be determined: %w", output.where, err)
	}
	return output, nil
}

// runsNeed is the size of the sorted runs that tasks leave in the output: those of all outputs are in the first one.
func (w *outputRun) runsNeed() int64 {
	if !w.tasks {
		return 0
	}
	return int64(sorting.SpillRatio * float64(w.out.Source.Text))
}

// outputNeed is the size of the files that are not written yet.
func (w *outputRun) outputNeed(t *target.Target) int64 {
	least := outputRatio(&t.Families[0].Settings)
	for i := range t.Families {
		least = min(least, outputRatio(&t.Families[i].Settings))
	}
	need := int64(least * w.part * float64(w.out.Source.Text))
	for _, f := range w.out.CurrentManifest().Files() {
		need -= f.Bytes
	}
	return max(need, 0)
}

// spillNeed is what the sorts spill if the input does not fit in their memory; 0 if it does.
func (r *runner) spillNeed(todo []*outputRun) int64 {
	if r.by != nil {
		return 0 // tasks spill where they run
	}
	var bytes float64
	for _, w := range todo {
		bytes += w.part * float64(r.source.Text)
	}
	need := sorting.SpillNeed(bytes, r.options.Memory)
	if need == 0 {
		return 0
	}
	return max(0, need-r.spilled())
}

// spilled is what an earlier process of this run has spilled.
func (r *runner) spilled() int64 {
	if r.checkpoints != nil {
		return r.checkpoints.Spilled()
	}
	return checkpoint.KeptBytes(r.options.WorkDir, r.uris())
}

func sameDisk(a, b string) bool {
	var x, y unix.Stat_t
	return unix.Stat(sorting.NearestFolder(a), &x) == nil && unix.Stat(sorting.NearestFolder(b), &y) == nil && x.Dev == y.Dev
}
