package parquet

import (
	"fmt"
	"strings"

	"bulkload/internal/editdistance"
	"bulkload/internal/errcode"

	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/schema"
)

// column is a column to read, and its place in a file.
type column struct {
	name     string
	leaf     int // among the file's columns
	descr    *schema.Column
	nullable bool
	kind     kind
}

// find finds the form's columns in a file's schema.
func (f *FlatForm) find(s *schema.Schema) ([]column, error) {
	leaves := leavesOf(s)
	columns := make([]column, len(f.Columns))
	for i, name := range f.Columns {
		at, ok := leaves.find(name)
		switch {
		case !ok:
			return nil, refusef(errcode.InputColumns, "it has no column %s%s", name, nearest(name, s))
		case at == nested:
			return nil, refusef(errcode.ParquetUnsupported,
				"column %s is a list, a map or a structure, which can't be read; export it as columns of its own", name)
		case at == twice:
			return nil, refusef(errcode.InputColumns, "it has two columns whose name is %s in lower case", name)
		}
		descr := s.Column(at)
		kind, err := f.kindOf(name, descr)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", name, err)
		}
		columns[i] = column{name: name, leaf: at, descr: descr, nullable: descr.MaxDefinitionLevel() > 0, kind: kind}
	}
	return columns, nil
}

// The places of columns that can't be read.
const (
	nested = -1
	twice  = -2
)

// leaves maps the columns' names to their places.
type leaves struct {
	exact map[string]int
	lower map[string]int // by the names in lower case
}

func leavesOf(s *schema.Schema) leaves {
	l := leaves{map[string]int{}, map[string]int{}}
	for i := range s.NumColumns() {
		c := s.Column(i)
		name, at := c.ColumnPath()[0], i
		if len(c.ColumnPath()) > 1 || c.MaxRepetitionLevel() > 0 {
			at = nested
		}
		put(l.exact, name, at)
		put(l.lower, strings.ToLower(name), at)
	}
	return l
}

func put(places map[string]int, name string, at int) {
	if had, seen := places[name]; seen && (had != nested || at != nested) {
		at = twice
	}
	places[name] = at
}

// find finds a column: by its exact name or, if there is none, in any case.
func (l leaves) find(name string) (at int, found bool) {
	if at, found = l.exact[name]; found {
		return at, true
	}
	at, found = l.lower[strings.ToLower(name)]
	return at, found
}

// nearest names the column that was probably meant, or the first columns of the file.
func nearest(name string, s *schema.Schema) string {
	best, distance := "", len(name)/2+1
	var all []string
	for i := range min(s.NumColumns(), maxCompared) {
		other := s.Column(i).ColumnPath()[0]
		if d := editdistance.Between(compared(name), compared(other)); d < distance {
			best, distance = other, d
		}
		if len(all) == 0 || all[len(all)-1] != other {
			all = append(all, other)
		}
	}
	if best != "" {
		return fmt.Sprintf("; did you mean %s?", best)
	}
	const shown = 10
	if len(all) > shown {
		return fmt.Sprintf("; it has %s and %d more", strings.Join(all[:shown], ", "), len(all)-shown)
	}
	return "; it has " + strings.Join(all, ", ")
}

const maxCompared = 2000

// compared is the form of a name that nearest compares: in lower case, and only its first 64 bytes.
func compared(name string) string { return strings.ToLower(name[:min(len(name), 64)]) }

// checkEncoding refuses an encoding that the footer names and no decoder of v15 reads. The footer also names the
// encodings of levels, and old Impalas name dictionaries that they don't write; so the encodings of pages are checked
// when they are read.
func (c *column) checkEncoding(e int32) error {
	const bitPacked, streamSplit = 4, 9
	encoding := parquet.Encoding(e)
	switch {
	case e == bitPacked, encoding == parquet.Encodings.RLE, encoding == parquet.Encodings.PlainDict,
		encoding == parquet.Encodings.RLEDict,
		encodingReadable(c.descr.PhysicalType(), encoding):
		return nil
	case e == streamSplit:
		return refusef(errcode.ParquetUnsupported,
			"encoding BYTE_STREAM_SPLIT of %s can't be read; write the file without it", c.descr.PhysicalType())
	}
	return refusef(errcode.ParquetUnsupported, "encoding %s of %s can't be read; write the file without it",
		encoding, c.descr.PhysicalType())
}

// seenTypes are the types of the columns, each in the first file that says it. A column of only nulls says nothing.
type seenTypes struct {
	kinds []kind
	files []string
}

// add compares a file's columns with those of the files before. It returns a description of the first one whose type
// differs; "" if there is none.
func (s *seenTypes) add(file string, columns []column) string {
	if s.kinds == nil {
		s.kinds, s.files = make([]kind, len(columns)), make([]string, len(columns))
	}
	for i, c := range columns {
		switch {
		case c.kind.null:
		case s.files[i] == "":
			s.kinds[i], s.files[i] = c.kind, file
		case c.kind.String() != s.kinds[i].String():
			return fmt.Sprintf("column %s is %s here and %s in %s", c.name, c.kind, s.kinds[i], s.files[i])
		}
	}
	return ""
}
