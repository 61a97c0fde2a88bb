package parquet

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"bulkload/ingest"
	"bulkload/ingest/delimited"
	"bulkload/internal/storage"
	"bulkload/internal/test/sample"

	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/compress"
	"github.com/apache/arrow/go/v15/parquet/file"
	"github.com/apache/arrow/go/v15/parquet/schema"
)

// writeGroup writes a file of one row group with v15's own writer, from one slice of values for each column.
func writeGroup(t testing.TB, name string, names []string, nodes []schema.Node, columns []any) {
	t.Helper()
	root, err := schema.NewGroupNode("schema", parquet.Repetitions.Required, nodes, -1)
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	w := file.NewParquetWriter(out, root, file.WithWriterProps(parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Snappy))))
	group := w.AppendRowGroup()
	for i, values := range columns {
		if err := writeColumn(group, values); err != nil {
			t.Fatalf("column %s: %v", names[i], err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func writeColumn(group file.SerialRowGroupWriter, values any) error {
	w, err := group.NextColumn()
	if err != nil {
		return err
	}
	switch w := w.(type) {
	case *file.Int64ColumnChunkWriter:
		_, err = w.WriteBatch(values.([]int64), nil, nil)
	case *file.Float64ColumnChunkWriter:
		_, err = w.WriteBatch(values.([]float64), nil, nil)
	case *file.ByteArrayColumnChunkWriter:
		_, err = w.WriteBatch(values.([]parquet.ByteArray), nil, nil)
	}
	if err != nil {
		return err
	}
	return w.Close()
}

func required(name string, t parquet.Type, l schema.LogicalType) schema.Node {
	return schema.Must(schema.NewPrimitiveNodeLogical(name, parquet.Repetitions.Required, l, t, 0, -1))
}

// writeCheck writes rows of the check table, with all columns as text, and also returns them as delimited text.
func writeCheck(t testing.TB, name string, rows int) (text []byte) {
	var b bytes.Buffer
	if err := sample.Check(&b, sample.Options{Rows: rows}); err != nil {
		t.Fatal(err)
	}
	columns := make([]any, len(sample.CheckColumns))
	var nodes []schema.Node
	for i, c := range sample.CheckColumns {
		nodes = append(nodes, required(c, parquet.Types.ByteArray, schema.StringLogicalType{}))
		columns[i] = make([]parquet.ByteArray, 0, rows)
	}
	for line := range bytes.SplitSeq(bytes.TrimSuffix(b.Bytes(), []byte(sample.RecordDelimiter)), []byte(sample.RecordDelimiter)) {
		for i, field := range bytes.Split(line, []byte(sample.FieldDelimiter)) {
			columns[i] = append(columns[i].([]parquet.ByteArray), field)
		}
	}
	writeGroup(t, name, sample.CheckColumns, nodes, columns)
	return b.Bytes()
}

func BenchmarkRead(b *testing.B) {
	dir := b.TempDir()
	name := filepath.Join(dir, "check.parquet")
	const rows = 200_000
	text := writeCheck(b, name, rows)
	plain := filepath.Join(dir, "check.txt")
	if err := os.WriteFile(plain, text, 0o600); err != nil {
		b.Fatal(err)
	}
	typed := filepath.Join(dir, "typed.parquet")
	writeTyped(b, typed, rows)
	delimited := &delimited.Form{Columns: sample.CheckColumns, FieldDelimiter: []byte(sample.FieldDelimiter), RecordDelimiter: []byte(sample.RecordDelimiter)}
	for _, c := range []struct {
		name, file string
		form       ingest.Format
		size       int64 // of the same rows as text; 0: the file's size
	}{
		{"delimited text", plain, delimited, 0},
		{"18 columns of text", name, &FlatForm{Columns: sample.CheckColumns}, int64(len(text))},
		{"3 of 18 columns", name, &FlatForm{Columns: []string{"id", "check_id", "rule_no"}}, 0},
		{"numbers and times", typed, &FlatForm{Columns: typedColumns}, 0},
	} {
		b.Run(c.name, func(b *testing.B) {
			files := listed(b, c.file)
			splits, err := c.form.Splits(storage.Local, files, 0)
			if err != nil {
				b.Fatal(err)
			}
			if c.size == 0 {
				c.size = files[0].Size
			}
			b.SetBytes(c.size)
			b.ReportAllocs()
			for b.Loop() {
				benchmarkSplit(b, c.form, splits[0], rows)
			}
			b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

func benchmarkSplit(b *testing.B, form ingest.Format, split ingest.Split, want int) {
	r, err := form.Open(storage.Local, split)
	if err != nil {
		b.Fatal(err)
	}
	rows := 0
	if err := drain(r, func(*ingest.Record) { rows++ }, func(*ingest.BadRecord) {}); err != nil || rows != want {
		b.Fatal(rows, err)
	}
	r.Close()
}

var typedColumns = []string{"id", "price", "ratio", "at"}

func writeTyped(t testing.TB, name string, rows int) {
	ids, prices, ratios, ats := make([]int64, rows), make([]int64, rows), make([]float64, rows), make([]int64, rows)
	for i := range rows {
		ids[i], prices[i], ratios[i], ats[i] = int64(i), int64(i*7919%1000003), float64(i)/7, 1_700_000_000_000_000+int64(i)*7919
	}
	writeGroup(t, name, typedColumns, []schema.Node{
		required("id", parquet.Types.Int64, nil), required("price", parquet.Types.Int64, schema.NewDecimalLogicalType(18, 2)),
		required("ratio", parquet.Types.Double, nil),
		required("at", parquet.Types.Int64, schema.NewTimestampLogicalType(true, schema.TimeUnitMicros)),
	}, []any{ids, prices, ratios, ats})
}

// TestNoAllocations: a row allocates no memory once reading is under way.
func TestNoAllocations(t *testing.T) {
	name := filepath.Join(t.TempDir(), "typed.parquet")
	const rows = 100_000
	writeTyped(t, name, rows)
	form := &FlatForm{Columns: typedColumns, Zone: "Asia/Shanghai"}
	splits, err := form.Splits(storage.Local, listed(t, name), 0)
	if err != nil {
		t.Fatal(err)
	}
	r, err := form.Open(storage.Local, splits[0])
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	next := func() {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}
	next()
	if got := testing.AllocsPerRun(rows-10, next); got > 0 {
		t.Errorf("%v allocations a row", got)
	}
}

// TestMemory reads a row group of 90 MB in a separate process, which must stay below 100 MB.
func TestMemory(t *testing.T) {
	const asked = "BULKLOAD_TEST_PARQUET"
	names := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	if name := os.Getenv(asked); name != "" {
		rows, _, err := readCounted(&FlatForm{Columns: names}, name)
		if err != nil {
			t.Fatal(err)
		}
		status, err := os.ReadFile("/proc/self/status")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("rows %d\n%s\n", rows, status)
		return
	}
	if testing.Short() {
		t.Skip("writes a file of 90 MB")
	}
	name := filepath.Join(t.TempDir(), "large.parquet")
	writeLarge(t, name, names)
	cmd := exec.Command(os.Args[0], "-test.run", "^TestMemory$")
	cmd.Env = append(os.Environ(), asked+"="+name)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	info, err := os.Stat(name)
	if err != nil || info.Size() < 90e6 {
		t.Fatalf("%d bytes: %v", info.Size(), err)
	}
	most := 0
	for line := range strings.Lines(string(out)) {
		if kb, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			most, _ = strconv.Atoi(strings.Fields(kb)[0])
		}
	}
	t.Logf("a row group of %d bytes, read in %d kB", info.Size(), most)
	if most == 0 || most > 100_000 {
		t.Errorf("%d kB of memory\n%s", most, out)
	}
}

// writeLarge writes one row group of numbers and text that can't be compressed.
func writeLarge(t *testing.T, name string, names []string) {
	const rows = 1_150_000
	rnd := rand.New(rand.NewPCG(1, 1))
	columns := make([]any, len(names))
	var nodes []schema.Node
	for i, c := range names {
		if i%2 == 0 {
			longs := make([]int64, rows)
			for j := range longs {
				longs[j] = rnd.Int64()
			}
			columns[i] = longs
			nodes = append(nodes, required(c, parquet.Types.Int64, nil))
			continue
		}
		texts := make([]parquet.ByteArray, rows)
		for j := range texts {
			texts[j] = strconv.AppendUint(make([]byte, 0, 13), rnd.Uint64(), 36)
		}
		columns[i] = texts
		nodes = append(nodes, required(c, parquet.Types.ByteArray, schema.StringLogicalType{}))
	}
	writeGroup(t, name, names, nodes, columns)
}

func readCounted(form *FlatForm, name string) (rows, bad int, err error) {
	info, err := os.Stat(name)
	if err != nil {
		return 0, 0, err
	}
	splits, err := form.Splits(storage.Local, []ingest.SourceFile{{Path: name, Size: info.Size()}}, 0)
	if err != nil {
		return 0, 0, err
	}
	for _, split := range splits {
		r, err := form.Open(storage.Local, split)
		if err != nil {
			return 0, 0, err
		}
		if err := drain(r, func(*ingest.Record) { rows++ }, func(*ingest.BadRecord) { bad++ }); err != nil {
			return 0, 0, err
		}
		r.Close()
	}
	return rows, bad, nil
}
