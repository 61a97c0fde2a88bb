package jobs

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/runtest"
	"bulkload/internal/test/testleak"
	"bulkload/internal/test/testrand"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/run"
	"bulkload/jobs/spec/jobfile"
)

// TestSameRowsSameFiles: a random job gives the same HFiles from the same rows, whatever the memory, the cores, the
// order and the form of the input files, and however often it was stopped. In the first round, rows are spilled, and a
// run is killed by SIGKILL. BULKLOAD_SEED tries a seed again.
func TestSameRowsSameFiles(t *testing.T) {
	testleak.Check(t)
	rounds := 5
	if testing.Short() {
		rounds = 1
	}
	r := testrand.New(t)
	for round := range rounds {
		m := newMorph(t, r, round == 0)
		want := m.run(t, r, "text", m.rows, goOn)
		forms := []string{"text", "csv", "gzip", "parquet"}
		r.Shuffle(len(forms), func(i, j int) { forms[i], forms[j] = forms[j], forms[i] })
		for i, form := range forms {
			how := []stopping{goOn, canceled, canceled, canceled}[i]
			if m.large && i == 1 {
				how = killed
			}
			shuffled := slices.Clone(m.rows)
			r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
			if got := m.run(t, r, form, shuffled, how); !slices.Equal(got, want) {
				t.Errorf("form %s of the input: the files differ\n%s\njob:\n%s", form, strings.Join(got, "\n"), m.job)
			}
		}
		if m.large && m.spilled == 0 {
			t.Errorf("no run spilled\njob:\n%s", m.job)
		}
	}
}

// stopping is how a run ends before its last attempt.
type stopping int

const (
	goOn stopping = iota // it does not
	canceled
	killed // by SIGKILL
)

// morph is a random job with random rows, none of which shares its key with another.
type morph struct {
	dir  string
	job  string // with INPUT and OUTPUT to be filled in
	rows [][]string
	n    int // runs

	large   bool // its rows need more than options.MinMemory
	spilled int  // sorted runs of all its runs
}

var morphColumns = []string{"id", "a", "b", "c", "n"}

func newMorph(t *testing.T, r *rand.Rand, large bool) *morph {
	t.Helper()
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	splits := map[string]bool{}
	for range r.IntN(12) {
		splits[fmt.Sprintf("'%02x'", r.IntN(255)+1)] = true
	}
	m := &morph{dir: t.TempDir(), large: large}
	m.job = fmt.Sprintf("table: ns:t\nfamily: f\ntimestamp: 2026-11-20\ninput: {path: INPUT, columns: [id, a, b, c, n]FORM}\n"+
		"rowkey: %s\nregions: {from: splits, splits: [%s]}\nhfile: {compression: %s, encoding: %s, bloom: %s, max_size: %s, slice_size: %s}\noutput: OUTPUT\n%s%s",
		pick("md5(id) + id", "md5(id, 4) + pad(id, 9, '0')", "pad(id, 9, '0') + '_' + md5(id, 2)"),
		strings.Join(slices.Sorted(maps.Keys(splits)), ", "), pick("none", "snappy", "zstd", "lz4", "gz"),
		pick("none", "fast_diff", "prefix", "diff", "row_index_v1"), pick("none", "row", "rowcol"), pick("10GiB", "1MiB"), pick("20KiB", "64MiB"),
		pick("", "columns_map: {b: {to: 'g:b'}}\n", "columns_map: {n: {type: int32, store: binary}, a: {to: 'g:x'}}\n", "columns_map: {n: {type: decimal}, c: {skip: true}, src: {constant: oracle}}\n"),
		pick("", "", "wide: {qualifier: \"pad(id, 9, '0')\"}\n", "wide: {qualifier: \"pad(id, 9, '0')\", value: b}\n"))
	if strings.Contains(m.job, "wide:") { // several records share a row
		m.job = regexp.MustCompile("(?m)^rowkey: .*$").ReplaceAllString(m.job, "rowkey: md5(n, 4) + n")
	}
	for i := range 1 + r.IntN(6000) {
		row := []string{strconv.Itoa(i)}
		for range 3 {
			row = append(row, strings.Repeat(pick("x", "值", "a b", "0"), 1+r.IntN(1<<r.IntN(8))))
		}
		m.rows = append(m.rows, append(row, strconv.Itoa(i%1000)))
	}
	for i := range 40 {
		if large {
			m.rows = append(m.rows, []string{strconv.Itoa(10_000 + i), strings.Repeat(pick("x", "0123456789"), 60_000), strings.Repeat("y", 200_000+i), "c", "7"})
		}
	}
	return m
}

// run writes rows in a form, in one to five files, and gives the hashes of the HFiles that become of them, sorted.
func (m *morph) run(t *testing.T, r *rand.Rand, form string, rows [][]string, how stopping) []string {
	t.Helper()
	m.n++
	in, out := filepath.Join(m.dir, fmt.Sprint("in", m.n)), filepath.Join(m.dir, fmt.Sprint("out", m.n))
	m.write(t, in, form, rows, 1+r.IntN(5))
	job := strings.NewReplacer("INPUT", in, "OUTPUT", out, "FORM", map[string]string{
		"text": ", field_delimiter: ',', record_delimiter: '\\n'", "gzip": ", field_delimiter: ',', record_delimiter: '\\n'", "csv": ", format: csv", "parquet": ", format: parquet",
	}[form]).Replace(m.job)
	file := filepath.Join(m.dir, "job.yaml")
	if err := os.WriteFile(file, []byte(job), 0o600); err != nil {
		t.Fatal(err)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1 + r.IntN(4)))
	o := options.Options{Memory: options.MinMemory + r.Int64N(256<<20), WorkDir: t.TempDir()}
	if m.large && m.n%2 == 0 {
		o.Memory = options.MinMemory
	}
	switch how {
	case goOn:
	case canceled:
		m.stop(t, r, file, o)
	case killed:
		m.kill(t, r, file, o)
	}
	if s := runtest.Must(t, m.read(t, file), o); s.Sort != nil {
		m.spilled += s.Sort.Runs
	}
	return slices.Sorted(maps.Values(runtest.Files(t, out)))
}

func (m *morph) read(t *testing.T, file string) *jobfile.Job {
	t.Helper()
	j, err := jobfile.Read(file, jobfile.ReadOptions{Date: jobdir.Date})
	if err != nil {
		t.Fatalf("%v\n%s", err, m.job)
	}
	return j
}

// stop runs the job up to three times, each ended at a random step.
func (m *morph) stop(t *testing.T, r *rand.Rand, file string, o options.Options) {
	t.Helper()
	for range 1 + r.IntN(3) {
		ctx, cancel := context.WithCancel(context.Background())
		var steps atomic.Int64
		at := 1 + r.Int64N(40)
		o.Failpoint = func(options.Point) {
			if steps.Add(1) == at {
				cancel()
			}
		}
		if _, err := run.Job(ctx, nil, m.read(t, file), o); err != nil && failure.KindOf(err) != failure.Interrupted {
			t.Errorf("stopped: kind %d: %v", failure.KindOf(err), err)
		}
		cancel()
	}
}

// kill runs the job in a process that kills itself at a random point.
func (m *morph) kill(t *testing.T, r *rand.Rand, file string, o options.Options) {
	t.Helper()
	points := []options.Point{options.Planned, options.Sorted, options.Verified, options.Renamed, options.Recorded, options.Balanced, options.Written}
	at := points[r.IntN(len(points))]
	k := runtest.Killed{Dir: filepath.Dir(file), Job: filepath.Base(file), Work: o.WorkDir, Memory: o.Memory, At: at, Times: 1}
	if died, output := k.Died(t); !died {
		t.Fatalf("the child was not killed at %s:\n%s\njob:\n%s", at, output, m.job)
	}
}

func (m *morph) write(t *testing.T, in, form string, rows [][]string, n int) {
	t.Helper()
	if err := os.Mkdir(in, 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		name, part := filepath.Join(in, fmt.Sprintf("part-%d", i)), rows[i*len(rows)/n:(i+1)*len(rows)/n]
		if form == "parquet" {
			w := jobdir.TextParquet(t, name, morphColumns)
			for group := range slices.Chunk(part, 2000) {
				jobdir.AddGroup(t, w, group)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			continue
		}
		var b bytes.Buffer
		if form == "csv" {
			b.WriteString("\"ID\",\"A\",\"B\",\"C\",\"N\"\n")
		}
		for _, row := range part {
			text := strings.Join(row, ",")
			if form == "csv" {
				text = `"` + strings.Join(row, `","`) + `"`
			}
			b.WriteString(text + "\n")
		}
		if form == "gzip" {
			name += ".gz"
			b = packed(t, b.Bytes())
		}
		if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func packed(t *testing.T, content []byte) (b bytes.Buffer) {
	t.Helper()
	z := gzip.NewWriter(&b)
	if _, err := z.Write(content); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	return b
}
