package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/test/testcluster"
)

// TestBigCases runs the program on inputs that are large in other ways than by their rows, and prints what each run
// uses. Then it sends a SIGTERM in the middle of each, which must end it within a second.
func TestBigCases(t *testing.T) {
	testcluster.OnlyIn(t, "big")
	dir := t.TempDir()
	program := filepath.Join(dir, "bulkload")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, c := range []struct {
		name   string
		exit   int
		make   func(t *testing.T, dir string) (job string)
		middle bool // the run lasts long enough for a signal in the middle
	}{
		{"100,000 regions, 1,000 rows", exitDone, bigRegions, true},
		{"10,000 input files, 1,000,000 rows", exitDone, bigFiles, true},
		{"a job file of 3.9 MB: 60,000 columns", exitDone, bigJob(60_000), true},
		{"a job file of 26 MB", exitUsage, bigJob(450_000), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			job := filepath.Join(dir, "job.yaml")
			text := c.make(t, dir)
			if err := os.WriteFile(job, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			wall := bigRun(t, program, job, c.exit, 0)
			if !c.middle {
				return
			}
			for _, part := range []time.Duration{8, 4, 2} {
				if err := os.RemoveAll(filepath.Join(dir, "out")); err != nil {
					t.Fatal(err)
				}
				bigRun(t, program, job, exitInterrupted, wall/part)
			}
		})
	}
}

// bigRun runs a job, ended by SIGTERM after some time, and returns its duration.
func bigRun(t *testing.T, program, job string, exit int, term time.Duration) time.Duration {
	t.Helper()
	var out bytes.Buffer
	run := exec.Command(program, "run", job, "--date", "2026-11-20")
	run.Stderr = &out
	begun := time.Now()
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	if term > 0 {
		time.Sleep(term)
		if err := run.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Fatal(err)
		}
	}
	signalled, before := time.Now(), cpuOf(run.Process.Pid)
	<-ended
	wall, usage := time.Since(begun), run.ProcessState.SysUsage().(*syscall.Rusage)
	cpu := run.ProcessState.UserTime() + run.ProcessState.SystemTime()
	if code := run.ProcessState.ExitCode(); code != exit && (term == 0 || code != exitDone) {
		t.Errorf("exit code %d, want %d\n%.1000s", code, exit, out.String())
	}
	if term > 0 {
		late := begun.Add(wall).Sub(signalled)
		t.Logf("SIGTERM after %.1f s: it ended %.2f s and %.2f CPU-s later", term.Seconds(), late.Seconds(), (cpu - before).Seconds())
		if late > time.Second {
			t.Errorf("it ended %v after the signal", late)
		}
		return wall
	}
	t.Logf("%.1f s, %.1f CPU-s, %d MB", wall.Seconds(), cpu.Seconds(), usage.Maxrss>>10)
	return wall
}

// bigText is a job over columns in the folder "in".
func bigText(columns, splits []string) string {
	return "table: ns:t\nfamily: f\ntimestamp: 2026-11-20\ninput: {path: in, columns: [" + strings.Join(columns, ", ") +
		"], field_delimiter: ',', record_delimiter: '\\n'}\nrowkey: md5(id) + id\nregions: {from: splits, splits: [" +
		strings.Join(splits, ", ") + "]}\nhfile: {compression: snappy, encoding: fast_diff, bloom: row}\noutput: out\nload: false\n"
}

// bigInput writes files of rows with the given number of columns.
func bigInput(t *testing.T, dir string, files, rows, columns int) {
	t.Helper()
	if err := os.Mkdir(filepath.Join(dir, "in"), 0o700); err != nil {
		t.Fatal(err)
	}
	for f := range files {
		var b bytes.Buffer
		for i := range rows {
			fmt.Fprintf(&b, "%d", f*rows+i)
			for c := 1; c < columns; c++ {
				fmt.Fprintf(&b, ",v%d", c)
			}
			b.WriteByte('\n')
		}
		if err := os.WriteFile(filepath.Join(dir, "in", fmt.Sprintf("part-%05d", f)), b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func bigRegions(t *testing.T, dir string) string {
	bigInput(t, dir, 1, 1000, 4)
	const n = 100_000
	splits := make([]string, n-1)
	for i := range splits {
		splits[i] = fmt.Sprintf("'%08x'", (i+1)*(1<<32)/n)
	}
	return bigText([]string{"id", "a", "b", "c"}, splits)
}

func bigFiles(t *testing.T, dir string) string {
	bigInput(t, dir, 10_000, 100, 4)
	return bigText([]string{"id", "a", "b", "c"}, []string{"'4'", "'8'", "'c'"})
}

// bigJob makes a job with so many columns, which have long names.
func bigJob(columns int) func(*testing.T, string) string {
	return func(t *testing.T, dir string) string {
		bigInput(t, dir, 1, 10, columns)
		names := []string{"id"}
		for c := 1; c < columns; c++ {
			names = append(names, fmt.Sprintf("a_column_with_a_name_as_long_as_some_have_it_to_be_%06d", c))
		}
		return bigText(names, []string{"'8'"})
	}
}

// cpuOf is the CPU time that a process has used so far, in hundredths of a second as Linux counts it; 0 if unknown.
func cpuOf(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}
