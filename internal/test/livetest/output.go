package livetest

import (
	"context"
	"io"
	"testing"

	"bulkload/internal/test/runtest"
	"bulkload/jobs/env/site"
	"bulkload/jobs/loading"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/output"
	"bulkload/jobs/pipeline/source"
	"bulkload/jobs/spec/jobfile"
)

// Output is the locked output of a job, as a run has it.
type Output struct {
	Dir    *output.Dir
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
	src, err := source.Open(j, s)
	if err != nil {
		t.Fatal(err)
	}
	closing(t, src)
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
	w := &Output{Dir: &output.Dir{Job: j, Options: o, Site: s, Source: src}}
	w.Loader = &loading.Loader{Out: w.Dir, Cluster: c, Ledger: log}
	if err := w.Dir.Open(context.Background(), func(error) {}); err != nil {
		t.Fatal(err)
	}
	if w.Dir.Manifest, err = manifest.Read(w.Dir.FS, w.Dir.Path); err != nil {
		t.Fatal(err)
	}
	return w
}

// closing closes something when the test ends.
func closing(t *testing.T, c io.Closer) {
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

// Written makes one night's files, not loaded, and opens their output.
func (l *Live) Written(t *testing.T, date string) *Output {
	t.Helper()
	o := l.Options()
	o.NoLoad, o.Force = true, true
	runtest.Must(t, l.Job(t, date), o)
	return l.Open(t, l.Job(t, date))
}
