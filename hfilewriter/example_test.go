package hfilewriter_test

import (
	"bytes"
	"fmt"
	"log"

	"bulkload/cell"
	"bulkload/hfilewriter"
	"bulkload/values"
)

// A file is written from cells in HBase's order, and read back.
func Example() {
	var file bytes.Buffer
	settings := hfilewriter.Settings{Compression: hfilewriter.CompressSnappy, Encoding: hfilewriter.EncodeFastDiff, Bloom: hfilewriter.BloomRow}
	w, err := hfilewriter.NewWriter(&file, settings, hfilewriter.Provenance{Created: 1700000000000, Loaded: 1700000000000, Task: "example"})
	if err != nil {
		log.Fatal(err)
	}
	for _, row := range []string{"row1", "row2", "row3"} {
		next := cell.Cell{Row: []byte(row), Family: []byte("f"), Qualifier: []byte("q"), Timestamp: 1700000000000, Type: cell.Put, Value: []byte("value of " + row)}
		if err := w.Append(&next); err != nil {
			log.Fatal(err)
		}
	}
	summary, err := w.Close()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d cells from %s to %s\n", summary.Cells, summary.FirstRow, summary.LastRow)

	r, err := hfilewriter.Open(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		log.Fatal(err)
	}
	s := r.Seek([]byte("row2"))
	for s.Next() {
		c := s.Cell()
		fmt.Printf("%s %s:%s = %s\n", c.Row, c.Family, c.Qualifier, c.Value)
	}
	if s.Err() != nil {
		log.Fatal(s.Err())
	}
	// Output:
	// 3 cells from row1 to row3
	// row2 f:q = value of row2
	// row3 f:q = value of row3
}

// Rows whose columns are fixed are written a row at a time: the same bytes, several times as fast.
func ExampleWriter_AppendRow() {
	columns, err := hfilewriter.NewColumns([]byte("f"), [][]byte{[]byte("city"), []byte("name"), []byte("note")})
	if err != nil {
		log.Fatal(err)
	}
	var file bytes.Buffer
	w, err := hfilewriter.NewWriter(&file, hfilewriter.Settings{Compression: hfilewriter.CompressNone, Encoding: hfilewriter.EncodeFastDiff}, hfilewriter.Provenance{})
	if err != nil {
		log.Fatal(err)
	}
	text := func(s string) values.Value { return values.ValueOf([]byte(s)) }
	rows := []struct {
		row    string
		values []values.Value
	}{
		{"row1", []values.Value{text("Shanghai"), text("Li"), text("")}}, // an empty value is a cell,
		{"row2", []values.Value{text("Shanghai"), text("Wu"), {}}},       // null is none
	}
	for _, r := range rows {
		if err := w.AppendRow(columns, []byte(r.row), 1700000000000, r.values); err != nil {
			log.Fatal(err)
		}
	}
	summary, err := w.Close()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(summary.Cells, "cells")
	// Output: 5 cells
}

// Verify reads a whole file, checks it, and may show its cells.
func ExampleReader_Verify() {
	var file bytes.Buffer
	w, err := hfilewriter.NewWriter(&file, hfilewriter.Settings{Compression: hfilewriter.CompressNone, Bloom: hfilewriter.BloomRow}, hfilewriter.Provenance{})
	if err != nil {
		log.Fatal(err)
	}
	if err := w.Append(&cell.Cell{Row: []byte("row"), Family: []byte("f"), Qualifier: []byte("q"), Type: cell.Put, Value: []byte("v")}); err != nil {
		log.Fatal(err)
	}
	if _, err := w.Close(); err != nil {
		log.Fatal(err)
	}
	damaged := bytes.Clone(file.Bytes())
	damaged[60]++
	for _, b := range [][]byte{file.Bytes(), damaged} {
		r, err := hfilewriter.Open(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			log.Fatal(err)
		}
		report, err := r.Verify(nil)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Printf("%d blocks, %d rows, %d cells\n", report.Blocks, report.Rows, report.Cells)
	}
	// Output:
	// 6 blocks, 1 rows, 1 cells
	// verify HFile: block at offset 0: corrupt HFile: CRC32C of bytes 0 and on of the DATA block is ecfba6eb, stored edfba6eb
}

// Layout describes a file's parts.
func ExampleReader_Layout() {
	var file bytes.Buffer
	w, err := hfilewriter.NewWriter(&file, hfilewriter.Settings{Compression: hfilewriter.CompressNone, Bloom: hfilewriter.BloomRow}, hfilewriter.Provenance{})
	if err != nil {
		log.Fatal(err)
	}
	if err := w.Append(&cell.Cell{Row: []byte("row"), Family: []byte("f"), Qualifier: []byte("q"), Type: cell.Put, Value: []byte("v")}); err != nil {
		log.Fatal(err)
	}
	if _, err := w.Close(); err != nil {
		log.Fatal(err)
	}
	r, err := hfilewriter.Open(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		log.Fatal(err)
	}
	_, err = r.Layout(func(b *hfilewriter.Block) error {
		fmt.Printf("%4d %s, %d bytes, %d entries\n", b.Offset, b.Type, b.Stored, b.Entries)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	//    0 DATA, 64 bytes, 1 entries
	//   64 BLOOM_CHUNK, 39 bytes, 0 entries
	//  103 ROOT_INDEX, 67 bytes, 1 entries
	//  170 ROOT_INDEX, 37 bytes, 0 entries
	//  207 FILE_INFO, 596 bytes, 18 entries
	//  803 GENERAL_BLOOM_META, 94 bytes, 1 entries
}
