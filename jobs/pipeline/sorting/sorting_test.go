package sorting

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"bulkload/internal/digest"
	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testfs"
	"bulkload/jobs/base/counts"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/pipeline/entry"
	"bulkload/jobs/pipeline/source"
	"bulkload/jobs/pipeline/targets"
	"bulkload/jobs/spec/jobfile"
)

// opened is a job over files of lines, with its source and its target.
func opened(t *testing.T, job string, files map[string]string) (*jobfile.Job, *source.Source, *targets.Target) {
	t.Helper()
	text := fmt.Sprintf("table: ns:t\ntimestamp: 2026-11-20\noutput: out\nhfile: {}\nregions: {from: splits, splits: ['b', 'd']}\n%s\n"+
		"input: {path: '%s', columns: [id, a, b], field_delimiter: ',', record_delimiter: '\\n', max_rejects: 10%%}\n", job, testfs.Tree(t, files))
	return jobtest.Open(t, text)
}

const plainJob = "family: f\nrowkey: id"

// sorted sorts the job's input, with the memory given.
func sorted(t *testing.T, j *jobfile.Job, src *source.Source, into *targets.Target, memory int64) (*Rows, error) {
	t.Helper()
	splits, err := source.Splits(t.Context(), &j.Input, src)
	if err != nil {
		t.Fatal(err)
	}
	o, err := options.Options{Memory: memory, WorkDir: t.TempDir()}.WithDefaults()
	if err != nil {
		t.Fatal(err)
	}
	s := SortStage{Input: &j.Input, Source: src, Splits: splits, Rejects: new(entry.CountedRejects), Outputs: []SortOutput{{Job: j, Target: into}}}
	all, err := s.Sort(t.Context(), o)
	if err != nil {
		return all[0], err
	}
	t.Cleanup(func() {
		if err := CloseRows(all); err != nil {
			t.Error(err)
		}
	})
	return all[0], nil
}

// cellsOf are the cells of all regions, as text.
func cellsOf(t *testing.T, j *jobfile.Job, rows *Rows, into *targets.Target, family int) []string {
	t.Helper()
	var all []string
	tasks := rows.SliceTasks(j, into)
	slices.SortFunc(tasks, func(a, b SliceWork) int { return 100*(a.Region-b.Region) + a.Number - b.Number })
	for _, task := range tasks {
		cells, err := NewCells(into, rows.Sorted, task.Slice, family)
		if err != nil {
			t.Fatal(err)
		}
		for {
			c, err := cells.Next()
			if err != nil {
				t.Fatal(err)
			}
			if c == nil {
				break
			}
			all = append(all, fmt.Sprintf("%d %s %s:%s=%s", task.Region, c.Row, c.Family, c.Qualifier, c.Value))
		}
		if err := cells.Close(); err != nil {
			t.Error(err)
		}
	}
	return all
}

// TestRowsOfAnInput: rows come by region and key. Of several records of a key the last by path and offset counts,
// whatever was read first.
func TestRowsOfAnInput(t *testing.T) {
	j, src, into := opened(t, plainJob+"\nfilter: b != 'no'", map[string]string{"part-1": "c,late,1\nd,x,1\na,gone,no\nwrong\n", "part-0": "e,x,1\nc,early,1\nb,,2\nc,mid,3\n"})
	j.Input.MaxRejects.Percent = 90
	rows, err := sorted(t, j, src, into, options.MinMemory)
	if err != nil {
		t.Fatal(err)
	}
	if rows.Read != 8 || rows.Filtered != 1 || rows.Sorted.Stats().Entries != 6 {
		t.Errorf("%d read, %d filtered, %d sorted", rows.Read, rows.Filtered, rows.Sorted.Stats().Entries)
	}
	want := []string{"1 b f:a=", "1 b f:b=2", "1 b f:id=b", "1 c f:a=late", "1 c f:b=1", "1 c f:id=c", "2 d f:a=x", "2 d f:b=1", "2 d f:id=d", "2 e f:a=x", "2 e f:b=1", "2 e f:id=e"}
	if got := cellsOf(t, j, rows, into, AllFamilies); !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	var sum digest.Sum
	for i := range rows.Regions {
		sum.Add(rows.Regions[i].Digest)
	}
	var files digest.Sum
	for ordinal, f := range rows.Files {
		files.Add(f.Digest)
		if ordinal > 1 || f.Read != 4 {
			t.Errorf("file %d has %+v", ordinal, f)
		}
	}
	if sum.Cells != 18 || files != sum || rows.Regions[0].Digest.Cells != 0 {
		t.Errorf("regions %v, files %v, both with duplicates", sum, files)
	}
}

// TestFamiliesApart: the cells of each family alone are those of all families, apart.
func TestFamiliesApart(t *testing.T) {
	j, src, into := opened(t, "rowkey: id\nfamily: f\ncolumns_map: {a: {to: 'g:a'}, b: {to: 'f:b'}, id: {skip: true}}", map[string]string{"part-0": "a,1,2\nc,3,4\n"})
	rows, err := sorted(t, j, src, into, 0)
	if err != nil {
		t.Fatal(err)
	}
	all := cellsOf(t, j, rows, into, AllFamilies)
	var apart []string
	for family := range into.Families {
		one := cellsOf(t, j, rows, into, family)
		apart = append(apart, one...)
		if len(one) != 2 {
			t.Errorf("family %s: %q", into.Families[family].Name, one)
		}
	}
	slices.Sort(apart)
	slices.Sort(all)
	if len(all) != 4 || !slices.Equal(all, apart) {
		t.Errorf("%q, and family by family %q", all, apart)
	}
}

// TestExpectedRows: an input with more or fewer records than the job expects is refused, and so is an empty one if the
// job says so.
func TestExpectedRows(t *testing.T) {
	j, src, into := opened(t, plainJob, map[string]string{"part-0": "a,1,2\nb,1,2\n"})
	for _, c := range []struct {
		rows    int64
		atLeast bool
		refused bool
	}{{-1, false, false}, {2, false, false}, {3, false, true}, {1, false, true}, {1, true, false}, {2, true, false}, {3, true, true}} {
		j.Input.Rows, j.Input.RowsAtLeast = c.rows, c.atLeast
		rows, err := sorted(t, j, src, into, 0)
		if (err != nil) != c.refused || err != nil && failure.CodeOf(err) != errcode.InputRows || rows.Read != 2 {
			t.Errorf("%+v: %v", c, err)
		}
	}
	in := &jobfile.Input{EmptyFails: true}
	if CheckEmpty(in, 1) != nil || failure.CodeOf(CheckEmpty(in, 0)) != errcode.InputRows || CheckEmpty(new(jobfile.Input), 0) != nil {
		t.Error("an empty input")
	}
}

// TestSlicesFollowFromTheData: how regions are sliced must not follow from memory, cores or the order of the files: a
// run that was killed continues with the same slices.
func TestSlicesFollowFromTheData(t *testing.T) {
	var first, second strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&first, "c%05d,%s,1\n", i*7919%4000, strings.Repeat("x", i%90))
		fmt.Fprintf(&second, "%c,y,1\n", 'a'+i%26)
	}
	var want []SliceWork
	for _, files := range []map[string]string{{"part-0": first.String(), "part-1": second.String()}, {"part-0": second.String() + first.String()}} {
		for _, memory := range []int64{options.MinMemory, 1 << 30} {
			j, src, into := opened(t, plainJob, files)
			j.HFile.SliceSize = 20 << 10
			rows, err := sorted(t, j, src, into, memory)
			if err != nil {
				t.Fatal(err)
			}
			tasks := rows.SliceTasks(j, into)
			if !slices.IsSortedFunc(tasks, func(a, b SliceWork) int { return int(b.Size - a.Size) }) {
				t.Error("the largest slices do not come first")
			}
			if want == nil {
				want = tasks
			}
			if !reflect.DeepEqual(tasks, want) {
				t.Errorf("%d files, %d bytes of memory: %d slices, other than before: %d", len(files), memory, len(tasks), len(want))
			}
			into.MaxFiles = 2
			for _, task := range rows.SliceTasks(j, into) {
				if task.Number > 1 {
					t.Error("more slices of a region than it may have files")
				}
			}
		}
	}
	if n := len(want); n < 8 || n > 3*MaxSlices {
		t.Errorf("%d slices", n)
	}
}

// TestNumberOfSlices: no slice is smaller than its least size, none of a region's slices exceeds its limits, and a
// region has at least one.
func TestNumberOfSlices(t *testing.T) {
	_, _, into := opened(t, plainJob, map[string]string{"part-0": ""})
	for _, c := range []struct {
		bytes, size, maxFiles int64
		want                  int
	}{{0, 100, 32, 0}, {1, 100, 32, 1}, {100, 100, 32, 1}, {101, 100, 32, 2}, {10_000, 100, 32, MaxSlices}, {10_000, 100, 3, 3}, {10_000, 100, 0, 1}} {
		into.MaxFiles = c.maxFiles
		rows := &Rows{Regions: []counts.RegionCounts{{Bytes: c.bytes}}}
		if got := rows.slicesOf(0, c.size, into); got != c.want {
			t.Errorf("%+v: %d slices", c, got)
		}
	}
	rows := &Rows{Regions: []counts.RegionCounts{{Bytes: 64 << 30}, {Bytes: 32 << 30}}}
	if size := rows.sliceSize(&jobfile.Job{}); size != 3<<30 { // a 32nd part of all
		t.Errorf("slices of %d bytes", size)
	}
	if size := (&Rows{}).sliceSize(&jobfile.Job{}); size != defaultSliceSize {
		t.Errorf("slices of %d bytes, of nothing", size)
	}
}

// TestRawSizeIsNoUnderestimate: what a region's files are estimated to have is at least what their KeyValues have:
// HBase refuses a load with too many files.
func TestRawSizeIsNoUnderestimate(t *testing.T) {
	j, src, into := opened(t, plainJob, map[string]string{"part-0": "a,1,2\nab,,xyz\n"})
	rows, err := sorted(t, j, src, into, 0)
	if err != nil {
		t.Fatal(err)
	}
	real := int64(0)
	for _, c := range cellsOf(t, j, rows, into, AllFamilies) {
		real += int64(len(c) - len("0  :=") + targets.KeyValueOverhead)
	}
	if raw := RawSize(&rows.Regions[0], into); raw < real || raw > 3*real {
		t.Errorf("%d bytes are estimated, %d are written", raw, real)
	}
}

// TestRawSizeOfManyRegions: the columns are not measured for each region. With 200,000 of both, that would take
// minutes.
func TestRawSizeOfManyRegions(t *testing.T) {
	t.Parallel()
	const n = 200_000
	j := &jobfile.Job{}
	for i := range n {
		j.Columns = append(j.Columns, jobfile.Column{Name: strconv.Itoa(i), Family: "f", Qualifier: fmt.Sprintf("%06d", i)})
	}
	layout, err := entry.NewLayout(j)
	if err != nil {
		t.Fatal(err)
	}
	r := &counts.RegionCounts{Bytes: 100, Keys: 1, Digest: digest.Sum{Cells: 10}}
	for range n {
		if raw := RawSize(r, &targets.Target{Layout: layout}); raw != 100+n+10*(targets.KeyValueOverhead+7) {
			t.Fatalf("%d bytes", raw)
		}
	}
}

// TestInputOnTrial: an input of which a run could use nothing is refused before the run begins; one with some bad
// records is not.
func TestInputOnTrial(t *testing.T) {
	for content, code := range map[string]errcode.Code{
		"":                              "",
		"a,1,2\nb,3,4\n":                "",
		"a,1,2\nwrong\n":                "", // the percentage is of the whole input
		"a;1;2\nb;3;4\n":                errcode.RejectColumns,
		strings.Repeat("wrong\n", 3000): errcode.RejectColumns,
	} {
		_, src, _ := opened(t, plainJob, map[string]string{"part-0": content})
		o, err := options.Options{}.WithDefaults()
		if err != nil {
			t.Fatal(err)
		}
		if err := TryInput(t.Context(), src, o); failure.CodeOf(err) != code && (err != nil || code != "") {
			t.Errorf("%.20q: %s, %v", content, failure.CodeOf(err), err)
		}
	}
}

// TestTrialSize: the first records say how large the cells of an input will be.
func TestTrialSize(t *testing.T) {
	j, src, into := opened(t, plainJob, map[string]string{"part-0": strings.Repeat("a,1,2\n", 5*tried)})
	rows, err := sorted(t, j, src, into, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := RawSize(&rows.Regions[0], into) // all rows begin with a
	if raw := TrialSize(t.Context(), src, j, into); raw < want*99/100 || raw > want*101/100 {
		t.Errorf("%d bytes, want %d", raw, want)
	}
	broken := &source.Source{Job: j, FS: storage.Local, Files: append(slices.Clone(src.Files[:0]), src.Files...)}
	broken.Files[0].Path += "-gone"
	if raw := TrialSize(t.Context(), broken, j, into); raw != 0 {
		t.Errorf("of a file that is gone: %d bytes", raw)
	}
}

// TestContentsReadAgain: files that were touched have the content that the run recorded when it sorted them.
func TestContentsReadAgain(t *testing.T) {
	j, src, into := opened(t, plainJob+"\nfilter: b != 'no'", map[string]string{"part-0": "a,1,2\nb,1,no\n", "part-1": "c,1,2\nwrong\nc,5,6\n", "part-2": "d,1,2\n"})
	j.Input.MaxRejects.Percent = 90
	rows, err := sorted(t, j, src, into, 0)
	if err != nil {
		t.Fatal(err)
	}
	o, err := options.Options{}.WithDefaults()
	if err != nil {
		t.Fatal(err)
	}
	again, err := ReadContents(t.Context(), src, j, []int{0, 1}, o)
	if err != nil || len(again) != 2 {
		t.Fatalf("%v, %v", again, err)
	}
	for ordinal, content := range again {
		if was := rows.Files.OfFile(ordinal); *was != *content {
			t.Errorf("file %d: %+v when it was sorted, %+v now", ordinal, *was, *content)
		}
	}
}
