package verify

import (
	"bytes"
	"context"
	"errors"
	"path"

	"bulkload/hfilewriter"
	"bulkload/internal/digest"
	"bulkload/internal/errcode"
	"bulkload/internal/parallel"
	"bulkload/internal/printable"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/site"
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/spec/jobfile"

	"golang.org/x/sync/errgroup"
)

// SoundFile is the content of a sound HFile.
type SoundFile struct {
	Path     string     `json:"path"`
	Bytes    int64      `json:"bytes"`
	Blocks   int64      `json:"blocks"`
	Rows     int64      `json:"rows"`
	Cells    int64      `json:"cells"`
	FirstRow string     `json:"first_row"`
	LastRow  string     `json:"last_row"`
	Digest   digest.Sum `json:"digest"`
}

// Dir checks a directory of HFiles without a source: each file is sound, each folder has one family, no two files of a
// family have overlapping rows, and the files match the manifest if there is one.
func Dir(ctx context.Context, dir string, o options.Options) (report *Verification, err error) {
	report = &Verification{Outcome: failure.NewOutcome(), Against: dir, Differences: []Difference{}}
	_, fsys, name, err := site.OpenPath(o, jobfile.HBase{}, dir)
	if err != nil {
		return report, err
	}
	report.Against = fsys.URI(name)
	d, err := hfiles.OpenDirectory(fsys, name)
	if err != nil {
		return report, errors.Join(err, fsys.Close())
	}
	err = errors.Join(Opened(ctx, d, report), fsys.Close())
	if err == nil {
		report.Status = failure.StatusDone
	}
	return report, err
}

// Opened checks a directory that is open, and fills the report.
func Opened(ctx context.Context, d *hfiles.Directory, report *Verification) error {
	m, err := manifest.Read(d.FS, d.Path)
	if err != nil {
		return err
	}
	if len(d.Files) == 0 && m == nil {
		return errcode.HFileMissing.Errorf("%s holds no HFiles in folders of families", d.FS.URI(d.Path))
	}
	if err := verifySound(ctx, d, m, report); err != nil {
		return err
	}
	for _, f := range report.Files {
		report.Rows += f.Rows
		report.Cells += f.Cells
	}
	return nil
}

// verifySound checks the files by themselves, against each other and against the manifest, which may be nil.
func verifySound(ctx context.Context, d *hfiles.Directory, m *manifest.Manifest, report *Verification) error {
	if err := verifyFiles(ctx, d, report); err != nil {
		return err
	}
	for _, f := range report.Files {
		report.Digest.Add(f.Digest)
	}
	if err := checkOverlap(d); err != nil {
		return err
	}
	return checkManifest(m, report)
}

// verifyFiles reads the files, several at a time.
func verifyFiles(ctx context.Context, d *hfiles.Directory, report *Verification) error {
	report.Files = make([]SoundFile, len(d.Files))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel.Workers())
	for i, f := range d.Files {
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			found, err := CheckFile(ctx, d, f)
			if err != nil {
				return err
			}
			report.Files[i] = *found
			return nil
		})
	}
	return group.Wait()
}

// CheckFile checks one file by itself.
func CheckFile(ctx context.Context, d *hfiles.Directory, f *hfiles.DirFile) (found *SoundFile, err error) {
	name := path.Join(d.Path, f.Path)
	in, err := d.Open(f)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.File.Close()) }()
	var cells digest.Stream
	family := []byte(f.Family)
	report, err := in.Verify(hfiles.Interruptible(ctx, func(run *hfilewriter.CellBatch) error {
		if c := run.Cell; !bytes.Equal(c.Family, family) {
			return errcode.VerifyDiffers.Errorf("row %s has a cell of family %s in the folder of family %s",
				printable.Bytes(c.Row), printable.Bytes(c.Family), f.Family)
		}
		cells.AddRun(run.Cell, run.Column, run.Columns, run.Values)
		return nil
	}))
	if err != nil {
		return nil, failure.Damagedf("%s: %w", name, err)
	}
	return &SoundFile{Path: f.Path, Bytes: f.Size, Blocks: report.Blocks, Rows: report.Rows, Cells: report.Cells,
		FirstRow: printable.Bytes(f.First), LastRow: printable.Bytes(f.Last), Digest: cells.Sum}, nil
}

// checkOverlap checks that the files of a family do not overlap.
func checkOverlap(d *hfiles.Directory) error {
	for i := 1; i < len(d.Files); i++ {
		a, b := d.Files[i-1], d.Files[i]
		if a.Family == b.Family && bytes.Compare(a.Last, b.First) >= 0 {
			return errcode.VerifyDiffers.Errorf(
				"%s ends with row %s, and %s begins with row %s: both have rows of the same range",
				a.Path, printable.Bytes(a.Last), b.Path, printable.Bytes(b.First))
		}
	}
	return nil
}

// checkManifest compares the files with their records.
func checkManifest(m *manifest.Manifest, report *Verification) error {
	if m == nil {
		return nil
	}
	present := map[string]SoundFile{}
	for _, f := range report.Files {
		present[f.Path] = f
	}
	for _, want := range m.Files() {
		got, ok := present[want.Path]
		switch {
		case !ok && want.Loaded:
		case !ok:
			return errcode.VerifyDiffers.Errorf("%s is in the manifest and not in the directory", want.Path)
		case got.Bytes != want.Bytes || got.Rows != want.Rows || got.Digest != want.Digest:
			return errcode.VerifyDiffers.Errorf("%s holds %d bytes, %d rows, digest %v; the manifest says %d, %d, %v",
				want.Path, got.Bytes, got.Rows, got.Digest, want.Bytes, want.Rows, want.Digest)
		}
		delete(present, want.Path)
	}
	for name := range present {
		return errcode.VerifyDiffers.Errorf("%s is not in the manifest", name)
	}
	return nil
}
