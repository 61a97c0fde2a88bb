package jobdir

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"bulkload/internal/test/sample"

	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/file"
	"github.com/apache/arrow/go/v15/parquet/schema"
)

// CheckParquet writes rows of the check table as text columns, in several row groups.
func CheckParquet(t testing.TB, name string, groups, rows int) {
	t.Helper()
	w := TextParquet(t, name, sample.CheckColumns)
	for g := range groups {
		var b bytes.Buffer
		if err := sample.Check(&b, sample.Options{Rows: rows, Seed: uint64(g)}); err != nil {
			t.Fatal(err)
		}
		var records [][]string
		for record := range strings.SplitSeq(strings.TrimSuffix(b.String(), sample.RecordDelimiter), sample.RecordDelimiter) {
			records = append(records, strings.Split(record, sample.FieldDelimiter))
		}
		AddGroup(t, w, records)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// TextParquet begins a Parquet file of texts that are never null.
func TextParquet(t testing.TB, name string, columns []string) *file.Writer {
	t.Helper()
	var nodes schema.FieldList
	for _, c := range columns {
		nodes = append(nodes, schema.Must(schema.NewPrimitiveNodeLogical(c, parquet.Repetitions.Required, schema.StringLogicalType{}, parquet.Types.ByteArray, 0, -1)))
	}
	root, err := schema.NewGroupNode("schema", parquet.Repetitions.Required, nodes, -1)
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	return file.NewParquetWriter(out, root)
}

// AddGroup writes records as a row group.
func AddGroup(t testing.TB, w *file.Writer, records [][]string) {
	t.Helper()
	group := w.AppendRowGroup()
	for i := range w.Schema.NumColumns() {
		var values []parquet.ByteArray
		for _, record := range records {
			values = append(values, []byte(record[i]))
		}
		column, err := group.NextColumn()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := column.(*file.ByteArrayColumnChunkWriter).WriteBatch(values, nil, nil); err != nil {
			t.Fatal(err)
		}
		if err := column.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
