package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// exampleWords are the words of an example as a shell splits them; to is the file that it writes its output to, "" for
// none.
func exampleWords(t *testing.T, line string) (words []string, to string) {
	t.Helper()
	line, to, _ = strings.Cut(line, " >")
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	if words[0] != "bulkload" {
		t.Fatalf("%s runs %s", line, words[0])
	}
	return words[1:], to
}

// needsCluster reports whether an example reads or loads a live table.
func needsCluster(line string) bool {
	return strings.Contains(line, "-hbase.yaml") || strings.Contains(line, "hdfs://") || strings.Contains(line, "tinawang:")
}

// TestExamples runs the examples of all commands' help, one after another, in a fresh copy of the repository's jobs. Of
// those that need a cluster the command line is read.
func TestExamples(t *testing.T) {
	repository, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(copyJobs(t, repository))
	var help bytes.Buffer
	s := &session{stdout: &help, screen: newScreen(&help)}
	if _, _, _, err := parse([]string{"version"}, s); err != nil {
		t.Fatal(err)
	}
	ran, shown := 0, 0
	for _, command := range s.model.Children {
		if examples[command.Name] == nil && command.Name != "version" {
			t.Errorf("the help of %s has no example", command.Name)
		}
		for _, line := range examples[command.Name] {
			shown++
			words, _ := exampleWords(t, line)
			if words[0] != command.Name {
				t.Errorf("the help of %s shows %s", command.Name, line)
			}
			if needsCluster(line) {
				if _, _, _, err := parse(words, &session{stdout: &help, screen: newScreen(&help)}); err != nil {
					t.Errorf("%s: %v", line, err)
				}
				continue
			}
			ran++
			var out bytes.Buffer
			if code := execute(context.Background(), words, &out, &out); code != 0 {
				t.Errorf("%s: exit code %d\n%s", line, code, &out)
			}
		}
	}
	if len(examples) != len(s.model.Children)-1 || ran < 12 || shown < 20 {
		t.Errorf("%d commands have examples, %d of %d examples ran", len(examples), ran, shown)
	}
	if _, err := os.Stat("plan.html"); err != nil {
		t.Error(err)
	}
}

// TestHelp: help COMMAND is COMMAND --help, with its own flags before those of all commands, and its examples.
func TestHelp(t *testing.T) {
	t.Parallel()
	show := func(want int, args ...string) string {
		var out bytes.Buffer
		if code := execute(context.Background(), args, &out, &out); code != want {
			t.Errorf("%v: exit code %d\n%s", args, code, &out)
		}
		return out.String()
	}
	all, of, plan := show(0, "help"), show(0, "help", "plan"), show(0, "plan", "--help")
	if all != show(0, "--help") || of != plan || of == all {
		t.Error("help and --help differ")
	}
	own, common := strings.Index(plan, "--sample=ROWS"), strings.Index(plan, "--memory=SIZE")
	if example := strings.Index(plan, "    bulkload plan jobs/examples/check.yaml"); example < 0 || own < example || common < own {
		t.Errorf("the help of plan is\n%s", plan)
	}
	if out := show(2, "help", "nosuch"); !strings.Contains(out, "is neither a command nor the code of an error") {
		t.Error(out)
	}
	show(0, "help", "help")
	if out := show(0, "--version"); out != show(0, "version") || !strings.HasPrefix(out, "bulkload ") {
		t.Errorf("--version: %s", out)
	}
	if man := show(0, "man"); !strings.Contains(man, "bulkload plan jobs/examples/check.yaml") {
		t.Error("the manual has no example")
	}
}
