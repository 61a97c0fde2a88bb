package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"bulkload/internal/test/testcluster"
)

// installation is a folder laid out as /opt/bulkload, with this program. The jobs of the schedules load nothing in it,
// and have exports of 2026-11-20 and 2026-11-21.
func installation(t *testing.T) string {
	t.Helper()
	dir := exampleDir(t)
	program, err := exec.LookPath("bulkload") // see TestMain
	if err == nil {
		err = os.Mkdir(filepath.Join(dir, "bin"), 0o755)
	}
	if err == nil {
		err = os.Symlink(program, filepath.Join(dir, "bin/bulkload"))
	}
	if err == nil {
		err = os.CopyFS(filepath.Join(dir, "deploy"), os.DirFS("../../deploy"))
	}
	for _, table := range []string{"check", "opinion"} {
		export := filepath.Join(dir, "jobs/examples/testdata", table)
		if err == nil {
			err = os.CopyFS(filepath.Join(export, "2026-11-21"), os.DirFS(filepath.Join(export, "2026-11-20")))
		}
		if err == nil {
			err = os.Rename(filepath.Join(dir, "jobs/examples", table+".yaml"), filepath.Join(dir, "jobs/examples", table+"-hbase.yaml"))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestAirflowRunsNights: the tasks of the DAGs run this program: a night of both tables, a backfill with days whose
// export is missing, an export that is waited for, a mistake, and a task that is killed. With stand-ins for the parts
// of Airflow that they use, and with the Airflows of the interpreters that BULKLOAD_AIRFLOW lists.
func TestAirflowRunsNights(t *testing.T) {
	t.Parallel()
	interpreter, err := exec.LookPath("python3")
	if err != nil {
		testcluster.Without(t, "needs python3")
	}
	layouts := map[string]string{"2": interpreter, "3": interpreter}
	for _, real := range filepath.SplitList(os.Getenv("BULKLOAD_AIRFLOW")) {
		layouts["real "+real] = real
	}
	script, err := filepath.Abs("testdata/airflow_check.py")
	if err != nil {
		t.Fatal(err)
	}
	for layout, interpreter := range layouts {
		t.Run(layout, func(t *testing.T) {
			t.Parallel()
			layout, _, _ = strings.Cut(layout, " ")
			cmd := exec.Command(interpreter, script, "nights", layout, installation(t))
			cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "AIRFLOW_HOME="+t.TempDir())
			if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "checked "+layout) {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// TestCronRunsNights: cron's script runs this program for both tables. An export that is missing is waited for,
// whatever becomes of the other table, and the exit code is that of the last try.
func TestCronRunsNights(t *testing.T) {
	t.Parallel()
	dir := installation(t)
	night := func(date string) (output string, code int) {
		cmd := exec.Command("/bin/sh", "deploy/cron/night", date, "jobs/examples/check-hbase.yaml", "jobs/examples/opinion-hbase.yaml", "--log-file", "log")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "PAUSE=0", "TRIES=2")
		out, _ := cmd.CombinedOutput() // its exit code is checked
		return string(out), cmd.ProcessState.ExitCode()
	}
	if out, code := night("2026-11-20"); code != exitDone || out != "" {
		t.Errorf("exit code %d: %q; cron mails what is printed", code, out)
	}
	// of both jobs, once
	if out, code := night("2026-11-22"); code != exitNotYet || strings.Count(out, "[BL-INPUT-MISSING]") != 2 {
		t.Errorf("exit code %d: %s", code, out)
	}
	testdata := filepath.Join(dir, "jobs/examples/testdata")
	if err := os.MkdirAll(filepath.Join(testdata, "opinion/2026-11-23"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(testdata, "opinion/2026-11-23/part"), []byte("no record\x10"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, code := night("2026-11-23"); code != exitNotYet || strings.Count(out, "[BL-INPUT-MISSING]") != 1 || strings.Count(out, "[BL-REJECT-COLUMNS]") != 1 {
		t.Errorf("one late, one wrong: exit code %d: %s", code, out)
	}
	if err := os.CopyFS(filepath.Join(testdata, "check/2026-11-23"), os.DirFS(filepath.Join(testdata, "check/2026-11-20"))); err != nil {
		t.Fatal(err)
	}
	if out, code := night("2026-11-23"); code != exitRejects || strings.Count(out, "[BL-REJECT-COLUMNS]") != 1 {
		t.Errorf("one loaded, one wrong: exit code %d: %s", code, out)
	}
	log, err := os.ReadFile(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(regexp.MustCompile(`msg="run ended" status=done .* rows_written=[1-9]`).FindAll(log, -1)); n != 3 || bytes.Count(log, []byte("msg=begin")) != 6 {
		t.Errorf("%d runs ended well\n%s", n, log)
	}
}
