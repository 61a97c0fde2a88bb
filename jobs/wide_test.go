package jobs

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"bulkload/internal/bytesize"
	"bulkload/internal/errcode"
	"bulkload/internal/printable"
	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/runtest"
	"bulkload/internal/test/testcluster"
	"bulkload/internal/test/testfs"
	"bulkload/internal/test/testwords"
	"bulkload/jobs/base/counts"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/inspect/verify"
	"bulkload/jobs/run"
)

// wideCounts are the counts and cells that a case must come to.
type wideCounts struct {
	counts.RowCounts
	cells map[string]string // row, family and qualifier, as CellLine of the oracle writes them: value
}

func expectWide(t *testing.T, c jobdir.WideCase, dir string) wideCounts {
	t.Helper()
	want := wideCounts{cells: map[string]string{}}
	records := map[string]string{} // by row and id: the record
	rows := map[string]bool{}
	paths, _ := filepath.Glob(filepath.Join(dir, "in/*"))
	for _, p := range paths {
		content, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(content)) {
			want.Read++
			fields := strings.Split(strings.TrimSuffix(line, "\n"), "|")
			if fields[0] == "null" || fields[1] == "" && strings.Contains(c.Job, "int64(follower)") {
				want.Rejected++
				continue
			}
			key := fields[0] + "|" + fields[1]
			if _, again := records[key]; again {
				want.Duplicates++
			}
			records[key] = line
		}
	}
	want.Written = int64(len(records))
	for _, line := range records {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "|")
		row := c.Row(fields)
		rows[row] = true
		for column, value := range c.Cells(fields) {
			want.Columns = len(c.Cells(fields))
			if value == "null" {
				want.Nulls++
				continue
			}
			want.CellsWritten++
			family, qualifier, _ := strings.Cut(column, ":")
			place := hex.EncodeToString([]byte(row)) + "\t" + family + "\t" + hex.EncodeToString([]byte(qualifier))
			if _, twice := want.cells[place]; twice {
				t.Fatalf("the test has two cells %s", place)
			}
			want.cells[place] = hex.EncodeToString([]byte(value))
		}
	}
	want.TableRows = int64(len(rows))
	return want
}

func (w *wideCounts) compare(t *testing.T, got []string) {
	t.Helper()
	if len(got) != len(w.cells) {
		t.Errorf("%d cells, want %d", len(got), len(w.cells))
	}
	for _, line := range got {
		place, rest, _ := strings.Cut(line, "\t1700000000000\tPut\t")
		if value, ok := w.cells[place]; !ok || value != rest {
			t.Fatalf("cell %s; want %q, %v", line, value, ok)
		}
	}
}

func TestWideTables(t *testing.T) {
	for name, c := range jobdir.WideCases {
		t.Run(name, func(t *testing.T) {
			dir := jobdir.Wide(t, c.Job, 9000)
			out := filepath.Join(dir, "out")
			j := jobtest.Wide(t, dir, out)
			s := runtest.Must(t, j, options.Options{})
			want := expectWide(t, c, dir)
			b := s.Counts
			want.Differing = b.Differing
			all := name != "a set"
			if b != want.RowCounts || b.Duplicates < 10 || (b.Differing > 0) != all || b.Differing == b.Duplicates || (b.Nulls > 0) != all {
				t.Errorf("counts %+v\nwant  %+v", b, want.RowCounts)
			}
			want.compare(t, runtest.Cells(t, out))
			for i := 1; i < len(s.Files); i++ {
				a, b := s.Files[i-1], s.Files[i]
				last, _ := printable.Parse(a.LastRow)
				if first, err := printable.Parse(b.FirstRow); err != nil || a.Family == b.Family && bytes.Compare(last, first) >= 0 {
					t.Errorf("row %s is in two files (%v)", b.FirstRow, err)
				}
			}
			if r, err := verify.Job(context.Background(), j, options.Options{}, false); err != nil || r.Cells != b.CellsWritten || r.Rows != b.TableRows {
				t.Errorf("verify the job: %+v, %v", r, err)
			}
			if r, err := verify.Dir(context.Background(), out, options.Options{}); err != nil || r.Digest != s.Digest {
				t.Errorf("verify the directory: %+v, %v", r, err)
			}
			small := filepath.Join(dir, "small")
			before := runtime.GOMAXPROCS(3)
			runtest.Must(t, jobtest.Wide(t, dir, small), options.Options{Memory: options.MinMemory, WorkDir: t.TempDir()})
			runtime.GOMAXPROCS(before)
			runtest.SameFiles(t, "three cores", out, small)
		})
	}
}

// TestJavaReadsWideTables: HBase's own reader finds the files sound, with blooms of rows and of columns, and the cells
// in them those of the test's own reckoning.
func TestJavaReadsWideTables(t *testing.T) {
	oracle := testcluster.Java(t)
	for _, name := range []string{"text of all widths", "numbers in binary", "several cells a record"} {
		t.Run(name, func(t *testing.T) {
			c := jobdir.WideCases[name]
			dir := jobdir.Wide(t, c.Job, 3000)
			if strings.Contains(name, "text") {
				text := strings.Replace(jobdir.WideHead+c.Job+"\n", "bloom: row", "bloom: rowcol", 1)
				if err := os.WriteFile(filepath.Join(dir, "wide.yaml"), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			out := filepath.Join(dir, "out")
			runtest.Must(t, jobtest.Wide(t, dir, out), options.Options{})
			got := filepath.Join(dir, "got")
			for _, args := range [][]string{{"check", "file://" + out, "-all"}, {"cells", "file://" + out, "-o", got}} {
				if said, err := oracle.Run(args...); err != nil {
					t.Fatalf("%v\n%s", err, said)
				}
			}
			want := expectWide(t, c, dir)
			want.compare(t, testfs.Lines(t, got))
		})
	}
}

// TestWideTimestamps: each cell has its record's time, also within a row.
func TestWideTimestamps(t *testing.T) {
	dir := t.TempDir()
	job := strings.Replace(jobdir.WideHead, "timestamp: 1700000000000", "timestamp: column:since", 1) +
		"rowkey: user\nwide: {qualifier: follower, value: note}\ncolumns_map: {since: {type: timestamp, format: millis}}\n"
	text := "1|7|1700000000007|a\n1|5|1700000000005|b\n12|5|1700000000012|c\n1|7|1700000000009|d\n"
	for name, content := range map[string]string{"wide.yaml": job, "in/part": text} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(dir, "out")
	j := jobtest.Wide(t, dir, out)
	s := runtest.Must(t, j, options.Options{})
	got := strings.Join(runtest.Cells(t, out), "\n")
	want := "31\tf\t35\t1700000000005\tPut\t62\n31\tf\t37\t1700000000009\tPut\t64\n3132\tf\t35\t1700000000012\tPut\t63"
	if got != want || s.Counts.Differing != 1 {
		t.Errorf("cells\n%s\nwant\n%s\nbooks %v", got, want, s.Counts)
	}
	if r, err := verify.Job(context.Background(), j, options.Options{}, false); err != nil || r.Cells != 3 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestWideDuplicatesAreRefused: with duplicates: error a qualifier that comes twice with differing values is one.
func TestWideDuplicatesAreRefused(t *testing.T) {
	dir := jobdir.Wide(t, jobdir.WideCases["numbers in binary"].Job+"\nduplicates: error", 3000)
	_, err := run.Job(context.Background(), nil, jobtest.Wide(t, dir, filepath.Join(dir, "out")), options.Options{})
	if failure.CodeOf(err) != errcode.Duplicates || !testwords.Names(err, `\x00\x00\x00`) {
		t.Error(err)
	}
}

const rowChild = "BULKLOAD_TEST_WIDE_ROW"

// TestWideRowChild is the process whose memory TestRowOfAMillionCells measures.
func TestWideRowChild(t *testing.T) {
	dir := os.Getenv(rowChild)
	if dir == "" {
		t.Skip("runs as a child of TestRowOfAMillionCells")
	}
	const memory = 64 << 20
	debug.SetMemoryLimit(memory + memory/8) // as the command does
	debug.SetGCPercent(50)
	j := jobtest.Wide(t, dir, filepath.Join(dir, "out"))
	s := runtest.Must(t, j, options.Options{Memory: memory, WorkDir: dir})
	if s.Counts.TableRows != 1 || s.Counts.CellsWritten != 1_000_000 || s.Sort.Runs == 0 || len(s.Files) != 1 {
		t.Fatalf("counts %+v, %d spilled runs, %d files", s.Counts, s.Sort.Runs, len(s.Files))
	}
	if r, err := verify.Job(context.Background(), j, options.Options{Memory: memory, WorkDir: dir}, false); err != nil || r.Cells != 1_000_000 || r.Rows != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, "VmHWM:") { // getrusage would tell of the parent's, too
			fmt.Println(line)
		}
	}
}

// TestRowOfAMillionCells writes and verifies a row of 240 MB within 64 MiB.
func TestRowOfAMillionCells(t *testing.T) {
	if testing.Short() {
		t.Skip("takes ten seconds")
	}
	dir := t.TempDir()
	job := strings.Replace(jobdir.WideHead, "slice_size: 20KiB", "max_size: 1MiB", 1) + "rowkey: user\nwide: {qualifier: follower, value: note}\n"
	if err := os.WriteFile(filepath.Join(dir, "wide.yaml"), []byte(job), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "in"), 0o755); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	r := rand.New(rand.NewPCG(7, 8))
	order := r.Perm(1_000_000)
	for _, id := range order {
		fmt.Fprintf(&b, "65|%d|2020|%-180x\n", id, r.Uint64())
	}
	if err := os.WriteFile(filepath.Join(dir, "in/part"), b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestWideRowChild$")
	cmd.Env = append(os.Environ(), rowChild+"="+dir)
	said, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	used := peakMemory(t, said)
	t.Logf("%s of memory for a row of %s", bytesize.Format(used), bytesize.Format(int64(b.Len())))
	if used > 128<<20 {
		t.Errorf("a row of %s took %s of memory", bytesize.Format(int64(b.Len())), bytesize.Format(used))
	}
}
