package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestScreenShowsNoCommands: what a terminal would obey does not reach it, except for our own colours.
func TestScreenShowsNoCommands(t *testing.T) {
	for _, colours := range []bool{false, true} {
		var out bytes.Buffer
		s := &screen{out: &out, colours: colours}
		text := paint(colours, red, "bulkload:") + " in\x1b]0;pwn\a/p\x1b[2J.txt: 规则\n\tnext\xff\n"
		if n, err := s.Write([]byte(text)); n != len(text) || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		want := paint(colours, red, "bulkload:") + ` in\x1B]0;pwn\x07/p\x1B[2J.txt: 规则` + "\n\tnext" + `\xFF` + "\n"
		if out.String() != want {
			t.Errorf("%q, want %q", out.String(), want)
		}
	}
}

// TestNamesOfFilesInMessages: whoever may write into an export's folder chooses names of files. They neither command a
// terminal nor add lines to a log.
func TestNamesOfFilesInMessages(t *testing.T) {
	const title, clear, forged = "in\x1b]0;pwn\a", "p\x1b[2J.txt", "q\nbulkload: done"
	for _, name := range []string{clear, forged, "broken\xff.gz", "is\x1ba/pipe"} {
		dir := t.TempDir()
		file := filepath.Join(dir, title, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("bad"), 0o600); err != nil {
			t.Fatal(err)
		}
		job := filepath.Join(dir, "job.yaml")
		text := "table: t\nfamily: f\ntimestamp: 2026-11-20\ninput: {path: 'in*', columns: [id, a]}\nrowkey: id\nregions: {from: splits, splits: []}\nhfile: {}\noutput: out\n"
		if err := os.WriteFile(job, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"run", job}, {"run", job, "--log", "text"}, {"plan", job}, {"init", filepath.Join(dir, "in*")}} {
			var stdout, stderr bytes.Buffer
			code := execute(t.Context(), args, &stdout, &stderr)
			all := stdout.String() + stderr.String()
			if strings.ContainsAny(all, "\x1b\a") || strings.Contains(all, "\xff") || strings.Contains(all, "\nbulkload: done") || code == 0 && args[0] == "run" {
				t.Errorf("%q, %q: exit code %d, %q", name, args[0], code, all)
			}
		}
	}
}

// TestNamesOfOutputsInMessages: a line break or an escape in the name of an output, a job file or a work folder neither
// commands a terminal nor begins a line that looks like a message of its own; --json stays one object.
func TestNamesOfOutputsInMessages(t *testing.T) {
	const odd = "o\x1b]0;pwn\a\nbulkload: forged\r"
	dir := t.TempDir()
	t.Chdir(dir)
	text := "table: t\nfamily: f\ntimestamp: 2026-11-20\ninput: {path: PATH, columns: [id], record_delimiter: '\\n', max_rejects: 5}\nrowkey: id\nregions: {from: splits, splits: []}\nhfile: {}\noutput: out\n"
	if err := os.MkdirAll(filepath.Join(dir, odd, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"in": "1\n2\nx\x01y\n", odd + "/job.yaml": strings.Replace(text, "PATH", "../in", 1), odd + "/bad.yaml": text + "nosuch: 1\nother: 2\n",
		odd + "/none.yaml": text, odd + "/full/foreign": "", odd + "/full.yaml": strings.NewReplacer("PATH", "../in", "output: out", "output: full").Replace(text),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		code int
		args []string
	}{
		{exitDone, []string{"run", odd + "/job.yaml"}}, {exitDone, []string{"verify", odd + "/job.yaml"}}, {exitDone, []string{"verify", odd + "/out"}},
		{exitDone, []string{"list", "."}}, {exitDone, []string{"status", odd + "/job.yaml"}}, {exitUsage, []string{"run", odd + "/bad.yaml"}},
		{exitUsage, []string{"run", odd + "/nosuch.yaml"}}, {exitNotYet, []string{"run", odd + "/none.yaml"}},
		{exitRefused, []string{"run", odd + "/full.yaml"}}, {exitDone, []string{"run", odd + "/job.yaml", "--force", "-v", "--work-dir", odd + "/work"}},
	} {
		for _, extra := range [][]string{nil, {"--log", "text"}, {"--log", "json"}, {"--json"}} {
			var stdout, stderr bytes.Buffer
			args := append(slices.Clone(c.args), extra...)
			if code := execute(t.Context(), args, &stdout, &stderr); code != c.code {
				t.Errorf("%q: exit code %d, want %d: %s", args, code, c.code, &stderr)
			}
			all := stdout.String() + stderr.String()
			if strings.ContainsAny(all, "\x1b\a\r") || strings.Contains(all, "\nbulkload: forged") {
				t.Errorf("%q: %q", args, all)
			}
			if slices.Equal(extra, []string{"--json"}) && (!json.Valid(stdout.Bytes()) || bytes.Count(stdout.Bytes(), []byte("\n")) != 1) {
				t.Errorf("%q: %s is not one object", args, &stdout)
			}
		}
	}
}
