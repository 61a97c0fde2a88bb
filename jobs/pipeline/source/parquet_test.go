package source_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/errcode"
	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/sample"
	"bulkload/internal/test/testcluster"
	"bulkload/internal/test/testwords"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/run"
	"bulkload/jobs/spec/jobfile"
)

// TestParquetGivesWhatTextGives: the rows of the check example, written as Parquet in the ways of several programs,
// give the HFiles that Sqoop's text of them gives, byte for byte.
func TestParquetGivesWhatTextGives(t *testing.T) {
	python := testcluster.Python(t, "pyarrow==26.0.1")
	dir := t.TempDir()
	text := exampleText(t)
	convert := exec.Command(python, "testdata/as_parquet.py", strings.Join(sample.CheckColumns, ","), dir)
	convert.Stdin = bytes.NewReader(text)
	if out, err := convert.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	writeInput(t, filepath.Join(dir, "text"), string(text), false)
	writeInput(t, filepath.Join(dir, "oracle"), string(withoutZeros(text)), false)
	want := map[string]string{}
	for _, name := range []string{"text", "oracle"} {
		runRejecting(t, dir, exampleJob(name, `record_delimiter: '\x10'`, name+"-out"))
		want[name] = hfileBytes(t, filepath.Join(dir, name+"-out"))
	}
	for _, c := range []struct{ name, keys, want string }{
		{"spark", ", decimal_zeros: keep", "text"},
		{"arrow", ", decimal_zeros: keep, timestamp_zone: Asia/Shanghai", "text"},
		{"sqoop", ", timestamp_zone: Asia/Shanghai, millis_columns: [created_at, updated_at]", "text"},
		{"old", ", binary: text", "text"},
		{"again", "", "oracle"},
	} {
		runRejecting(t, dir, exampleJob(c.name+".parquet", "format: parquet"+c.keys, c.name+"-out"))
		if got := hfileBytes(t, filepath.Join(dir, c.name+"-out")); got != want[c.want] {
			t.Errorf("%s: other HFiles than those of %s", c.name, c.want)
		}
	}
}

// withoutZeros makes amounts such as 65620.90 those that Sqoop reads from Oracle, which keeps no zeros after a
// fraction.
func withoutZeros(text []byte) []byte {
	const amount = 13
	records := strings.Split(string(text), "\x10")
	for i, record := range records[:len(records)-1] {
		fields := strings.Split(record, "\x01")
		if strings.Contains(fields[amount], ".") {
			fields[amount] = strings.TrimRight(strings.TrimRight(fields[amount], "0"), ".")
		}
		records[i] = strings.Join(fields, "\x01")
	}
	return []byte(strings.Join(records, "\x10"))
}

// TestParquetExample: the shipped files give the HFiles of the same rows of the check example.
func TestParquetExample(t *testing.T) {
	sameAsText(t, "check-parquet", 200)
}

// TestParquetRefused: what can't be read is said before anything is written, and is no failure of the run.
func TestParquetRefused(t *testing.T) {
	dir := t.TempDir()
	parquet, err := filepath.Abs("../../../ingest/parquet/testdata")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		file, columns, keys string
		code                errcode.Code
		names               string
	}{
		"codec":   {"lz4.parquet", "id", "", errcode.ParquetUnsupported, "LZ4_RAW"},
		"column":  {"small.parquet", "id, prise", "", errcode.InputColumns, "price?"},
		"charset": {"small.parquet", "id", ", charset: gbk", errcode.JobValue, "input.charset"},
		"zone":    {"small.parquet", "id", ", timestamp_zone: Mars", errcode.JobValue, `"Mars"`},
	} {
		text := fmt.Sprintf("table: ns:t\nfamily: f\ntimestamp: 2026-11-20\ninput: {path: %s/%s, format: parquet, columns: [%s]%s}\n"+
			"rowkey: id\nregions: {from: splits, splits: []}\noutput: %s\nhfile: {compression: none}\n", parquet, c.file, c.columns, c.keys, name)
		path := filepath.Join(dir, name+".yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		j, err := jobfile.Read(path, jobfile.ReadOptions{Date: jobdir.Date})
		if err == nil {
			_, err = run.Job(t.Context(), nil, j, options.Options{})
		}
		if failure.CodeOf(err) != c.code || !testwords.Names(err, c.names) {
			t.Errorf("%s: %s: %v, want %s with %s", name, failure.CodeOf(err), err, c.code, c.names)
		}
	}
}
