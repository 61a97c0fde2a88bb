package writing_test

import (
	"context"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/runtest"
	"bulkload/jobs/base/options"
	"bulkload/jobs/inspect/verify"
)

func TestMaxSizeRollsAtRows(t *testing.T) {
	dir := jobdir.Check(t, strings.Replace(jobdir.CheckJob, "10GiB", "200kB", 1), 4000)
	out := filepath.Join(dir, "out")
	j := jobtest.Check(t, dir, out)
	s := runtest.Must(t, j, options.Options{})
	if len(s.Files) <= 10 {
		t.Errorf("%d files", len(s.Files))
	}
	for i, f := range s.Files {
		last := i+1 == len(s.Files) || s.Files[i+1].Region != f.Region
		if (f.Raw < 200_000 && !last) || f.Raw > 210_000 {
			t.Errorf("file %d of region %d holds %d raw bytes", f.Sequence, f.Region, f.Raw)
		}
		if i > 0 && s.Files[i-1].LastRow >= f.FirstRow {
			t.Errorf("row %s is in two files", f.FirstRow)
		}
	}
	if _, err := verify.Job(context.Background(), j, options.Options{}, false); err != nil {
		t.Error(err)
	}
	one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
	before := runtime.GOMAXPROCS(1)
	runtest.Must(t, jobtest.Check(t, dir, one), options.Options{})
	runtime.GOMAXPROCS(3)
	runtest.Must(t, jobtest.Check(t, dir, two), options.Options{Memory: options.MinMemory})
	runtime.GOMAXPROCS(before)
	runtest.SameFiles(t, "rolled", one, two)
}

func TestSeveralFamilies(t *testing.T) {
	job := jobdir.CheckJob + "columns_map: {remark: {to: 'g:r'}, comments: {to: 'a:c'}, version: {skip: true}, city: {to: 'a:b'}}\n"
	dir := jobdir.Check(t, job, 2000)
	out := filepath.Join(dir, "out")
	j := jobtest.Check(t, dir, out)
	s := runtest.Must(t, j, options.Options{})
	families := map[string]int64{}
	for _, f := range s.Files {
		families[f.Family] += f.Cells
	}
	if len(families) != 3 || s.Counts.Columns != 17 {
		t.Errorf("families %v, counts %v", families, s.Counts)
	}
	if _, err := verify.Job(context.Background(), j, options.Options{}, false); err != nil {
		t.Error(err)
	}
	if r, err := verify.Dir(context.Background(), out, options.Options{}); err != nil || r.Cells != s.Counts.CellsWritten {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestWideFilesRollBetweenRows: also where one row is larger than a file should be.
func TestWideFilesRollBetweenRows(t *testing.T) {
	c := jobdir.WideCases["text of all widths"]
	dir := jobdir.Wide(t, c.Job, 9000)
	j := jobtest.Wide(t, dir, filepath.Join(dir, "out"))
	j.HFile.MaxSize, j.Regions.Splits = 10_000, nil
	s := runtest.Must(t, j, options.Options{})
	withCells := int64(0)
	last := ""
	for _, line := range runtest.Cells(t, j.Output) {
		row, _, _ := strings.Cut(line, "\t")
		if row != last {
			withCells++
		}
		last = row
	}
	var rows, large int64
	for i, f := range s.Files {
		rows += f.Rows
		if f.Raw > 100_000 {
			large++
		}
		if i > 0 && s.Files[i-1].LastRow >= f.FirstRow {
			t.Errorf("row %s is in two files", f.FirstRow)
		}
	}
	if rows != withCells || large != 1 || len(s.Files) < 10 {
		t.Errorf("%d files with %d of %d rows, %d of them large", len(s.Files), rows, withCells, large)
	}
}
