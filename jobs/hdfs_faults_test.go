package jobs

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/runtest"
	"bulkload/internal/test/testcluster"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/run"
	"bulkload/jobs/run/summary"
	"bulkload/jobs/spec/jobfile"
)

// hdfsFaults is a cluster of HDFS alone, a job that writes two regions to it, and what its files must be.
type hdfsFaults struct {
	*testcluster.Cluster
	dir  string
	want *summary.Summary
}

// TestHDFSFailsWhileWriting has its own HDFS, with two DataNodes and files of two replicas: so the loss of a DataNode ends every
// file that is being written. The NameNode would name it for new files for ten minutes, until it regards it as dead.
func TestHDFSFailsWhileWriting(t *testing.T) {
	testcluster.Use(t) // runs only if a cluster is wanted
	if testing.Short() {
		t.Skip("starts a cluster of its own")
	}
	t.Parallel()
	c, err := testcluster.Start(t.Context(), testcluster.Options{Dir: t.TempDir(), DataNodes: 2, HDFSOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	job := strings.NewReplacer("'1', '2', '3', '4', '5', '6', '7', '8', '9'", "'5'", "salt(check_id, 10) + ", "").Replace(jobdir.CheckJob)
	l := &hdfsFaults{Cluster: c, dir: jobdir.Check(t, job, 2000)}
	l.want = runtest.Must(t, l.job(t, l.dir+"/local"), options.Options{})
	t.Run("quota", l.quota)
	t.Run("safe mode", l.safeMode)
	t.Run("a DataNode dies", l.dies)
	t.Run("long safe mode", l.longSafeMode)
	t.Run("a DataNode hangs for good", l.hangs)
	t.Run("both DataNodes go and come back", l.bothGone)
}

func (l *hdfsFaults) job(t *testing.T, output string) *jobfile.Job {
	t.Helper()
	return jobtest.Check(t, l.dir, output)
}

// options do something where a point is reached for the first time.
func (l *hdfsFaults) options(at options.Point, do func()) options.Options {
	var reached atomic.Int64
	return options.Options{Conf: l.ConfDir(), Properties: map[string]string{"dfs.client.socket-timeout": "2000"},
		Failpoint: func(p options.Point) {
			if p == at && reached.Add(1) == 1 {
				do()
			}
		}}
}

func (l *hdfsFaults) admin(t *testing.T, args ...string) {
	t.Helper()
	if err := l.RunJava(context.WithoutCancel(t.Context()), "org.apache.hadoop.hdfs.tools.DFSAdmin", args...); err != nil {
		t.Error(err)
	}
}

// wantRight wants a run's files to be those of a run that nothing disturbed.
func (l *hdfsFaults) wantRight(t *testing.T, s *summary.Summary) {
	t.Helper()
	if s.Status != failure.StatusDone || !reflect.DeepEqual(s.Files, l.want.Files) || s.Books != l.want.Books {
		t.Errorf("%s: %v and %d files, want %v and %d", s.Status, s.Books, len(s.Files), l.want.Books, len(l.want.Files))
	}
}

// quota: an exceeded quota is refused as that, and the same command continues when it is raised.
func (l *hdfsFaults) quota(t *testing.T) {
	const output = "/faults/quota"
	o := l.options(options.Begun, func() { l.admin(t, "-setSpaceQuota", "1m", output) })
	_, err := run.Job(context.Background(), nil, l.job(t, "hdfs://"+output), o)
	if failure.CodeOf(err) != errcode.HDFSQuota || failure.KindOf(err) != failure.Refused {
		t.Errorf("over the quota: %v", err)
	}
	l.admin(t, "-clrSpaceQuota", output)
	l.wantRight(t, runtest.Must(t, l.job(t, "hdfs://"+output), l.options("", nil)))
}

// safeMode: the run waits for the end of a short safe mode. Only a JVM that is started can end it: on a busy machine the run would give up
// before.
func (l *hdfsFaults) safeMode(t *testing.T) {
	testcluster.OnlyIn(t, "chaos")
	left := make(chan struct{})
	o := l.options(options.Begun, func() {
		l.admin(t, "-safemode", "enter")
		go func() {
			defer close(left)
			time.Sleep(2 * time.Second)
			l.admin(t, "-safemode", "leave")
		}()
	})
	l.wantRight(t, runtest.Must(t, l.job(t, "hdfs:///faults/safe"), o))
	<-left
}

// longSafeMode: the run is unavailable in a safe mode that lasts, and the same command continues after its end.
func (l *hdfsFaults) longSafeMode(t *testing.T) {
	testcluster.OnlyIn(t, "chaos")
	const output = "hdfs:///faults/longsafe"
	o := l.options(options.Begun, func() { l.admin(t, "-safemode", "enter") })
	_, err := run.Job(context.Background(), nil, l.job(t, output), o)
	l.admin(t, "-safemode", "leave")
	if failure.CodeOf(err) != errcode.HDFSSafeMode || failure.KindOf(err) != failure.Later {
		t.Errorf("in safe mode: %s, kind %d: %v", failure.CodeOf(err), failure.KindOf(err), err)
	}
	l.wantRight(t, runtest.Must(t, l.job(t, output), l.options("", nil)))
}

// dies: the slices that were being written to the DataNode are written again, and the run continues.
func (l *hdfsFaults) dies(t *testing.T) {
	var said runtest.Notes
	o := l.options(options.Begun, func() { l.do(t, l.Kill("dn1")) })
	o.Say = said.Say
	l.wantRight(t, runtest.Must(t, l.job(t, "hdfs:///faults/dies"), o))
	if again := said.Count("again: "); again < 1 || again > 2 { // of two slices
		t.Errorf("%d slices were written again, of two: %q", again, said.Said)
	}
	// The NameNode still names it for the small files of another run: its lock, its manifest, its _SUCCESS.
	l.wantRight(t, runtest.Must(t, l.job(t, "hdfs:///faults/dead"), l.options("", nil)))
	l.start(t, "dn1")
}

// hangs: the same for a DataNode that accepts connections and never answers.
func (l *hdfsFaults) hangs(t *testing.T) {
	testcluster.OnlyIn(t, "chaos")
	defer func() { l.do(t, l.Resume("dn1")) }()
	o := l.options(options.Begun, func() { l.do(t, l.Pause("dn1")) })
	l.wantRight(t, runtest.Must(t, l.job(t, "hdfs:///faults/hangs"), o))
	// It still hangs when this run writes its first file, the lock.
	l.wantRight(t, runtest.Must(t, l.job(t, "hdfs:///faults/hung"), l.options("", nil)))
}

// bothGone: the run waits for some minutes for DataNodes.
func (l *hdfsFaults) bothGone(t *testing.T) {
	testcluster.OnlyIn(t, "chaos")
	back := make(chan struct{})
	o := l.options(options.Begun, func() {
		l.do(t, errors.Join(l.Kill("dn1"), l.Kill("dn2")))
		go func() {
			defer close(back)
			time.Sleep(3 * time.Second)
			l.start(t, "dn1")
			l.start(t, "dn2")
		}()
	})
	l.wantRight(t, runtest.Must(t, l.job(t, "hdfs:///faults/both"), o))
	<-back
}

func (l *hdfsFaults) start(t *testing.T, role string) {
	t.Helper()
	l.do(t, l.StartRole(context.WithoutCancel(t.Context()), role))
}

// do reports a failure, from any goroutine.
func (l *hdfsFaults) do(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}
