package plan

import (
	"testing"

	"bulkload/jobs/pipeline/targets"
	"bulkload/jobs/spec/jobfile"
	"bulkload/jobs/stats"
	"bulkload/sortentry"
)

// TestBoundariesThatArePlanned: the sort's boundaries are those of the rows, also where others take their place.
func TestBoundariesThatArePlanned(t *testing.T) {
	rows := []string{"", "a", "a\x00", "a\x00\x00b", "a\x00\xff", "a\x01", "m", "m\x00z", "z"}
	for _, wide := range []bool{false, true} {
		made := &targets.Target{}
		for _, splits := range [][][]byte{nil, {[]byte("a\x00\x00"), []byte("m")}, {[]byte("a\x00\x01"), []byte("a\x01"), []byte("m\x00")}} {
			c := &candidate{job: &jobfile.Job{}, open: true, report: newPlanReport(&jobfile.Job{}), target: made,
				stats: &planStatistics{keys: &stats.Sample{}, counts: tableCounts{regions: make([]regionCounts, 1)}}}
			if wide {
				c.job.Wide = &jobfile.Wide{}
			}
			c.report.Suggestion.Keys = splits
			if made.Regions == nil {
				if err := made.SetSplits(splits, wide); err != nil {
					t.Fatal(err)
				}
			} else if err := c.reopen(); err != nil {
				t.Fatal(err)
			}
			for _, row := range rows {
				key := []byte(row)
				if wide {
					key = append(sortentry.AppendRow(nil, key), "\x00qualifier"...)
				}
				if want, got := made.Regions.Find([]byte(row)), made.Sorted.Find(key); got != want || made.Regions.Len() != len(splits)+1 {
					t.Errorf("wide %v, splits %q: row %q is in region %d of %d, its entries are in %d", wide, splits, row, want, made.Regions.Len(), got)
				}
			}
		}
	}
}
