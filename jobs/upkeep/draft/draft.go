// Package draft writes the first job file for an export. It examines samples of the files and guesses how they are
// written, what the columns hold, and which row key suits them. The user must check a draft, so each guess has its
// reason beside it.
//
//	draft.go   what is drafted, from which samples
//	text.go    charset, delimiters, quotes and heading of text
//	column.go  what the values of a column are, and which of them mean a null
//	key.go     the row key
//	days.go    the path of one day's export
//	write.go   the job file
//	table.go   a job file for a live table
//	convert.go, properties.go   a job file from the properties of the Spark job that bulkload replaces
package draft

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"bulkload/ingest"
	"bulkload/ingest/charset"
	"bulkload/ingest/compressed"
	"bulkload/ingest/parquet"
	"bulkload/internal/errcode"
	"bulkload/internal/printable"
	"bulkload/internal/storage"
	"bulkload/jobs/spec/jobfile"
	"bulkload/values"
)

const (
	// sampleBytes is how much of a file is examined, after decompression.
	sampleBytes = 1 << 20
	// maxSamples is how many files are examined: the first, the last, and some between.
	maxSamples = 3
	// maxRecords is how many records of a file are examined.
	maxRecords = 20_000
)

// Draft is what the samples say about an export.
type Draft struct {
	Path    string // the input's path for the job file
	Files   int
	Bytes   int64
	Records int // examined

	day     string // of the export that was examined, as --date reads it; "" if the path has no day
	unclear string // why there is no day, if some files have one
	form    form
	columns []*column
	key     key
	notes   []string
}

// Of examines the files of a path: a file, a folder or a glob of fsys. shown is the path for the job file.
func Of(fsys storage.FS, name, shown string) (*Draft, error) {
	files, err := ingest.List(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errcode.InputMissing.Errorf("there is no input to look at (a table is written namespace:name): %w", err)
	}
	if err != nil {
		return nil, err
	}
	d := &Draft{Path: shown}
	if p := withDate(shown); p.day != "" {
		d.Path, d.day = p.path, p.day
	} else if latest, ok := d.ofDays(name, files); ok {
		files = latest
	}
	d.Files = len(files)
	var full []ingest.SourceFile
	for _, f := range files {
		if d.Bytes += f.Size; f.Size > 0 {
			full = append(full, f)
		}
	}
	if len(full) == 0 {
		return nil, errcode.InputUnknown.Errorf("%s has no file with a record: a draft needs a sample",
			printable.Name(fsys.URI(name)))
	}
	samples, err := read(fsys, full)
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(samples[0].text, []byte("PAR1")) {
		return d, d.ofParquet(fsys, full[0])
	}
	return d, d.ofText(samples)
}

// sample is the start of a file.
type sample struct {
	name  string
	text  []byte
	whole bool // text is all of the file
}

func read(fsys storage.FS, files []ingest.SourceFile) ([]sample, error) {
	var samples []sample
	n := min(len(files), maxSamples)
	for i := range n {
		f := files[i*(len(files)-1)/max(n-1, 1)]
		s, err := readOne(fsys, f)
		if err != nil {
			return nil, err
		}
		samples = append(samples, s)
	}
	return samples, nil
}

func readOne(fsys storage.FS, f ingest.SourceFile) (s sample, err error) {
	r, err := compressed.Open(fsys, f.Path, f.Size, compressed.Auto)
	if err != nil {
		return s, fmt.Errorf("look at %s: %w", printable.Name(fsys.URI(f.Path)), err)
	}
	defer func() { _ = r.Close() }() // it is only read
	text, err := io.ReadAll(io.LimitReader(r, sampleBytes+1))
	if err != nil {
		return s, fmt.Errorf("look at %s: %w", printable.Name(fsys.URI(f.Path)), err)
	}
	s = sample{name: printable.Name(fsys.URI(f.Path)), text: text, whole: len(text) <= sampleBytes}
	if !bytes.HasPrefix(text, []byte("PAR1")) {
		err = ingest.DetectForeign(s.name, text[:min(len(text), ingest.DetectLen)])
	}
	return s, err
}

// ofParquet drafts from a footer, which has the columns' names and types but not their values. So it proposes a key by
// the names alone.
func (d *Draft) ofParquet(fsys storage.FS, file ingest.SourceFile) error {
	d.form = form{format: "parquet"}
	names, err := parquet.ColumnNames(fsys, file)
	if err != nil {
		return fmt.Errorf("look at %s: %w", printable.Name(fsys.URI(file.Path)), err)
	}
	for _, name := range names {
		d.columns = append(d.columns, &column{name: name})
	}
	d.key = keyByNames(d.columns)
	return nil
}

func (d *Draft) ofText(samples []sample) error {
	found, texts, err := charsetOf(samples)
	if err != nil {
		return err
	}
	if d.form, err = formOf(samples[0].name, texts); err != nil {
		return err
	}
	d.form.charset = found
	var records [][]string
	for i, text := range texts {
		of := d.form.split(text, samples[i].whole)
		if i > 0 && d.form.heading && len(of) > 0 {
			of = of[1:]
		}
		records = append(records, of...)
	}
	d.describe(records)
	return nil
}

// describe examines the records' values, column by column.
func (d *Draft) describe(records [][]string) {
	names := numbered(d.form.columns)
	if d.form.heading {
		names, records = records[0], without(records[0], records[1:])
	}
	d.columns, d.Records = columnsOf(names, records, d.form.format == "csv")
	if other := len(records) - d.Records; other > 0 {
		d.note("%d of %d records have another number of columns than %d. A run rejects them: max_rejects says how many "+
			"are allowed.", other, len(records), len(d.columns))
	}
	if d.form.unsure {
		d.note("Some values are in quotes, and none of them has a quote inside. If the exporter escapes quotes by a " +
			"backslash, as Sqoop does, use format: delimited with escaped_by and optionally_enclosed_by.")
	}
	for _, c := range d.columns {
		if c.oracle != "" {
			d.note("Column %s has the value %s: %s. A run loads it as this text, which does not sort by time, and a DATE has "+
				"lost its time of day.", c.name, c.oracle, values.OracleDate([]byte(c.oracle)))
		}
		for value, n := range c.distinct {
			if values.Overflowed([]byte(value)) {
				d.note("Column %s has the value %s, %s: SQL*Plus writes that for a number or date that does not fit its column. "+
					"A run rejects these records. Export again with set numwidth 40.", c.name, value, jobfile.Plural(n, "time"))
			}
		}
	}
	if len(records) == 0 {
		d.note("CHECK THIS. The only line is taken for the heading. If it is a record, set header: false.")
		d.key = keyByNames(d.columns)
		return
	}
	d.key = keyOf(d.columns, records)
}

// without drops records that repeat the heading, because SQL*Plus prints it on each page.
func without(heading []string, records [][]string) [][]string {
	return slices.DeleteFunc(slices.Clone(records), func(r []string) bool { return slices.Equal(r, heading) })
}

func (d *Draft) note(format string, args ...any) {
	d.notes = append(d.notes, fmt.Sprintf(format, args...))
}

func numbered(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("c%d", i+1)
	}
	return names
}

// charsetOf returns the charset of the samples, "" for UTF-8, and their text in UTF-8.
func charsetOf(samples []sample) (name string, texts [][]byte, err error) {
	for _, name := range []string{"utf-8", "gbk", "gb18030", "windows-1252"} {
		c, err := charset.Named(name)
		if err != nil {
			return "", nil, err
		}
		if texts := decode(c, samples); texts != nil {
			if name == "utf-8" {
				name = ""
			}
			return name, texts, nil
		}
	}
	return "", nil, errcode.InputUnknown.Errorf("%s is not text in UTF-8, GBK, GB18030 or Windows-1252: write the job "+
		"file by hand, with its charset", samples[0].name)
}

// decode decodes the samples; nil if some bytes are not a character. The last character of a sample may be cut.
func decode(c *charset.Charset, samples []sample) (texts [][]byte) {
	for _, s := range samples {
		text, valid := c.Append(nil, s.text)
		if valid < len(s.text) && (s.whole || valid < len(s.text)-4) {
			return nil
		}
		texts = append(texts, text)
	}
	return texts
}

var (
	unwanted = regexp.MustCompile(`[^A-Za-z0-9_]+`)
	// numbering matches the numbers of an export's files or folders. Digits that follow a letter belong to a name.
	numbering = regexp.MustCompile(`^[_0-9]+(_|$)|_[_0-9]*$`)
)

// tableName derives a table's name from the input's path: its last element that is more than a date, a part number or
// an extension.
func tableName(p string) string {
	elements := strings.Split(path.Clean(variable.ReplaceAllString(p, "")), "/")
	for i := len(elements) - 1; i >= 0; i-- {
		name, _, _ := strings.Cut(strings.Trim(elements[i], "*"), ".")
		name = numbering.ReplaceAllString(unwanted.ReplaceAllString(strings.ToLower(name), "_"), "")
		if name != "" && !strings.HasPrefix(name, "part") && !strings.ContainsAny(elements[i], "?:=") {
			return name
		}
	}
	return "rows"
}
