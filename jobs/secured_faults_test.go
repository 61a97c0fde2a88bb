package jobs

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bulkload/internal/test/livetest"
	"bulkload/internal/test/runtest"
	"bulkload/internal/test/testcluster"
	"bulkload/internal/test/testcluster/kdc"
	"bulkload/internal/test/testfs"
	"bulkload/jobs/base/options"
)

// The lives of what proves who a user is, on the cluster of the faults. MIT's KDC gives tickets for a minute at least.
const (
	ticketLife = time.Minute
	tokenLife  = time.Minute
)

// TestSecuredFaults has servers fail, and tickets and tokens end, while a run is under way. Its cluster is its own: two
// NameNodes, two region servers, and tickets and delegation tokens that last for a minute.
func TestSecuredFaults(t *testing.T) {
	testcluster.OnlyIn(t, "test-secured")
	c := startSecuredFaults(t)
	for name, test := range map[string]func(*testing.T, *secret){
		"tickets and tokens end": ticketsAndTokensEnd,
		"name nodes fail over":   nameNodesFailOver,
		"a server dies":          securedServerDies,
	} {
		t.Run(name, func(t *testing.T) { test(t, secretOn(t, c)) })
	}
}

func startSecuredFaults(t *testing.T) *testcluster.Cluster {
	t.Helper()
	kdc.Use(t, kdc.Options{Realm: "PROBE.TEST"}) // skips where the machine has none
	const all = "authentication,integrity,privacy"
	c, err := testcluster.Start(t.Context(), testcluster.Options{Dir: filepath.Join(t.TempDir(), "cluster"), HA: true, RegionServers: 2, DataNodes: 2,
		Session: livetest.SessionMillis, Kerberos: &testcluster.Kerberos{RPC: all, Transfer: all, HBase: all,
			Life: "1 minute", TokenLife: int(tokenLife.Milliseconds())}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// ticketsAndTokensEnd: a run of several ticket lives, in which tickets end before, in and after the load, and the
// load's delegation token gets old.
func ticketsAndTokensEnd(t *testing.T, s *secret) {
	s.create(t, "RC")
	const date = "2026-11-20"
	s.Night(t, date, 6000, 7)
	pauses := map[options.Point]time.Duration{
		options.Sorted:      ticketLife + 5*time.Second, // no connection to HBase, an idle one to the NameNode
		options.Staging:     tokenLife/2 + 5*time.Second,
		options.FilesLoaded: tokenLife + 5*time.Second, // in the load; the token that it had is at its end then
	}
	o := s.options()
	o.Failpoint = func(p options.Point) {
		if pause := pauses[p]; pause > 0 {
			delete(pauses, p)
			time.Sleep(pause)
		}
	}
	logins, given, cancelled := s.logins(t), s.tokens(t, tokenGiven), s.tokens(t, tokenCancelled)
	begun := time.Now()
	sum := runtest.Must(t, s.Job(t, date), o)
	if took := time.Since(begun); took < 2*ticketLife || sum.Load.Regions != 10 || len(pauses) > 0 {
		t.Errorf("after %v: load %+v; not reached: %v", took, sum.Load, pauses)
	}
	s.WantTable(t, "after several ticket lives", s.Expected(t, date))
	if n := s.logins(t) - logins; n < 3 {
		t.Errorf("%d logins by keytab, want 3 at least", n)
	}
	got, ended := s.tokens(t, tokenGiven)-given, s.tokens(t, tokenCancelled)-cancelled
	if got < 3 || ended != got {
		t.Errorf("%d tokens given, %d cancelled; want 3 at least, and all cancelled", got, ended)
	}
	s.wantSecrecy(t)
}

// What the NameNodes' logs say of delegation tokens (AbstractDelegationTokenSecretManager).
const (
	tokenGiven     = "Creating password for identifier: "
	tokenCancelled = "Token cancellation requested for identifier: "
)

// tokens counts what was done with loader's tokens.
func (s *secret) tokens(t *testing.T, what string) int {
	t.Helper()
	n := 0
	for _, role := range []string{"nn1", "nn2"} {
		n += countLines(t, filepath.Join(s.Cluster.Dir, "log", role+".log"), what, "owner=loader@")
	}
	return n
}

// logins counts loader's logins by its keytab.
func (s *secret) logins(t *testing.T) int {
	t.Helper()
	return countLines(t, s.KDC().Log(), "AS_REQ", "ISSUE", ", loader@LAB.TEST for krbtgt/")
}

// countLines counts a file's lines that have all of the parts.
func countLines(t *testing.T, name string, parts ...string) (n int) {
	t.Helper()
	for _, line := range testfs.Lines(t, name) {
		has := true
		for _, part := range parts {
			has = has && strings.Contains(line, part)
		}
		if has {
			n++
		}
	}
	return n
}

// nameNodesFailOver: the active NameNode changes while rows are sorted, files written and files handed over. A
// delegation token is for both.
func nameNodesFailOver(t *testing.T, s *secret) {
	s.create(t, "RC")
	const date = "2026-11-20"
	s.Night(t, date, 6000, 8)
	next := "nn2"
	failover := func() {
		if err := s.Failover(t.Context(), next); err != nil {
			t.Error(err)
		}
		next = map[string]string{"nn1": "nn2", "nn2": "nn1"}[next]
	}
	var taken, recorded atomic.Int64
	failovers := 0
	o := s.options()
	o.Failpoint = func(p options.Point) {
		if p == options.Sorted || p == options.Staging ||
			p == options.Recorded && recorded.Add(1) == 4 || p == options.FilesLoaded && taken.Add(1) == 3 {
			failovers++
			failover()
		}
	}
	tries := untilDone(t, s.Live, "the NameNodes fail over", date, o)
	if failovers != 4 {
		t.Errorf("%d failovers, want 4", failovers)
	}
	t.Logf("done after %d tries", tries)
	s.WantNothing(t, "again", date)
	s.wantSecrecy(t)
}

// securedServerDies: a region server is killed before the first request and in the midst of them. The same command ends
// with every row in the table.
func securedServerDies(t *testing.T, s *secret) {
	const date = "2026-11-20"
	for i, at := range []int64{0, 14} {
		s.Table = s.UniqueTable(t)
		s.Retarget(t)
		table30(t, s.Live)
		s.Ask(t, "grant", "loader", s.Table, "RC")
		s.Night(t, date, 6000, uint64(300+i))
		server := fmt.Sprintf("rs%d", 1+i)
		var taken atomic.Int64
		o := s.options()
		o.Failpoint = func(p options.Point) {
			if p == options.Staging && at == 0 || p == options.FilesLoaded && taken.Add(1) == at {
				if err := s.Kill(server); err != nil {
					t.Error(err)
				}
			}
		}
		untilDone(t, s.Live, fmt.Sprintf("%s dies after %d requests", server, at), date, o)
		s.WantNothing(t, "again", date)
		revive(t, s.Live)
	}
	s.wantSecrecy(t)
}
