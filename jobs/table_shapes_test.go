package jobs

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"

	"bulkload/internal/bytesize"
	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/runtest"
	"bulkload/internal/test/sample"
	"bulkload/jobs/base/options"
)

// shape is a kind of job and of rows that a run must bear.
type shape struct {
	name  string
	job   string
	write func(io.Writer, sample.Options) error
	skew  int // percent of the keys in one region
}

// saltSplits are the splits of a salt of n values.
func saltSplits(n int) string {
	width := len(fmt.Sprint(n - 1))
	var splits []string
	for i := 1; i < n; i++ {
		splits = append(splits, fmt.Sprintf("'%0*d'", width, i))
	}
	return "[" + strings.Join(splits, ", ") + "]"
}

// manyJob has 300 regions and three families.
var manyJob = strings.NewReplacer("salt(check_id, 10)", "salt(check_id, 300)",
	"['1', '2', '3', '4', '5', '6', '7', '8', '9']", saltSplits(300)).Replace(jobdir.CheckJob) +
	"columns_map: {remark: {to: 'g:r'}, comments: {to: 'g:c'}, city: {to: 'h:city'}, version: {to: 'h:v'}}\n"

var opinionJob = `table: tinawang:opinion
family: f
input:
  path: in/${date}
  columns: [` + strings.Join(sample.OpinionColumns, ", ") + `]
  record_delimiter: '\x10'
rowkey: salt(` + sample.OpinionColumns[1] + `, 50) + ` + sample.OpinionColumns[1] + ` + ` + sample.OpinionColumns[0] + `
regions: {from: splits, splits: ` + saltSplits(50) + `}
hfile: {compression: snappy, encoding: fast_diff, bloom: row, max_size: 10GiB}
output: out/${date}
`

var shapes = []shape{
	{"check", jobdir.CheckJob, sample.Check, 0},
	{"opinion, 50 regions", opinionJob, sample.Opinion, 0},
	{"check, 300 regions, 3 families", manyJob, sample.Check, 0},
	{"check, 90% in one region", jobdir.CheckJob, sample.Check, 90},
}

// dir makes a folder with the job and rows of it.
func (s *shape) dir(t testing.TB, rows int) (dir string, size int64) {
	t.Helper()
	dir = t.TempDir()
	in := filepath.Join(dir, "in", "2026-11-20")
	if err := os.MkdirAll(in, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "check.yaml"), []byte(s.job), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(in, "part-m-00000"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := s.write(f, sample.Options{Rows: rows, Seed: 1, Skew: s.skew}); err != nil {
		t.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return dir, info.Size()
}

// BenchmarkShapes runs jobs of several shapes over about 70 MB each, with so little memory that most is spilled.
func BenchmarkShapes(b *testing.B) {
	for _, s := range shapes {
		b.Run(s.name, func(b *testing.B) {
			rows := 400_000
			if strings.HasPrefix(s.name, "opinion") {
				rows = 150_000
			}
			dir, size := s.dir(b, rows)
			b.SetBytes(size)
			b.ReportAllocs()
			var before, after syscall.Rusage
			if err := syscall.Getrusage(syscall.RUSAGE_SELF, &before); err != nil {
				b.Fatal(err)
			}
			n := 0
			for b.Loop() {
				out := filepath.Join(dir, fmt.Sprint("out", n))
				n++
				runtest.Must(b, jobtest.Check(b, dir, out), options.Options{WorkDir: dir, Memory: 64 << 20})
			}
			if err := syscall.Getrusage(syscall.RUSAGE_SELF, &after); err != nil {
				b.Fatal(err)
			}
			cpu := float64(after.Utime.Nano()+after.Stime.Nano()-before.Utime.Nano()-before.Stime.Nano()) / 1e9
			b.ReportMetric(float64(size)*float64(n)/1e6/cpu, "MB/CPU-s")
		})
	}
}

// TestManyRegionsAndFamilies: 300 regions of three families take no more file handles and memory than ten of one do.
// The run is a process of its own, which may open 64 files.
func TestManyRegionsAndFamilies(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector, which goes with -short, takes several times the memory")
	}
	s := shapes[2]
	dir, _ := s.dir(t, 120_000)
	cmd := exec.Command(os.Args[0], "-test.run=^TestManyRegionsChild$")
	cmd.Env = append(os.Environ(), "MANY_REGIONS_DIR="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if rss, most := peakMemory(t, out), int64(160<<20); rss > most {
		t.Errorf("%s resident with --memory 64MiB, more than %s", bytesize.Format(rss), bytesize.Format(most))
	}
	families := map[string]int{}
	names, err := filepath.Glob(filepath.Join(dir, "out", "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		families[filepath.Base(filepath.Dir(name))]++
	}
	if len(families) != 3 || families["f"] != 300 || families["g"] != 300 || families["h"] != 300 {
		t.Errorf("files of families: %v", families)
	}
}

func TestManyRegionsChild(t *testing.T) {
	dir := os.Getenv("MANY_REGIONS_DIR")
	if dir == "" {
		t.Skip("runs as a child of TestManyRegionsAndFamilies")
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 64, Max: 64}); err != nil {
		t.Fatal(err)
	}
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(64 << 20))
	s := runtest.Must(t, jobtest.Check(t, dir, filepath.Join(dir, "out")), options.Options{WorkDir: dir, Memory: 64 << 20})
	if s.Counts.Written != 120_000 {
		t.Errorf("counts %v", s.Counts)
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("%s\n", status)
}

// peakMemory is what a child was resident with at most, in bytes, as its /proc/self/status tells, which it has printed.
// What the system tells of a child that has ended can be its parent's, since Go begins it with vfork.
func peakMemory(t *testing.T, said []byte) (bytes int64) {
	t.Helper()
	if _, after, found := strings.Cut(string(said), "VmHWM:"); !found {
		t.Fatalf("the child does not tell its memory:\n%s", said)
	} else if _, err := fmt.Sscan(after, &bytes); err != nil {
		t.Fatal(err)
	}
	return bytes << 10
}
