package jobs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// recorder stands where the schedules expect the program, and writes down how it was called.
const recorder = "#!/bin/sh\nprintf '%s\\n' \"$*\" > called\n"

// fakeInstallation is a folder laid out as /opt/bulkload.
func fakeInstallation(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bin", "bulkload"), []byte(recorder), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// called runs a schedule's command there and gives the arguments that the program got.
func called(t *testing.T, dir, command string) string {
	t.Helper()
	cmd := exec.Command("/bin/bash", "-c", command)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
	args, err := os.ReadFile(filepath.Join(dir, "called"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(args))
}

var (
	cronVariable = regexp.MustCompile(`^[A-Z_]+=\S`)
	cronField    = `(\*|[0-9]+(-[0-9]+)?)(/[0-9]+)?(,[0-9]+(-[0-9]+)?)*`
	cronLine     = regexp.MustCompile(`^((?:` + cronField + `[ \t]+){5})(.+)$`)
)

// TestCrontab parses jobs/cron/crontab by cron's rules and runs its command.
func TestCrontab(t *testing.T) {
	text, err := os.ReadFile("cron/crontab")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(string(text), "\n") {
		t.Error("cron ignores a last line without its newline")
	}
	commands := 0
	for n, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		if line == "" || line[0] == '#' || cronVariable.MatchString(line) {
			continue
		}
		m := cronLine.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("line %d is neither a variable nor five fields and a command: %s", n+1, line)
		}
		commands++
		checkCronCommand(t, m[len(m)-1])
	}
	if commands != 1 {
		t.Errorf("%d commands, want 1", commands)
	}
}

func checkCronCommand(t *testing.T, command string) {
	t.Helper()
	if regexp.MustCompile(`(^|[^\\])%`).MatchString(command) {
		t.Errorf("cron ends the command at its bare %%: %s", command)
	}
	dir := fakeInstallation(t)
	command = strings.NewReplacer(`\%`, "%", "/opt/bulkload", dir).Replace(command)
	before := yesterday() // and after, should midnight come between
	got := called(t, dir, command)
	want := "run jobs/examples/check-hbase.yaml --date "
	if got != want+before && got != want+yesterday() {
		t.Errorf("the program is called with %q, want %q and yesterday", got, want)
	}
}

// yesterday is the day before by the clock on the wall. At noon, since a zone may have days without a midnight.
func yesterday() string {
	year, month, day := time.Now().Date()
	return time.Date(year, month, day-1, 12, 0, 0, 0, time.Local).Format(time.DateOnly)
}

// python is the interpreter for the DAG; BULKLOAD_PYTHON names one that has pyflakes.
func python(t *testing.T) string {
	t.Helper()
	if name := os.Getenv("BULKLOAD_PYTHON"); name != "" {
		return name
	}
	name, err := exec.LookPath("python3")
	if err != nil {
		withoutTool(t, "needs python3")
	}
	return name
}

func withoutTool(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s (CI=true: it must not be skipped)", why)
	}
	t.Skip(why)
}

// stubAirflow is as much of Airflow as the DAG's file touches; it prints what the operator was given.
const stubAirflow = `
import json, sys, types
class DAG:
    def __init__(self, **given): self.given = given
    def __enter__(self): return self
    def __exit__(self, *_): return False
def BashOperator(**given): print(json.dumps(given))
airflow, operators, bash = (types.ModuleType(n) for n in ("airflow", "airflow.operators", "airflow.operators.bash"))
airflow.DAG, bash.BashOperator = DAG, BashOperator
sys.modules.update({m.__name__: m for m in (airflow, operators, bash)})
exec(compile(open(sys.argv[1]).read(), sys.argv[1], "exec"))
`

// TestAirflowDAG compiles and lints the DAG, and runs the command that its task would run.
func TestAirflowDAG(t *testing.T) {
	interpreter := python(t)
	const dag = "airflow/bulkload_check.py"
	if out, err := exec.Command(interpreter, "-c", stubAirflow, dag).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	} else {
		m := regexp.MustCompile(`"bash_command": "([^"]*)"`).FindSubmatch(out)
		if m == nil || !strings.Contains(string(out), `"cwd": "/opt/bulkload"`) {
			t.Fatalf("the operator was given %s", out)
		}
		command := strings.ReplaceAll(string(m[1]), "{{ ds }}", "2026-11-20")
		if got := called(t, fakeInstallation(t), command); got != "run jobs/examples/check-hbase.yaml --date 2026-11-20 --json" {
			t.Errorf("the program is called with %q", got)
		}
	}
	if exec.Command(interpreter, "-c", "import pyflakes").Run() != nil {
		withoutTool(t, "needs pyflakes to lint the DAG: `make test` installs it, or set BULKLOAD_PYTHON to a Python that has it")
	}
	if out, err := exec.Command(interpreter, "-m", "pyflakes", dag).CombinedOutput(); err != nil {
		t.Errorf("pyflakes: %v\n%s", err, out)
	}
}
