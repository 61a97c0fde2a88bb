package hfiles

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"sort"
	"strings"

	"bulkload/cell"
	"bulkload/hfilewriter"
	"bulkload/internal/errcode"
	"bulkload/internal/parallel"
	"bulkload/internal/storage"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/pipeline/entry"
	"bulkload/load"

	"golang.org/x/sync/errgroup"
)

// Directory is a directory of HFiles: <family>/<file>. It keeps no file open.
type Directory struct {
	FS    storage.FS
	Path  string
	Files []*DirFile // by family, then by first row

	families []family // the same files, for scans
}

// family has the files of one family, by first row. They may overlap.
type family struct {
	files []*DirFile
	last  [][]byte // for each file: the greatest last row of the files up to it
}

// DirFile is a file of a directory as it was when the directory was opened.
type DirFile struct {
	Family      string
	Path        string // below the directory
	Size        int64
	First, Last []byte      // rows
	Oldest      int64       // least timestamp of its cells, according to the file; 0: unknown
	Cells       []KnownCell // see PickProbes
	Probes      []load.Probe

	kept *keptFile // see Keep; nil: each reader opens the file
}

// openedFile is a file that is open for one reader: a storage.File can't serve two at a time.
type openedFile struct {
	*hfilewriter.Reader
	File interface {
		Size() int64
		Close() error
	}
}

// OpenDirectory opens every HFile of a directory; names that begin with _ or . are skipped, as by HBase's loader.
func OpenDirectory(fsys storage.FS, dir string) (*Directory, error) {
	d := &Directory{FS: fsys, Path: dir}
	infos, err := fsys.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return d, errcode.HFileMissing.Errorf("the directory %s does not exist", fsys.URI(dir))
	}
	if err != nil {
		return d, err
	}
	for _, info := range infos {
		if !info.Dir || Hidden(info.Name) {
			continue
		}
		if err := d.openFamily(info.Name); err != nil {
			return d, err
		}
	}
	slices.SortStableFunc(d.Files, func(a, b *DirFile) int {
		if by := strings.Compare(a.Family, b.Family); by != 0 {
			return by
		}
		return bytes.Compare(a.First, b.First)
	})
	d.index()
	return d, nil
}

// index fills families from Files, which are in order.
func (d *Directory) index() {
	d.families = nil
	for i, f := range d.Files {
		if i == 0 || f.Family != d.Files[i-1].Family {
			d.families = append(d.families, family{})
		}
		of := &d.families[len(d.families)-1]
		last := f.Last
		if n := len(of.last); n > 0 && bytes.Compare(of.last[n-1], last) > 0 {
			last = of.last[n-1]
		}
		of.files, of.last = append(of.files, f), append(of.last, last)
	}
}

// within returns the files with rows from start (nil: the first) to before end (nil: the last), in order.
func (f *family) within(start, end []byte) []*DirFile {
	from := sort.Search(len(f.files), func(i int) bool { return bytes.Compare(f.last[i], start) >= 0 })
	until := len(f.files)
	if len(end) > 0 {
		until = sort.Search(len(f.files), func(i int) bool { return bytes.Compare(f.files[i].First, end) >= 0 })
	}
	var found []*DirFile
	for i := from; i < until; i++ {
		if bytes.Compare(f.files[i].Last, start) >= 0 {
			found = append(found, f.files[i])
		}
	}
	return found
}

func (d *Directory) openFamily(family string) error {
	infos, err := d.FS.ReadDir(path.Join(d.Path, family))
	if err != nil {
		return d.gone(err)
	}
	for _, info := range infos {
		if info.Dir || Hidden(info.Name) {
			continue
		}
		if err := d.add(&DirFile{Family: family, Path: path.Join(family, info.Name)}); err != nil {
			return err
		}
	}
	return nil
}

// gone is the error for something that does not exist although it was listed. Other errors stay as they are.
func (d *Directory) gone(err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return errcode.RunAgain.Errorf("files of %s are gone since they were listed: a load has taken them, or somebody "+
		"moves or deletes them; run the command again when that has ended: %w", d.FS.URI(d.Path), err)
}

// failed is the error of a file that can't be read.
func (d *Directory) failed(f *DirFile, err error) error {
	return d.gone(failure.Damagedf("read %s: %w", f.Path, err))
}

// add adds a file with the data from its trailer.
func (d *Directory) add(f *DirFile) error {
	in, err := d.Open(f)
	if err != nil {
		return err
	}
	f.Size, f.First, f.Last = in.File.Size(), bytes.Clone(in.FirstRow()), bytes.Clone(in.LastRow())
	if oldest, known := in.Info().OldestPut(); known {
		f.Oldest = oldest
	}
	d.Files = append(d.Files, f)
	return in.File.Close()
}

// Open opens a file for one reader.
func (d *Directory) Open(f *DirFile) (*openedFile, error) {
	if f.kept != nil {
		reader, err := f.kept.open()
		if err != nil {
			return nil, d.failed(f, err)
		}
		return &openedFile{reader, f.kept}, nil
	}
	file, err := d.FS.Open(path.Join(d.Path, f.Path))
	if err != nil {
		return nil, d.gone(err)
	}
	reader, err := hfilewriter.Open(file, file.Size())
	if err != nil {
		return nil, errors.Join(failure.Damagedf("open %s: %w", f.Path, err), file.Close())
	}
	return &openedFile{reader, file}, nil
}

// PickProbes reads from each file the cells by which its region can later prove that it serves the file.
func (d *Directory) PickProbes(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel.Workers())
	for _, f := range d.Files {
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return d.pickProbesOf(f)
		})
	}
	return group.Wait()
}

func (d *Directory) pickProbesOf(f *DirFile) (err error) {
	in, err := d.Open(f)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.File.Close()) }()
	cells, err := PickProbes(in.Reader, f.Size)
	if err != nil {
		return d.failed(f, err)
	}
	f.Cells, f.Probes = cells, nil
	for i := range cells {
		p, err := Probe(&cells[i])
		if err != nil {
			return err
		}
		f.Probes = append(f.Probes, p)
	}
	return nil
}

// fileScan is the scan of one file.
type fileScan struct {
	*hfilewriter.Scanner
	from *DirFile
	in   *openedFile
}

// Scan visits the cells of all files with rows from start (nil: the first) to before end (nil: the last), in HBase's
// order. Scans may run in parallel. For a single row, files whose bloom filter denies it are not read.
func (d *Directory) Scan(ctx context.Context, start, end []byte, visit func(*cell.Cell) error) (err error) {
	var open, all []fileScan
	defer func() {
		for _, s := range all {
			err = errors.Join(err, s.in.File.Close())
		}
	}()
	for i := range d.families {
		for _, f := range d.families[i].within(start, end) {
			in, err := d.Open(f)
			if err != nil {
				return err
			}
			s := fileScan{in.Seek(start), f, in}
			all = append(all, s)
			if found, err := s.begin(start, end); err != nil {
				return d.failed(f, err)
			} else if found {
				open = append(open, s)
			}
		}
	}
	return d.merge(ctx, open, end, visit)
}

// begin moves to the first cell. It returns false if there is none, or if a single row is wanted and the bloom filter
// denies it.
func (s *fileScan) begin(start, end []byte) (bool, error) {
	if oneRow(start, end) {
		if may, err := s.in.MayContainRow(start); err != nil || !may {
			return false, err
		}
	}
	return s.Next(), s.Err()
}

// oneRow reports whether start is the only row from it to before end.
func oneRow(start, end []byte) bool {
	return len(end) == len(start)+1 && end[len(start)] == 0 && bytes.HasPrefix(end, start)
}

// merge visits the cells of scans, each of which is at a cell, up to end.
func (d *Directory) merge(ctx context.Context, open []fileScan, end []byte, visit func(*cell.Cell) error) error {
	for n := 1; len(open) > 0; n++ {
		if n%entry.CheckEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		i := minScan(open)
		c := open[i].Cell()
		if len(end) > 0 && bytes.Compare(c.Row, end) >= 0 {
			return nil
		}
		if err := visit(c); err != nil {
			return err
		}
		if !open[i].Next() {
			if err := open[i].Err(); err != nil {
				return d.failed(open[i].from, err)
			}
			open = slices.Delete(open, i, i+1)
		}
	}
	return nil
}

// minScan returns the scan with the first cell. There are few scans, because a family's files follow each other.
func minScan(open []fileScan) int {
	best := 0
	for i := 1; i < len(open); i++ {
		if cell.Compare(open[i].Cell(), open[best].Cell()) < 0 {
			best = i
		}
	}
	return best
}
