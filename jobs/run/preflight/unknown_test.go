package preflight

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"bulkload/hfilewriter"
	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/site"
	"bulkload/jobs/pipeline/targets"
	"bulkload/jobs/spec/jobfile"
)

// TestWhatIsNotReachedIsUnknown: if neither HBase nor the output can be reached, no check of them is OK.
func TestWhatIsNotReachedIsUnknown(t *testing.T) {
	t.Parallel()
	for regions, checks := range map[string][]string{
		"table": {checkTable, checkFamilies, checkBoundaries, checkCodecs, checkRegions, checkFiles, checkTTL, checkReplication, checkRight, checkRead,
			checkPlace, checkStaging, checkTracker, checkClock, checkVersion},
		"plan": {checkTable, checkBoundaries, checkCodecs, checkRegions, checkRight, checkRead, checkStaging, checkVersion},
	} {
		o := &CheckedOutput{Job: &jobfile.Job{Table: "ns:t", Load: true}, Loads: true, Now: time.Unix(2e9, 0), Dir: "/out"}
		o.Job.Regions.From = regions
		var err error
		if o.Site, err = site.Open(options.Options{}, jobfile.HBase{}, false); err != nil {
			t.Fatal(err)
		}
		found := map[string]bool{}
		for _, f := range o.Check(t.Context()) {
			found[f.Name] = true
			if f.State != Unknown {
				t.Errorf("regions %s: %+v", regions, f)
			}
		}
		for _, name := range checks {
			if !found[name] {
				t.Errorf("regions %s: nothing is said about %s", regions, name)
			}
		}
	}
}

// hdfs is a file system that seems to be HDFS, with some directories.
type hdfs struct {
	storage.FS
	dirs  map[string]storage.Info
	quota func(ctx context.Context, dir string) (storage.Quota, error)
}

func (h hdfs) URI(name string) string { return "hdfs://nn" + name }

func (h hdfs) Stat(name string) (storage.Info, error) {
	if info, ok := h.dirs[name]; ok {
		return info, nil
	}
	return storage.Local.Stat("/no such folder" + name)
}

func (h hdfs) Quota(ctx context.Context, dir string) (storage.Quota, error) { return h.quota(ctx, dir) }

// TestZonesAboveTheOutput: an output that does not exist yet is in the zone of the directory in which it will be made.
func TestZonesAboveTheOutput(t *testing.T) {
	t.Parallel()
	for dir, c := range map[string]struct {
		state State
		code  errcode.Code
	}{
		"/zone/a/b": {Failed, errcode.FileSystem}, "/coded/a": {Failed, errcode.FileSystem}, "/zone/open/x": {OK, ""}, "/free": {OK, ""}, "/new/x": {OK, ""},
	} {
		o := testOutput(t)
		o.Dir = dir
		o.FS = hdfs{dirs: map[string]storage.Info{"/": {Dir: true}, "/zone": {Encrypted: true}, "/coded": {ErasureCoded: true}, "/zone/open": {}, "/free": {}}}
		o.checkZone()
		wantOne(t, o, checkZone, c.state, "")
		if code := o.list[0].Code; code != string(c.code) {
			t.Errorf("%s: %s", dir, code)
		}
	}
}

// TestQuotasAboveTheOutput: the quota of any directory above the output can end the run. One that is not answered in
// time is unknown, and a run does not wait for it.
func TestQuotasAboveTheOutput(t *testing.T) {
	t.Parallel()
	none := storage.Quota{Names: storage.NoQuota, Bytes: storage.NoQuota}
	quota := func(full string) func(context.Context, string) (storage.Quota, error) {
		return func(_ context.Context, dir string) (storage.Quota, error) {
			if dir == full {
				return storage.Quota{Names: 10, NamesUsed: 10, Bytes: storage.NoQuota}, nil
			}
			return none, nil
		}
	}
	hangs := func(context.Context, string) (storage.Quota, error) {
		<-t.Context().Done() // the NameNode counts on after the run has given up
		return none, nil
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx   context.Context
		quota func(context.Context, string) (storage.Quota, error)
		state State
	}{
		"none":             {t.Context(), quota(""), OK},
		"the output's":     {t.Context(), quota("/user/tina/out"), Failed},
		"above it":         {t.Context(), quota("/user/tina"), Failed},
		"the top level's":  {t.Context(), quota("/user"), OK},
		"not answered":     {ended, hangs, Unknown},
		"can't be counted": {t.Context(), func(context.Context, string) (storage.Quota, error) { return none, errors.New("no") }, Unknown},
	} {
		o := testOutput(t)
		o.Dir, o.Brief = "/user/tina/out/2026", true
		o.FS = hdfs{dirs: map[string]storage.Info{"/user/tina/out": {}, "/user/tina": {}, "/user": {}}, quota: c.quota}
		o.checkQuota(c.ctx)
		if len(o.list) != 1 || o.list[0].State != c.state {
			t.Errorf("%s: %+v", name, o.list)
		}
	}
}

// TestQuotasOfStaging: files pass through staging, so a space quota below the load's size is a warning; names that a
// load needs at once are not. However long staging is counted, the output's quota is known.
func TestQuotasOfStaging(t *testing.T) {
	t.Parallel()
	none := storage.Quota{Names: storage.NoQuota, Bytes: storage.NoQuota, Replication: 3}
	with := func(change func(*storage.Quota)) storage.Quota {
		q := none
		change(&q)
		return q
	}
	for name, c := range map[string]struct {
		staging   storage.Quota
		unchecked bool
		state     State
		text      string
	}{
		"none":          {none, false, OK, "no quota"},
		"space":         {with(func(q *storage.Quota) { q.Bytes, q.BytesUsed = 600, 1 }), false, Warning, "of all requests under way"},
		"space is used": {with(func(q *storage.Quota) { q.Bytes, q.BytesUsed = 600, 900 }), false, Warning, "600 B with 3 replicas"},
		"space is left": {with(func(q *storage.Quota) { q.Bytes = 600 }), false, OK, "with space left"},
		"unchecked":     {with(func(q *storage.Quota) { q.Bytes, q.BytesUsed = 600, 1 }), true, OK, ""},
		"names":         {with(func(q *storage.Quota) { q.Names, q.NamesUsed = 10, 9 }), false, Failed, "at least 2 more"},
		"names left":    {with(func(q *storage.Quota) { q.Names, q.NamesUsed = 10, 8 }), false, OK, ""},
	} {
		o := testOutput(t)
		o.Dir, o.staging, o.families, o.Job.Input.SpaceUnchecked = "/user/tina/out", "/hbase/staging", []string{"f"}, c.unchecked
		o.Target, o.Need = &targets.Target{}, func(*targets.Target) int64 { return 200 }
		o.FS = hdfs{dirs: map[string]storage.Info{"/user/tina/out": {}}, quota: func(_ context.Context, dir string) (storage.Quota, error) {
			if dir == o.staging {
				return c.staging, nil
			}
			return none, nil
		}}
		o.checkQuota(t.Context())
		if len(o.list) != 2 || o.list[0].Name != checkQuota || o.list[0].State != OK {
			t.Fatalf("%s: %+v", name, o.list)
		}
		if f := o.list[1]; f.Name != checkPassing || f.State != c.state || !strings.Contains(f.Detail, c.text) {
			t.Errorf("%s: %+v", name, f)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	o := testOutput(t)
	o.Dir, o.staging = "/user/tina/out", "/hbase/staging"
	o.FS = hdfs{dirs: map[string]storage.Info{"/user/tina/out": {}}, quota: func(_ context.Context, dir string) (storage.Quota, error) {
		if dir == o.staging {
			cancel() // the time is over
			<-t.Context().Done()
		}
		return none, nil
	}}
	o.checkQuota(ctx)
	if len(o.list) != 2 || o.list[0].State != OK || o.list[1].State != Unknown {
		t.Errorf("slow staging: %+v", o.list)
	}
}

// TestOtherRuns: runs into the same table are a warning. If the ledger can't be read, they are unknown.
func TestOtherRuns(t *testing.T) {
	t.Parallel()
	for state, others := range map[State]func() ([]string, error){
		OK:      func() ([]string, error) { return nil, nil },
		Warning: func() ([]string, error) { return []string{"night.yaml"}, nil },
		Unknown: func() ([]string, error) { return []string{"night.yaml"}, errors.New("no ledger") },
	} {
		o := testOutput(t)
		o.Others = others
		o.checkOthers()
		wantOne(t, o, checkOthers, state, "")
	}
}

// TestReplicatedFamilies: a load is replicated only if the site says so; whether the servers do, only they know.
func TestReplicatedFamilies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		scope, enabled string
		state          State
	}{{"", "", OK}, {"0", "", OK}, {"1", "", Warning}, {"1", "false", Warning}, {"1", "true", Unknown}} {
		o := testOutput(t)
		o.Table.Families[0].Attributes = map[string]string{"REPLICATION_SCOPE": c.scope}
		if c.enabled != "" {
			o.Site.Conf.Set("hbase.replication.bulkload.enabled", c.enabled)
		}
		o.checkReplication()
		wantOne(t, o, checkReplication, c.state, "")
	}
}

// TestCodecsOfServers: open regions prove that the servers have a codec. How two of them are framed depends on a class
// that only the servers know.
func TestCodecsOfServers(t *testing.T) {
	t.Parallel()
	for codec, state := range map[hfilewriter.Compression]State{hfilewriter.CompressNone: OK, hfilewriter.CompressSnappy: OK, hfilewriter.CompressGZ: OK,
		hfilewriter.CompressZSTD: Unknown, hfilewriter.CompressLZ4: Unknown} {
		o := testOutput(t)
		o.Target = &targets.Target{Families: []targets.TargetFamily{{Settings: hfilewriter.Settings{Compression: hfilewriter.CompressNone}}, {Settings: hfilewriter.Settings{Compression: codec}}}}
		o.checkCodecs()
		wantOne(t, o, checkCodecs, state, "")
	}
	o := testOutput(t)
	o.Target, o.Table.Regions = &targets.Target{}, nil
	o.checkCodecs()
	wantOne(t, o, checkCodecs, Unknown, "")
}
