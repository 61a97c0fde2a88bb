package livetest

import (
	"context"
	"errors"
	"io"
	"testing"

	"bulkload/internal/test/runtest"
	"bulkload/jobs/env/site"
	"bulkload/jobs/loading"
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/output"
	"bulkload/jobs/spec/jobfile"
)

// Output is the locked output of a job, as a run has it.
type Output struct {
	Dir    *output.Output
	Loader *loading.Loader
}

// Open opens a job's output as a run does. The test closes it.
func (l *Live) Open(t *testing.T, j *jobfile.Job) *Output {
	t.Helper()
	o, err := l.Options().WithDefaults()
	if err != nil {
		t.Fatal(err)
	}
	s, err := site.Open(o, j.HBase, true)
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Connect(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	closing(t, c)
	log, err := s.OpenLedger()
	if err != nil {
		t.Fatal(err)
	}
	closing(t, log)
	dir, err := output.Of(j, s, o)
	if err == nil {
		err = dir.Make(context.Background(), func(error) {})
	}
	if err != nil {
		t.Fatal(err)
	}
	m, err := manifest.Read(dir.FS, dir.Path)
	if err != nil {
		t.Fatal(err)
	}
	if m == nil {
		m = manifest.New(j)
	}
	out := output.New(dir, m)
	out.ByJob = true
	return &Output{out, &loading.Loader{Out: out, Cluster: c, Ledger: log}}
}

// closing closes something when the test ends.
func closing(t *testing.T, c io.Closer) {
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

// Written writes one night's files without loading them, and opens their output.
func (l *Live) Written(t *testing.T, date string) *Output {
	t.Helper()
	o := l.Options()
	o.NoLoad, o.Force = true, true
	runtest.Must(t, l.Job(t, date), o)
	return l.Open(t, l.Job(t, date))
}

// SaveLoading saves the manifest as a load into this table does before its first request.
func (o *Output) SaveLoading(t *testing.T, table string) {
	t.Helper()
	now, err := o.Loader.Cluster.Table(context.Background(), table)
	if err == nil {
		err = o.Dir.Manifest.SetOpenings(now, func(*hfiles.FileMeta) bool { return true })
	}
	o.Dir.Manifest.State = manifest.Loading
	if err = errors.Join(err, o.Dir.Save()); err != nil {
		t.Fatal(err)
	}
}
