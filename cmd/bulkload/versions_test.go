package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/test/testcluster"
)

// version is an HBase on a Hadoop, as Maven names them.
type version struct {
	hbase, hadoop string
	compression   string // of the tables: Hadoop 2 has no Snappy without its native library
	built         string // which distributions are built from it or near it, or what is special
	endpoint      bool   // of HBase 1: the coprocessor for loads
	kerberos      bool   // with AccessController, as another user than HBase's
	faults        bool   // also with region servers that die and that hang
}

// versions are those in docs/versions.md.
var versions = []version{
	{hbase: "1.2.12", hadoop: "2.10.2", compression: "gz", built: "CDH 5.7 to 5.16; with the endpoint", endpoint: true},
	{hbase: "1.4.14", hadoop: "2.10.2", compression: "gz", built: "EMR 3, MRS 1.9 (1.3); without the endpoint", faults: true},
	{hbase: "1.4.14", hadoop: "2.10.2", compression: "gz", built: "the same with Kerberos, and so with the endpoint", kerberos: true},
	{hbase: "1.7.2", hadoop: "2.10.2", compression: "gz", built: "EMR 3.43 and later; without the endpoint"},
	{hbase: "2.0.6", hadoop: "2.10.2", compression: "gz", built: "HDP 3.1"},
	{hbase: "2.1.4", hadoop: "2.10.2", compression: "gz", built: "CDH 6.3", faults: true},
	{hbase: "2.1.4", hadoop: "2.10.2", compression: "gz", built: "CDH 6.3 with Kerberos", kerberos: true},
	{hbase: "2.2.3", hadoop: "2.10.2", compression: "gz", built: "MRS 3.1 and 3.2, CDP up to 7.1.6"},
	{hbase: "2.3.6", hadoop: "2.10.2", compression: "gz", built: "Aliyun EMR 5.8 (2.3.4)", faults: true},
	{hbase: "2.4.18", hadoop: "2.10.2", compression: "gz", built: "MRS 3.3 to 3.5, CDP 7.1.7 to 7.1.9, AWS EMR 6"},
	{hbase: "2.5.12-hadoop3", hadoop: "3.3.6", compression: "snappy", built: "its own release"},
	{hbase: "2.5.12-hadoop3", hadoop: "3.4.2", compression: "snappy", built: "its own release"},
	{hbase: "2.6.1-hadoop3", hadoop: "3.3.6", compression: "snappy", built: "MRS 3.6, Aliyun EMR 5.19"},
	{hbase: "2.6.1-hadoop3", hadoop: "3.4.2", compression: "snappy", built: "AWS EMR 7.8 to 7.10"},
	{hbase: "2.6.4-hadoop3", hadoop: "3.4.2", compression: "snappy", built: "AWS EMR 7.13, CDP 7.3.3 (2.6.3)"},
	{hbase: "3.0.0-alpha-4", hadoop: "3.4.2", compression: "snappy", built: "3.0"},
}

// name is what a version's test and its result are named.
func (v version) name() string {
	name := v.hbase + " on " + v.hadoop
	if v.kerberos {
		name += " with Kerberos"
	}
	return name
}

// versionTrial is a cluster of one version, and how commands log in to it.
type versionTrial struct {
	*testcluster.Cluster
	version
	as []string // flags
}

const (
	checkJob   = "jobs/examples/check-hbase.yaml"
	opinionJob = "jobs/examples/opinion-hbase.yaml"
	copyJob    = "jobs/examples/copy-hbase.yaml" // opinion's rows, loaded as a directory
	lateJob    = "jobs/examples/late-hbase.yaml" // the same, loaded while servers fail
	hungJob    = "jobs/examples/hung-hbase.yaml"
)

// contents are the cells of the tables, as HBase's own client reads them: with every version the same.
var contents = map[string]string{
	"check":   "rows=3000 cells=54000 sha256=7a8b835ad815c95955b4bf1bad8e72e29ca3f6a0f91b2e4450d0f957061bc436",
	"opinion": opinionContents, "copy": opinionContents, "late": opinionContents, "hung": opinionContents,
}

const opinionContents = "rows=600 cells=4800 sha256=b497ea84"

// versionTrials are what is tried with each version, in order: a column of the table each.
var versionTrials = []struct {
	name string
	do   func(*testing.T, *versionTrial)
}{
	{"create", func(t *testing.T, v *versionTrial) {
		for _, job := range []string{checkJob, opinionJob, copyJob, lateJob, hungJob} {
			v.create(t, job)
		}
	}},
	{"load and probe, and the same command again", func(t *testing.T, v *versionTrial) {
		v.mustPrint(t, "\n  probe ", "run", checkJob)
		v.mustPrint(t, "nothing to do", "run", checkJob)
	}},
	{"cut after a split", func(t *testing.T, v *versionTrial) {
		v.mustRun(t, "run", opinionJob, "--no-load")
		v.oracle(t, "split", "tinawang:opinion", "48")
		v.mustPrint(t, "cut at them", "run", opinionJob)
	}},
	{"`load DIR`, cut after a split", func(t *testing.T, v *versionTrial) {
		v.mustRun(t, "run", copyJob, "--no-load")
		v.oracle(t, "split", "tinawang:copy", "48")
		got := v.execute(t, append([]string{"load", "hdfs:///user/tina/hfile/copy/2026-11-20", "tinawang:copy"}, v.as...)...)
		if !strings.Contains(got, "cut at them") {
			t.Error(got)
		}
	}},
	{"read", func(t *testing.T, v *versionTrial) {
		v.mustPrint(t, "3,000, 54,000 cells", "verify", checkJob, "--live")
		v.mustPrint(t, "opinion: done", "verify", opinionJob, "--live")
		v.mustPrint(t, "copy: done", "verify", copyJob, "--live")
		got := v.execute(t, append([]string{"get", checkJob, "A208849559"}, v.as...)...)
		if !strings.Contains(got, "f:check_id = A208849559") {
			t.Error(got)
		}
	}},
	{"HBase's own client reads it", func(t *testing.T, v *versionTrial) { v.compare(t, "check", "opinion", "copy") }},
	{"after a major compaction", func(t *testing.T, v *versionTrial) {
		for _, table := range []string{"check", "opinion", "copy"} {
			v.oracle(t, "compact", "tinawang:"+table)
		}
		v.compare(t, "check", "opinion", "copy")
		v.mustPrint(t, "3,000, 54,000 cells", "verify", checkJob, "--live")
		v.mustPrint(t, "nothing to do", "run", checkJob)
	}},
	{"a region server dies", func(t *testing.T, v *versionTrial) {
		v.fail(t, "late", lateJob, "rs1", v.Kill, func(name string) error { return v.StartRole(t.Context(), name) })
	}},
	{"a region server hangs and wakes", func(t *testing.T, v *versionTrial) {
		v.fail(t, "hung", hungJob, "rs2", v.Pause, v.Resume) // which has all regions since the other one died
	}},
}

// faultTrials are the last trials, which only versions with faults have.
const faultTrials = 2

// create makes a job's table and, with Kerberos, grants the user its rights.
func (v *versionTrial) create(t *testing.T, job string) {
	t.Helper()
	as := v.as
	if v.kerberos {
		as = []string{"--principal", "hbase/localhost", "--keytab", v.Keytab("hbase")}
	}
	v.execute(t, append([]string{"plan", job, "--date", "2026-11-20", "--create"}, as...)...)
	if v.kerberos {
		table := strings.TrimSuffix(filepath.Base(job), "-hbase.yaml")
		v.oracle(t, "grant", "loader", "tinawang:"+table, "RWXCA")
	}
}

// fail has a region server fail as a load begins. The load ends well, and after that the server is back.
func (v *versionTrial) fail(t *testing.T, table, job, server string, fail, back func(role string) error) {
	t.Helper()
	v.mustRun(t, "run", job, "--no-load")
	var begun time.Time
	var terminal bytes.Buffer
	log := writer(func(record []byte) {
		if begun.IsZero() && bytes.Contains(record, []byte(`msg="load begins"`)) {
			if begun = time.Now(); fail(server) != nil {
				t.Error("the server does not fail")
			}
		}
		terminal.Write(record)
	})
	args := append([]string{"run", job, "--date", "2026-11-20", "--log", "text"}, v.as...)
	code := exitLater
	for try := 0; try < 4 && code == exitLater; try++ { // as a scheduler does
		code = execute(context.Background(), args, &terminal, log)
	}
	if code != exitDone || begun.IsZero() {
		t.Fatalf("exit code %d\n%s", code, &terminal)
	}
	v.mustPrint(t, table+": done", "verify", job, "--live")
	if took := time.Since(begun); took < 5*time.Second { // until its session ends
		t.Errorf("the load took %v: %s had no region of %s", took, server, table)
	}
	if err := back(server); err != nil {
		t.Fatal(err)
	}
	v.mustPrint(t, "nothing to do", "run", job)
	v.mustPrint(t, table+": done", "verify", job, "--live")
	v.compare(t, table)
	if err := v.Revive(t.Context()); err != nil { // a server that wakes up ends
		t.Fatal(err)
	}
}

// writer gets what is written.
type writer func([]byte)

func (w writer) Write(b []byte) (int, error) {
	w(b)
	return len(b), nil
}

// compare has HBase's own client of that version read whole tables.
func (v *versionTrial) compare(t *testing.T, tables ...string) {
	t.Helper()
	for _, table := range tables {
		if got := v.oracle(t, "scan", "tinawang:"+table, "-digest"); !strings.HasPrefix(got, contents[table]) {
			t.Errorf("%s: %s", table, got)
		}
	}
}

func (v *versionTrial) oracle(t *testing.T, args ...string) string {
	t.Helper()
	got, err := v.Oracle(t).Run(args...)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// execute runs a command, which must end with 0, and returns what it prints.
func (v *versionTrial) execute(t *testing.T, args ...string) string {
	t.Helper()
	var terminal bytes.Buffer
	if code := execute(context.Background(), args, &terminal, &terminal); code != exitDone {
		t.Fatalf("%v: exit code %d\n%s", args, code, &terminal)
	}
	return terminal.String()
}

// mustRun runs a command of a job, for its date.
func (v *versionTrial) mustRun(t *testing.T, command, job string, flags ...string) string {
	t.Helper()
	return v.execute(t, slices.Concat([]string{command, job, "--date", "2026-11-20"}, flags, v.as)...)
}

func (v *versionTrial) mustPrint(t *testing.T, want, command, job string, flags ...string) {
	t.Helper()
	if got := v.mustRun(t, command, job, flags...); !strings.Contains(got, want) {
		t.Errorf("%s %s does not print %q:\n%s", command, job, want, got)
	}
}

var versionsTable = regexp.MustCompile(`(?s)<!-- made by make versions -->\n(.*)<!-- end -->`)

// TestVersions loads the examples into each version of HBase, and reads them. It takes an hour and fetches many jars, so
// only make versions runs it. It keeps the result of each version below out/versions, and goes on after those that this
// program has, so it may be stopped at any time. With -update-docs it writes those that were tried into the table of
// docs/versions.md.
func TestVersions(t *testing.T) {
	testcluster.OnlyIn(t, "versions")
	// The last commit that changed the program.
	commit, err := exec.Command("git", "-C", repositoryRoot, "log", "-1", "--format=%h", "--abbrev=10", "--", "*.go", ":!*_test.go", ":!internal/test", ":!tools").Output()
	if err != nil {
		t.Fatal(err)
	}
	made := strings.TrimSpace(string(commit))
	results := filepath.Join(repositoryRoot, "out", "versions", made)
	if err := os.MkdirAll(results, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, v := range versions {
		result := filepath.Join(results, v.name())
		t.Run(v.name(), func(t *testing.T) {
			if _, err := os.Stat(result); err == nil {
				return
			}
			line := tryVersion(t, v)
			if t.Failed() {
				return
			}
			if err := os.WriteFile(result, []byte(line), 0o600); err != nil {
				t.Fatal(err)
			}
		})
	}
	if !*updateDocs {
		return
	}
	table := fmt.Sprintf("Made on %s at commit `%s`:\n\n%s", time.Now().UTC().Format(time.DateOnly), made, versionsHead())
	for _, v := range versions {
		if line, err := os.ReadFile(filepath.Join(results, v.name())); err == nil {
			table += string(line)
		}
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
	head, rule := "| HBase | Hadoop | distributions | compression |", "|---|---|---|---|"
	for _, trial := range versionTrials {
		head += " " + trial.name + " |"
		rule += "---|"
	}
	return head + "\n" + rule + "\n"
}

// tryVersion makes all trials with a cluster of this version, and returns the line of the table.
func tryVersion(t *testing.T, v version) string {
	o := testcluster.Options{Dir: filepath.Join(t.TempDir(), "cluster"), RegionServers: 2, HBase: v.hbase, Hadoop: v.hadoop, Endpoint: v.endpoint}
	if v.kerberos {
		o.Kerberos = &testcluster.Kerberos{RPC: "privacy", Transfer: "privacy", HBase: "privacy"}
	}
	c, err := testcluster.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	cluster := &versionTrial{Cluster: c, version: v}
	if v.kerberos {
		cluster.as = []string{"--principal", "loader", "--keytab", c.Keytab("loader")}
		t.Setenv("KRB5_CONFIG", c.Krb5Conf())
		t.Setenv("KRB5CCNAME", filepath.Join(t.TempDir(), "none"))
	}
	t.Setenv("HADOOP_CONF_DIR", c.ConfDir())
	t.Setenv("HBASE_CONF_DIR", c.ConfDir())
	t.Chdir(copyJobs(t, repositoryRoot))
	opinion, err := os.ReadFile(opinionJob)
	if err != nil {
		t.Fatal(err)
	}
	for _, job := range []string{checkJob, opinionJob, copyJob, lateJob, hungJob} {
		text := opinion
		if job == checkJob {
			if text, err = os.ReadFile(job); err != nil {
				t.Fatal(err)
			}
		}
		table := strings.TrimSuffix(filepath.Base(job), "-hbase.yaml")
		text = bytes.ReplaceAll(text, []byte("tinawang:opinion"), []byte("tinawang:"+table))
		text = bytes.ReplaceAll(text, []byte("hfile/opinion"), []byte("hfile/"+table))
		text = fmt.Appendf(text, "hfile: {compression: %s, encoding: fast_diff, bloom: row}\n", v.compression)
		if err := os.WriteFile(job, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	trials := versionTrials
	if !v.faults {
		trials = trials[:len(trials)-faultTrials]
	}
	for _, trial := range trials {
		if !t.Run(trial.name, func(t *testing.T) { trial.do(t, cluster) }) {
			t.FailNow()
		}
	}
	return v.line()
}

// line is a version's line of the table, if all of its trials succeeded.
func (v version) line() string {
	hbase := strings.TrimSuffix(v.hbase, "-hadoop3")
	line := fmt.Sprintf("| %s | %s | %s | %s |", hbase, v.hadoop, v.built, v.compression)
	for i := range versionTrials {
		if v.faults || i < len(versionTrials)-faultTrials {
			line += " yes"
		}
		line += " |"
	}
	return line + "\n"
}

// TestVersionsTable: the table of docs/versions.md has the trials of TestVersions and some of its versions, and says when
// it was made.
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
	_, lines, _ := strings.Cut(table, versionsHead())
	for _, v := range versions {
		lines = strings.Replace(lines, v.line(), "", 1)
	}
	if lines = strings.TrimSpace(lines); lines != "" || strings.Count(table, " yes |") < len(versionTrials) {
		t.Errorf("lines of other versions, or none:\n%s", lines)
	}
}
