package verify

import (
	"bytes"
	"fmt"
	"sync"
	"unicode/utf8"

	"bulkload/cell"
	"bulkload/internal/printable"
	"bulkload/jobs/progress"
	"bulkload/jobs/sorting"
)

// maxDifferences bounds how many differences are listed; all are counted.
const maxDifferences = 20

// The kinds of Difference.
const (
	missingCell   = "missing"
	differentCell = "different"
	extraCell     = "extra"
)

// Difference is one cell that differs from the source.
type Difference struct {
	What   string `json:"what"` // missing, different or extra
	Row    string `json:"row"`
	Column string `json:"column"`
	Want   string `json:"want,omitempty"`
	Got    string `json:"got,omitempty"`
}

// String formats the difference in one line.
func (d Difference) String() string {
	switch d.What {
	case missingCell:
		return fmt.Sprintf("row %s, %s: missing, want %s", d.Row, d.Column, d.Want)
	case extraCell:
		return fmt.Sprintf("row %s, %s: not in the source, got %s", d.Row, d.Column, d.Got)
	}
	return fmt.Sprintf("row %s, %s: want %s, got %s", d.Row, d.Column, d.Want, d.Got)
}

// differences collects the differences that several goroutines find.
type differences struct {
	mu                        sync.Mutex
	listed                    []Difference
	missing, different, extra int64
}

func (d *differences) add(what string, at, want, got *cell.Cell) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch what {
	case missingCell:
		d.missing++
	case differentCell:
		d.different++
	case extraCell:
		d.extra++
	}
	if len(d.listed) < maxDifferences {
		d.listed = append(d.listed, Difference{what, printable.Bytes(at.Row), printable.Bytes(at.Family) + ":" + printable.Bytes(at.Qualifier), cellText(want), cellText(got)})
	}
}

func (d *differences) count() int64 { return d.missing + d.different + d.extra }

// cellText formats a cell's value, shortened, and its timestamp.
func cellText(c *cell.Cell) string {
	if c == nil {
		return ""
	}
	value := c.Value
	if len(value) > 60 {
		value = value[:60]
	}
	text := printable.Bytes(value)
	if utf8.Valid(c.Value) {
		text = fmt.Sprintf("%.60q", string(c.Value))
	}
	if c.Type != cell.Put {
		text += fmt.Sprintf(" type %d", c.Type)
	}
	return fmt.Sprintf("%s (%d bytes, timestamp %d)", text, len(c.Value), c.Timestamp)
}

// joiner joins the expected and the present cells of one region.
type joiner struct {
	want       *sorting.Cells
	next       *cell.Cell // of want
	found      *differences
	extraCells int64
	extraRows  int64
	ours       []byte     // the last row that the source had
	extraRow   []byte     // the last row counted as extra
	strict     bool       // an extra cell is a difference
	stale      *staleList // gets extra cells; nil: they are counted only
	matched    int64
	compared   *progress.Meter // counts rows; nil: nobody does
	counted    int64           // rows of want that it has
	countedNew int64           // extra rows that it has
}

// countEvery is how many rows of a region are compared before they are counted as progress.
const countEvery = 256

// count counts the rows that were compared since the last time, if they are at least so many.
func (j *joiner) count(least int64) {
	if j.compared == nil {
		return
	}
	if n := j.want.Rows - j.counted; n >= least && n > 0 {
		j.counted += n
		j.compared.Add(n)
	}
	if n := j.extraRows - j.countedNew; n >= least && n > 0 {
		j.countedNew += n
		j.compared.AddUnplanned(n)
	}
}

func newJoiner(want *sorting.Cells, found *differences, v *outputVerifier) (*joiner, error) {
	j := &joiner{want: want, found: found, strict: v.files != nil, stale: v.stale, compared: v.compared}
	return j, j.advance()
}

func (j *joiner) advance() error {
	if j.next != nil {
		j.ours = append(j.ours[:0], j.next.Row...)
	}
	var err error
	j.next, err = j.want.Next()
	j.count(countEvery)
	return err
}

// visit adds the next present cell.
func (j *joiner) visit(got *cell.Cell) error {
	for j.next != nil && compareOrder(j.next, got) < 0 {
		j.found.add(missingCell, j.next, j.next, nil)
		if err := j.advance(); err != nil {
			return err
		}
	}
	if j.next == nil || compareOrder(j.next, got) > 0 {
		j.extra(got)
		return nil
	}
	if j.next.Timestamp != got.Timestamp || j.next.Type != got.Type || !bytes.Equal(j.next.Value, got.Value) {
		j.found.add(differentCell, got, j.next, got)
	} else {
		j.matched++
	}
	return j.advance()
}

func (j *joiner) extra(got *cell.Cell) {
	if j.strict {
		j.found.add(extraCell, got, nil, got)
		return
	}
	j.extraCells++
	mine := bytes.Equal(got.Row, j.ours) || j.next != nil && bytes.Equal(got.Row, j.next.Row)
	if j.stale != nil {
		j.stale.add(got, mine)
	}
	if !mine && !bytes.Equal(got.Row, j.extraRow) {
		j.extraRows++
		j.extraRow = append(j.extraRow[:0], got.Row...)
		j.count(countEvery)
	}
}

// end reports the expected cells that never came.
func (j *joiner) end() error {
	for j.next != nil {
		j.found.add(missingCell, j.next, j.next, nil)
		if err := j.advance(); err != nil {
			return err
		}
	}
	j.count(1)
	return nil
}

// merge adds the result for another family of the same rows. Extra rows may be the same ones in both: the larger
// number counts, so the result is a lower bound.
func (j *joiner) merge(o *joiner) {
	j.matched += o.matched
	j.extraCells += o.extraCells
	j.extraRows = max(j.extraRows, o.extraRows)
}

// compareOrder orders cells by row, family and qualifier.
func compareOrder(a, b *cell.Cell) int {
	if c := bytes.Compare(a.Row, b.Row); c != 0 {
		return c
	}
	if c := bytes.Compare(a.Family, b.Family); c != 0 {
		return c
	}
	return bytes.Compare(a.Qualifier, b.Qualifier)
}
