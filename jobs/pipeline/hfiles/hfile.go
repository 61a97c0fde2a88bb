// Package hfiles handles the HFiles of an output: each is written under a temporary name, read back, described and
// probed. It also reads a directory of HFiles, of bulkload or another writer, as a table.
package hfiles

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"path"

	"bulkload/hfilewriter"
	"bulkload/internal/digest"
	"bulkload/internal/errcode"
	"bulkload/internal/printable"
	"bulkload/internal/storage"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/timing"
	"bulkload/jobs/pipeline/entry"
)

// FileMeta describes one finished HFile.
type FileMeta struct {
	Path     string     `json:"path"` // below the output: family/name
	Family   string     `json:"family"`
	Region   int        `json:"region"`
	Slice    int        `json:"slice"`    // of the region
	Sequence int        `json:"sequence"` // index among the slice's files
	Bytes    int64      `json:"bytes"`
	Raw      int64      `json:"raw_bytes"` // sum of the KeyValue lengths
	Rows     int64      `json:"rows"`
	Cells    int64      `json:"cells"`
	FirstRow string     `json:"first_row"` // in the notation of Printable
	LastRow  string     `json:"last_row"`
	First    int64      `json:"first_timestamp"`            // of the cells of the first row
	Last     int64      `json:"last_timestamp"`             // of the last
	Oldest   int64      `json:"oldest_timestamp,omitempty"` // of all cells; 0: it is First or Last
	Digest   digest.Sum `json:"digest"`
	Loaded   bool       `json:"loaded"`
	// Probes are cells by which the open region proves that it serves the file. Only the manifest has them.
	Probes []KnownCell `json:"probes,omitempty"`
	// Opening names its regions and their openings when the file was last known to be served, or was about to be loaded:
	// see load.Table.OpeningsOf.
	Opening string `json:"opening,omitempty"`
}

// Name returns a file's name: 32 hex digits that follow from the run and from the file's region, slice, family and
// sequence. So after a kill between rename and record, the run still knows the names of its unrecorded files.
func Name(run string, region, slice int, family string, sequence int) string {
	sum := md5.Sum(fmt.Appendf(nil, "%s\x00%d\x00%d\x00%s\x00%d", run, region, slice, family, sequence))
	return hex.EncodeToString(sum[:])
}

// TempFile is one file being written under its temporary name.
type TempFile struct {
	FileMeta
	FS     storage.FS
	Temp   string
	out    storage.FileWriter
	cores  hfilewriter.Cores // of the destination
	Writer *hfilewriter.Writer

	Times hfilewriter.Times
}

// Destination is where an output's files are written.
type Destination struct {
	FS    storage.FS
	Dir   string                 // of the output
	Temps func() (string, error) // returns the folder for unfinished files
	Cores hfilewriter.Cores      // idle ones help to write files; nil: none do
}

// Create creates a file. summary must have its path, family, region, slice and sequence. clock measures the writing.
func Create(p Destination, summary FileMeta, settings hfilewriter.Settings, stamp hfilewriter.Provenance,
	clock *timing.Stopwatch) (*TempFile, error) {
	temps, err := p.Temps()
	if err != nil {
		return nil, err
	}
	f := &TempFile{FileMeta: summary, FS: p.FS, Temp: path.Join(temps, path.Base(summary.Path)), cores: p.Cores}
	if err := storage.RemoveIfThere(p.FS, f.Temp); err != nil {
		return nil, fmt.Errorf("make %s: %w", p.FS.URI(f.Temp), err)
	}
	out, err := p.FS.Create(f.Temp, storage.FilePerm)
	if err != nil {
		return nil, fmt.Errorf("make %s: %w", p.FS.URI(f.Temp), err)
	}
	f.out = timing.Writer(out, clock)
	if f.Writer, err = hfilewriter.NewWriter(f.out, settings, stamp); err != nil {
		return nil, errors.Join(fmt.Errorf("begin %s: %w", p.FS.URI(f.Temp), err), f.out.Abort())
	}
	f.Writer.UseCores(p.Cores)
	return f, nil
}

// CountRow counts a row.
func (f *TempFile) CountRow(timestamp int64) {
	if f.Rows == 0 {
		f.First = timestamp
	}
	f.Last = timestamp
	f.Rows++
}

// Abort deletes an unfinished file.
func (f *TempFile) Abort() error {
	if f.out == nil {
		return nil
	}
	return f.out.Abort()
}

// Finish completes the file and makes it durable, still under its temporary name.
func (f *TempFile) Finish() error {
	summary, err := f.Writer.Close()
	if err != nil {
		return errors.Join(fmt.Errorf("end %s: %w", f.FS.URI(f.Temp), err), f.out.Abort())
	}
	if err := f.out.Close(); err != nil {
		return fmt.Errorf("end %s: %w", f.FS.URI(f.Temp), err)
	}
	f.Times = f.Writer.Times()
	f.Writer, f.out = nil, nil
	f.Bytes, f.Raw, f.Cells = summary.Bytes, summary.RawSize, summary.Cells
	if summary.OldestPut < min(f.First, f.Last) {
		f.Oldest = summary.OldestPut
	}
	f.FirstRow, f.LastRow = printable.Bytes(summary.FirstRow), printable.Bytes(summary.LastRow)
	return nil
}

// ReadBack reads the file back and compares it with what was written. The sum is over the decoded cells, so it finds
// faults of the encoder as well as of the disk.
func (f *TempFile) ReadBack(ctx context.Context) error {
	in, err := f.FS.Open(f.Temp)
	if err != nil {
		return fmt.Errorf("read back %s: %w", f.FS.URI(f.Temp), err)
	}
	defer in.Close()
	report, sum, probes, err := Verify(ctx, in, f.cores)
	if err != nil {
		return failure.Damagedf("read back %s: %w", f.FS.URI(f.Temp), err)
	}
	if in.Size() != f.Bytes || report.Cells != f.Cells || report.Rows != f.Rows {
		return errcode.Digest.Errorf("read back %s: it has %d bytes, %d rows and %d cells, but %d, %d and %d were written",
			f.FS.URI(f.Temp), in.Size(), report.Rows, report.Cells, f.Bytes, f.Rows, f.Cells)
	}
	f.Digest, f.Probes = sum, probes
	return nil
}

// Verify checks a whole file, adds up its cells, and picks the cells that can prove later that it is served. Idle cores
// help.
func Verify(ctx context.Context, in storage.File, cores hfilewriter.Cores) (*hfilewriter.Verified,
	digest.Sum, []KnownCell, error) {
	r, err := hfilewriter.Open(in, in.Size())
	if err != nil {
		return nil, digest.Sum{}, nil, err
	}
	r.UseCores(cores)
	var cells digest.Stream
	report, err := r.Verify(Interruptible(ctx, func(run *hfilewriter.CellBatch) error {
		cells.AddRun(run.Cell, run.Column, run.Columns, run.Values)
		return nil
	}))
	if err != nil {
		return report, cells.Sum, nil, err
	}
	probes, err := PickProbes(r, in.Size())
	return report, cells.Sum, probes, err
}

// Interruptible ends an iteration over cells when ctx ends.
func Interruptible(ctx context.Context, visit func(*hfilewriter.CellBatch) error) func(*hfilewriter.CellBatch) error {
	n := 0
	return func(run *hfilewriter.CellBatch) error {
		if n++; n%entry.CheckEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		return visit(run)
	}
}

// PartName returns the name of the part of a file that begins with a row: the same whenever the file is cut there.
func PartName(of string, row []byte) string {
	sum := md5.Sum(fmt.Appendf(nil, "%s\x00part\x00%s", of, row))
	return hex.EncodeToString(sum[:])
}
