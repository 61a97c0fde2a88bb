package verify_test

import (
	"context"
	"testing"

	"bulkload/internal/errcode"
	"bulkload/internal/test/livetest"
	"bulkload/internal/test/runtest"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/inspect/verify"
)

// TestVerifyOfAReplica: a read replica lacks the rows of a load until it looks for new files, which the test's servers
// never do by themselves. A table that is enabled opens its replicas with all files.
func TestVerifyOfAReplica(t *testing.T) {
	l := livetest.New(t)
	l.Ask(t, "create", l.Table, "f", "1,2,3,4,5,6,7,8,9", "TABLE:REGION_REPLICATION=2")
	l.Night(t, livetest.Night20, 100, 89)
	runtest.Must(t, l.Job(t, livetest.Night20), l.Options())
	o, job := l.Options(), l.Job(t, livetest.Night20)
	compare := func(replica int) (*verify.Verification, error) {
		o.Replica = replica
		return verify.Job(context.Background(), job, o, true)
	}
	if r, err := compare(0); err != nil || r.Rows != 100 {
		t.Fatalf("the regions themselves: %+v, %v", r, err)
	}
	if r, err := compare(1); failure.KindOf(err) != failure.Differs || r.Missing != 1800 || r.Against != "table "+l.Table+", read replica 1" {
		t.Errorf("a replica that has not looked for files: %+v, %v", r, err)
	}
	if _, err := compare(2); errcode.Outermost(err) != errcode.TableSettings || failure.KindOf(err) != failure.Refused {
		t.Errorf("a replica that does not exist: %v", err)
	}
	l.Ask(t, "disable", l.Table)
	l.Ask(t, "enable", l.Table)
	if r, err := compare(1); err != nil || r.Rows != 100 || r.Missing > 0 || r.Status != failure.StatusDone {
		t.Errorf("a replica that has: %+v, %v", r, err)
	}
}
