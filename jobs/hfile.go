package jobs

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"path"

	"bulkload/hfilewriter"
	"bulkload/internal/digest"
	"bulkload/internal/printable"
	"bulkload/internal/storage"
	"bulkload/jobs/failure"
	"bulkload/jobs/timing"
)

// FileSummary describes one finished HFile.
type FileSummary struct {
	Path     string     `json:"path"` // below the output: family/name
	Family   string     `json:"family"`
	Region   int        `json:"region"`
	Slice    int        `json:"slice"`    // of the region
	Sequence int        `json:"sequence"` // in the slice
	Bytes    int64      `json:"bytes"`
	Raw      int64      `json:"raw_bytes"` // KeyValue lengths
	Rows     int64      `json:"rows"`
	Cells    int64      `json:"cells"`
	FirstRow string     `json:"first_row"` // in the notation of Printable
	LastRow  string     `json:"last_row"`
	First    int64      `json:"first_timestamp"` // of the cells of the first row
	Last     int64      `json:"last_timestamp"`  // of the last
	Digest   digest.Sum `json:"digest"`
	Loaded   bool       `json:"loaded"`
	// Probes are cells by which the open region shows that it serves the file; only the manifest has them.
	Probes []probeCell `json:"probes,omitempty"`
	// ServedBefore says that the table returned these cells before the file was loaded.
	ServedBefore bool `json:"served_before,omitempty"`
}

// fileName is a file's name: 32 hex digits that follow from the run and the file's place in it.
func fileName(run string, region, slice int, family string, sequence int) string {
	sum := md5.Sum(fmt.Appendf(nil, "%s\x00%d\x00%d\x00%s\x00%d", run, region, slice, family, sequence))
	return hex.EncodeToString(sum[:])
}

// hfile is one file being written under its temporary name.
type hfile struct {
	FileSummary
	fsys storage.FS
	temp string
	out  storage.Writer
	w    *hfilewriter.Writer

	times hfilewriter.Times
}

func createHFile(w *writing, region, slice int, family *targetFamily, sequence int, clock *timing.Clock) (*hfile, error) {
	name := fileName(w.manifest.Run.ID, region, slice, family.name, sequence)
	temps, err := w.tempFolder()
	if err != nil {
		return nil, err
	}
	f := &hfile{fsys: w.fsys, temp: path.Join(temps, name)}
	f.FileSummary = FileSummary{Path: path.Join(family.name, name), Family: family.name, Region: region, Slice: slice, Sequence: sequence}
	if err := storage.RemoveIfThere(w.fsys, f.temp); err != nil {
		return nil, fmt.Errorf("make %s: %w", w.fsys.URI(f.temp), err)
	}
	out, err := w.fsys.Create(f.temp, storage.FilePerm)
	if err != nil {
		return nil, fmt.Errorf("make %s: %w", w.fsys.URI(f.temp), err)
	}
	f.out = timing.Writer(out, clock)
	instant := w.job.Instant()
	stamp := hfilewriter.Stamp{Created: instant, Loaded: instant, Task: fmt.Sprintf("bulkload_%05d_%02d_%s_%04d", region, slice, family.name, sequence)}
	if f.w, err = hfilewriter.NewWriter(f.out, family.settings, stamp); err != nil {
		return nil, errors.Join(fmt.Errorf("begin %s: %w", w.fsys.URI(f.temp), err), f.out.Abort())
	}
	return f, nil
}

// took counts a row.
func (f *hfile) took(timestamp int64) {
	if f.Rows == 0 {
		f.First = timestamp
	}
	f.Last = timestamp
	f.Rows++
}

// abort deletes an unfinished file.
func (f *hfile) abort() error { return f.out.Abort() }

// finish ends the file and makes it durable, still under its temporary name.
func (f *hfile) finish() error {
	summary, err := f.w.Close()
	if err != nil {
		return errors.Join(fmt.Errorf("end %s: %w", f.fsys.URI(f.temp), err), f.out.Abort())
	}
	if err := f.out.Close(); err != nil {
		return fmt.Errorf("end %s: %w", f.fsys.URI(f.temp), err)
	}
	f.times = f.w.Times()
	f.w, f.out = nil, nil
	f.Bytes, f.Raw, f.Cells = summary.Bytes, summary.RawSize, summary.Cells
	f.FirstRow, f.LastRow = printable.Bytes(summary.FirstRow), printable.Bytes(summary.LastRow)
	return nil
}

// verify reads the file back and holds it against what was written.
func (f *hfile) verify(ctx context.Context) error {
	in, err := f.fsys.Open(f.temp)
	if err != nil {
		return fmt.Errorf("read back %s: %w", f.fsys.URI(f.temp), err)
	}
	defer in.Close()
	report, sum, probes, err := verifyHFile(ctx, in)
	if err != nil {
		return failure.Damagedf("read back %s: %w", f.fsys.URI(f.temp), err)
	}
	if in.Size() != f.Bytes || report.Cells != f.Cells || report.Rows != f.Rows {
		return failure.Differsf("read back %s: %d bytes, %d rows, %d cells; written were %d, %d, %d",
			f.fsys.URI(f.temp), in.Size(), report.Rows, report.Cells, f.Bytes, f.Rows, f.Cells)
	}
	f.Digest, f.Probes = sum, probes
	return nil
}

// verifyHFile checks a whole file, adds up its cells and picks those that show later whether it is served.
func verifyHFile(ctx context.Context, in storage.File) (*hfilewriter.Report, digest.Sum, []probeCell, error) {
	r, err := hfilewriter.Open(in, in.Size())
	if err != nil {
		return nil, digest.Sum{}, nil, err
	}
	var cells digest.Stream
	report, err := r.Verify(interruptible(ctx, func(run *hfilewriter.Run) error {
		cells.AddRun(run.Cell, run.Column, run.Columns, run.Values)
		return nil
	}))
	if err != nil {
		return report, cells.Sum, nil, err
	}
	probes, err := probesOf(r)
	return report, cells.Sum, probes, err
}
