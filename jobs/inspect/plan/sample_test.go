package plan

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"bulkload/internal/printable"
	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/jobtest"
	"bulkload/jobs/base/options"
	"bulkload/jobs/spec/jobfile"
	"bulkload/jobs/stats"
)

// TestSampleIsSpread: the first rows of a sorted input would tell nothing of the others.
func TestSampleIsSpread(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes 200,000 rows")
	}
	dir := jobdir.Of(t, fmt.Sprintf(jobdir.NumbersJob, "pad(user, 6) + id"), jobdir.Numbers(200_000))
	r := MustPlan(t, jobtest.Check(t, dir, "out"), PlanOptions{Sample: 6400})
	if !r.Sample || r.RowsRead != 6400 || !strings.Contains(r.How, "the first 108 at each of 59 places, spread evenly") {
		t.Errorf("%d rows read: %s", r.RowsRead, r.How)
	}
	if r.Rows < 195_000 || r.Rows > 205_000 {
		t.Errorf("about %d rows", r.Rows)
	}
	// Of each place ten users are seen, from all over the 20,000.
	s := stats.ProposeRegions(stats.RegionInput{Source: 8e9, FromKey: func(int) ([][]byte, error) { return nil, os.ErrInvalid }}, planStats(t, dir, 6400).keys, printable.Bytes)
	if len(s.Splits) != 3 || s.Splits[0] < "0045" || s.Splits[0] > "0055" || s.Splits[2] < "0145" || s.Splits[2] > "0155" {
		t.Errorf("quarters of 20,000 users begin at %v", s.Splits)
	}
	all := MustPlan(t, jobtest.Check(t, dir, "out"), PlanOptions{})
	if all.Sample || all.How != "all of it" || all.Rows != 200_000 {
		t.Errorf("sample %v, %s, %d rows", all.Sample, all.How, all.Rows)
	}
}

// planStats is what a plan of a sample holds.
func planStats(t *testing.T, dir string, rows int64) *planStatistics {
	t.Helper()
	j := jobtest.Check(t, dir, "out")
	o, err := options.Options{}.WithDefaults()
	if err != nil {
		t.Fatal(err)
	}
	p := &planner{PlanOptions: PlanOptions{Sample: rows, Now: time.Now()}, job: j, options: o, candidates: []*candidate{{job: j, report: newPlanReport(j)}}}
	if err := p.run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	return p.candidates[0].stats
}

// MustPlan plans a job without a cluster; also for the tests in plan_test.
func MustPlan(t testing.TB, j *jobfile.Job, p PlanOptions) *PlanReport {
	t.Helper()
	r, err := Run(context.Background(), j, options.Options{}, p)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
