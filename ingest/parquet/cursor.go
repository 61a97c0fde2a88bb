package parquet

import (
	"fmt"

	"bulkload/internal/storage"

	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/apache/arrow/go/v15/parquet/file"
)

// batch is the number of values of a column that are decoded at a time.
const batch = 1024

// cursor steps through the values of one column.
type cursor struct {
	column
	file  storage.File // the column's own file, for chunks that are read piece by piece
	pages pages

	reader     file.ColumnChunkReader
	read       func(n int64) (rows int64, values int, err error)
	appendText formatFunc
	buffer     decoded

	levels []int16 // of the batch, 0 for a null; nil if there are none
	at, n  int     // the next row in the batch, and the number of rows in it
	value  int     // the next value in the batch
	unread int     // rows of the page after the batch
}

func (c *cursor) init(u *unpacker, scratch *[]byte) {
	t := c.descr.PhysicalType()
	c.pages = pages{physical: t, width: widthOf(t, c.descr.TypeLength()), nullable: c.nullable,
		unpacker: u, scratch: scratch}
	if c.nullable {
		c.levels = make([]int16, batch)
	}
	c.buffer.make(t)
}

// begin moves to a row group.
func (c *cursor) begin(f storage.File, at chunk, rows int64) error {
	p := &c.pages
	if p.page != nil {
		p.page.Release()
	}
	p.stream.reset(f, at.start, at.end)
	p.codec, p.left, p.entries, p.page, p.err, p.allowed = at.codec, rows, -1, nil, nil, false
	c.at, c.n, c.value, c.unread = 0, 0, 0, 0
	c.reader = file.NewColumnReader(c.descr, p, memory.DefaultAllocator, nil)
	if c.read = c.buffer.bind(c.reader, c.levels); c.read == nil {
		return fmt.Errorf("type %s can't be read", c.descr.PhysicalType())
	}
	return nil
}

// fill decodes the next batch of values.
func (c *cursor) fill() error {
	if c.unread == 0 {
		c.pages.allowed = true
		if !c.reader.HasNext() {
			if err := c.reader.Err(); err != nil {
				return err
			}
			return fmt.Errorf("the column ends with %d values missing", c.pages.left)
		}
		c.unread = c.pages.values
	}
	n := min(c.unread, batch)
	rows, values, err := c.read(int64(n))
	if err != nil {
		return err
	}
	if want := c.present(n); rows != int64(n) || values != want {
		return fmt.Errorf("its values are damaged: %d of %d rows and %d of %d values could be decoded", rows, n, values, want)
	}
	c.at, c.n, c.value = 0, n, 0
	c.unread -= n
	return nil
}

// present counts the values of the next n rows that are not null.
func (c *cursor) present(n int) int {
	if c.levels == nil {
		return n
	}
	present := 0
	for _, level := range c.levels[:n] {
		present += int(level)
	}
	return present
}
