package jobs

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"bulkload/hfilewriter"
	"bulkload/internal/storage"
	"bulkload/keys"
)

// directory is an open directory of HFiles, ours or anyone's: <family>/<file>.
type directory struct {
	fsys  storage.FS
	dir   string
	files []*directoryFile // by family, then by first row
}

type directoryFile struct {
	family string
	path   string // below the directory
	file   storage.File
	reader *hfilewriter.Reader
}

// openDirectory opens every HFile of a directory; what begins with _ or . is skipped, as HBase's loader does.
func openDirectory(fsys storage.FS, dir string) (d *directory, err error) {
	d = &directory{fsys: fsys, dir: dir}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.close())
		}
	}()
	infos, err := fsys.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return d, refusef("the directory %s is not there", fsys.URI(dir))
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
		return bytes.Compare(a.reader.FirstRow(), b.reader.FirstRow())
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
		name := path.Join(family, info.Name)
		file, err := d.fsys.Open(path.Join(d.dir, name))
		if err != nil {
			return err
		}
		f := &directoryFile{family: family, path: name, file: file}
		d.files = append(d.files, f)
		if f.reader, err = hfilewriter.Open(file, file.Size()); err != nil {
			return differsf("open %s: %w", name, err)
		}
	}
	return nil
}

func (d *directory) close() error {
	var errs []error
	for _, f := range d.files {
		errs = append(errs, f.file.Close())
	}
	return errors.Join(errs...)
}

// scan visits the cells of all files with rows from start (nil: the first) to before end (nil: the last), in HBase's
// order.
func (d *directory) scan(start, end []byte, visit func(*keys.Cell) error) error {
	var open []*hfilewriter.Scanner
	for _, f := range d.files {
		if len(end) > 0 && bytes.Compare(f.reader.FirstRow(), end) >= 0 || bytes.Compare(f.reader.LastRow(), start) < 0 {
			continue
		}
		s := f.reader.Seek(start)
		if s.Next() {
			open = append(open, s)
		} else if err := s.Err(); err != nil {
			return fmt.Errorf("read %s: %w", f.path, err)
		}
	}
	for len(open) > 0 {
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
				return fmt.Errorf("read HFile: %w", err)
			}
			open = slices.Delete(open, i, i+1)
		}
	}
	return nil
}

// first is the scanner with the first cell. There are few: a family's files follow each other.
func first(open []*hfilewriter.Scanner) int {
	best := 0
	for i := 1; i < len(open); i++ {
		if keys.Compare(open[i].Cell(), open[best].Cell()) < 0 {
			best = i
		}
	}
	return best
}
