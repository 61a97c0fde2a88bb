package plan_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/test/livetest"
	"bulkload/internal/test/runtest"
	"bulkload/internal/test/sample"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/env/site"
	"bulkload/jobs/inspect/plan"
	"bulkload/jobs/run"
	"bulkload/jobs/spec/jobfile"
	"bulkload/jobs/upkeep/draft"
	"bulkload/load"
)

// convert writes the job file that replaces the Spark job for the present table.
func convert(t *testing.T, l *livetest.Live) {
	t.Helper()
	namespace, table, named := strings.Cut(l.Table, ":")
	if !named {
		namespace, table = "default", l.Table
	}
	properties := filepath.Join(l.Folder, "check.properties")
	text := fmt.Sprintf("namespace=%s\ntableName=%s\ncf=f\npreRegions=10\nuniqCol=id\nqueryKey=check_id\ncols=%s\ninputPathPrefix=file://%s\nhfilePathPrefix=%s\n",
		namespace, table, strings.Join(sample.CheckColumns, ","), filepath.Join(l.Folder, "in"), strings.TrimPrefix(l.Out, "hdfs://"))
	if err := os.WriteFile(properties, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	job, err := draft.ConvertFile(properties)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(l.Folder, "check.yaml"), job, 0o600); err != nil {
		t.Fatal(err)
	}
}

// wantDraft drafts a job file from the table itself: it has the table's families and as many salts as regions.
func wantDraft(t *testing.T, l *livetest.Live) {
	t.Helper()
	text, err := draft.ForTable(context.Background(), l.Table, l.Options())
	if err != nil {
		t.Fatal(err)
	}
	j, err := jobfile.Parse("draft.yaml", bytes.NewReader(text), jobfile.ReadOptions{Date: time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)})
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if j.RowKey.String() != "salt(c1, 10) + c1" || j.Table != l.Table || j.Columns[0].Family != "f" || j.Regions.From != "table" {
		t.Errorf("%s of %s, %+v", j.RowKey, j.Table, j)
	}
	for _, want := range []string{"which has 10 regions", "# Family f: SNAPPY, FAST_DIFF, bloom ROW, blocks of 64.0 KiB"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the draft does not say %q:\n%s", want, text)
		}
	}
	if _, err := draft.ForTable(context.Background(), l.Table+"_none", l.Options()); failure.KindOf(err) != failure.Refused {
		t.Errorf("of a table that does not exist: %v", err)
	}
}

// TestPlanCreatesTheTable: plan suggests splits and settings for a table that is not there, and makes it. The job is
// one that convert made: the table has the cells that Java computes by the rule of the Spark job.
func TestPlanCreatesTheTable(t *testing.T) {
	l := livetest.New(t)
	convert(t, l)
	l.Night(t, "2026-11-20", 2000, 3)
	ctx := context.Background()
	j := l.Job(t, "2026-11-20")
	if _, err := run.Job(ctx, nil, j, l.Options()); failure.CodeOf(err) != errcode.TableMissing {
		t.Errorf("a run without its table: %v", err)
	}
	planned, err := plan.Run(ctx, j, l.Options(), plan.PlanOptions{Create: true})
	if err != nil || !planned.Created || len(planned.Splits) != 9 || planned.Rows != 2000 {
		t.Fatalf("plan with create: %+v, %v", planned, err)
	}
	if n := strings.Count(l.Ask(t, "regions", l.Table), "\n"); n != 10 {
		t.Errorf("the table has %d regions", n)
	}
	again, err := plan.Run(ctx, j, l.Options(), plan.PlanOptions{Create: true})
	if err != nil || again.Created || !again.Existed || len(again.Regions) != 10 {
		t.Errorf("creating it again: %+v, %v", again, err)
	}
	other := *j
	other.Regions = jobfile.RegionSettings{From: "splits", Splits: [][]byte{[]byte("55")}}
	if _, err := plan.Run(ctx, &other, l.Options(), plan.PlanOptions{Create: true}); failure.CodeOf(err) != errcode.TableExists {
		t.Errorf("with other regions: %v", err)
	}
	if s := runtest.Must(t, j, l.Options()); s.Load.Files != 10 {
		t.Errorf("load %+v", s.Load)
	}
	l.WantTable(t, "created by plan", l.Expected(t, "2026-11-20"))
	wantDraft(t, l)

	other.Regions, other.Table = j.Regions, strings.ReplaceAll(l.Table, ":", "_")+"_new:t"
	t.Cleanup(func() { l.Ask(t, "drop", other.Table, "-if-exists") })
	namespace, _, _ := strings.Cut(other.Table, ":")
	if r, err := plan.Run(ctx, &other, l.Options(), plan.PlanOptions{Create: true}); err != nil || !r.Created || r.CreatedNamespace != namespace {
		t.Errorf("in a namespace that is not there: %+v, %v", r, err)
	}
}

// TestPlanLive: what the master says of servers, regions and families, and what the checks make of it.
func TestPlanLive(t *testing.T) {
	l := livetest.New(t)
	const splits = "1,2,3,4,5,6,7,8,9"
	l.Ask(t, "create", l.Table, "f", splits, "VERSIONS=3")
	l.Night(t, "2026-11-20", 15_000, 3)
	ctx, j := context.Background(), l.Job(t, "2026-11-20")
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	planned := func(o plan.PlanOptions) *plan.PlanReport {
		t.Helper()
		r, err := plan.Run(ctx, j, l.Options(), o)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := planned(plan.PlanOptions{CheckLive: true, Now: noon})
	if f := r.Live.Families; !r.TableFound || r.Live.Servers < 1 || len(r.Live.Regions) != 10 || r.Live.Empty != 10 || len(f) != 1 || f[0].Versions != 3 {
		t.Errorf("an empty table: %+v", r.Live)
	}
	if r.Live.Checked != 2000 || r.Live.Present != 0 || !slices.Contains(found(r), "family-versions") || slices.Contains(found(r), "cell-expired") {
		t.Errorf("%d of %d row keys are there; %v", r.Live.Present, r.Live.Checked, found(r))
	}
	if s := runtest.Must(t, j, l.Options()); s.Load.Files != 10 {
		t.Fatalf("load %+v", s.Load)
	}
	status := awaitSizes(t, l, j.Table)
	r = planned(plan.PlanOptions{CheckLive: true, Now: noon})
	if r.Live.Present != r.Live.Checked || !slices.Contains(found(r), "key-in-table") {
		t.Errorf("%d of %d row keys are there; %v", r.Live.Present, r.Live.Checked, found(r))
	}
	if r.Live.Empty != 0 || r.Live.Skew < 1 || r.Live.Skew > 2 || r.Live.Regions[3].Files != 1 || r.Live.Regions[3].Bytes == 0 || r.Forecast.FilesNow != 1 || r.Forecast.Nights != 15 {
		t.Errorf("a loaded table: %+v, forecast %+v; servers report %v", r.Live, r.Forecast, status)
	}
}

// TestPlanLiveTTL: cells older than the table's TTL are a problem, and only these. Nothing is loaded: HBase's clock,
// which is today's, decides what is served.
func TestPlanLiveTTL(t *testing.T) {
	l := livetest.New(t)
	l.Ask(t, "create", l.Table, "f", "1,2,3,4,5,6,7,8,9", "TTL=172800")
	l.Night(t, "2026-11-20", 100, 3)
	midnight := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		age     time.Duration
		expired bool
	}{{12 * time.Hour, false}, {48 * time.Hour, false}, {48*time.Hour + time.Millisecond, true}, {84 * time.Hour, true}} {
		r, err := plan.Run(context.Background(), l.Job(t, "2026-11-20"), l.Options(), plan.PlanOptions{CheckLive: true, Now: midnight.Add(c.age)})
		if err != nil {
			t.Fatal(err)
		}
		if f := r.Live.Families; len(f) != 1 || f[0].TTL != 172_800 {
			t.Errorf("families %+v", f)
		}
		if slices.Contains(found(r), "cell-expired") != c.expired {
			t.Errorf("cells %v old, TTL of 48h: %v", c.age, found(r))
		}
	}
}

// TestPlanWithoutStatus: where the master's answer about all regions can't be had, the plan has all but their sizes.
func TestPlanWithoutStatus(t *testing.T) {
	l := livetest.New(t)
	l.Ask(t, "create", l.Table, "f", "1,2,3,4,5,6,7,8,9", "TTL=172800")
	l.Night(t, "2026-11-20", 2000, 3)
	silent := func(*load.Cluster, context.Context) (*load.Status, error) {
		return nil, errors.New("answer of 70000000 bytes")
	}
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	r, err := plan.Run(t.Context(), l.Job(t, "2026-11-20"), l.Options(), plan.PlanOptions{CheckLive: true, Now: noon, AskStatus: silent})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(found(r), "table-unknown") || slices.Contains(found(r), "table-empty") || len(r.Regions) != 10 {
		t.Errorf("%d regions, %v", len(r.Regions), found(r))
	}
	if r.Live == nil || r.Live.Unknown != "answer of 70000000 bytes" || len(r.Live.Regions) != 0 || r.Live.Families[0].TTL != 172_800 || r.Live.Checked != 2000 {
		t.Errorf("%+v", r.Live)
	}
}

// awaitSizes waits until the servers have reported the sizes of the table's regions to the master, as they do every few
// seconds.
func awaitSizes(t *testing.T, l *livetest.Live, table string) (sizes []int64) {
	t.Helper()
	s, err := site.Open(l.Options(), jobfile.HBase{}, true)
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(300 * time.Millisecond) {
		status, err := c.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		sizes = nil
		for name, r := range status.Regions {
			if bytes.HasPrefix([]byte(name), []byte(table+",")) && r.Files > 0 && r.Bytes > 0 {
				sizes = append(sizes, r.Bytes)
			}
		}
		if len(sizes) == 10 {
			return sizes
		}
	}
	t.Fatalf("the servers report %v", sizes)
	return nil
}
