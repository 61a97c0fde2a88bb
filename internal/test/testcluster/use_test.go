package testcluster

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestWithoutCluster runs tests of this package again, in other environments.
func TestWithoutCluster(t *testing.T) {
	newer := t.TempDir() // a JDK that can't run Hadoop
	for _, tool := range []string{"java", "javac", "mvn"} {
		if err := os.WriteFile(filepath.Join(newer, tool), []byte("#!/bin/sh\necho javac 25.0.1\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name   string
		test   string
		env    []string
		fails  bool
		output []string
	}{
		{"no cluster", "TestTableLoadAndScan", []string{"CI="}, false, []string{"*** SKIPPED TestTableLoadAndScan: needs a real HBase: `make test`", "--- SKIP"}},
		{"no cluster in CI", "TestTableLoadAndScan", []string{"CI=true"}, true, []string{"make test", "must not be skipped"}},
		{"a relative path", "TestTableLoadAndScan", []string{Environment + "=tmp/x"}, true, []string{"must be an absolute path"}},
		{"a cluster that isn't there", "TestTableLoadAndScan", []string{Environment + "=" + t.TempDir()}, true, []string{"no test cluster in"}},
		{"no Java", "TestEmptyFile", []string{"CI=", "PATH=" + t.TempDir()}, false, []string{"*** SKIPPED TestEmptyFile: no Java here", "install a JDK 17 or 21, and Maven"}},
		{"another JDK", "TestEmptyFile", []string{"CI=", "PATH=" + newer}, false, []string{`*** SKIPPED TestEmptyFile: no Java here: this is "javac 25.0.1": the tests need a JDK 17 or 21`}},
		{"no Java in CI", "TestEmptyFile", []string{"CI=true", "PATH=" + t.TempDir()}, true, []string{"no Java here"}},
	} {
		cmd := exec.Command(os.Args[0], "-test.v", "-test.run=^"+c.test+"$")
		cmd.Env = append(append(os.Environ(), Environment+"="), c.env...)
		b, err := cmd.CombinedOutput()
		if (err != nil) != c.fails {
			t.Errorf("%s: %v, want a failure: %v", c.name, err, c.fails)
		}
		for _, want := range c.output {
			if !strings.Contains(string(b), want) {
				t.Errorf("%s: the output has no %q:\n%s", c.name, want, b)
			}
		}
	}
}
