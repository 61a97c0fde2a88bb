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

// mainAtRequest is main. It writes the stacks of all goroutines into a file when one asks a region server to load
// files.
func mainAtRequest() {
	go func() {
		for stacks := make([]byte, 16<<20); ; time.Sleep(100 * time.Microsecond) {
			text := stacks[:runtime.Stack(stacks, true)]
			if !bytes.Contains(text, []byte(loadRequest+"(")) {
				continue
			}
			if err := os.WriteFile(os.Getenv(stackFile), text, 0o600); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
			return
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
		if out, err := c.Oracle(t).Run("create", name, "f", "2,3,4,5,6,7,8,9"); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	dir := t.TempDir()
	out := "hdfs:///user/test/" + table
	fatal(t, os.WriteFile(filepath.Join(dir, "rows"), []byte("1\ta\n2\tb\n3\tc\n4\td\n5\te\n6\tf\n7\tg\n8\th\n9\ti\n"), 0o600))
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
		if err != nil {
			t.Fatalf("%v: no request to load files was seen: %v", one.args, err)
		}
		calls := callsOf(t, string(text))
		var list bytes.Buffer
		for i, call := range calls {
			fmt.Fprintf(&list, "\n%4d %s", i+1, call)
		}
		t.Logf("%v:%s", one.args, &list)
		if len(calls) > maxCalls {
			t.Errorf("%v: %d functions from main to the request, at most %d are wanted:%s\nThe stacks are\n%s",
				one.args, len(calls), maxCalls, &list, text)
		}
	}
}

var (
	// goroutine matches the first line of a goroutine's stack.
	goroutine = regexp.MustCompile(`^goroutine (\d+) `)
	// origin matches the line before the stack that the goroutine which began this one had then.
	origin = regexp.MustCompile(`(?m)^\[originating from goroutine (\d+)\]:$`)
	// frame matches a function of this program.
	frame = regexp.MustCompile(`(?m)^(bulkload/\S+)\(.*\)$`)
)

// callsOf returns the functions from main to the request: of the goroutine that makes it, and of those that began it.
func callsOf(t *testing.T, stacks string) (calls []string) {
	t.Helper()
	framesOf := func(stack string) (functions []string) {
		for _, m := range frame.FindAllStringSubmatch(stack, -1) {
			functions = append(functions, m[1])
		}
		return functions
	}
	now, request := map[string][]string{}, ""
	for stack := range strings.SplitSeq(stacks, "\n\n") {
		before, _, _ := strings.Cut(stack, "[originating")
		if m := goroutine.FindStringSubmatch(stack); m != nil {
			now[m[1]] = framesOf(before)
		}
		if strings.Contains(before, loadRequest+"(") {
			request = stack
		}
	}
	origins := origin.FindAllStringSubmatch(request, -1)
	for i, stack := range origin.Split(request, -1) {
		functions := framesOf(stack)
		if i > 0 && len(functions) > 0 {
			// Of calls that are over the runtime may give a function the name of an inlined one that it calls next. So if
			// the function that began the goroutine has not returned, its stack as it is now counts.
			if same := now[origins[i-1][1]]; len(same) >= len(functions) && same[len(same)-len(functions)] == functions[0] {
				functions = same[len(same)-len(functions):]
			}
		}
		calls = append(calls, functions...)
	}
	slices.Reverse(calls)
	from, to := slices.Index(calls, "bulkload/cmd/bulkload.main"), slices.Index(calls, loadRequest)
	if from < 0 || to < from {
		t.Fatalf("no call leads from main to %s:\n%s", loadRequest, stacks)
	}
	return calls[from : to+1]
}
