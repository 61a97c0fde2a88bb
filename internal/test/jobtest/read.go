package jobtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/testfs"
	"bulkload/jobs/spec/jobfile"
)

// Read reads a job file for jobdir.Date.
func Read(t testing.TB, path string) *jobfile.Job {
	t.Helper()
	return ReadDate(t, path, jobdir.Date)
}

// ReadDate reads a job file for a date.
func ReadDate(t testing.TB, path string, date time.Time) *jobfile.Job {
	t.Helper()
	j, err := jobfile.Read(path, jobfile.ReadOptions{Date: date})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// Check reads the job of a folder made by jobdir.Check, with another output.
func Check(t testing.TB, dir, output string) *jobfile.Job {
	t.Helper()
	j := Read(t, filepath.Join(dir, "check.yaml"))
	j.Output = output
	return j
}

// CheckTo reads jobdir.CheckJob of a folder, with another output in the job file itself, because a plan of tasks has
// the file's text.
func CheckTo(t testing.TB, dir, output string) *jobfile.Job {
	t.Helper()
	text := strings.Replace(jobdir.CheckJob, "out/${date}", output, 1)
	if err := os.WriteFile(filepath.Join(dir, "check.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Check(t, dir, output)
}

// Orders reads the job of a folder made by jobdir.Orders, with outputs below another folder.
func Orders(t testing.TB, dir, out string) *jobfile.Job {
	t.Helper()
	j := Read(t, filepath.Join(dir, "orders.yaml"))
	for _, o := range j.Feeds() {
		o.Output = filepath.Join(dir, out, filepath.Base(o.Output))
	}
	return j
}

// Wide reads the job of a folder made by jobdir.Wide, which needs no date, with another output.
func Wide(t testing.TB, dir, output string) *jobfile.Job {
	t.Helper()
	j, err := jobfile.Read(filepath.Join(dir, "wide.yaml"), jobfile.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	j.Output = output
	return j
}

// Rules makes a folder with a job of rules and its input. A rule for a key that the job already has replaces it.
func Rules(t testing.TB, rules, input string) *jobfile.Job {
	t.Helper()
	job := jobdir.RuleJob
	if strings.HasPrefix(rules, "timestamp:") || strings.Contains(rules, "\ntimestamp:") {
		job = strings.Replace(job, "timestamp: 1000\n", "", 1)
	}
	dir := testfs.Tree(t, map[string]string{"job.yaml": job + rules, "in.txt": input})
	j, err := jobfile.Read(filepath.Join(dir, "job.yaml"), jobfile.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return j
}
