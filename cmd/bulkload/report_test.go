package main

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"bulkload/internal/program"
	"bulkload/internal/test/testfs"
	"bulkload/internal/test/testpage"
	"bulkload/jobs/base/failure"
)

const reportedJob = `table: ns:t
family: f
timestamp: ${date}
input: {path: 'in/${date}', columns: [id, n], field_delimiter: ',', record_delimiter: '\n', max_rejects: 1}
columns_map: {n: {type: int32}}
rowkey: id
query: [id]
regions: {from: splits, splits: ['5']}
hfile: {compression: none, encoding: none, bloom: row}
output: out/${date}
load: false
`

// reportOf runs a command with --report, requires its exit code, and returns the page.
func reportOf(t *testing.T, dir string, want int, args ...string) string {
	t.Helper()
	name := filepath.Join(dir, "run.html")
	var stderr bytes.Buffer
	args = append([]string{"run"}, append(args, "--report", name, "--work-dir", dir)...)
	if code := execute(context.Background(), args, io.Discard, &stderr); code != want {
		t.Fatalf("%v: exit code %d, want %d\n%s", args, code, want, &stderr)
	}
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != 0o600 {
		t.Errorf("%v: the page has mode %v", args, info.Mode())
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	testpage.CheckSelfContained(t, text)
	return string(text)
}

func mustSay(t *testing.T, what, page string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(page, want) {
			t.Errorf("%s: the page does not say %s", what, want)
		}
	}
}

// TestReport: the page of a run that is done, had nothing to do, found no rows, was refused or could not begin, and of
// several runs in one command.
func TestReport(t *testing.T) {
	t.Parallel()
	dir := testfs.Tree(t, map[string]string{"a<b>.yaml": reportedJob, "wrong.yaml": "tabel: x\n", "twice.yaml": "tabel: x\nfamili: f\n",
		"in/2026-11-20/part <i>": "1,10\n7,x<script>\n8,80\n", "in/2026-11-21/part": "1,x\n2,y\n3,z\n", "in/2026-11-24/part": ""})
	job := filepath.Join(dir, "a<b>.yaml")

	done := reportOf(t, dir, exitDone, job, "--date", "2026-11-20")
	mustSay(t, "done", done, "Run of a&lt;b&gt;.yaml for 2026-11-20", `<span class="status good">done</span>`,
		"3 read = 2 written + 1 rejected + 0 duplicates + 0 filtered", "<code>7,x&lt;script&gt;</code>", "part &lt;i&gt;", "record 2:",
		"of 2; skew 1.00", ">sort</td>", ">write</td>", "not a whole number", "bulkload "+program.ThisBuild().Version, "<td>row key</td><td><code>id</code>")

	again := reportOf(t, dir, exitDone, job, "--date", "2026-11-20")
	mustSay(t, "again", again, "There was nothing to do: this run was finished before.", "3 read = 2 written + 1 rejected", "/out/2026-11-20/.rejects</code>, as far as they were not deleted since")

	failed := reportOf(t, dir, exitRejects, job, "--date", "2026-11-21")
	mustSay(t, "failed", failed, `<span class="status bad">failed</span>`, "Exit code 3</b>: more records were rejected than max_rejects allows", "<code>1,x</code>", "BL-")

	mustSay(t, "missing", reportOf(t, dir, exitNotYet, job, "--date", "2026-11-22"), "Exit code 66", "BL-INPUT-MISSING", "No stage was reached.")
	mustSay(t, "empty", reportOf(t, dir, exitDone, job, "--date", "2026-11-24"), "The input had no rows")
	mustSay(t, "wrong", reportOf(t, dir, exitUsage, filepath.Join(dir, "wrong.yaml"), "--date", "2026-11-20"), "Exit code 2", "did you mean table?")

	late := filepath.Join(testfs.Tree(t, map[string]string{"late.yaml": reportedJob}), "late.yaml")
	two := reportOf(t, dir, exitNotYet, job, late, "--date", "2026-11-21")
	mustSay(t, "two that failed", two, "Exit code 66</b>: the input does not exist yet, or is not complete</p></div>",
		`<span class="status bad">failed</span> <code>BL-REJECT-TYPE</code>`, `<span class="status bad">failed</span> <code>BL-INPUT-MISSING</code>`)
	mustSay(t, "two lines", reportOf(t, dir, exitUsage, filepath.Join(dir, "twice.yaml"), "--date", "2026-11-20"), "unknown key tabel", "twice.yaml:1: table is missing</p>")

	several := reportOf(t, dir, exitRejects, job, "--from", "2026-11-20", "--to", "2026-11-23")
	mustSay(t, "several", several, "4 runs", "When the runs ran", `<td>a&lt;b&gt;.yaml for 2026-11-23</td><td><span class="status plain">not begun</span>`,
		`<h2>a&lt;b&gt;.yaml for 2026-11-20 <span class="status plain">nothing to do</span></h2>`, `<h2>a&lt;b&gt;.yaml for 2026-11-21 <span class="status bad">failed</span></h2>`)
}

// timed matches what differs between two pages of one run: the times.
var timed = regexp.MustCompile(`<p class="soft">20[0-9]{2}-.*|(?s:<h3>Time</h3>.*<h3>Rejects</h3>)`)

// TestReportIsDeterministic: apart from times, a run that is repeated has the same page.
func TestReportIsDeterministic(t *testing.T) {
	t.Parallel()
	dir := testfs.Tree(t, map[string]string{"a.yaml": reportedJob, "in/2026-11-20/part": "1,10\n7,x\n8,80\n"})
	job := filepath.Join(dir, "a.yaml")
	first := reportOf(t, dir, exitDone, job, "--date", "2026-11-20", "--force")
	second := reportOf(t, dir, exitDone, job, "--date", "2026-11-20", "--force")
	a, b := strings.Split(timed.ReplaceAllString(first, "…"), "\n"), strings.Split(timed.ReplaceAllString(second, "…"), "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			t.Fatalf("line %d differs:\n%s\n%s", i+1, a[i], b[i])
		}
	}
	if len(a) != len(b) {
		t.Errorf("%d lines and %d", len(a), len(b))
	}
}

// TestReportIsRefusedFirst: a page that can't be written is refused before anything is done.
func TestReportIsRefusedFirst(t *testing.T) {
	t.Parallel()
	dir := testfs.Tree(t, map[string]string{"a.yaml": reportedJob, "in/2026-11-20/part": "1,10\n"})
	for name, want := range map[string]string{"hdfs://nn/run.html": "a local file", dir: "not a regular file", filepath.Join(dir, "none/run.html"): "no such file",
		filepath.Join(dir, "a.yaml/run.html"): "not a directory", filepath.Join(dir, "a.yaml"): "a name that ends with .html", "/proc/run.html": "its folder can't be used"} {
		var stderr bytes.Buffer
		if code := execute(context.Background(), []string{"run", filepath.Join(dir, "a.yaml"), "--date", "2026-11-20", "--report", name}, io.Discard, &stderr); code != exitUsage ||
			!strings.Contains(stderr.String(), want) {
			t.Errorf("--report %s: exit code %d\n%s", name, code, &stderr)
		}
		stderr.Reset()
		if code := execute(context.Background(), []string{"plan", filepath.Join(dir, "a.yaml"), "--date", "2026-11-20", "--html", name}, io.Discard, &stderr); code != exitUsage ||
			!strings.Contains(stderr.String(), want) {
			t.Errorf("plan --html %s: exit code %d\n%s", name, code, &stderr)
		}
	}
	var stderr bytes.Buffer
	if code := execute(context.Background(), []string{"run", filepath.Join(dir, "a.yaml"), "--date", "2026-11-20", "--check", "--report", filepath.Join(dir, "run.html")}, io.Discard, &stderr); code != exitUsage {
		t.Errorf("--check: exit code %d\n%s", code, &stderr)
	}
	if _, err := os.Stat(filepath.Join(dir, "out")); err == nil {
		t.Error("the job was run")
	}
}

// TestReportThatFailsIsLogged: a page that can't be written at the end is a warning, since the run is done.
func TestReportThatFailsIsLogged(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := &session{log: slog.New(slog.NewTextHandler(&log, nil))}
	r := s.newReported(reportFlag{Report: filepath.Join(t.TempDir(), "gone", "run.html")})
	r.write(s, &failure.Outcome{Status: failure.StatusDone}, 0)
	if text := log.String(); !strings.Contains(text, "level=WARN") || !strings.Contains(text, "the run itself is not affected") {
		t.Errorf("logged is %s", text)
	}
}
