package jobs

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"bulkload/ingest"
	"bulkload/internal/errcode"
	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/runtest"
	"bulkload/internal/test/testwords"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/inspect/verify"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/run"
	"bulkload/jobs/spec/jobfile"
)

// contents are the hashes of all HFiles below an output, whatever their names.
func contents(t testing.TB, output string) []string {
	t.Helper()
	var all []string
	paths, err := filepath.Glob(filepath.Join(output, "f", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range paths {
		content, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprintf("%x", sha256.Sum256(content)))
	}
	slices.Sort(all)
	return all
}

// alone is the job of one output of ordersJob, with the records that another one's key refuses left out of its input.
func alone(t *testing.T, dir string, i int) *jobfile.Job {
	t.Helper()
	blocks := strings.Split(jobdir.OrdersJob, "\n- ")
	own := strings.ReplaceAll("  "+strings.TrimSpace(blocks[i+1]), "\n  ", "\n")[2:]
	common := strings.TrimSuffix(blocks[0], "outputs:")
	if strings.Contains(own, "regions:") {
		common = strings.Replace(common, "regions: {from: splits, splits: ['4', '7']}\n", "", 1)
	}
	name := filepath.Join(dir, fmt.Sprintf("alone%d.yaml", i))
	text := strings.Replace(common, "path: in/", "path: clean/", 1) + own + "\n"
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	j, err := jobfile.Read(name, jobfile.ReadOptions{Date: jobdir.Date})
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	j.Output = filepath.Join(dir, "alone", fmt.Sprint(i))
	return j
}

// cleanOrders copies the input without the records that the buyers' table refuses.
func cleanOrders(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, "clean/2026-11-20"), 0o755); err != nil {
		t.Fatal(err)
	}
	paths, _ := filepath.Glob(filepath.Join(dir, "in/2026-11-20/*"))
	for _, p := range paths {
		content, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		var kept []string
		for line := range strings.Lines(string(content)) {
			if !strings.Contains(line, "|123456789|") {
				kept = append(kept, line)
			}
		}
		if err := os.WriteFile(strings.Replace(p, "/in/", "/clean/", 1), []byte(strings.Join(kept, "")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestOutputsAreWhatJobsOfTheirOwnWrite: from one reading, the very bytes that a job for each table would write.
func TestOutputsAreWhatJobsOfTheirOwnWrite(t *testing.T) {
	dir := jobdir.Orders(t, jobdir.OrdersJob, 5000)
	j := jobtest.Orders(t, dir, "out")
	s := runtest.Must(t, j, options.Options{})
	if s.Status != failure.StatusDone || s.OutputSummary != nil || len(s.Outputs) != 3 || s.Run.Table != "ns:by_seller, ns:by_buyer, ns:orders" {
		t.Fatalf("summary %+v", s)
	}
	cleanOrders(t, dir)
	for i, out := range s.Outputs {
		b := out.Counts
		if out.Status != failure.StatusDone || b.Read != 5008 || b.Rejected != 10 || b.Duplicates != 8 || b.Differing != 0 || b.Written != 4990 {
			t.Errorf("%s: %s, counts %v", out.Run.Table, out.Status, b)
		}
		single := runtest.Must(t, alone(t, dir, i), options.Options{})
		if single.Digest != out.Digest || single.Counts.CellsWritten != b.CellsWritten {
			t.Errorf("%s: digest %v, alone %v", out.Run.Table, out.Digest, single.Digest)
		}
		if a, b := contents(t, j.Outputs[i].Output), contents(t, filepath.Join(dir, "alone", fmt.Sprint(i))); !slices.Equal(a, b) || len(a) < 2 {
			t.Errorf("%s: %d files, alone %d", out.Run.Table, len(a), len(b))
		}
	}
	if columns := []int{s.Outputs[0].Counts.Columns, s.Outputs[1].Counts.Columns, s.Outputs[2].Counts.Columns}; !slices.Equal(columns, []int{6, 5, 3}) {
		t.Errorf("columns %v", columns)
	}
	rejects, err := os.ReadFile(filepath.Join(dir, "out/seller/.rejects/rejects.jsonl"))
	if err != nil || strings.Count(string(rejects), "for table ns:by_buyer: ") != 10 || s.Rejects[0].Records != 10 {
		t.Errorf("rejects %+v, %v:\n%s", s.Rejects, err, rejects)
	}
	for _, out := range []string{"buyer", "index"} {
		runtest.NothingLeft(t, filepath.Join(dir, "out", out))
	}
	r, err := verify.Job(context.Background(), j, options.Options{}, false)
	if err != nil || len(r.Outputs) != 3 || r.Rows != 3*4990 || r.Outputs[2].Cells != 3*4990 {
		t.Errorf("verify: %+v, %v", r, err)
	}
	if again := runtest.Must(t, jobtest.Orders(t, dir, "out"), options.Options{}); again.Status != failure.StatusNothing || again.Outputs[1].Counts != s.Outputs[1].Counts {
		t.Errorf("a second run says %+v", again)
	}
}

// TestOutputsDeterministic: whatever memory and cores.
func TestOutputsDeterministic(t *testing.T) {
	rows := 60_000
	if testing.Short() {
		rows = 20_000
	}
	dir := jobdir.Orders(t, jobdir.OrdersJob, rows)
	j := jobtest.Orders(t, dir, "base")
	j.Input.MaxRejects.Count = 1000
	runtest.Must(t, j, options.Options{Memory: 2 << 30})
	for _, cores := range []int{1, 3} {
		out := fmt.Sprint("cores", cores)
		j := jobtest.Orders(t, dir, out)
		j.Input.MaxRejects.Count = 1000
		before := runtime.GOMAXPROCS(cores)
		runtest.Must(t, j, options.Options{Memory: options.MinMemory, WorkDir: t.TempDir()})
		runtime.GOMAXPROCS(before)
		for _, name := range []string{"seller", "buyer", "index"} {
			runtest.SameFiles(t, out+" "+name, filepath.Join(dir, "base", name), filepath.Join(dir, out, name))
		}
	}
}

// TestOutputsResumeEach: what is written is not written again, and the others are.
func TestOutputsResumeEach(t *testing.T) {
	dir := jobdir.Orders(t, jobdir.OrdersJob, 5000)
	runtest.Must(t, jobtest.Orders(t, dir, "base"), options.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	_, err := run.Job(ctx, nil, jobtest.Orders(t, dir, "out"), options.Options{Failpoint: func(p options.Point) {
		if p == options.Written {
			cancel()
		}
	}})
	if failure.KindOf(err) != failure.Interrupted {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "out/buyer/f")); err == nil {
		t.Error("the second output was begun before the first one's end was seen")
	}
	before, err := os.Stat(filepath.Join(dir, "out/seller", manifest.Name))
	if err != nil {
		t.Fatal(err)
	}
	s := runtest.Must(t, jobtest.Orders(t, dir, "out"), options.Options{})
	for i, want := range []string{failure.StatusNothing, failure.StatusDone, failure.StatusDone} {
		if s.Outputs[i].Status != want || s.Outputs[i].Counts.Written != 4990 {
			t.Errorf("%s: %s, counts %v", s.Outputs[i].Run.Table, s.Outputs[i].Status, s.Outputs[i].Counts)
		}
	}
	if after, err := os.Stat(filepath.Join(dir, "out/seller", manifest.Name)); err != nil || !os.SameFile(before, after) {
		t.Errorf("the manifest of the finished output was written again (%v)", err)
	}
	if s.Status != failure.StatusDone || s.Rejects[0].Records != 10 {
		t.Errorf("summary %+v", s)
	}
	for _, name := range []string{"seller", "buyer", "index"} {
		runtest.SameFiles(t, name, filepath.Join(dir, "base", name), filepath.Join(dir, "out", name))
	}
}

var allOutputs = []string{"seller", "buyer", "index", "wide"}

// TestKilledOutputsGoOn kills a run into four outputs, one of them wide, at its points in each of them.
func TestKilledOutputsGoOn(t *testing.T) {
	dir := jobdir.Orders(t, jobdir.OrdersJob+jobdir.WideOutput, 6000)
	base := jobtest.Orders(t, dir, "base")
	base.Input.MaxRejects.Count = 1000
	s := runtest.Must(t, base, options.Options{})
	if b := s.Outputs[3].Counts; b.Written != 5988 || b.TableRows < 1000 || b.CellsWritten != b.Written {
		t.Fatalf("counts %+v", b)
	}
	work := t.TempDir()
	for _, c := range []struct {
		at      options.Point
		times   int
		nothing int // outputs that are finished then
	}{
		{options.Planned, 1, 0}, {options.Planned, 3, 0}, {options.Sorted, 1, 0}, {options.Verified, 2, 0}, {options.Renamed, 25, 0},
		{options.Balanced, 1, 0}, {options.Written, 1, 1}, {options.Balanced, 3, 2}, {options.Written, 3, 3}, {options.Written, 4, 4},
	} {
		t.Run(fmt.Sprint(c.at, c.times), func(t *testing.T) {
			if testing.Short() && c.times != 3 {
				t.Skip("takes seconds")
			}
			if err := os.RemoveAll(filepath.Join(dir, "out")); err != nil {
				t.Fatal(err)
			}
			k := runtest.Killed{Dir: dir, Job: "orders.yaml", Out: "out", Work: work, At: c.at, Times: c.times}
			k.Kill(t)
			s := runtest.Must(t, k.Read(t), k.Options())
			nothing := 0
			for i, name := range allOutputs {
				runtest.SameFiles(t, name, filepath.Join(dir, "base", name), filepath.Join(dir, "out", name))
				if s.Outputs[i].Status == failure.StatusNothing {
					nothing++
				}
				if _, err := os.Stat(filepath.Join(dir, "out", name, ingest.SuccessName)); err != nil {
					t.Error(err)
				}
			}
			if c.at != options.Renamed && nothing != c.nothing {
				t.Errorf("%d outputs had nothing to do, want %d", nothing, c.nothing)
			}
			if again := runtest.Must(t, k.Read(t), k.Options()); again.Status != failure.StatusNothing {
				t.Errorf("a run after that says %s", again.Status)
			}
		})
	}
}

// TestKilledOutputsKeepTheirRuns kills a run into four outputs while it spills: what was read is not read again.
func TestKilledOutputsKeepTheirRuns(t *testing.T) {
	runtest.ManyProcesses(t)
	dir := jobdir.Orders(t, jobdir.OrdersJob+jobdir.WideOutput, 150_000)
	base := jobtest.Orders(t, dir, "base")
	base.Input.MaxRejects.Count = 1000
	runtest.Must(t, base, options.Options{})
	for _, at := range []options.Point{options.Spilled, options.Checkpointed} {
		k := runtest.Killed{Dir: dir, Job: "orders.yaml", Out: "out", Work: t.TempDir(), Memory: options.MinMemory, At: at, Times: 3}
		k.Kill(t)
		var said []string
		o := k.Options()
		o.Say = func(text string) { said = append(said, text) }
		s := runtest.Must(t, k.Read(t), o)
		if !strings.Contains(strings.Join(said, "\n"), "are already sorted") || s.Outputs[3].Counts.Read != s.Outputs[0].Counts.Read {
			t.Errorf("%s: said %q", at, said)
		}
		for _, name := range allOutputs {
			runtest.SameFiles(t, name, filepath.Join(dir, "base", name), filepath.Join(dir, "out", name))
		}
		if _, err := verify.Job(context.Background(), k.Read(t), options.Options{}, false); err != nil {
			t.Error(err)
		}
		if err := os.RemoveAll(filepath.Join(dir, "out")); err != nil {
			t.Fatal(err)
		}
	}
}

// TestOutputsAgreeOnTheJob: what one output's key accepts is part of what the others hold.
func TestOutputsAgreeOnTheJob(t *testing.T) {
	dir := jobdir.Orders(t, jobdir.OrdersJob, 600)
	runtest.Must(t, jobtest.Orders(t, dir, "out"), options.Options{})
	changed := strings.Replace(jobdir.OrdersJob, "pad(buyer, 8, '0')", "pad(buyer, 9, '0')", 1)
	if err := os.WriteFile(filepath.Join(dir, "orders.yaml"), []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := run.Job(context.Background(), nil, jobtest.Orders(t, dir, "out"), options.Options{})
	if failure.CodeOf(err) != errcode.OutputOther || !testwords.Names(err, "ns:by_seller") {
		t.Errorf("a changed key of another output: %s, %v", failure.CodeOf(err), err)
	}
	if s := runtest.Must(t, jobtest.Orders(t, dir, "out"), options.Options{Force: true}); s.Outputs[0].Counts.Rejected != 0 {
		t.Errorf("counts %v", s.Outputs[0].Counts)
	}
}
