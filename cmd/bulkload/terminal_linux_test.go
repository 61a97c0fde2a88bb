package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// openTerminal makes a pseudoterminal of 60 columns.
func openTerminal(t *testing.T) (screen, keyboard *os.File) {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	check(err)
	t.Cleanup(func() { _ = master.Close() })
	check(unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	check(err)
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	check(err)
	check(unix.IoctlSetWinsize(int(slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 60}))
	return master, slave
}

// onTerminal runs bulkload with stderr on a terminal and returns what the terminal shows.
func onTerminal(t *testing.T, dir string, env []string, args ...string) string {
	t.Helper()
	master, slave := openTerminal(t)
	cmd := exec.Command("bulkload", args...) // see TestMain
	cmd.Dir, cmd.Stderr = dir, slave
	cmd.Env = append(os.Environ(), env...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := slave.Close(); err != nil {
		t.Fatal(err)
	}
	var shown bytes.Buffer
	_, _ = io.Copy(&shown, master) // on Linux reading ends with EIO after the last writer has closed
	_ = cmd.Wait()                 // its output shows how it ended
	return shown.String()
}

// TestTerminal: on a terminal one bar shows all phases and is gone at the end; on other outputs there is none.
func TestTerminal(t *testing.T) {
	repository, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := copyJobs(t, repository)
	job := []string{"run", "jobs/examples/check.yaml", "--date", "2026-11-20", "--force"}
	shown := onTerminal(t, dir, []string{"TERM=xterm", "NO_COLOR="}, job...)
	for _, want := range []string{"\r\x1b[K[>", "% sort: 0 B of ", "% write: 0 of 3,000 record"} {
		if !strings.Contains(shown, want) {
			t.Errorf("no %q in %q", want, shown)
		}
	}
	for _, part := range strings.Split(shown, "\r\x1b[K") {
		if bar, _, _ := strings.Cut(part, "\r\n"); strings.HasPrefix(bar, "[") && len(bar) > 59 {
			t.Errorf("a bar of %d columns: %q", len(bar), bar)
		}
	}
	if end := shown[strings.LastIndex(shown, "["):]; strings.Contains(shown[strings.LastIndex(shown, "\x1b[K")+3:], "[=") || !strings.Contains(shown, ": done") {
		t.Errorf("the bar was not removed: %q", end)
	}
	for _, c := range []struct {
		env  []string
		args []string
		want bool // an escape sequence
	}{
		{[]string{"TERM=dumb"}, job, false},
		{[]string{"TERM=xterm"}, append(job, "--quiet"), false},
		{[]string{"TERM=xterm"}, append(job, "--log", "text"), false},
		{[]string{"TERM=xterm", "NO_COLOR="}, []string{"run", "missing.yaml"}, true},
		{[]string{"TERM=xterm", "NO_COLOR=1"}, []string{"run", "missing.yaml"}, false},
		{[]string{"TERM=dumb", "NO_COLOR="}, []string{"run", "missing.yaml"}, false},
	} {
		if shown := onTerminal(t, dir, c.env, c.args...); strings.Contains(shown, "\x1b") != c.want {
			t.Errorf("%v %v: %q", c.env, c.args, shown)
		}
	}
}
