// Package livetest runs the example job against a real HBase and HDFS, and compares the rows of the table with those
// that HBase's own classes compute.
package livetest

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/testcluster"
	"bulkload/internal/test/testfs"
	"bulkload/jobs/base/options"
	"bulkload/jobs/spec/jobfile"
)

// Live is the example job against a real HBase, with a table of its own.
type Live struct {
	*testcluster.Cluster
	Folder string // with the job file check.yaml, and its input in in
	Table  string
	Out    string // in HDFS, the folder of the nights' outputs

	Who        jobfile.Kerberos  // who logs in, on a cluster with Kerberos
	Properties map[string]string // in addition to those of the site files
}

// New copies examples/check-hbase.yaml with a table, an input and an output of its own. So tests with a cluster can run
// in parallel, because they mostly wait for its servers.
func New(t *testing.T) *Live {
	t.Helper()
	c := testcluster.Use(t)
	t.Parallel()
	l := On(t, c)
	l.Table = c.UniqueTable(t)
	l.Retarget(t)
	return l
}

// On is the example job on a cluster, without a table yet.
func On(t *testing.T, c *testcluster.Cluster) *Live {
	t.Helper()
	return &Live{Cluster: c, Folder: t.TempDir()}
}

// Retarget writes the job file for the current table.
func (l *Live) Retarget(t *testing.T) {
	t.Helper()
	l.Out = "hdfs:///user/test/" + strings.ReplaceAll(l.Table, ":", "_")
	job := testfs.Read(t, jobdir.Example(t, "check-hbase.yaml"))
	text := strings.NewReplacer("tinawang:check", l.Table, "testdata/check", "in", "hdfs:///user/tina/hfile/check", l.Out).Replace(string(job))
	if err := os.WriteFile(filepath.Join(l.Folder, "check.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Rewrite replaces a text in the job file.
func (l *Live) Rewrite(t *testing.T, old, with string) {
	t.Helper()
	name := filepath.Join(l.Folder, "check.yaml")
	text := string(testfs.Read(t, name))
	if !strings.Contains(text, old) {
		t.Fatalf("the job file has no %q", old)
	}
	if err := os.WriteFile(name, []byte(strings.Replace(text, old, with, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Ask runs a command of the oracle, which is a program of HBase's own classes.
func (l *Live) Ask(t *testing.T, args ...string) string {
	t.Helper()
	out, err := l.Oracle(t).Run(args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Job reads the job for a night.
func (l *Live) Job(t *testing.T, date string) *jobfile.Job {
	t.Helper()
	day, err := jobfile.ParseText(date)
	if err != nil {
		t.Fatal(err)
	}
	j, err := jobfile.Read(filepath.Join(l.Folder, "check.yaml"), jobfile.ReadOptions{Date: day})
	if err != nil {
		t.Fatal(err)
	}
	j.HBase.Kerberos = l.Who
	return j
}

// Options are those of a run on the cluster.
func (l *Live) Options() options.Options {
	return options.Options{Conf: l.ConfDir(), Properties: maps.Clone(l.Properties)}
}
