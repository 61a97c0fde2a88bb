package parquet

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/ingest"
	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/internal/test/testwords"

	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/schema"
)

// TestSpark reads what Spark and parquet-avro wrote in their various ways. testdata/spark/SparkFiles.java has the
// expected values.
func TestSpark(t *testing.T) {
	names, err := filepath.Glob("testdata/spark/*.parquet")
	if err != nil || len(names) < 10 {
		t.Fatalf("%d files: %v", len(names), err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".parquet"), func(t *testing.T) { compareFile(t, name) })
	}
}

// TestKept reads the files that pyarrow wrote with testdata/kept.py. All have the same rows.
func TestKept(t *testing.T) {
	want := describe(t, "testdata/small.parquet")
	for _, name := range readable {
		t.Run(name, func(t *testing.T) {
			for _, size := range []int64{0, 1, 2000} {
				rows, bad, err := readAll(&want.Form, listed(t, name), size)
				if err != nil || len(bad) > 0 {
					t.Fatal(bad, err)
				}
				compareRows(t, want, rows)
			}
		})
	}
}

var readable = []string{"testdata/small.parquet", "testdata/plain.parquet", "testdata/v2.parquet", "testdata/delta.parquet", "testdata/lengths.parquet"}

var smallColumns = []string{"id", "text", "price", "at", "ratio", "flag"}

func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		file    string
		columns []string
		code    errcode.Code // "": it is read
		names   []string
	}{
		"lz4": {"lz4", smallColumns, errcode.ParquetUnsupported,
			[]string{"row group 0, column id: ", "LZ4_RAW"}},
		"byte stream split": {"stream-split", smallColumns, errcode.ParquetUnsupported,
			[]string{"row group 0, column ratio: ", "BYTE_STREAM_SPLIT of DOUBLE"}},
		"not among the columns": {"stream-split", []string{"id", "text"}, "", nil},
		"list": {"nested", []string{"id", "list"}, errcode.ParquetUnsupported,
			[]string{"column list is a list"}},
		"structure": {"nested", []string{"struct"}, errcode.ParquetUnsupported,
			[]string{"column struct is a list, a map or a structure"}},
		"map": {"nested", []string{"map"}, errcode.ParquetUnsupported,
			[]string{"column map is a list, a map"}},
		"beside nested columns": {"nested", []string{"id"}, "", nil},
		"encrypted":             {"encrypted", smallColumns, errcode.ParquetUnsupported, []string{"it is encrypted"}},
		"encrypted column": {"encrypted-columns", smallColumns, errcode.ParquetUnsupported,
			[]string{"row group 0, column price: is encrypted"}},
		"beside encrypted": {"encrypted-columns", []string{"id", "text"}, "", nil},
		"no such column": {"small", []string{"id", "txet"}, errcode.InputColumns,
			[]string{"column txet", " text?"}},
		"other case": {"small", []string{"ID"}, "", nil},
		"no such column at all": {"small", []string{"merchandise"}, errcode.InputColumns,
			[]string{"column merchandise", "id, text, price, at, ratio, flag"}},
		"source": {"kept.py", []string{"id"}, errcode.InputFormat, []string{"begins with", `"PAR1"`}},
	} {
		t.Run(name, func(t *testing.T) {
			file := "testdata/" + c.file
			if filepath.Ext(file) == "" {
				file += ".parquet"
			}
			files := listed(t, file)
			_, err := (&FlatForm{Columns: c.columns}).Splits(storage.Local, files, 0)
			if c.code == "" && err == nil {
				return
			}
			if errcode.Outermost(err) != c.code || !testwords.Names(err, files[0].Path) ||
				!testwords.Names(err, c.names...) {
				t.Errorf("%v, want %s %q", err, c.code, c.names)
			}
		})
	}
}

// TestOtherTypes refuses files of one input whose types differ, and accepts differences that don't matter.
func TestOtherTypes(t *testing.T) {
	files := append(listed(t, "testdata/small.parquet"), listed(t, "testdata/other-type.parquet")...)
	_, err := (&FlatForm{Columns: smallColumns}).Splits(storage.Local, files, 0)
	if errcode.Outermost(err) != errcode.ParquetUnsupported ||
		!testwords.Names(err, "column price is DOUBLE here and DECIMAL of scale 2 in ", files[0].Path, files[1].Path) {
		t.Error(err)
	}
	if _, err := (&FlatForm{Columns: []string{"id", "at"}}).Splits(storage.Local, files, 0); err != nil {
		t.Error(err)
	}
}

// TestColumnOfNulls: a column without a value in a file has the type UNKNOWN there, as pandas and pyarrow write it. It
// fits any type that other files have, and these must still agree.
func TestColumnOfNulls(t *testing.T) {
	column := func(name string, physical parquet.Type, logical schema.LogicalType, value any) *written {
		return &written{name: name, physical: physical, logical: logical, length: -1, optional: true, values: []any{value}}
	}
	contents := map[string][]byte{}
	for name, c := range map[string]*written{
		"nulls": column("a", parquet.Types.Int32, schema.NullLogicalType{}, nil), "text": column("a", parquet.Types.ByteArray, schema.StringLogicalType{}, parquet.ByteArray("x")),
		"number": column("a", parquet.Types.Int64, schema.NoLogicalType{}, int64(7)), "wrong": column("a", parquet.Types.Int32, schema.NullLogicalType{}, int32(7)),
	} {
		contents[name] = writeFile(t, []*written{column("id", parquet.Types.ByteArray, schema.StringLogicalType{}, parquet.ByteArray(name)), c}, []int{1})
	}
	for _, c := range []struct{ files, want string }{
		{"nulls", "nulls:NULL "}, {"nulls text", "nulls:NULL text:x "}, {"text nulls", "text:x nulls:NULL "}, {"nulls number nulls", "nulls:NULL number:7 nulls:NULL "},
		{"nulls text number", "INTEGER here and STRING in "}, {"text nulls number", "INTEGER here and STRING in "},
		{"wrong text", "UNKNOWN, which is always null text:x "},
	} {
		dir := t.TempDir()
		for i, name := range strings.Fields(c.files) {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), contents[name], 0o600); err != nil {
				t.Fatal(err)
			}
		}
		form := &FlatForm{Columns: []string{"id", "a"}, Millis: []string{"a"}}
		if strings.Contains(c.files, "text") {
			form.Millis = nil
		}
		splits, err := form.Splits(storage.Local, listed(t, dir), 0)
		var got strings.Builder
		if err != nil {
			got.WriteString(err.Error())
		}
		for _, s := range splits {
			r, err := form.Open(storage.Local, s)
			if err != nil {
				t.Fatal(err)
			}
			err = drain(r, func(rec *ingest.Record) {
				value := "NULL"
				if !rec.Fields[1].Null() {
					value = string(rec.Fields[1].Bytes())
				}
				fmt.Fprintf(&got, "%s:%s ", rec.Fields[0].Bytes(), value)
			}, func(bad *ingest.BadRecord) { got.WriteString(bad.Reason + " ") })
			if err := errors.Join(err, r.Close()); err != nil {
				t.Fatal(err)
			}
		}
		if text := strings.ReplaceAll(got.String(), "1970-01-01 00:00:00.007", "7"); !strings.Contains(text, c.want) {
			t.Errorf("%s: %s, want %s", c.files, text, c.want)
		}
	}
}

// TestCompressedWhole: the error for a file packed with gzip names it.
func TestCompressedWhole(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.parquet.gz")
	if err := os.WriteFile(name, append([]byte("\x1f\x8b\x08\x00"), make([]byte, 100)...), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := (&FlatForm{Columns: []string{"id"}}).Splits(storage.Local, listed(t, name), 0)
	if errcode.Outermost(err) != errcode.InputFormat || !testwords.Names(err, name, "compressed with gzip") {
		t.Error(err)
	}
}

func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		form FlatForm
		want string
	}{
		"no columns":     {FlatForm{}, "no columns"},
		"no zone":        {FlatForm{Columns: []string{"a"}, Zone: "Asia/Shangai"}, `"Asia/Shangai"`},
		"local":          {FlatForm{Columns: []string{"a"}, Int96Zone: "Local"}, `"Local"`},
		"unread millis":  {FlatForm{Columns: []string{"a"}, Millis: []string{"b"}}, "column b, "},
		"unknown binary": {FlatForm{Columns: []string{"a"}, Binary: "base64"}, `"base64"`},
	} {
		if err := c.form.Check(); !testwords.Names(err, c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	_, _, err := readAll(&FlatForm{Columns: []string{"text"}, Millis: []string{"text"}}, listed(t, "testdata/small.parquet"), 0)
	if errcode.Outermost(err) != errcode.ParquetUnsupported || !testwords.Names(err, "column text", "STRING", "INT64") {
		t.Error(err)
	}
}
