package jobs

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/test/sample"
	"bulkload/jobs/base/options"
	"bulkload/jobs/inspect/plan"

	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/file"
	"github.com/apache/arrow/go/v15/parquet/schema"
)

// TestPlanOfParquet: a sample of a file's row groups, compared with a run.
func TestPlanOfParquet(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs a job")
	}
	job := strings.Replace(strings.Replace(checkJob, "  record_delimiter: '\\x10'\n", "", 1), "input:\n", "input:\n  format: parquet\n", 1)
	dir := planDir(t, job, nil)
	writeCheckGroups(t, filepath.Join(dir, "in/2026-11-20/part-0"), 16, 4000)
	r := mustPlan(t, readCheck(t, dir, "out"), plan.Options{Sample: 6400})
	s := mustRun(t, readCheck(t, dir, "out"), options.Options{WorkDir: dir})
	var size int64
	for _, f := range s.Files {
		size += f.Bytes
	}
	off := float64(r.HFiles.Bytes)/float64(size) - 1
	t.Logf("%s: estimated %d, written %d bytes: %+.2f%%", r.How, r.HFiles.Bytes, size, 100*off)
	if !r.Sample || r.RowsRead != 6400 || math.Abs(float64(r.Rows)/64_000-1) > 0.05 || math.Abs(off) > 0.1 {
		t.Errorf("%d of %d rows read, off by %+.1f%%", r.RowsRead, r.Rows, 100*off)
	}
}

// writeCheckGroups writes rows of the check table as text columns, in several row groups.
func writeCheckGroups(t *testing.T, name string, groups, rows int) {
	t.Helper()
	w := newTextParquet(t, name, sample.CheckColumns)
	for g := range groups {
		var b bytes.Buffer
		if err := sample.Check(&b, sample.Options{Rows: rows, Seed: uint64(g)}); err != nil {
			t.Fatal(err)
		}
		var records [][]string
		for record := range strings.SplitSeq(strings.TrimSuffix(b.String(), sample.RecordDelimiter), sample.RecordDelimiter) {
			records = append(records, strings.Split(record, sample.FieldDelimiter))
		}
		addGroup(t, w, records)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// newTextParquet begins a Parquet file of texts that are never null.
func newTextParquet(t *testing.T, name string, columns []string) *file.Writer {
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

// addGroup writes records as a row group.
func addGroup(t *testing.T, w *file.Writer, records [][]string) {
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
