// Package sample makes rows like those of the check and opinion tables: exports to try and test the program with. The
// same options always produce the same bytes.
package sample

//go:generate go run ./generate -rows 1500 -seed 1 -first-key A208849559 -o ../../jobs/examples/testdata/check/2026-11-20/part-m-00000
//go:generate go run ./generate -rows 1500 -seed 2 -o ../../jobs/examples/testdata/check/2026-11-20/part-m-00001
//go:generate go run ./generate -table opinion -rows 300 -seed 1 -first-key A208849559 -o ../../jobs/examples/testdata/opinion/2026-11-20/part-m-00000
//go:generate go run ./generate -table opinion -rows 300 -seed 2 -o ../../jobs/examples/testdata/opinion/2026-11-20/part-m-00001

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
)

// CheckColumns are the columns of the check table, in the order of the export: one row for each rule that was applied
// to an application.
var CheckColumns = []string{
	"id", "check_id", "rule_no", "rule_type", "rule_desc", "hit_flag", "deleted", "score", "created_at", "updated_at",
	"operator", "city", "result", "amount", "ext_info", "version", "comments", "remark",
}

// OpinionColumns are the columns of the opinion table: people's remarks on an application.
var OpinionColumns = []string{
	"id", "apply_no", "node_code", "conclusion", "opinion", "created_at", "operator", "status",
}

// The delimiters of the exports, unless Options names others.
const (
	FieldDelimiter  = "\x01"
	RecordDelimiter = "\x10"
)

// Options describe the rows to make.
type Options struct {
	Rows int
	// Seed selects the content. Rows of different seeds below 2^16 never share an id, so that each can be one night's
	// batch.
	Seed uint64
	// FieldDelimiter and RecordDelimiter are written between columns and after records; "" is the default.
	FieldDelimiter, RecordDelimiter string
	// FirstKey is the check_id of the first rows; "" lets the seed choose it.
	FirstKey string
	// Null is the text of a null; "" makes none.
	Null string
	// KeyRows is the largest number of rows that share a key; 0 is 12.
	KeyRows int
	// FirstKeyRows is the number of FirstKey's rows; 0 lets the seed choose it. A million make one query key very large.
	FirstKeyRows int
	// Skew is the percentage of the keys that get the salt HotSalt, in addition to those that have it by chance.
	Skew int
}

// HotSalt is salt(key, 10) of most keys if Options.Skew is set.
const HotSalt = '7'

// Check writes rows of the check table.
func Check(w io.Writer, o Options) error { return generate(w, o, 1, (*rows).check) }

// Opinion writes rows of the opinion table.
func Opinion(w io.Writer, o Options) error { return generate(w, o, 2, (*rows).opinion) }

// rows makes one table's rows.
type rows struct {
	*rand.Rand
	options Options
	out     *bufio.Writer
	guids   guids
	key     string
	left    int    // rows of the key that are not made yet
	row     []byte // the current one
}

func generate(w io.Writer, o Options, table uint64, next func(*rows)) error {
	if o.FieldDelimiter == "" {
		o.FieldDelimiter = FieldDelimiter
	}
	if o.RecordDelimiter == "" {
		o.RecordDelimiter = RecordDelimiter
	}
	if o.KeyRows == 0 {
		o.KeyRows = 12
	}
	r := &rows{Rand: rand.New(rand.NewPCG(o.Seed, table)), options: o, out: bufio.NewWriterSize(w, 1<<16)}
	r.guids = newGUIDs(r.Rand, o.Seed, table)
	r.key = o.FirstKey
	if r.key != "" {
		r.left = 1 + r.IntN(o.KeyRows)
		if o.FirstKeyRows > 0 {
			r.left = o.FirstKeyRows
		}
	}
	for range o.Rows {
		r.nextKey()
		next(r)
		if _, err := r.out.Write(r.row); err != nil {
			return fmt.Errorf("write sample rows: %w", err)
		}
		r.row = r.row[:0]
	}
	if err := r.out.Flush(); err != nil {
		return fmt.Errorf("write sample rows: %w", err)
	}
	return nil
}

// nextKey changes to another application once the last one has all its rows.
func (r *rows) nextKey() {
	if r.left == 0 {
		r.key = r.newKey()
		hot := r.options.Skew > 0 && r.IntN(100) < r.options.Skew
		for hot && Salt(r.key) != HotSalt {
			r.key = r.newKey()
		}
		r.left = 1 + r.IntN(r.options.KeyRows)
	}
	r.left--
}

// newKey has 4 to 11 digits, because applications have numbers of all ages, and the old ones are short.
func (r *rows) newKey() string { return "A" + pad(r.IntN(1_000_000_000), 4+r.IntN(8)) }

// Salt is salt(key, 10) of an ASCII key: the last digit of Java's String.hashCode.
func Salt(key string) byte {
	var hash int32
	for _, c := range []byte(key) {
		hash = 31*hash + int32(c)
	}
	digit := hash % 10
	return '0' + byte(max(digit, -digit))
}

func pad(n, width int) string {
	s := strconv.Itoa(n)
	for len(s) < width {
		s = "0" + s
	}
	return s
}

// guids counts like SYS_GUID of an Oracle server process: 16 bytes, of which only some in the middle change from row to
// row, because the others identify the host and the process.
type guids struct {
	head, tail [6]byte
	counter    uint32
}

func newGUIDs(r *rand.Rand, seed, table uint64) guids {
	var g guids
	for i := range g.head {
		g.head[i], g.tail[i] = byte(r.Uint32()), byte(r.Uint32())
	}
	// The id contains the seed itself, so that the ids of two seeds always differ.
	binary.BigEndian.PutUint16(g.head[:], uint16(seed))
	g.tail[5] = byte(table)
	g.counter = r.Uint32()
	return g
}

const upperHex = "0123456789ABCDEF"

// append adds the next id's 32 hex digits.
func (g *guids) append(to []byte) []byte {
	g.counter++
	var id [16]byte
	copy(id[:], g.head[:])
	binary.BigEndian.PutUint32(id[6:], g.counter)
	copy(id[10:], g.tail[:])
	for _, b := range id {
		to = append(to, upperHex[b>>4], upperHex[b&15])
	}
	return to
}
