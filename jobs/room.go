package jobs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"bulkload/hfilewriter"
	"bulkload/internal/bytesize"
	"bulkload/internal/storage"
	"bulkload/jobs/failure"

	"golang.org/x/sys/unix"
)

// spillRatio is how many bytes of sorted runs come of a byte of input, where it does not fit in memory: 0.6 of the check
// table.
const spillRatio = 0.6

// outputRatio is how many bytes of HFiles come of a byte of input, at least. The check table, of many short columns, takes
// 11, 2.3, 1.6, 0.8 and 0.5 in this order; text in few columns takes less.
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

// room is the space that something needs somewhere, and what is free there.
type room struct {
	what, where string
	fsys        storage.FS
	dir         string
	need, free  int64
}

func (r room) err() error {
	if r.need <= r.free {
		return nil
	}
	return failure.Refusef("%s %s takes about %s, and %s are free there: make room, choose another place, or go on without this check with input.check_space: false",
		r.what, r.where, bytesize.Format(r.need), bytesize.Format(r.free))
}

// checkRoom refuses a run that the disks have no room for, before it begins. What is needed is estimated from the size
// of the input, rather low than high. What comes of a compressed file is estimated, too: see compressed.Growth.
func (r *jobRun) checkRoom(todo []*workplace) error {
	if r.job.Input.SpaceUnchecked {
		return nil
	}
	var rooms []room
	spill, err := r.spillRoom(todo)
	if err != nil {
		return err
	}
	if spill.need > 0 {
		rooms = append(rooms, spill)
	}
	for _, w := range todo {
		if output, known := w.outputRoom(); known {
			rooms = joinRoom(rooms, output)
		}
	}
	var errs []error
	for _, room := range rooms {
		errs = append(errs, room.err())
	}
	return errors.Join(errs...)
}

// joinRoom adds what is needed on a disk to what something else needs there, too.
func joinRoom(rooms []room, r room) []room {
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

// spillRoom is what the sorts write where the input does not fit in their memory; it needs nothing where it does.
func (r *jobRun) spillRoom(todo []*workplace) (spill room, err error) {
	spill = room{what: "spilling sorted runs to", fsys: storage.Local, need: r.spillNeed(todo)}
	if spill.need == 0 {
		return spill, nil
	}
	if spill.where, err = workFolder(r.options.WorkDir); err != nil {
		return spill, failure.Refusef("the sort will spill about %s, but not to --work-dir %s: %w", bytesize.Format(spill.need), r.options.WorkDir, err)
	}
	spill.dir = spill.where
	if spill.free, err = storage.Local.Free(spill.where); err != nil {
		return spill, failure.Refusef("look for room in --work-dir: %w", err)
	}
	return spill, nil
}

// outputRoom is what the files take that are not written yet; false where what is free is not known.
func (w *workplace) outputRoom() (room, bool) {
	output := room{what: "writing HFiles to", where: w.fsys.URI(w.dir), fsys: w.fsys, dir: w.dir, need: w.outputNeed(w.target)}
	var err error
	if output.free, err = w.fsys.Free(w.dir); err != nil {
		w.options.Sayf("the room for the output is not known: %v", err)
		return output, false
	}
	return output, true
}

// outputNeed is what the files take that are not written yet.
func (w *workplace) outputNeed(t *target) int64 {
	least := outputRatio(&t.families[0].settings)
	for i := range t.families {
		least = min(least, outputRatio(&t.families[i].settings))
	}
	need := int64(least * w.part * float64(w.source.text))
	for _, f := range w.present().files() {
		need -= f.Bytes
	}
	return max(need, 0)
}

// spillNeed is what the sorts write where the input does not fit in their memory; 0 where it does.
func (r *jobRun) spillNeed(todo []*workplace) int64 {
	var bytes float64
	for _, w := range todo {
		bytes += w.part * float64(r.source.text)
	}
	if int64(bytes) <= sortMemory(r.options.Memory) {
		return 0
	}
	return max(0, int64(spillRatio*bytes)-r.keeper.spilled())
}

// workFolder is the absolute name of the folder that the sort spills to, or of the nearest one above it that is there; an
// error where nothing can be written in it.
func workFolder(name string) (string, error) {
	if name == "" {
		name = os.TempDir()
	}
	name, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	name = present(name)
	if info, err := os.Stat(name); err != nil || !info.IsDir() {
		return "", fmt.Errorf("%s is not a folder", name)
	}
	if err := unix.Access(name, unix.W_OK|unix.X_OK); err != nil {
		return "", &fs.PathError{Op: "write in", Path: name, Err: err}
	}
	return name, nil
}

// present is the nearest of a path and what is above it that is there.
func present(name string) string {
	for {
		_, err := os.Stat(name)
		if err == nil || name == filepath.Dir(name) {
			return name
		}
		name = filepath.Dir(name)
	}
}

func sameDisk(a, b string) bool {
	var x, y unix.Stat_t
	return unix.Stat(present(a), &x) == nil && unix.Stat(present(b), &y) == nil && x.Dev == y.Dev
}
