package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"bulkload/internal/test/testcluster"
)

// versionPair is an HBase and a Hadoop, as Maven names them, and the compression of the tables: Hadoop 2 has no Snappy
// without its native library.
type versionPair struct{ hbase, hadoop, compression string }

// versionPairs are the versions in docs/versions.md.
var versionPairs = []versionPair{{"2.4.18", "2.10.2", "gz"}, {"2.5.12-hadoop3", "3.3.6", "snappy"}, {"2.5.12-hadoop3", "3.4.2", "snappy"},
	{"2.6.1-hadoop3", "3.3.6", "snappy"}, {"2.6.1-hadoop3", "3.4.2", "snappy"}}

// versionTrials are what is tried with each pair, in order: a column of the table each.
var versionTrials = []struct {
	name string
	do   func(*testing.T, *testcluster.Cluster)
}{
	{"create", func(t *testing.T, _ *testcluster.Cluster) {
		for _, job := range []string{"check", "opinion"} {
			mustRun(t, "plan", "jobs/examples/"+job+"-hbase.yaml", "--date", "2026-11-20", "--create")
		}
	}},
	{"load and probe", func(t *testing.T, _ *testcluster.Cluster) {
		mustPrint(t, "\n  probe ", "run", "jobs/examples/check-hbase.yaml", "--date", "2026-11-20")
		mustPrint(t, "nothing to do", "run", "jobs/examples/check-hbase.yaml", "--date", "2026-11-20")
	}},
	{"cut after a split", func(t *testing.T, c *testcluster.Cluster) {
		job := []string{"run", "jobs/examples/opinion-hbase.yaml", "--date", "2026-11-20"}
		mustRun(t, append(job, "--no-load")...)
		if _, err := c.Oracle(t).Run("split", "tinawang:opinion", "48"); err != nil {
			t.Fatal(err)
		}
		mustPrint(t, "\n  loaded ", job...)
		mustPrint(t, "opinion: done", "verify", "jobs/examples/opinion-hbase.yaml", "--date", "2026-11-20", "--live")
	}},
	{"read", func(t *testing.T, _ *testcluster.Cluster) {
		mustPrint(t, "3,000, 54,000 cells", "verify", "jobs/examples/check-hbase.yaml", "--date", "2026-11-20", "--live")
		mustPrint(t, "f:check_id = A208849559", "get", "jobs/examples/check-hbase.yaml", "A208849559")
	}},
	{"HBase's own client reads it", func(t *testing.T, c *testcluster.Cluster) {
		if got, err := c.Oracle(t).Run("scan", "tinawang:check", "-digest"); err != nil || !strings.HasPrefix(got, "rows=3000 cells=54000 ") {
			t.Errorf("%s, %v", got, err)
		}
	}},
	{"after a major compaction", func(t *testing.T, c *testcluster.Cluster) {
		if _, err := c.Oracle(t).Run("compact", "tinawang:check"); err != nil {
			t.Fatal(err)
		}
		mustPrint(t, "3,000, 54,000 cells", "verify", "jobs/examples/check-hbase.yaml", "--date", "2026-11-20", "--live")
		mustPrint(t, "nothing to do", "run", "jobs/examples/check-hbase.yaml", "--date", "2026-11-20")
	}},
}

// mustRun runs a command, which must end with 0, and returns what it prints.
func mustRun(t *testing.T, args ...string) string {
	t.Helper()
	var terminal bytes.Buffer
	if code := execute(context.Background(), args, &terminal, &terminal); code != exitDone {
		t.Fatalf("%v: exit code %d\n%s", args, code, &terminal)
	}
	return terminal.String()
}

func mustPrint(t *testing.T, want string, args ...string) {
	t.Helper()
	if got := mustRun(t, args...); !strings.Contains(got, want) {
		t.Errorf("%v does not print %q:\n%s", args, want, got)
	}
}

var versionsTable = regexp.MustCompile(`(?s)<!-- made by make versions -->\n(.*)<!-- end -->`)

// TestVersions loads the examples into each version of HBase on each of Hadoop, and reads them. It takes five minutes
// and fetches the jars of five versions, so only make versions runs it; with -update-docs it writes the table of
// docs/versions.md.
func TestVersions(t *testing.T) {
	testcluster.OnlyIn(t, "versions")
	commit, err := exec.Command("git", "rev-parse", "--short=10", "HEAD").Output()
	if err != nil {
		t.Fatal(err)
	}
	table := fmt.Sprintf("Made on %s at commit `%s`:\n\n%s", time.Now().UTC().Format(time.DateOnly), strings.TrimSpace(string(commit)), versionsHead())
	for _, pair := range versionPairs {
		t.Run(pair.hbase+" on "+pair.hadoop, func(t *testing.T) {
			table += tryVersions(t, pair)
		})
	}
	if t.Failed() || !*updateDocs {
		return
	}
	name := filepath.Join(repositoryRoot, "docs/versions.md")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	text = versionsTable.ReplaceAllLiteral(text, []byte("<!-- made by make versions -->\n"+table+"<!-- end -->"))
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func versionsHead() string {
	head, rule := "| HBase | Hadoop | compression |", "|---|---|---|"
	for _, trial := range versionTrials {
		head += " " + trial.name + " |"
		rule += "---|"
	}
	return head + "\n" + rule + "\n"
}

// tryVersions makes all trials with a cluster of these versions, and returns the line of the table.
func tryVersions(t *testing.T, pair versionPair) string {
	c, err := testcluster.Start(t.Context(), testcluster.Options{Dir: filepath.Join(t.TempDir(), "cluster"), RegionServers: 2, HBase: pair.hbase, Hadoop: pair.hadoop})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	t.Setenv("HADOOP_CONF_DIR", c.ConfDir())
	t.Setenv("HBASE_CONF_DIR", c.ConfDir())
	t.Chdir(copyJobs(t, repositoryRoot))
	for _, job := range []string{"check", "opinion"} {
		name := "jobs/examples/" + job + "-hbase.yaml"
		text, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(name, fmt.Appendf(text, "hfile: {compression: %s, encoding: fast_diff, bloom: row}\n", pair.compression), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	line := pair.begin()
	for _, trial := range versionTrials {
		if !t.Run(trial.name, func(t *testing.T) { trial.do(t, c) }) {
			t.FailNow()
		}
		line += " yes |"
	}
	return line + "\n"
}

// begin is the beginning of a pair's line.
func (p versionPair) begin() string {
	return fmt.Sprintf("| %s | %s | %s |", strings.TrimSuffix(p.hbase, "-hadoop3"), p.hadoop, p.compression)
}

// TestVersionsTable: the table of docs/versions.md has the trials and the versions of TestVersions, and says when it
// was made.
func TestVersionsTable(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(repositoryRoot, "docs/versions.md"))
	if err != nil {
		t.Fatal(err)
	}
	m := versionsTable.FindSubmatch(text)
	if m == nil {
		t.Fatal("docs/versions.md has no table")
	}
	table := string(m[1])
	if !regexp.MustCompile("^Made on 20[0-9]{2}-[0-9]{2}-[0-9]{2} at commit `[0-9a-f]{10}`:\n\n").MatchString(table) || !strings.Contains(table, versionsHead()) {
		t.Errorf("the table does not say when it was made, or has other columns; run make versions:\n%s", table)
	}
	for _, pair := range versionPairs {
		want := pair.begin() + strings.Repeat(" yes |", len(versionTrials)) + "\n"
		if !strings.Contains(table, want) {
			t.Errorf("there is no line %s", want)
		}
	}
}
