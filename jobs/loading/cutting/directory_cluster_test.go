package cutting_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bulkload/hfilewriter"
	"bulkload/internal/storage"
	"bulkload/internal/test/livetest"
	"bulkload/internal/test/runtest"
	"bulkload/internal/test/testfs"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/loading"
	"bulkload/jobs/upkeep/retention"
	"bulkload/load"
)

// TestLoadDirAcrossRegions: files of a job are cut for another table with other boundaries.
func TestLoadDirAcrossRegions(t *testing.T) {
	l := livetest.New(t)
	l.Table10(t)
	other := l.UniqueTable(t)
	l.Ask(t, "create", other, "f", "15,55", "COMPRESSION=SNAPPY", "DATA_BLOCK_ENCODING=FAST_DIFF", "BLOOMFILTER=ROW")
	l.Night(t, "2026-11-20", 1000, 6)
	o := l.Options()
	o.NoLoad = true
	runtest.Must(t, l.Job(t, "2026-11-20"), o)
	r, err := loading.Directory(context.Background(), l.Out+"/2026-11-20", other, l.Options())
	if err != nil || r.Load.Files != 12 {
		t.Errorf("%+v, %v, want the files of two regions cut", r, err)
	}
	mine := l.Table
	l.Table = other
	l.WantTable(t, "for another table", l.Expected(t, "2026-11-20"))
	l.Table = mine
}

// otherCells are lines of cells as the oracle writes and reads them, in the order of a table: 200 rows from a00 to t09
// with families f and g, several versions and delete markers, and the row m05 with 2,000 columns.
func otherCells(timestamp int64) []string {
	type line struct{ row, rest string }
	var all []line
	add := func(row, family, qualifier string, age int64, kind, value string) {
		all = append(all, line{row, fmt.Sprintf("\t%s\t%s\t%d\t%s\t%s", family, livetest.Hex(qualifier), timestamp-age, kind, livetest.Hex(value))})
	}
	for i := range 200 {
		row := fmt.Sprintf("%c%02d", 'a'+i/10, i%10)
		if i%3 == 0 {
			add(row, "f", "", 5, "DeleteFamily", "")
		}
		add(row, "f", "p", 0, "Put", "newest of "+row)
		add(row, "f", "p", 1, "Delete", "")
		add(row, "f", "p", 1, "Put", "deleted")
		add(row, "f", "p", 2, "Put", "")
		for q := range 2000 {
			if row == "m05" {
				add(row, "f", fmt.Sprintf("q%04d", q), 0, "Put", strings.Repeat("wide", 10))
			}
		}
		add(row, "g", "v", 0, "Put", row)
		if i%4 == 0 {
			add(row, "g", "v", 3, "DeleteColumn", "")
		}
	}
	slices.SortStableFunc(all, func(a, b line) int { return cmp.Compare(a.row, b.row) })
	lines := make([]string, len(all))
	for i, l := range all {
		lines[i] = livetest.Hex(l.row) + l.rest
	}
	return lines
}

// filesBelow are the files in folders of a directory, by path.
func filesBelow(t *testing.T, l *livetest.Live, dir string) map[string][]byte {
	t.Helper()
	fsys, name := l.HDFS(t, dir)
	all := map[string][]byte{}
	folders, err := storage.List(fsys, name)
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		if !folder.Dir || strings.HasPrefix(folder.Name, ".") {
			continue
		}
		files, err := fsys.ReadDir(path.Join(name, folder.Name))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			content, err := storage.ReadFile(fsys, path.Join(name, folder.Name, f.Name), 1<<30)
			if errors.Is(err, fs.ErrNotExist) {
				continue // HBase has just moved it, for a request of a process that was killed
			}
			if err != nil {
				t.Fatal(err)
			}
			all[folder.Name+"/"+f.Name] = content
		}
	}
	return all
}

// wantRaw compares all cells of the table, deleted ones and delete markers too.
func wantRaw(t *testing.T, l *livetest.Live, what string, want []string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "scanned")
	l.Ask(t, "scan", l.Table, "-raw", "-o", out)
	got, want := testfs.Lines(t, out), slices.Sorted(slices.Values(want))
	slices.Sort(got)
	if !slices.Equal(got, want) {
		i := 0
		for i < min(len(got), len(want)) && got[i] == want[i] {
			i++
		}
		t.Fatalf("%s: the table has %d cells, want %d; they differ from %d on: %.300s", what, len(got), len(want), i, strings.Join(got[i:min(i+2, len(got))], "; "))
	}
}

// wantKept compares the files that were cut and kept with the originals, and wants nothing else left of the cuts.
func wantKept(t *testing.T, l *livetest.Live, dir string, originals map[string][]byte) {
	t.Helper()
	kept := filesBelow(t, l, dir+"/.cut")
	if len(kept) != len(originals) {
		t.Errorf("%d files are kept, want %d", len(kept), len(originals))
	}
	for name, content := range originals {
		if !bytes.Equal(kept[name], content) {
			t.Errorf("%s is kept with %d bytes, had %d", name, len(kept[name]), len(content))
		}
	}
	fsys, name := l.HDFS(t, dir)
	if _, err := fsys.Stat(path.Join(name, ".cut/_cuts.json")); err == nil {
		t.Error("the record of the cuts is still there")
	}
	if left := filesBelow(t, l, dir); len(left) > 0 {
		t.Errorf("%d files are left", len(left))
	}
}

// TestFilesOfOtherToolsAreCut: files by HFileOutputFormat2 have rows of many regions. One boundary is a file's first
// row, one within the first bytes of a wide row; one region splits during the load, and one half of it again.
func TestFilesOfOtherToolsAreCut(t *testing.T) {
	l := livetest.New(t)
	l.Ask(t, "create", l.Table, "f,g", `a00,c055,m,m0,m05\x00,t09`, "VERSIONS=10", livetest.KeepAll, "g:COMPRESSION=SNAPPY",
		"f:DATA_BLOCK_ENCODING=FAST_DIFF", "f:COMPRESSION=SNAPPY", "f:BLOOMFILTER=ROWCOL", "f:BLOCKSIZE=8192")
	lines, dir := otherCells(1700000000000), l.Out+"/other"
	l.OtherTools(t, dir, lines)
	originals := filesBelow(t, l, dir)
	o := l.Options()
	var request sync.Once
	var cuts atomic.Int64
	o.Failpoint = func(p options.Point) {
		switch p {
		case options.BeforeRequest: // all requests wait for the split
			request.Do(func() { l.Ask(t, "split", l.Table, "p05") })
		case options.PartsRecorded:
			switch cuts.Add(1) {
			case 1:
				wantLiveSettings(t, l, dir, originals)
			case 3: // of the file of one of two families, which p05 is in
				l.Ask(t, "split", l.Table, "o")
			}
		}
	}
	r, err := loading.Directory(t.Context(), dir, l.Table, o)
	if err != nil || r.Status != failure.StatusDone {
		t.Fatalf("%+v, %v", r, err)
	}
	if cuts.Load() != 6 {
		t.Errorf("%d files were cut, want those of two families three times", cuts.Load())
	}
	wantRaw(t, l, "cut", lines)
	kept := filesBelow(t, l, dir+"/.cut")
	for name, content := range originals {
		if !bytes.Equal(kept[name], content) {
			t.Errorf("%s is not kept as it was", name)
		}
	}
	if r, err := loading.Directory(t.Context(), dir, l.Table, l.Options()); err != nil || r.Status != failure.StatusNothing {
		t.Errorf("again: %+v, %v", r, err)
	}
	rules := retention.Rules{Outputs: 24 * time.Hour}
	if r, err := retention.Clean(t.Context(), dir, rules, l.Options()); err != nil || r.Outputs[0].Action != retention.Retained || r.Outputs[0].Files != len(kept) {
		t.Errorf("what was loaded today is cleaned: %+v, %v", r, err)
	}
	rules.Now = time.Now().Add(25 * time.Hour)
	if r, err := retention.Clean(t.Context(), dir, rules, l.Options()); err != nil || r.Outputs[0].Action != retention.Deleted || r.Freed == 0 || len(filesBelow(t, l, dir)) > 0 {
		t.Errorf("what was loaded yesterday is not cleaned: %+v, %v", r, err)
	}
}

// wantLiveSettings compares the settings of the parts in family f with the table's.
func wantLiveSettings(t *testing.T, l *livetest.Live, dir string, originals map[string][]byte) {
	parts := 0
	for name, content := range filesBelow(t, l, dir) {
		if originals[name] != nil || !strings.HasPrefix(name, "f/") {
			continue
		}
		parts++
		r, err := hfilewriter.Open(bytes.NewReader(content), int64(len(content)))
		if err != nil {
			t.Error(err)
			continue
		}
		layout, err := r.Layout(nil)
		if err != nil {
			t.Error(err)
			continue
		}
		got := fmt.Sprintf("%s %s %s", layout.Compression, r.Info().Text("DATA_BLOCK_ENCODING"), r.Info().Text("BLOOM_FILTER_TYPE"))
		if got != "SNAPPY FAST_DIFF ROWCOL" || !strings.HasPrefix(r.Info().Text("BULKLOAD_SOURCE_TASK"), "attempt_") {
			t.Errorf("%s has %s, and was written by %s", name, got, r.Info().Text("BULKLOAD_SOURCE_TASK"))
		}
	}
	if parts < 5 {
		t.Errorf("there are %d parts", parts)
	}
}

// TestKilledCutOfADirectory kills the load at each step of a cut, and between its requests. The same command goes on.
func TestKilledCutOfADirectory(t *testing.T) {
	l := livetest.New(t)
	l.Ask(t, "create", l.Table, "f,g", "c05,g,m0", "VERSIONS=100", livetest.KeepAll)
	var all []string
	for i, c := range []struct {
		at    options.Point
		times int
	}{{options.Cut, 1}, {options.Cut, 2}, {options.PartNamed, 1}, {options.PartNamed, 6}, {options.PartsRecorded, 1}, {options.PartsRecorded, 2},
		{options.CutCleaned, 1}, {options.CutCleaned, 2}, {options.BeforeRequest, 2}} {
		what := fmt.Sprintf("killed at %q for the %d. time", c.at, c.times)
		lines, dir := otherCells(1700000000000+1000*int64(i)), fmt.Sprintf("%s/other%d", l.Out, i)
		l.OtherTools(t, dir, lines)
		originals := filesBelow(t, l, dir)
		l.CrashLoad(t, dir, c.at, c.times)
		for name := range originals {
			if filesBelow(t, l, dir)[name] == nil && filesBelow(t, l, dir+"/.cut")[name] == nil {
				t.Errorf("%s: %s is gone", what, name)
			}
		}
		if r, err := loading.Directory(t.Context(), dir, l.Table, l.Options()); err != nil || r.Status != failure.StatusDone {
			t.Fatalf("%s: %+v, %v", what, r, err)
		}
		all = append(all, lines...)
		wantRaw(t, l, what, all)
		wantKept(t, l, dir, originals)
	}
}

// TestFilesThatCantBeCut: what a part would lack is refused by name, and the file stays as it is. A file in one region
// is loaded as it is.
func TestFilesThatCantBeCut(t *testing.T) {
	l := livetest.New(t)
	l.Ask(t, "create", l.Table, "f,g", "m", "VERSIONS=10")
	var lines []string
	for _, row := range []string{"k", "l", "m", "n"} {
		lines = append(lines, fmt.Sprintf("%s\tf\t%s\t1700000000000\tPut\t%s", livetest.Hex(row), livetest.Hex("q"), livetest.Hex("value")))
	}
	local := filepath.Join(t.TempDir(), "cells")
	write := func(dir string, lines []string, settings ...string) string {
		t.Helper()
		if err := os.WriteFile(local, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(l.Ask(t, append([]string{"write", local, dir}, settings...)...))
	}
	refused := func(dir, code, says string, o options.Options) {
		t.Helper()
		before := filesBelow(t, l, dir)
		_, err := loading.Directory(t.Context(), dir, l.Table, o)
		if err == nil || string(failure.CodeOf(err)) != code || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", dir, err)
		}
		for name, content := range filesBelow(t, l, dir) {
			if !bytes.Equal(content, before[name]) {
				t.Errorf("%s: %s was changed", dir, name)
			}
		}
		if kept := filesBelow(t, l, dir+"/.cut"); len(kept) > 0 && code != "BL-LOAD-FILES" {
			t.Errorf("%s: %d files were cut", dir, len(kept))
		}
	}
	for i, c := range []struct{ settings, says string }{{"TAG=ttl", "tags (hfile.MAX_TAGS_LEN)"}, {"SEQUENCE=7", "sequence IDs (MAX_MEMSTORE_TS_KEY)"},
		{"INFO:MOB_FILE_REFS=t/x", "references to MOB files (MOB_FILE_REFS)"}} {
		dir := fmt.Sprintf("%s/uncut%d", l.Out, i)
		write(dir, lines, "TAGS=true", c.settings)
		refused(dir, "BL-LOAD-UNCUT", "a loss of "+c.says, l.Options())
	}
	few := l.Options()
	few.Properties = map[string]string{load.MaxFilesProperty: "1"}
	many := l.Out + "/many"
	write(many, lines[:3])
	write(many, lines[3:])
	refused(many, "BL-FILES-LIMIT", `region ["m", "") of table `+l.Table+" would get 2 files of family f", few)

	damaged := l.Out + "/damaged"
	l.Damage(t, write(damaged, lines, "CHECKSUM=CRC32C"), 60)
	if _, err := loading.Directory(t.Context(), damaged, l.Table, l.Options()); failure.KindOf(err) != failure.Differs {
		t.Errorf("a damaged file: %v", err)
	}
	wantRaw(t, l, "nothing was loaded", []string{""})

	again := l.Out + "/again"
	name := write(again, lines)
	l.Ask(t, "fs", "-mkdir", "-p", again+"/.cut/f")
	l.Ask(t, "fs", "-cp", name, again+"/.cut/f/")
	refused(again, "BL-LOAD-FILES", "move one of them away", l.Options())

	whole := l.Out + "/whole"
	write(whole, lines[2:], "TAGS=true", "TAG=kept", "SEQUENCE=7")
	if r, err := loading.Directory(t.Context(), whole, l.Table, l.Options()); err != nil || r.Load.Files != 1 {
		t.Errorf("a file in one region: %+v, %v", r, err)
	}
	wantRaw(t, l, "a file in one region", lines[2:])
}

// TestEveryCallOfACutFails lets a call of storage fail while a directory's files are cut and loaded. The load ends
// well, or with an error that names the fault; then the same command ends well, and the table has every cell.
func TestEveryCallOfACutFails(t *testing.T) {
	l := livetest.New(t)
	l.Ask(t, "create", l.Table, "f,g", "c", "VERSIONS=100", livetest.KeepAll)
	var all []string
	load := func(i int, n int64) (calls int64) {
		t.Helper()
		var lines []string
		for _, row := range []string{"a", "b", "c", "d"} {
			for _, family := range []string{"f", "g"} {
				lines = append(lines, fmt.Sprintf("%s\t%s\t%s\t%d\tPut\t%s", livetest.Hex(row), family, livetest.Hex("q"), 1700000000000+i, livetest.Hex(row)))
			}
		}
		dir := fmt.Sprintf("%s/other%d", l.Out, i)
		l.OtherTools(t, dir, lines)
		all = append(all, lines...)
		return l.Faulted(t, n, func(o options.Options) error {
			_, err := loading.Directory(t.Context(), dir, l.Table, o)
			return err
		})
	}
	calls := load(0, 0)
	for i, n := range runtest.FaultsOf(t, calls, 14) {
		load(1+i, n)
	}
	wantRaw(t, l, "every call fails", all)
}
