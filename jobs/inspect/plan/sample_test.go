package plan

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bulkload/internal/printable"
	"bulkload/jobs/base/options"
	"bulkload/jobs/spec/jobfile"
	"bulkload/jobs/stats"
)

// TestSampleIsSpread: the first rows of a sorted input would tell nothing of the others.
func TestSampleIsSpread(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes 200,000 rows")
	}
	dir := planDir(t, fmt.Sprintf(numbersJob, "pad(user, 6) + id"), made(200_000))
	r := mustPlan(t, readCheck(t, dir, "out"), Options{Sample: 6400})
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
	all := mustPlan(t, readCheck(t, dir, "out"), Options{})
	if all.Sample || all.How != "all of it" || all.Rows != 200_000 {
		t.Errorf("sample %v, %s, %d rows", all.Sample, all.How, all.Rows)
	}
}

// planStats is what a plan of a sample holds.
func planStats(t *testing.T, dir string, rows int64) *planStatistics {
	t.Helper()
	j := readCheck(t, dir, "out")
	o, err := options.Options{}.WithDefaults()
	if err != nil {
		t.Fatal(err)
	}
	p := &planner{Options: Options{Sample: rows, Now: time.Now()}, job: j, options: o, candidates: []*candidate{{job: j, report: newPlanReport(j)}}}
	if err := p.run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	return p.candidates[0].stats
}

// numbers is a job of three columns of text.
const numbersJob = `table: ns:t
family: f
input:
  path: in/${date}
  columns: [id, user, city]
  field_delimiter: '|'
  record_delimiter: '\n'
  max_rejects: 100%%
rowkey: %s
query: [user]
queries: [{columns: [user], per_day: 1000}, {columns: [user, city], per_day: 10}, {columns: [city], per_day: 1}]
regions: {from: plan}
hfile: {compression: snappy, encoding: fast_diff, bloom: row}
output: out/${date}
`

// planDir makes a folder with a job over one input of the given text.
func planDir(t testing.TB, job string, input []byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string][]byte{"check.yaml": []byte(job), "in/2026-11-20/part-0": input} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// made writes rows id|user|city: id counts, a user has ten rows, one after another.
func made(rows int) []byte {
	var b bytes.Buffer
	for i := range rows {
		fmt.Fprintf(&b, "%010d|%d|c%d\n", i, i/10, i%4)
	}
	return b.Bytes()
}

func mustPlan(t testing.TB, j *jobfile.Job, p Options) *Report {
	t.Helper()
	r, err := Run(context.Background(), j, options.Options{}, p)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// readCheck reads the job of a folder that sampleDir made, with another output.
func readCheck(t testing.TB, dir, output string) *jobfile.Job {
	t.Helper()
	j, err := jobfile.Read(filepath.Join(dir, "check.yaml"), jobfile.ReadOptions{Date: date20})
	if err != nil {
		t.Fatal(err)
	}
	j.Output = output
	return j
}

var date20 = time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
