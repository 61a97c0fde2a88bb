package sorting_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bulkload/internal/bytesize"
	"bulkload/internal/errcode"
	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/runtest"
	"bulkload/internal/test/sample"
	"bulkload/internal/test/testwords"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/inspect/verify"
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/jobs/pipeline/sorting"
	"bulkload/jobs/run"
	"bulkload/jobs/run/summary"
	"bulkload/jobs/spec/jobfile"
	"bulkload/load"
)

// wantSliced wants a region's files to follow each other without a row in two of them, about equally large.
func wantSliced(t *testing.T, s *summary.Summary, region, most int) {
	t.Helper()
	var files []hfiles.FileMeta
	var largest, all int64
	for _, f := range s.Files {
		if f.Region == region {
			files = append(files, f)
			largest, all = max(largest, f.Rows), all+f.Rows
		}
	}
	if len(files) != most {
		t.Errorf("region %d has %d files, want %d", region, len(files), most)
	}
	if largest > 2*all/int64(most) {
		t.Errorf("one of the %d files has %d of %d rows", len(files), largest, all)
	}
	for i := 1; i < len(files); i++ {
		if files[i-1].LastRow >= files[i].FirstRow {
			t.Errorf("file %d ends at %s, the next begins at %s", i-1, files[i-1].LastRow, files[i].FirstRow)
		}
	}
}

// TestSkewIsDeterministic: where a region is cut depends neither on memory nor on cores, though the rows are spilled in
// some of the runs.
func TestSkewIsDeterministic(t *testing.T) {
	dir := jobdir.Skewed(t, jobdir.SlicedJob, 70_000, sample.Options{Skew: 90})
	base := filepath.Join(dir, "base")
	s := runtest.Must(t, jobtest.Check(t, dir, base), options.Options{Memory: 2 << 30})
	wantSliced(t, s, jobdir.HotRegion, sorting.MaxSlices)
	if s.Sort.Runs != 0 {
		t.Errorf("%d runs were spilled", s.Sort.Runs)
	}
	for _, c := range []struct {
		memory int64
		cores  int
	}{{options.MinMemory, 1}, {options.MinMemory, 3}, {1 << 30, 1}, {1 << 30, 6}} {
		if testing.Short() && c.cores != 3 {
			continue // several cores and spills are most likely to find a race
		}
		out := filepath.Join(dir, fmt.Sprintf("%d-%d", c.memory, c.cores))
		before := runtime.GOMAXPROCS(c.cores)
		s := runtest.Must(t, jobtest.Check(t, dir, out), options.Options{Memory: c.memory, WorkDir: t.TempDir()})
		runtime.GOMAXPROCS(before)
		if spilled := s.Sort.Runs > 0; spilled != (c.memory == options.MinMemory) {
			t.Errorf("with %s %d runs were spilled", bytesize.Format(c.memory), s.Sort.Runs)
		}
		runtest.SameFiles(t, fmt.Sprintf("%s, %d cores", bytesize.Format(c.memory), c.cores), base, out)
	}
	j := jobtest.Check(t, dir, base)
	if r, err := verify.Job(context.Background(), j, options.Options{}, false); err != nil || r.Rows != s.Counts.Written {
		t.Errorf("verify the job: %+v, %v", r, err)
	}
	if r, err := verify.Dir(context.Background(), base, options.Options{}); err != nil || r.Digest != s.Digest {
		t.Errorf("verify the directory: %+v, %v", r, err)
	}
}

// TestOneRegionKeepsAllCoresBusy: as many slices of one region are begun in parallel as there are cores.
func TestOneRegionKeepsAllCoresBusy(t *testing.T) {
	job := strings.Replace(jobdir.SlicedJob, "splits: ['1', '2', '3', '4', '5', '6', '7', '8', '9']", "splits: []", 1)
	job = strings.Replace(job, "salt(check_id, 10) + md5(check_id) + id", "md5(check_id) + id", 1)
	// one query key has all rows
	dir := jobdir.Skewed(t, job, 4000, sample.Options{FirstKey: "A208849559", FirstKeyRows: 2000})
	const cores = 4
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
	var begun atomic.Int64
	all := make(chan struct{})
	s := runtest.Must(t, jobtest.Check(t, dir, filepath.Join(dir, "out")), options.Options{Failpoint: func(p options.Point) {
		if p != options.Begun {
			return
		}
		if begun.Add(1) == cores {
			close(all)
		}
		select {
		case <-all:
		case <-time.After(5 * time.Minute):
			t.Errorf("only %d slices are written side by side", begun.Load())
		}
	}})
	if len(s.Regions) != 1 || s.Counts.Written != 4000 || begun.Load() < cores {
		t.Errorf("%d slices of %d regions, counts %v", begun.Load(), len(s.Regions), s.Counts)
	}
	wantSliced(t, s, 0, int(begun.Load()))
}

// TestDuplicatesStayTogether: both records of a row come to one slice, wherever they are in the input.
func TestDuplicatesStayTogether(t *testing.T) {
	dir := jobdir.Skewed(t, jobdir.SlicedJob, 8000, sample.Options{Skew: 90})
	content, err := os.ReadFile(filepath.Join(dir, "in/2026-11-20/part-m-00000"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "in/2026-11-20/part-m-00002"), content, 0o600); err != nil {
		t.Fatal(err)
	}
	s := runtest.Must(t, jobtest.Check(t, dir, filepath.Join(dir, "out")), options.Options{})
	if s.Counts.Duplicates != 4000 || s.Counts.Written != 8000 || s.Regions[jobdir.HotRegion].Files < 5 {
		t.Errorf("counts %v, %d files", s.Counts, s.Regions[jobdir.HotRegion].Files)
	}
}

// TestFilesARegionAreBounded: HBase's loader refuses more than 32 files for a region and family.
func TestFilesARegionAreBounded(t *testing.T) {
	job := jobdir.SlicedJob + "columns_map: {remark: {to: 'g:r'}}\n"
	dir := jobdir.Skewed(t, job, 4000, sample.Options{Skew: 100})
	for _, maxSize := range []int64{100 << 10, 250 << 10, 300 << 10, 1 << 20, 10 << 30} {
		j := jobtest.Check(t, dir, filepath.Join(dir, fmt.Sprint(maxSize)))
		j.HFile.MaxSize = maxSize
		s := runtest.Must(t, j, options.Options{})
		files := map[string]int{}
		var raw int64
		for _, f := range s.Files {
			if f.Region == jobdir.HotRegion {
				files[f.Family]++
				if f.Family == "f" {
					raw += f.Raw
				}
			}
		}
		alone := int(raw/maxSize) + 1 // what max_size asks for without slices
		if files["f"] > max(load.DefaultMaxFiles, alone) || files["g"] > sorting.MaxSlices || maxSize >= 1<<20 && files["f"] < 5 {
			t.Errorf("max_size %s: %v files of a region; max_size alone makes %d", bytesize.Format(maxSize), files, alone)
		}
	}
}

// TestSiteLimitOfFiles: where the site takes fewer files of a region than HBase's default, a region is cut into fewer
// slices.
func TestSiteLimitOfFiles(t *testing.T) {
	dir := jobdir.Skewed(t, jobdir.SlicedJob, 8000, sample.Options{Skew: 90})
	limited := func(limit string) *summary.Summary {
		o := options.Options{}
		if limit != "" {
			o.Properties = map[string]string{load.MaxFilesProperty: limit}
		}
		return runtest.Must(t, jobtest.Check(t, dir, filepath.Join(dir, "limit-"+limit)), o)
	}
	for limit, want := range map[string]int{"": sorting.MaxSlices, "32": sorting.MaxSlices, "8": 8, "1": 1} {
		if n := limited(limit).Regions[jobdir.HotRegion].Files; n != want {
			t.Errorf("with a limit of %q files the region has %d, want %d", limit, n, want)
		}
	}
	runtest.SameFiles(t, "the default limit", filepath.Join(dir, "limit-"), filepath.Join(dir, "limit-32"))
	_, err := run.Job(t.Context(), nil, jobtest.Check(t, dir, filepath.Join(dir, "wrong")), options.Options{Properties: map[string]string{load.MaxFilesProperty: "many"}})
	if failure.KindOf(err) != failure.Refused || !testwords.Names(err, load.MaxFilesProperty) {
		t.Errorf("a limit that is not a number: %v", err)
	}
}

// TestTooManyFilesAreFoundBeforeWriting: where max_size makes more files of a region and family than HBase's loader
// takes, a job that loads is refused when its input is sorted, and nothing is written.
func TestTooManyFilesAreFoundBeforeWriting(t *testing.T) {
	job := jobdir.SlicedJob + "columns_map: {remark: {to: 'g:r'}}\n"
	dir := jobdir.Skewed(t, job, 4000, sample.Options{Skew: 100})
	for _, c := range []struct {
		maxSize int64
		limit   string
	}{{100 << 10, "32"}, {300 << 10, "8"}, {1 << 20, "1"}} {
		j := jobtest.Check(t, dir, filepath.Join(dir, "refused"))
		j.HFile.MaxSize, j.Load = c.maxSize, true
		o := options.Options{NoLoad: true, Properties: map[string]string{load.MaxFilesProperty: c.limit}, WorkDir: t.TempDir()}
		var begun atomic.Int64
		o.Failpoint = func(p options.Point) {
			if p == options.Begun {
				begun.Add(1)
			}
		}
		_, err := run.Job(t.Context(), nil, j, o)
		names := fmt.Sprintf("region %d of table %s ", jobdir.HotRegion, j.Table)
		if failure.CodeOf(err) != errcode.FilesLimit || begun.Load() > 0 || !testwords.Names(err, names) {
			t.Fatalf("max_size %s, limit %s: %d slices begun, %v", bytesize.Format(c.maxSize), c.limit, begun.Load(), err)
		}
		alone, said := *j, ""
		alone.Load, alone.Output = false, filepath.Join(dir, "alone-"+c.limit)
		o.Say = func(text string) { said += text }
		if s := runtest.Must(t, &alone, o); s.Counts.Written != 4000 || !strings.Contains(said, load.MaxFilesProperty) {
			t.Errorf("a job that does not load: %v, reported %q", s.Counts, said)
		}
		o.Properties[load.MaxFilesProperty] = "1000"
		if s := runtest.Must(t, j, o); s.Counts.Written != 4000 {
			t.Errorf("with a higher limit: %v", s.Counts)
		}
		if err := os.RemoveAll(j.Output); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFilesAreCountedAsWritten: the count before writing is that of the files that are written, in a wide table too,
// and with duplicates.
func TestFilesAreCountedAsWritten(t *testing.T) {
	dir := jobdir.Skewed(t, jobdir.SlicedJob+"columns_map: {remark: {to: 'g:r'}}\n", 4000, sample.Options{Skew: 100})
	content, err := os.ReadFile(filepath.Join(dir, "in/2026-11-20/part-m-00000"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "in/2026-11-20/part-m-00002"), content, 0o600); err != nil {
		t.Fatal(err)
	}
	wide := jobdir.Wide(t, jobdir.WideCases["text of all widths"].Job, 3000)
	for name, read := range map[string]func(out string) *jobfile.Job{
		"rows": func(out string) *jobfile.Job { return jobtest.Check(t, dir, out) },
		"wide": func(out string) *jobfile.Job { return jobtest.Wide(t, wide, out) },
	} {
		for _, maxSize := range []int64{20 << 10, 100 << 10} {
			j := read(filepath.Join(t.TempDir(), "out"))
			j.HFile.MaxSize, j.HFile.SliceSize = maxSize, 1<<30
			s := runtest.Must(t, j, options.Options{WorkDir: t.TempDir()})
			files := map[string]int64{}
			most := int64(0)
			for _, f := range s.Files {
				at := fmt.Sprint(f.Region, f.Family)
				files[at]++
				most = max(most, files[at])
			}
			for _, limit := range []int64{most, most - 1} {
				if limit == 0 {
					continue
				}
				again := *j
				again.Output, again.Load = filepath.Join(t.TempDir(), "again"), true
				o := options.Options{NoLoad: true, Properties: map[string]string{load.MaxFilesProperty: fmt.Sprint(limit)}, WorkDir: t.TempDir()}
				if _, err := run.Job(t.Context(), nil, &again, o); (failure.KindOf(err) == failure.Refused) != (limit < most) || err != nil && limit == most {
					t.Errorf("%s, max_size %s: %d files, limit %d: %v", name, bytesize.Format(maxSize), most, limit, err)
				}
			}
		}
	}
}

// TestLimitOfFilesChanges: a finished run stays finished as long as its files are within the limit, and an unfinished
// one is cut as the limit says now.
func TestLimitOfFilesChanges(t *testing.T) {
	dir := jobdir.Skewed(t, jobdir.SlicedJob, 8000, sample.Options{Skew: 90})
	out := filepath.Join(dir, "out")
	limit := func(n string) options.Options {
		return options.Options{NoLoad: true, WorkDir: t.TempDir(), Properties: map[string]string{load.MaxFilesProperty: n}}
	}
	runtest.Crash(t, dir, options.Recorded, 4)
	j := jobtest.Check(t, dir, out)
	j.Load = true
	if s := runtest.Must(t, j, limit("8")); s.Regions[jobdir.HotRegion].Files != 8 {
		t.Errorf("an unfinished run, with a lower limit: %d files", s.Regions[jobdir.HotRegion].Files)
	}
	for _, n := range []string{"8", "9", "32"} {
		if s := runtest.Must(t, j, limit(n)); s.Status != failure.StatusNothing {
			t.Errorf("a finished run with the limit %s: %s", n, s.Status)
		}
	}
	_, err := run.Job(t.Context(), nil, j, limit("7"))
	if failure.CodeOf(err) != errcode.FilesLimit {
		t.Errorf("a finished run with too many files: %v", err)
	}
	o := limit("7")
	o.Force = true
	if s := runtest.Must(t, j, o); s.Regions[jobdir.HotRegion].Files != 7 {
		t.Errorf("written again: %d files", s.Regions[jobdir.HotRegion].Files)
	}
}
