package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/errcode"
	"bulkload/internal/test/testwords"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"bulkload": main, "bulkload-at-request": mainAtRequest})
}

// TestScripts runs testdata/script/*.txtar: each is a session at the command line, with the files that it needs.
// -update writes the commands' output into the scripts.
func TestScripts(t *testing.T) {
	repository, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("REPO", repository)
			e.Setenv("USER", "tester")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code":    cmdCode,
			"records": cmdRecords,
		},
	})
}

// cmdCode runs bulkload and requires an exit code: code 5 run job.yaml.
func cmdCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N bulkload ARGS")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if err != nil {
		got = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
	if got != "0" && !slices.Contains(args, "--json") && !slices.Contains(args, "--log") {
		checkCode(ts, got, ts.ReadFile("stderr"))
	}
}

// endCode matches the code at the end of an error's line.
var endCode = regexp.MustCompile(`(?m) \[(BL-[A-Z0-9-]+)\]$`)

// checkCode requires an error's text to end with a code, which the table of codes must have with this exit code.
func checkCode(ts *testscript.TestScript, exit, stderr string) {
	stderr = stderr[max(strings.Index(stderr, "bulkload: "), 0):] // before it, the summaries of several runs
	m := endCode.FindAllStringSubmatchIndex(stderr, -1)
	if m == nil {
		ts.Fatalf("the error has no code:\n%s", stderr)
	}
	if words := testwords.Doubled(stderr); words != "" {
		ts.Fatalf("the error says %q twice:\n%s", words, stderr)
	}
	begin := 0
	for _, at := range m {
		code, text := stderr[at[2]:at[3]], stderr[begin:at[0]]
		begin = at[1]
		listed := errcode.Find(code)
		switch {
		case strings.HasPrefix(code, "BL-OTHER"):
			ts.Fatalf("the error has no code of its own, but %s:\n%s", code, text)
		case listed == nil:
			ts.Fatalf("the table of codes has no %s", code)
		case fmt.Sprint(exitCode(listed.Code.New(""))) != exit:
			ts.Fatalf("%s ended with exit code %s, its kind is %d", code, exit, listed.Kind)
		}
	}
}

// cmdRecords writes a file of 0x01 and 0x10 delimited records; ^ means 0x01, and $ a newline inside a value:
// records FILE a^b^c d^e^f.
func cmdRecords(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: records FILE RECORD…")
	}
	var b strings.Builder
	for _, r := range args[1:] {
		b.WriteString(strings.NewReplacer("^", "\x01", "$", "\n").Replace(r) + "\x10")
	}
	name := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(filepath.Dir(name), 0o755))
	ts.Check(os.WriteFile(name, []byte(b.String()), 0o644))
}
