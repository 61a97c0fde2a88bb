package preflight

import (
	"errors"
	"strings"
	"testing"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/siteconf"
	"bulkload/internal/storage"
	"bulkload/internal/test/testwords"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/env/site"
	"bulkload/jobs/pipeline/targets"
	"bulkload/jobs/spec/jobfile"
	"bulkload/load"
)

// TestWorstFailure: one failure is returned as it is; several have the kind and the code of the worst, and all texts.
func TestWorstFailure(t *testing.T) {
	locked, missing := errcode.Locked.New("locked by x"), errcode.TableMissing.New("no table")
	both := CheckResults{Fail("output", locked, ""), {Name: "ttl", State: Warning}, {Name: "x", State: Unknown}}
	if err := both.Err(); err != locked {
		t.Errorf("one failure: %v", err)
	}
	both = append(both, Fail("table", missing, "make it").ForTable("ns:t"))
	err := both.Err()
	if failure.KindOf(err) != failure.Refused || failure.CodeOf(err) != errcode.TableMissing {
		t.Errorf("kind %v, code %s", failure.KindOf(err), failure.CodeOf(err))
	}
	for _, text := range []string{"2 checks failed", "output: locked by x [BL-LOCKED]", "ns:t, table: no table [BL-TABLE-MISSING]"} {
		if !strings.Contains(failure.TextOf(err), text) {
			t.Errorf("%q is not in %s", text, failure.TextOf(err))
		}
	}
	if err := (CheckResults{{State: Warning}, {State: Unknown}, {State: OK}}).Err(); err != nil {
		t.Errorf("without a failure: %v", err)
	}
}

// testOutput is one whose job has a table but no cluster.
func testOutput(t *testing.T) *CheckedOutput {
	t.Helper()
	conf, err := siteconf.Load()
	if err != nil {
		t.Fatal(err)
	}
	return &CheckedOutput{Job: &jobfile.Job{Table: "ns:t", Load: true}, Site: &site.Site{Conf: conf}, Loads: true, families: []string{"f"},
		Table: &load.Table{Families: []load.Family{{Name: "f"}}, Regions: []load.Region{{Name: []byte("a")}, {Name: []byte("b")}}}}
}

func wantOne(t *testing.T, o *CheckedOutput, name string, state State, text string) {
	t.Helper()
	for i := range o.list {
		if f := &o.list[i]; f.Name == name {
			if f.State != state || !strings.Contains(f.Text(), text) {
				t.Errorf("%+v, want %s with %q", *f, state, text)
			}
			return
		}
	}
	t.Errorf("there is no %s in %+v", name, o.list)
}

// TestClocks: what a real cluster of one machine can't show.
func TestClocks(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	for _, c := range []struct {
		clocks []time.Duration
		state  State
		text   string
	}{
		{nil, Unknown, "no region server"},
		{[]time.Duration{-3 * time.Second, time.Second}, OK, "2 region servers"},
		{[]time.Duration{0, time.Minute}, Warning, "1m0s ahead"},
		{[]time.Duration{0, -time.Hour}, Warning, "1h0m0s behind"},
	} {
		o, s := testOutput(t), &load.Status{Clocks: map[string]time.Time{}}
		for i, skew := range c.clocks {
			s.Clocks[string(rune('a'+i))] = now.Add(skew)
		}
		o.checkClocks(&statusAnswer{status: s, at: now})
		wantOne(t, o, checkClock, c.state, c.text)
	}
}

// TestFilesOfRegions: regions that the master has not heard of make the number unknown.
func TestFilesOfRegions(t *testing.T) {
	o := testOutput(t)
	answer := &statusAnswer{status: &load.Status{Regions: map[string]load.RegionStatus{"a": {Files: 16}}}}
	o.checkFiles(answer)
	wantOne(t, o, checkFiles, Unknown, "1 of 2 regions")
	o.list = nil
	answer.status.Regions["b"] = load.RegionStatus{Files: 3}
	o.checkFiles(answer)
	wantOne(t, o, checkFiles, Warning, "at most 16 in a region now, about 17 after")
	o.list = nil
	answer.status.Regions["a"] = load.RegionStatus{Files: 15}
	o.checkFiles(answer)
	wantOne(t, o, checkFiles, OK, "at most 15")
}

// TestTimes: timestamps against the TTL and the clock.
func TestTimes(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	midnight := now.Add(-12 * time.Hour)
	for name, c := range map[string]struct {
		attributes map[string]string
		timestamp  time.Time
		moments    string
		state      State
		text       string
	}{
		"none":         {nil, midnight, "", OK, ""},
		"forever":      {map[string]string{"TTL": "FOREVER"}, midnight, "", OK, ""},
		"expired":      {map[string]string{"TTL": "43200"}, midnight, "", Failed, "12h0m0s"},
		"kept":         {map[string]string{"TTL": "43200", "MIN_VERSIONS": "2"}, midnight, "", OK, ""},
		"nearly":       {map[string]string{"TTL": "86400"}, midnight, "", Warning, "vanish in 12h0m0s"},
		"each its own": {map[string]string{"TTL": "86400"}, time.UnixMilli(0), "CREATED", Unknown, "own timestamp"},
		"future":       {nil, now.Add(time.Hour), "", Warning, "1h0m0s in the future"},
		"no number":    {map[string]string{"TTL": "a day"}, midnight, "", Unknown, "a day"},
	} {
		t.Run(name, func(t *testing.T) {
			o := testOutput(t)
			o.Now, o.Job.Timestamp, o.Job.Moments = now, c.timestamp.UnixMilli(), c.moments
			o.Table.Families[0].Attributes = c.attributes
			o.checkTimes()
			wantOne(t, o, checkTTL, c.state, c.text)
		})
	}
}

// TestQuotas: what is left must hold what the run needs.
func TestQuotas(t *testing.T) {
	o := testOutput(t)
	none := storage.Quota{Names: storage.NoQuota, Bytes: storage.NoQuota, Replication: 3}
	if err := o.compareQuota("hdfs://nn/a", none); err != nil {
		t.Error(err)
	}
	names := none
	names.Names, names.NamesUsed = 100, 99
	err := o.compareQuota("hdfs://nn/a", names)
	if failure.CodeOf(err) != errcode.HDFSQuota || !testwords.Names(err, "hdfs://nn/a", "100 files", "has 99") {
		t.Errorf("names: %v", err)
	}
	// A quota below what is used already, as -setQuota allows.
	names.NamesUsed = 1000
	if err := o.compareQuota("hdfs://nn/a", names); err == nil {
		t.Error("an exceeded quota is accepted")
	}
	space := none
	space.Bytes, space.BytesUsed = 600, 1
	o.Target, o.Need = &targets.Target{}, func(*targets.Target) int64 { return 200 }
	err = o.compareQuota("hdfs://nn/a", space)
	if failure.CodeOf(err) != errcode.HDFSQuota || !testwords.Names(err, "hdfs://nn/a", "600 B", "3 replicas") {
		t.Errorf("space: %v", err)
	}
	space.BytesUsed = 0
	if err := o.compareQuota("hdfs://nn/a", space); err != nil {
		t.Error(err)
	}
	o.list = nil
	o.result("x", load.ErrUnchecked, "", "")
	wantOne(t, o, "x", Unknown, "has failed")
	o.result("y", errors.New("wrong"), "correct it", "")
	wantOne(t, o, "y", Failed, "wrong: correct it")
}
