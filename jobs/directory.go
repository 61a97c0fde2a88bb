package jobs

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"bulkload/cell"
	"bulkload/hfilewriter"
	"bulkload/internal/parallel"
	"bulkload/internal/storage"
	"bulkload/jobs/failure"
	"bulkload/load"

	"golang.org/x/sync/errgroup"
)

// directory is a directory of HFiles, ours or anyone's: <family>/<file>. No file of it is held open.
type directory struct {
	fsys  storage.FS
	dir   string
	files []*directoryFile // by family, then by first row
}

// directoryFile is one of its files as it was found.
type directoryFile struct {
	family      string
	path        string // below the directory
	size        int64
	first, last []byte      // rows
	cells       []probeCell // see probesOf
	probes      []load.Probe
}

// openedFile is one of them, open for one reader: a storage.File serves no two at a time.
type openedFile struct {
	*hfilewriter.Reader
	file storage.File
}

// openDirectory looks at every HFile of a directory; what begins with _ or . is skipped, as HBase's loader does.
func openDirectory(fsys storage.FS, dir string) (*directory, error) {
	d := &directory{fsys: fsys, dir: dir}
	infos, err := fsys.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return d, failure.Refusef("the directory %s is not there", fsys.URI(dir))
	}
	if err != nil {
		return d, err
	}
	for _, info := range infos {
		if !info.Dir || hidden(info.Name) {
			continue
		}
		if err := d.openFamily(info.Name); err != nil {
			return d, err
		}
	}
	slices.SortStableFunc(d.files, func(a, b *directoryFile) int {
		if by := strings.Compare(a.family, b.family); by != 0 {
			return by
		}
		return bytes.Compare(a.first, b.first)
	})
	return d, nil
}

func hidden(name string) bool { return name[0] == '_' || name[0] == '.' }

func (d *directory) openFamily(family string) error {
	infos, err := d.fsys.ReadDir(path.Join(d.dir, family))
	if err != nil {
		return err
	}
	for _, info := range infos {
		if info.Dir || hidden(info.Name) {
			continue
		}
		if err := d.add(&directoryFile{family: family, path: path.Join(family, info.Name)}); err != nil {
			return err
		}
	}
	return nil
}

// add takes up a file with what its trailer tells.
func (d *directory) add(f *directoryFile) error {
	in, err := d.open(f)
	if err != nil {
		return err
	}
	f.size, f.first, f.last = in.file.Size(), bytes.Clone(in.FirstRow()), bytes.Clone(in.LastRow())
	d.files = append(d.files, f)
	return in.file.Close()
}

func (d *directory) open(f *directoryFile) (*openedFile, error) {
	file, err := d.fsys.Open(path.Join(d.dir, f.path))
	if err != nil {
		return nil, err
	}
	reader, err := hfilewriter.Open(file, file.Size())
	if err != nil {
		return nil, errors.Join(failure.Damagedf("open %s: %w", f.path, err), file.Close())
	}
	return &openedFile{reader, file}, nil
}

// pickProbes reads of each file the cells by which its region shows later that it serves the file.
func (d *directory) pickProbes(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel.Workers())
	for _, f := range d.files {
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return d.pickProbesOf(f)
		})
	}
	return group.Wait()
}

func (d *directory) pickProbesOf(f *directoryFile) (err error) {
	in, err := d.open(f)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.file.Close()) }()
	cells, err := probesOf(in.Reader)
	if err != nil {
		return failure.Damagedf("read %s: %w", f.path, err)
	}
	f.cells, f.probes = cells, nil
	for i := range cells {
		p, err := probeOf(&cells[i])
		if err != nil {
			return err
		}
		f.probes = append(f.probes, p)
	}
	return nil
}

// fileScan is the scan of one file.
type fileScan struct {
	*hfilewriter.Scanner
	from *directoryFile
	in   *openedFile
}

// scan visits the cells of all files with rows from start (nil: the first) to before end (nil: the last), in HBase's
// order. Scans may run side by side. Where one row is asked for, files whose bloom filter denies it are not read.
func (d *directory) scan(ctx context.Context, start, end []byte, visit func(*cell.Cell) error) (err error) {
	var open, all []fileScan
	defer func() {
		for _, s := range all {
			err = errors.Join(err, s.in.file.Close())
		}
	}()
	for _, f := range d.files {
		if len(end) > 0 && bytes.Compare(f.first, end) >= 0 || bytes.Compare(f.last, start) < 0 {
			continue
		}
		in, err := d.open(f)
		if err != nil {
			return err
		}
		s := fileScan{in.Seek(start), f, in}
		all = append(all, s)
		if oneRow(start, end) {
			if may, err := in.MayContainRow(start); err != nil {
				return failure.Damagedf("read %s: %w", f.path, err)
			} else if !may {
				continue
			}
		}
		if s.Next() {
			open = append(open, s)
		} else if err := s.Err(); err != nil {
			return failure.Damagedf("read %s: %w", f.path, err)
		}
	}
	return merge(ctx, open, end, visit)
}

// oneRow tells whether start is the only row from it to before end.
func oneRow(start, end []byte) bool {
	return len(end) == len(start)+1 && end[len(start)] == 0 && bytes.HasPrefix(end, start)
}

// merge visits the cells of scans that stand at a cell each, up to end.
func merge(ctx context.Context, open []fileScan, end []byte, visit func(*cell.Cell) error) error {
	for n := 1; len(open) > 0; n++ {
		if n%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		i := first(open)
		c := open[i].Cell()
		if len(end) > 0 && bytes.Compare(c.Row, end) >= 0 {
			return nil
		}
		if err := visit(c); err != nil {
			return err
		}
		if !open[i].Next() {
			if err := open[i].Err(); err != nil {
				return failure.Damagedf("read %s: %w", open[i].from.path, err)
			}
			open = slices.Delete(open, i, i+1)
		}
	}
	return nil
}

// first is the scanner with the first cell. There are few: a family's files follow each other.
func first(open []fileScan) int {
	best := 0
	for i := 1; i < len(open); i++ {
		if cell.Compare(open[i].Cell(), open[best].Cell()) < 0 {
			best = i
		}
	}
	return best
}
