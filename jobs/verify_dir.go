package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"

	"bulkload/hfilewriter"
	"bulkload/internal/digest"
	"bulkload/internal/parallel"
	"bulkload/internal/printable"
	"bulkload/internal/storage"
	"bulkload/jobs/failure"
	"bulkload/jobs/jobfile"
	"bulkload/jobs/options"
	"bulkload/jobs/outcome"

	"golang.org/x/sync/errgroup"
)

// VerifiedFile is what a sound HFile holds.
type VerifiedFile struct {
	Path     string     `json:"path"`
	Bytes    int64      `json:"bytes"`
	Blocks   int64      `json:"blocks"`
	Rows     int64      `json:"rows"`
	Cells    int64      `json:"cells"`
	FirstRow string     `json:"first_row"`
	LastRow  string     `json:"last_row"`
	Digest   digest.Sum `json:"digest"`
}

// VerifyDir checks a directory of HFiles alone: each file in itself, one family a folder, no two files of a family with
// rows of the same range, and the files against the manifest where there is one.
func VerifyDir(ctx context.Context, dir string, o options.Options) (report *VerifyReport, err error) {
	report = &VerifyReport{Outcome: outcome.New(), Against: dir, Differences: []Difference{}}
	s, err := openSite(o, jobfile.HBase{}, storage.IsHDFS(dir))
	if err != nil {
		return report, err
	}
	fsys, name, err := s.resolve(dir, ".")
	if err != nil {
		return report, fmt.Errorf("open the directory %s: %w", dir, err)
	}
	report.Against = fsys.URI(name)
	d, err := openDirectory(fsys, name)
	if err != nil {
		return report, errors.Join(err, fsys.Close())
	}
	err = errors.Join(d.verify(ctx, report), fsys.Close())
	if err == nil {
		report.Status = outcome.Done
	}
	return report, err
}

func (d *directory) verify(ctx context.Context, report *VerifyReport) error {
	m, err := readManifest(d.fsys, d.dir)
	if err != nil {
		return err
	}
	if len(d.files) == 0 && m == nil {
		return failure.Refusef("%s holds no HFiles in folders of families", d.fsys.URI(d.dir))
	}
	if err := d.verifySound(ctx, m, report); err != nil {
		return err
	}
	for _, f := range report.Files {
		report.Rows += f.Rows
		report.Cells += f.Cells
	}
	return nil
}

// verifySound checks the files in themselves, with each other and against the manifest, which may be nil.
func (d *directory) verifySound(ctx context.Context, m *manifest, report *VerifyReport) error {
	if err := d.verifyFiles(ctx, report); err != nil {
		return err
	}
	for _, f := range report.Files {
		report.Digest.Add(f.Digest)
	}
	if err := d.checkOverlap(); err != nil {
		return err
	}
	return checkManifest(m, report)
}

// verifyFiles reads the files, several at a time.
func (d *directory) verifyFiles(ctx context.Context, report *VerifyReport) error {
	report.Files = make([]VerifiedFile, len(d.files))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel.Workers())
	for i, f := range d.files {
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			found, err := d.verifyFile(ctx, f)
			if err != nil {
				return err
			}
			report.Files[i] = *found
			return nil
		})
	}
	return group.Wait()
}

func (d *directory) verifyFile(ctx context.Context, f *directoryFile) (found *VerifiedFile, err error) {
	name := path.Join(d.dir, f.path)
	in, err := d.open(f)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.file.Close()) }()
	var cells digest.Stream
	family := []byte(f.family)
	report, err := in.Verify(interruptible(ctx, func(run *hfilewriter.Run) error {
		if c := run.Cell; !bytes.Equal(c.Family, family) {
			return failure.Differsf("row %s has a cell of family %s in the folder of family %s", printable.Bytes(c.Row), printable.Bytes(c.Family), f.family)
		}
		cells.AddRun(run.Cell, run.Column, run.Columns, run.Values)
		return nil
	}))
	if err != nil {
		return nil, failure.Damagedf("%s: %w", name, err)
	}
	return &VerifiedFile{Path: f.path, Bytes: f.size, Blocks: report.Blocks, Rows: report.Rows, Cells: report.Cells,
		FirstRow: printable.Bytes(f.first), LastRow: printable.Bytes(f.last), Digest: cells.Sum}, nil
}

// interruptible ends a walk over cells when ctx ends.
func interruptible(ctx context.Context, visit func(*hfilewriter.Run) error) func(*hfilewriter.Run) error {
	n := 0
	return func(run *hfilewriter.Run) error {
		if n++; n%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		return visit(run)
	}
}

// checkOverlap wants the files of a family to follow each other.
func (d *directory) checkOverlap() error {
	for i := 1; i < len(d.files); i++ {
		a, b := d.files[i-1], d.files[i]
		if a.family == b.family && bytes.Compare(a.last, b.first) >= 0 {
			return failure.Differsf("%s ends with row %s, and %s begins with row %s: the two hold rows of the same range",
				a.path, printable.Bytes(a.last), b.path, printable.Bytes(b.first))
		}
	}
	return nil
}

// checkManifest holds the files against what was recorded when they were written.
func checkManifest(m *manifest, report *VerifyReport) error {
	if m == nil {
		return nil
	}
	present := map[string]VerifiedFile{}
	for _, f := range report.Files {
		present[f.Path] = f
	}
	for _, want := range m.files() {
		got, ok := present[want.Path]
		switch {
		case !ok && want.Loaded:
		case !ok:
			return failure.Differsf("%s is in the manifest and not in the directory", want.Path)
		case got.Bytes != want.Bytes || got.Rows != want.Rows || got.Digest != want.Digest:
			return failure.Differsf("%s holds %d bytes, %d rows, digest %v; the manifest says %d, %d, %v",
				want.Path, got.Bytes, got.Rows, got.Digest, want.Bytes, want.Rows, want.Digest)
		}
		delete(present, want.Path)
	}
	for name := range present {
		return failure.Differsf("%s is not in the manifest", name)
	}
	return nil
}
