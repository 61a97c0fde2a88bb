package parquet

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	_ "time/tzdata" // the program runs where no zones are installed, and must not depend on the installed ones

	"bulkload/ingest"
	"bulkload/ingest/compressed"
	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/values"

	"golang.org/x/sync/errgroup"
)

// Binary is how values of binary columns are shown.
type Binary string

// The ways to show binary values.
const (
	BinaryBytes Binary = "" // as they are
	// as they are, and they must be UTF-8: Impala, Hive and old Sparks don't mark their text as such
	BinaryText Binary = "text"
	BinaryHex  Binary = "hex" // "de ad be ef", as Sqoop's text has them (org.apache.hadoop.io.BytesWritable.toString)
)

// FlatForm is the form of Parquet files with flat columns. Values are shown as in Sqoop's text import.
type FlatForm struct {
	Columns []string // to be read, by name; the others are ignored
	// Zone is the zone in which points in time are shown (TIMESTAMP with isAdjustedToUTC, and milliseconds in Millis), by
	// its name in the IANA database; "" is UTC. Int96Zone is the same for INT96; "" is Zone.
	Zone      string
	Int96Zone string
	// Millis names the INT64 columns that hold milliseconds since 1970, as Sqoop writes Oracle's dates and timestamps.
	Millis []string
	// KeepZeros shows decimals with as many digits as their scale: 1.50 and not 1.5.
	KeepZeros bool
	// Binary is how binary values are shown.
	Binary Binary
}

// Check says why the form is unusable: no columns, an unknown zone, or a column of Millis that is not read.
func (f *FlatForm) Check() error {
	if len(f.Columns) == 0 {
		return errors.New("read Parquet: no columns are named")
	}
	for _, zone := range []string{f.Zone, f.Int96Zone} {
		if _, err := values.Location(zone); err != nil {
			return fmt.Errorf("read Parquet: %w", err)
		}
	}
	for _, name := range f.Millis {
		if !slices.Contains(f.Columns, name) {
			return fmt.Errorf("read Parquet: column %s, said to hold milliseconds, is not among the columns", name)
		}
	}
	switch f.Binary {
	case BinaryBytes, BinaryText, BinaryHex:
		return nil
	}
	return fmt.Errorf("read Parquet: binary values as %q are not known", f.Binary)
}

// RejectDelimiter follows each rejected record. Rejects are delimited text: fields end at \x01, a null is \N, and each
// \x01, newline or backslash in a value has a backslash before it.
func (f *FlatForm) RejectDelimiter() []byte { return []byte{'\n'} }

// Codec is Auto: each page names its codec.
func (f *FlatForm) Codec() compressed.Codec { return compressed.Auto }

// RowOffsets is true: the bytes of a row are not in one place of the file.
func (f *FlatForm) RowOffsets() bool { return true }

// Warnings returns nothing, because a Parquet file describes its own content.
func (f *FlatForm) Warnings(storage.FS, []ingest.SourceFile) []string { return nil }

// maxOpenFiles is the number of files whose footers are read in parallel.
const maxOpenFiles = 8

// Splits reads the footer of each file and cuts the files between row groups. It refuses files that can't be read, and
// columns whose type is not the same in all files. A row group belongs to the split that contains its middle. A file
// without rows has no split.
func (f *FlatForm) Splits(fsys storage.FS, files []ingest.SourceFile, size int64) ([]ingest.Split, error) {
	if err := f.Check(); err != nil {
		return nil, err
	}
	all, err := f.outlines(fsys, files)
	if err != nil {
		return nil, err
	}
	var splits []ingest.Split
	var types seenTypes
	for _, foot := range all {
		if differ := types.add(foot.file.String(), foot.columns); differ != "" {
			return nil, refusef(errcode.ParquetUnsupported,
				"read %s: %s; export both alike, or load them with separate jobs", foot.file, differ)
		}
		splits = foot.cut(splits, size)
	}
	return splits, nil
}

// Rows is how many rows the files have, as their footers say.
func (f *FlatForm) Rows(fsys storage.FS, files []ingest.SourceFile) (int64, error) {
	all, err := f.outlines(fsys, files)
	if err != nil {
		return 0, err
	}
	rows := int64(0)
	for _, foot := range all {
		for _, g := range foot.groups {
			rows += g.rows
		}
	}
	return rows, nil
}

// outlines reads the footers of all files, and keeps only the parts needed to cut the files into splits.
func (f *FlatForm) outlines(fsys storage.FS, files []ingest.SourceFile) ([]*footer, error) {
	all := make([]*footer, len(files))
	group := errgroup.Group{}
	group.SetLimit(maxOpenFiles)
	for i := range files {
		group.Go(func() (err error) {
			all[i], err = f.outline(fsys, files[i])
			return err
		})
	}
	return all, group.Wait()
}

// outline reads a file's footer and drops the schema and the positions of the columns. A file with many row groups and
// columns has many positions, and opening a split reads the footer again anyway.
func (f *FlatForm) outline(fsys storage.FS, listed ingest.SourceFile) (*footer, error) {
	file, err := fsys.Open(listed.Path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	foot, err := f.readFooter(file, listed)
	if err != nil {
		return nil, err
	}
	for i := range foot.groups {
		foot.groups[i].chunks = nil
	}
	for i := range foot.columns {
		foot.columns[i].descr = nil // which holds the whole schema
	}
	return foot, nil
}

// cut appends the splits of a file, each of about size bytes.
func (foot *footer) cut(splits []ingest.Split, size int64) []ingest.Split {
	groups := slices.DeleteFunc(slices.Clone(foot.groups), func(g rowGroup) bool { return g.rows == 0 })
	slices.SortStableFunc(groups, func(a, b rowGroup) int { return cmp.Compare(a.middle(), b.middle()) })
	start, held := int64(0), int64(0)
	for i, g := range groups {
		if held += g.size; i+1 == len(groups) {
			return append(splits, ingest.Split{File: foot.file, Start: start, End: foot.file.Size})
		}
		next := groups[i+1].middle()
		if size > 0 && held+groups[i+1].size/2 > size && next > g.middle() {
			splits = append(splits, ingest.Split{File: foot.file, Start: start, End: next})
			start, held = next, 0
		}
	}
	return splits
}

// Open opens a split. The file must have its listed length.
func (f *FlatForm) Open(fsys storage.FS, split ingest.Split) (ingest.Records, error) {
	if err := f.Check(); err != nil {
		return nil, err
	}
	file, err := fsys.Open(split.File.Path)
	if err != nil {
		return nil, err
	}
	foot, err := f.readFooter(file, split.File)
	if err != nil {
		file.Close()
		return nil, err
	}
	r := newRecords(f, fsys, file, foot, split)
	return r, nil
}
