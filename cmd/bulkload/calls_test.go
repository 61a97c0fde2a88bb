package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/test/testcluster"
)

// maxCalls is how many functions of the program may be on the stack from main to the one that asks HBase to load files.
// Whoever follows a load through the code reads each of them.
const maxCalls = 12

// loadRequest is the function that asks a region server to load files.
const loadRequest = "bulkload/internal/hbase.(*Conn).BulkLoadHFile"

// stackFile is the environment variable with the file for the stack of mainAtRequest.
const stackFile = "BULKLOAD_TEST_STACK"

// mainAtRequest is main. It writes the stack of a goroutine that asks a region server to load files into a file.
func mainAtRequest() {
	go func() {
		for stacks := make([]byte, 16<<20); ; time.Sleep(100 * time.Microsecond) {
			for stack := range strings.SplitSeq(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
				if !strings.Contains(stack, loadRequest+"(") {
					continue
				}
				if err := os.WriteFile(os.Getenv(stackFile), []byte(stack), 0o600); err != nil {
					fmt.Fprintln(os.Stderr, err)
				}
				return
			}
		}
	}()
	main()
}

// TestCallsToLoadRequest: few calls lead from main to a request to load files, in a run and in both kinds of loads of a
// directory.
func TestCallsToLoadRequest(t *testing.T) {
	t.Parallel()
	c := testcluster.Use(t)
	table, other := c.UniqueTable(t), c.UniqueTable(t)
	for _, name := range []string{table, other} {
		if out, err := c.Oracle(t).Run("create", name, "f", "5"); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	dir := t.TempDir()
	out := "hdfs:///user/test/" + table
	fatal(t, os.WriteFile(filepath.Join(dir, "rows"), []byte("1\tone\n2\ttwo\n7\tseven\n"), 0o600))
	fatal(t, os.WriteFile(filepath.Join(dir, "job.yaml"), fmt.Appendf(nil, `table: %s
rowkey: id
family: f
timestamp: 2026-11-20
input: {path: rows, field_delimiter: '\t', columns: [id, name]}
regions: {from: table}
output: %s
load: true
`, table, out), 0o600))
	for _, one := range []struct {
		args     []string
		requests bool
	}{
		{[]string{"run", "job.yaml"}, true},
		{[]string{"run", "job.yaml", "--force", "--no-load"}, false},
		{[]string{"load", out, other}, true}, // recorded in the ledger: it is another table than the job's
		{[]string{"run", "job.yaml", "--force", "--no-load"}, false},
		{[]string{"load", out, table}, true}, // recorded in the manifest
	} {
		stack := filepath.Join(t.TempDir(), "stack")
		// testscript.Main has put the program of this name, which is this binary, into the path.
		cmd := exec.CommandContext(t.Context(), "bulkload-at-request", one.args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GODEBUG=tracebackancestors=100", stackFile+"="+stack,
			"HADOOP_CONF_DIR="+c.ConfDir(), "HBASE_CONF_DIR="+c.ConfDir())
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", one.args, err, said)
		}
		text, err := os.ReadFile(stack)
		if !one.requests {
			if err == nil {
				t.Fatalf("%v loads files", one.args)
			}
			continue
		}
		fatal(t, err)
		calls := callsOf(t, string(text))
		var list bytes.Buffer
		for i, call := range calls {
			fmt.Fprintf(&list, "\n%4d %s", i+1, call)
		}
		t.Logf("%v:%s", one.args, &list)
		if len(calls) > maxCalls {
			t.Errorf("%v: %d functions from main to the request, at most %d are wanted:%s\nThe stack is\n%s",
				one.args, len(calls), maxCalls, &list, text)
		}
	}
}

// frame matches a function of this program in a stack, and in that of the goroutine that began this one, which follows
// below "[originating from goroutine 1]:". There the runtime may give a function the name of an inlined one that it
// calls next.
var frame = regexp.MustCompile(`(?m)^(bulkload/\S+)\(.*\)$`)

// callsOf returns the functions from main to the request: of a goroutine, and of those that began it.
func callsOf(t *testing.T, stack string) (calls []string) {
	t.Helper()
	for _, m := range frame.FindAllStringSubmatch(stack, -1) {
		calls = append(calls, m[1])
	}
	slices.Reverse(calls)
	from, to := slices.Index(calls, "bulkload/cmd/bulkload.main"), slices.Index(calls, loadRequest)
	if from < 0 || to < from {
		t.Fatalf("no call leads from main to %s:\n%s", loadRequest, stack)
	}
	return calls[from : to+1]
}
