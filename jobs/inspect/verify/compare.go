package verify

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"unicode/utf8"

	"bulkload/cell"
	"bulkload/internal/digest"
	"bulkload/internal/printable"
	"bulkload/jobs/base/options"
	"bulkload/jobs/pipeline/sorting"
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
		d.listed = append(d.listed, Difference{what, printable.Bytes(at.Row),
			printable.Bytes(at.Family) + ":" + printable.Bytes(at.Qualifier), cellText(want), cellText(got)})
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

// joiner joins the expected and the present cells of one slice, in one pass over the present ones.
//
// For a wide table with several families it has a cursor for each family: records come in the order of their
// qualifiers, so their cells are in order within each family but not across families.
type joiner struct {
	cursors    []*cursor
	family     func(name []byte) int // the cursor of a family's cells; nil if there is one cursor
	row        []byte                // of the last present cell; used with several cursors
	found      *differences
	extraCells int64
	extraRows  int64
	extraRow   []byte     // the last row counted as extra
	strict     bool       // an extra cell is a difference, and so is a newer one
	stale      *staleList // gets extra cells; nil: they are only counted
	matched    int64
	superseded int64          // cells of the source that a newer version hides
	compared   *options.Meter // counts rows as progress; may be nil
	counted    int64          // rows of the source that compared has counted
	countedNew int64          // extra rows that compared has counted
}

// cursor steps through the cells that the source wants.
type cursor struct {
	want *sorting.Cells
	next *cell.Cell // nil at the end
	ours []byte     // the row of the cell before next
	sum  digest.Stream
}

func (c *cursor) advance() (err error) {
	if c.next != nil {
		c.ours = append(c.ours[:0], c.next.Row...)
	}
	if c.next, err = c.want.Next(); c.next != nil {
		c.sum.Add(c.next)
	}
	return err
}

// has reports whether a row is in the source. The cursor must have reached the row.
func (c *cursor) has(row []byte) bool {
	return bytes.Equal(row, c.ours) || c.next != nil && bytes.Equal(row, c.next.Row)
}

// countEvery is how many rows of a region are compared before they are counted as progress.
const countEvery = 256

// rows returns how many rows of the source were read so far. Each cursor counts all of them.
func (j *joiner) rows() int64 { return j.cursors[0].want.Rows }

// count reports the rows compared since its last report as progress, once there are least of them.
func (j *joiner) count(least int64) {
	if j.compared == nil {
		return
	}
	if n := j.rows() - j.counted; n >= least && n > 0 {
		j.counted += n
		j.compared.Add(n)
	}
	if n := j.extraRows - j.countedNew; n >= least && n > 0 {
		j.countedNew += n
		j.compared.AddUnplanned(n)
	}
}

// newJoiner returns a joiner with a cursor for each of want. family maps a present cell's family to its cursor.
func newJoiner(want []*sorting.Cells, family func(name []byte) int, found *differences,
	v *outputVerifier) (*joiner, error) {
	j := &joiner{found: found, strict: v.files != nil, stale: v.stale, compared: v.compared}
	if len(want) > 1 {
		j.family = family
	}
	for _, cells := range want {
		c := &cursor{want: cells}
		j.cursors = append(j.cursors, c)
		if err := c.advance(); err != nil {
			return j, err
		}
	}
	return j, nil
}

// sum returns the digest of the cells that the source wants, as far as they are compared.
func (j *joiner) sum() (all digest.Sum) {
	for _, c := range j.cursors {
		all.Add(c.sum.Sum)
	}
	return all
}

// first returns the source's first row that is not compared yet; nil if all are.
func (j *joiner) first() []byte {
	var first []byte
	for _, c := range j.cursors {
		if c.next != nil && (first == nil || bytes.Compare(c.next.Row, first) < 0) {
			first = c.next.Row
		}
	}
	return first
}

// has reports whether a row is in the source. All rows before it must have been compared.
func (j *joiner) has(row []byte) bool {
	return slices.ContainsFunc(j.cursors, func(c *cursor) bool { return c.has(row) })
}

// visit compares the next present cell.
func (j *joiner) visit(got *cell.Cell) error {
	at := j.cursors[0]
	if j.family != nil {
		at = j.cursors[j.family(got.Family)]
		if err := j.enter(got.Row); err != nil {
			return err
		}
	}
	if err := j.skip(at, func(next *cell.Cell) bool { return compareOrder(next, got) < 0 }); err != nil {
		return err
	}
	if at.next == nil || compareOrder(at.next, got) > 0 {
		j.extra(got)
		return nil
	}
	switch want := at.next; {
	case want.Timestamp == got.Timestamp && want.Type == got.Type && bytes.Equal(want.Value, got.Value):
		j.matched++
	case want.Timestamp < got.Timestamp && !j.strict: // readers get the newer one, whether or not the table still has ours
		j.superseded++
	default:
		j.found.add(differentCell, got, want, got)
	}
	return j.advance(at)
}

// enter moves all cursors to a row, or past it. The cells that they want in earlier rows are missing.
func (j *joiner) enter(row []byte) error {
	if bytes.Equal(row, j.row) {
		return nil
	}
	j.row = append(j.row[:0], row...)
	for _, c := range j.cursors {
		if err := j.skip(c, func(next *cell.Cell) bool { return bytes.Compare(next.Row, row) < 0 }); err != nil {
			return err
		}
	}
	return nil
}

// skip reports the cursor's cells before the present one as missing.
func (j *joiner) skip(c *cursor, before func(next *cell.Cell) bool) error {
	for c.next != nil && before(c.next) {
		j.found.add(missingCell, c.next, c.next, nil)
		if err := j.advance(c); err != nil {
			return err
		}
	}
	return nil
}

func (j *joiner) advance(c *cursor) error {
	err := c.advance()
	j.count(countEvery)
	return err
}

func (j *joiner) extra(got *cell.Cell) {
	if j.strict {
		j.found.add(extraCell, got, nil, got)
		return
	}
	j.extraCells++
	mine := j.has(got.Row)
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
	for _, c := range j.cursors {
		if err := j.skip(c, func(*cell.Cell) bool { return true }); err != nil {
			return err
		}
	}
	j.count(1)
	return nil
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
