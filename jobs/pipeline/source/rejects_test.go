package source_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"bulkload/ingest"
	"bulkload/internal/test/testfs"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/run"
	"bulkload/jobs/run/summary"
	"bulkload/jobs/spec/jobfile"
)

// rejectForms are inputs of all forms with records that can't be used, and how many those are of how many.
var rejectForms = map[string]struct {
	input    string // the keys of the section, besides path
	content  string
	gzip     bool
	rejected int64
	read     int64
}{
	"delimited": {`record_delimiter: '\x10', null: 'N'`, "1\x01a\x01x\x102\x01b\x10N\x01c\x01y\x103\x01d\x01\xff\x104\x01e\x01f\x01g\x10", false, 4, 5},
	"delimited, GBK, bars": {`charset: gbk, field_delimiter: '|', record_delimiter: '\n'`,
		"1|\x81\x7c|x\n2|\x81\x7c\x81\x7c|\n3|\x81\x7c\n4|a|\xff\n5|a|\xd6\n", false, 3, 5},
	"delimited, gzip": {`record_delimiter: '\n', compression: gzip`, "1\x01a\x01x\n2\n\n3\x01\xfe\x01\n", true, 3, 4},
	"delimited, escapes": {`record_delimiter: '\n', field_delimiter: ',', escaped_by: '\', null: '\N'`,
		"1,a,x\\\ny\n2,b\\,c\n\\N,a,b\n3,a,\xff\\\n\n4,a,b,c\n", false, 4, 5},
	"csv": {`format: csv`, "ID,CHECK_ID,NOTE\n1,a,\"x\"\n2,b\n\"3\",\"c\n4,\"d\"e\",f\n,g,\"line\nbreak\"\n5,h,\xff\nID,CHECK_ID,NOTE\n5 rows selected.\n", false, 7, 8},
	"csv, GBK, CR LF, gzip": {`format: csv, charset: zhs16gbk, field_delimiter: '|', compression: gzip, skip_noise: true`,
		"\"NOTE\"|\"X\"|\"CHECK_ID\"|\"ID\"\r\n\"\x81\x7c\"|1|a|1\r\n\"\x81\x7c|2|b|2\r\n\xff|3|c|3\r\n\"a\r\nb\"|4|d\r\nSQL> x\r\n\"e\"|5||5", true, 4, 5},
	"csv, no heading": {`format: csv, header: false, quote: none, quoted_empty: "null"`, "1,a,x\r\n2,\"b,c,d\"\r\n,e,y", false, 2, 3},
}

// TestRejectsCanBeInput: the rejects of a run, given to the same job with only its path changed, are rejected once
// more, all of them, for the same reasons, and nothing else comes of them.
func TestRejectsCanBeInput(t *testing.T) {
	for name, c := range rejectForms {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			job := func(path, output, limit string) string {
				return fmt.Sprintf("table: t\nfamily: f\ntimestamp: 2026-11-20\ninput: {path: %q, max_rejects: %s, columns: [id, check_id, note], %s}\n"+
					"rowkey: md5(check_id) + id\nregions: {from: splits, splits: ['8']}\nhfile: {compression: none}\noutput: %s\n", path, limit, c.input, output)
			}
			in := filepath.Join(dir, "in")
			writeInput(t, in, c.content, c.gzip)
			first := runRejecting(t, dir, job(in, "first", "100"))
			if first.Counts.Read != c.read || first.Counts.Rejected != c.rejected {
				t.Errorf("%d rejected of %d, want %d of %d", first.Counts.Rejected, first.Counts.Read, c.rejected, c.read)
			}
			rejects := filepath.Join(dir, "first", ".rejects", ingest.RejectsFile)
			second := runRejecting(t, dir, job(rejects, "second", "100%"))
			if second.Counts.Read != c.rejected || second.Counts.Rejected != c.rejected {
				t.Errorf("again %d rejected of %d, want all of %d", second.Counts.Rejected, second.Counts.Read, c.rejected)
			}
			if got, want := rejectReasons(t, dir, "second"), rejectReasons(t, dir, "first"); !reflect.DeepEqual(got, want) {
				t.Errorf("again\n%v, want\n%v", got, want)
			}
			if got, want := string(testfs.Read(t, filepath.Join(dir, "second", ".rejects", ingest.RejectsFile))), string(testfs.Read(t, rejects)); got != want {
				t.Errorf("again %q, want %q", got, want)
			}
			tooMany := readRejecting(t, dir, job(in, "third", "1"))
			if _, err := run.Job(t.Context(), nil, tooMany, options.Options{}); failure.KindOf(err) != failure.Rejects {
				t.Errorf("with max_rejects 1: %v", err)
			}
			if _, err := os.Stat(filepath.Join(dir, "third", "f")); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("with max_rejects 1 there are files (%v)", err)
			}
		})
	}
}

// TestParquetRejectsAreInput: rows of Parquet that have no row key are kept as text, which the same job reads again.
func TestParquetRejectsAreInput(t *testing.T) {
	dir := t.TempDir()
	in, err := filepath.Abs("../../../ingest/parquet/testdata/small.parquet")
	if err != nil {
		t.Fatal(err)
	}
	job := func(path, output string) string {
		return fmt.Sprintf("table: t\nfamily: f\ntimestamp: 2026-11-20\ninput: {path: %s, format: parquet, max_rejects: 100%%, columns: [id, text, price, at, flag]}\n"+
			"rowkey: text + '-' + id\nregions: {from: splits, splits: []}\nhfile: {compression: none}\noutput: %s\n", path, output)
	}
	first := runRejecting(t, dir, job(in, "first"))
	if first.Counts.Read != 300 || first.Counts.Rejected != 33 { // every ninth text is null
		t.Errorf("%d rejected of %d", first.Counts.Rejected, first.Counts.Read)
	}
	second := runRejecting(t, dir, job(filepath.Join(dir, "first", ".rejects", ingest.RejectsFile), "second"))
	if second.Counts.Read != 33 || second.Counts.Rejected != 33 {
		t.Errorf("again %d rejected of %d", second.Counts.Rejected, second.Counts.Read)
	}
	if got, want := rejectReasons(t, dir, "second"), rejectReasons(t, dir, "first"); !reflect.DeepEqual(got, want) {
		t.Errorf("again\n%v, want\n%v", got, want)
	}
	if kept := string(testfs.Read(t, filepath.Join(dir, "second", ".rejects", ingest.RejectsFile))); !strings.HasPrefix(kept, "4\x01\\N\x011\x012026-11-20 00:04:00.0\x01true\n") {
		t.Errorf("kept %.80q", kept)
	}
}

func writeInput(t *testing.T, name, content string, zip bool) {
	t.Helper()
	var b bytes.Buffer
	b.WriteString(content)
	if zip {
		b.Reset()
		w := gzip.NewWriter(&b)
		if _, err := w.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

func readRejecting(t *testing.T, dir, text string) *jobfile.Job {
	t.Helper()
	path := filepath.Join(dir, "job.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	j, err := jobfile.Read(path, jobfile.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func runRejecting(t *testing.T, dir, text string) *summary.Summary {
	t.Helper()
	s, err := run.Job(t.Context(), nil, readRejecting(t, dir, text), options.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// rejectReasons are the lines of rejects.jsonl without the places, which differ.
func rejectReasons(t *testing.T, dir, output string) []string {
	t.Helper()
	var out []string
	for _, line := range strings.Split(strings.TrimSpace(string(testfs.Read(t, filepath.Join(dir, output, ".rejects", "rejects.jsonl")))), "\n") {
		var r struct {
			Column, Reason string
			Length         int
			Record         int64
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if r.Record == 0 {
			t.Errorf("%s: no record number in %s", output, line)
		}
		out = append(out, fmt.Sprintf("%s: %s (%d bytes)", r.Column, r.Reason, r.Length))
	}
	return out
}
