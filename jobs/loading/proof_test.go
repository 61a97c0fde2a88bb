package loading

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"bulkload/cell"
	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/internal/test/testwords"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/env/ledger"
	"bulkload/load"
)

// TestLostHow: a cause is named only if the table's identity agrees with it.
func TestLostHow(t *testing.T) {
	t.Parallel()
	table := &load.Table{Name: "ns:t"}
	p := proof{again: "load them again"}
	for identity, want := range map[string]string{
		"":               "Most likely",
		"another":        "was changed",
		table.Identity(): "neither",
	} {
		err := p.lost(claim{identity: identity}, table, []load.ProbeResult{{Serving: load.Missing}}, 1)
		if failure.CodeOf(err) != errcode.LoadLost || !testwords.Names(err, want, p.again) {
			t.Errorf("identity %q: %v", identity, err)
		}
	}
	err := p.lost(claim{}, table, []load.ProbeResult{{Serving: load.Expired}}, 1)
	if failure.CodeOf(err) != errcode.LoadLost || testwords.Names(err, "truncated") {
		t.Errorf("expired cells: %v", err)
	}
}

// fileIn is a file with one cell in each of its rows, as a load has recorded it.
func fileIn(table *load.Table, family string, rows ...string) load.HFile {
	f := load.HFile{URI: "hdfs:///out/" + family + "/" + rows[0], Family: family, FirstRow: []byte(rows[0]), LastRow: []byte(rows[len(rows)-1])}
	for _, row := range rows {
		f.Probes = append(f.Probes, load.Probe{Row: []byte(row)})
	}
	f.Opening = table.OpeningsOf(&f)
	return f
}

// TestWhatIsAskedOfAnUnchangedTable: one file in each region and family that has files, and two of its cells; of
// regions that were opened again, each file and all of its cells. An identity that is not known is a change.
func TestWhatIsAskedOfAnUnchangedTable(t *testing.T) {
	t.Parallel()
	table := tableOf("b", "c", "d")
	name(table, "")
	c := claim{table: "t", identity: table.Identity()}
	for _, family := range []string{"f", "g"} {
		for _, row := range []string{"a", "a0", "c", "b", "c0"} {
			c.files = append(c.files, fileIn(table, family, row, row+"5", row+"7"))
		}
	}
	asked := func(c claim, table *load.Table, every bool) string {
		var all []string
		for _, f := range c.choose(table, every) {
			all = append(all, fmt.Sprintf("%s/%s:%d", f.Family, f.FirstRow, len(f.Probes)))
		}
		return strings.Join(all, " ")
	}
	const once = "f/a:2 f/c:2 f/b:2 g/a:2 g/c:2 g/b:2"
	if got := asked(c, table, false); got != once {
		t.Errorf("unchanged: %s", got)
	}
	if got := asked(c, table, true); got != "f/a:2 f/a0:2 f/c:2 f/b:2 f/c0:2 g/a:2 g/a0:2 g/c:2 g/b:2 g/c0:2" {
		t.Errorf("unchanged, every file: %s", got)
	}
	opened := tableOf("b", "c", "d")
	name(opened, "")
	opened.Regions[2].Name = []byte("another")
	if got := asked(c, opened, false); got != "f/a:2 f/c:3 f/b:2 f/c0:3 g/a:2 g/c:3 g/b:2 g/c0:3" {
		t.Errorf("a region was opened again: %s", got)
	}
	altered := tableOf("b", "c", "d")
	name(altered, "")
	altered.Families = append(altered.Families, load.Family{Name: "g", Attributes: map[string]string{"TTL": "5"}})
	if got := asked(c, altered, false); got != "f/a:2 f/c:2 f/b:2 g/a:3 g/a0:3 g/c:3 g/b:3 g/c0:3" {
		t.Errorf("a family was altered: %s", got)
	}
	c.identity = ""
	if got := asked(c, table, false); strings.Contains(got, ":2") || len(got) <= len(once) {
		t.Errorf("the table is not known: %s", got)
	}
}

// TestAskedWhereRegionsShareAFile: a region is asked for its part of a file, also if that file begins in another region
// of which a file is asked for already.
func TestAskedWhereRegionsShareAFile(t *testing.T) {
	t.Parallel()
	table := tableOf("b", "c", "d")
	name(table, "")
	c := claim{table: "t", identity: table.Identity(), files: []load.HFile{fileIn(table, "f", "a", "a1", "a2"), fileIn(table, "f", "a3", "b1", "c1")}}
	var asked []string
	for _, f := range c.choose(table, false) {
		for _, p := range f.Probes {
			asked = append(asked, string(p.Row))
		}
	}
	if got := strings.Join(asked, " "); got != "a a2 a3 b1 c1" {
		t.Errorf("asked for %s", got)
	}
}

// TestOldestCellsExpire: a file whose oldest cell is older than the family's TTL can't be read as a whole, whatever its
// known cells show, unless the family keeps cells for longer.
func TestOldestCellsExpire(t *testing.T) {
	t.Parallel()
	now := time.Now()
	hoursAgo := func(n int) int64 { return now.Add(-time.Duration(n) * time.Hour).UnixMilli() }
	for what, c := range map[string]struct {
		attributes map[string]string
		oldest     int64
		probed     int64
		want       string
	}{
		"older":                            {map[string]string{"TTL": "3600"}, hoursAgo(2), hoursAgo(0), "hdfs:///out/f/a"},
		"younger":                          {map[string]string{"TTL": "10800"}, hoursAgo(2), hoursAgo(0), ""},
		"that of a known cell, older":      {map[string]string{"TTL": "3600"}, 0, hoursAgo(2), "hdfs:///out/f/a"},
		"that of a known cell, younger":    {map[string]string{"TTL": "10800"}, 0, hoursAgo(2), ""},
		"not known":                        {map[string]string{"TTL": "3600"}, 0, 0, ""},
		"no TTL":                           {map[string]string{"TTL": "FOREVER"}, hoursAgo(2), hoursAgo(0), ""},
		"the newest versions are kept":     {map[string]string{"TTL": "3600", "MIN_VERSIONS": "1"}, hoursAgo(2), hoursAgo(0), ""},
		"versions are kept, but not these": {map[string]string{"TTL": "3600", "MIN_VERSIONS": "0"}, hoursAgo(2), hoursAgo(0), "hdfs:///out/f/a"},
	} {
		table := tableOf("m")
		table.Families[0].Attributes = c.attributes
		file, bad := fileIn(table, "f", "a", "b"), fileIn(table, "f", "n", "o")
		file.Oldest, bad.Oldest = c.oldest, c.oldest
		for i := range file.Probes {
			file.Probes[i].Timestamp, file.Probes[i].Type = hoursAgo(0), byte(cell.Put)
		}
		file.Probes[len(file.Probes)-1].Timestamp = c.probed // a cell without a timestamp is not known
		v := &verdict{table: table, bad: []load.ProbeResult{{HFile: bad, Serving: load.Missing}}}
		v.addExpired(claim{table: "t", files: []load.HFile{file, bad}})
		var got string
		for _, f := range v.bad[1:] {
			got += f.URI
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", what, got, c.want)
		}
	}
}

// name gives regions the names of their start rows.
func name(table *load.Table, suffix string) {
	for i := range table.Regions {
		table.Regions[i].Name = append(table.Regions[i].Start, "#"+suffix...)
	}
}

// TestVerdicts: what the answers for one file of three rows in two regions prove, if the regions were opened again or
// not, and if the table's state was written again.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	const served, superseded, missing, deleted, expired = load.Served, load.Superseded, load.Missing, load.Deleted, load.Expired
	for _, c := range []struct {
		what     string
		answers  [3]load.Serving // of rows a and b in the first region, and of row n in the second one
		before   string          // rows that the table had before
		opened   string          // regions were opened again: "moved", or "split" into others or merged
		written  bool            // the table's state was written again
		repeated bool            // another load had equal cells
		want     string
	}{
		{"all are there", [3]load.Serving{served, served, served}, "", "", false, false, ""},
		{"newer versions in an unchanged table", [3]load.Serving{superseded, superseded, superseded}, "", "", false, false, ""},
		{"equal cells of before in an unchanged table", [3]load.Serving{served, served, served}, "abn", "", false, true, ""},
		{"deleted in an unchanged table", [3]load.Serving{deleted, deleted, served}, "", "", false, false, "bad"},
		{"expired", [3]load.Serving{expired, expired, expired}, "", "", false, false, "bad"},
		{"all are there, opened again", [3]load.Serving{served, served, served}, "", "moved", false, true, ""},
		{"one of each region is there", [3]load.Serving{superseded, served, served}, "", "moved", false, false, ""},
		{"newer versions in the second region", [3]load.Serving{served, served, superseded}, "", "moved", false, false, "m-n"},
		{"newer versions", [3]load.Serving{superseded, superseded, superseded}, "", "moved", false, false, "a-m m-n"},
		{"the one that is there was there before", [3]load.Serving{served, superseded, served}, "a", "moved", false, false, "a-m"},
		{"all were there before", [3]load.Serving{served, served, served}, "abn", "moved", false, false, "a-m m-n"},
		{"one was not there before", [3]load.Serving{served, served, served}, "an", "moved", false, false, "m-n"},
		{"all are there, in other regions", [3]load.Serving{served, served, served}, "", "split", false, false, "a-m m-n"},
		{"another table", [3]load.Serving{served, served, served}, "", "", true, false, ""},
		{"another table, newer versions", [3]load.Serving{superseded, superseded, served}, "", "", true, false, "a-m"},
		{"another table, another load had equal cells", [3]load.Serving{served, served, served}, "", "", true, true, "a-m m-n"},
		{"a cell is missing", [3]load.Serving{served, missing, served}, "", "moved", false, false, "bad"},
	} {
		recorded, now := tableOf("m"), tableOf("m")
		name(recorded, "")
		name(now, map[bool]string{true: "of others"}[c.opened == "split"])
		if c.opened == "moved" {
			now.Regions[0].Server, now.Regions[1].Server = "another", "another"
		}
		file := fileIn(recorded, "f", "a", "b", "n")
		claimed := claim{table: "t", identity: recorded.Identity(), repeated: c.repeated, files: []load.HFile{file}}
		if c.written {
			claimed.identity = "another"
		}
		f := load.ProbeResult{HFile: file}
		for i := range f.Probes {
			f.Probes[i].Before = strings.Contains(c.before, string(f.Probes[i].Row))
			region := now.Overlapping(f.Probes[i].Row, f.Probes[i].Row)[0]
			f.Answers = append(f.Answers, load.Answer{Serving: c.answers[i], Region: region.Name})
			f.Serving = max(f.Serving, c.answers[i])
		}
		ambiguous, err := claimed.ambiguous(now, claimed.files)
		if err != nil {
			t.Fatal(err)
		}
		v := &verdict{table: now, ambiguous: ambiguous}
		v.add(claimed, f)
		var got []string
		for range v.bad {
			got = append(got, "bad")
		}
		for _, g := range v.gaps {
			got = append(got, fmt.Sprintf("%s-%s", g.rows.First, g.rows.Last))
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s: %q, want %q", c.what, text, c.want)
		}
	}
}

// TestUnchangedRegionWithoutKnownCells: nothing is open about a file in a region that is as it was, even if none of the
// cells that are known lie there.
func TestUnchangedRegionWithoutKnownCells(t *testing.T) {
	t.Parallel()
	table := tableOf("m")
	name(table, "")
	file := fileIn(table, "f", "a", "n")
	file.Probes = file.Probes[:1]
	f := load.ProbeResult{HFile: file, Serving: load.Served, Answers: []load.Answer{{Serving: load.Served, Region: table.Regions[0].Name}}}
	v := &verdict{table: table}
	if v.add(claim{table: "t", identity: table.Identity(), files: []load.HFile{file}}, f); len(v.bad) > 0 || len(v.gaps) > 0 {
		t.Errorf("%+v", v)
	}
}

// TestUnreadableFiles: the error names how many files can't be read, and the first of them.
func TestUnreadableFiles(t *testing.T) {
	t.Parallel()
	bad := []load.ProbeResult{{HFile: load.HFile{URI: "hdfs:///f/1"}, Serving: load.Missing}}
	err := proof{}.lost(claim{table: "t"}, tableOf("m"), bad, 2)
	if failure.CodeOf(err) != errcode.LoadLost || !testwords.Names(err, "1 of 2 loaded files", "hdfs:///f/1") {
		t.Error(err)
	}
}

// TestGapsWithoutTheInput: what the known cells can't decide is for a person if the run's rows are not known.
func TestGapsWithoutTheInput(t *testing.T) {
	t.Parallel()
	v := &verdict{table: tableOf("m"), gaps: []gap{{file: load.ProbeResult{HFile: load.HFile{URI: "hdfs:///f/1"}}}}}
	err := (proof{compare: "compare them", again: "load them again"}).close(t.Context(), claim{table: "t"}, v, nil)
	if failure.CodeOf(err) != errcode.LoadUnsure || !testwords.Names(err, "compare them", "load them again") {
		t.Error(err)
	}
}

// TestMissingRows: files of all families in a range that lacks rows are to be written again. After that no cell proves
// anything in that range, although nothing was opened since: all rows are asked for again. If they are still missing it
// is for a person.
func TestMissingRows(t *testing.T) {
	t.Parallel()
	table := tableOf("m", "s")
	name(table, "")
	ctx, asked := t.Context(), ""
	p := proof{again: "load them again", rows: func(_ context.Context, ranges []load.RowRange) (RowsFound, error) {
		for _, r := range ranges {
			asked += fmt.Sprintf("%s-%s ", r.First, r.Last)
		}
		return RowsFound{Rows: 2, Missing: 1, Example: "row b"}, nil
	}}
	first, second := fileIn(table, "f", "a", "b"), fileIn(table, "f", "n", "o")
	c := claim{table: "t", identity: table.Identity(), files: []load.HFile{first, second, fileIn(table, "g", "b", "c"), fileIn(table, "g", "t")}}
	served := func(f load.HFile) load.ProbeResult {
		found := load.ProbeResult{HFile: f}
		for _, probe := range f.Probes {
			found.Answers = append(found.Answers, load.Answer{Serving: load.Served, Region: table.Overlapping(probe.Row, probe.Row)[0].Name})
		}
		return found
	}
	v := &verdict{table: table, files: c.files, gaps: []gap{{file: served(first), rows: load.RowRange{First: []byte("a"), Last: []byte("b")}, reason: "opened"}}}
	err := p.close(ctx, c, v, map[string]bool{})
	var missing *missingError
	if !errors.As(err, &missing) || len(missing.Files) != 2 || missing.Files[0].URI != first.URI ||
		missing.Files[1].Family != "g" || !testwords.Names(err, "row b") {
		t.Fatal(err)
	}
	if !errors.Is(err, load.ErrUnavailable) {
		t.Errorf("not tried again: %v", err)
	}
	c.missing = missing.ranges
	v = &verdict{table: table, files: c.files}
	for _, f := range c.choose(table, false) {
		v.add(c, served(f))
	}
	if len(v.gaps) != 2 || v.gaps[0].file.URI != first.URI || v.gaps[1].file.Family != "g" {
		t.Fatal(v.gaps)
	}
	if err := p.close(ctx, c, v, map[string]bool{}); failure.CodeOf(err) != errcode.LoadLost || errors.As(err, &missing) || asked != "a-b a-c " {
		t.Errorf("asked for %s: %v", asked, err)
	}
}

// TestGapsOfAnInterruptedLoad: what nothing proves is written again while other files are not loaded yet.
func TestGapsOfAnInterruptedLoad(t *testing.T) {
	t.Parallel()
	v := &verdict{table: tableOf("m"), gaps: []gap{{file: load.ProbeResult{HFile: load.HFile{URI: "hdfs:///f/1"}}}}}
	var unproven *unprovenError
	if err := (proof{rewrite: true}).close(t.Context(), claim{table: "t"}, v, nil); !errors.As(err, &unproven) || len(unproven.lost.Files) != 1 || unproven.lost.Files[0].URI != "hdfs:///f/1" {
		t.Error(err)
	}
}

// TestRepeatedLoads: a run whose cells another run of the job and date may have loaded knows it, also if that run's
// entry in the ledger was replaced by its own, or by one without files.
func TestRepeatedLoads(t *testing.T) {
	t.Parallel()
	record, _ := loadOf(t, 1)
	m := record.out.Manifest
	l := &OutputLoad{out: record.out, loader: &Loader{Out: record.out, Ledger: ledger.Open(storage.Local, t.TempDir())}}
	for what, c := range map[string]struct {
		entry    *ledger.Entry
		corrects string
		want     bool
	}{
		"no load":                           {nil, "", false},
		"its own":                           {&ledger.Entry{Run: "run", Files: []ledger.LoadedFile{{}}}, "", false},
		"its own, of a repeated load":       {&ledger.Entry{Run: "run", Files: []ledger.LoadedFile{{}}, Repeated: true}, "", true},
		"another run's":                     {&ledger.Entry{Run: "other", Files: []ledger.LoadedFile{{}}}, "", true},
		"an empty run's":                    {&ledger.Entry{Run: "other"}, "", false},
		"an empty run's after another":      {&ledger.Entry{Run: "other", Repeated: true}, "", true},
		"none, and the run is a correction": {nil, "other", true},
	} {
		m.Corrects, m.JobHash = c.corrects, hex.EncodeToString([]byte(what))
		if e := c.entry; e != nil {
			e.State, e.Table, e.JobHash, e.Counts, e.Inputs = ledger.Loaded, "t", m.JobHash, []byte("{}"), []byte("[]")
			if err := l.loader.Ledger.Write(e, ""); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := l.repeats(); got != c.want || err != nil {
			t.Errorf("%s: %v, %v", what, got, err)
		}
	}
}

// TestRangesOfGaps: rows of several gaps are asked for once.
func TestRangesOfGaps(t *testing.T) {
	t.Parallel()
	var gaps []gap
	for _, r := range []string{"m-q", "a-c", "b-b", "c-f", "p-z", "za-zb"} {
		first, last, _ := strings.Cut(r, "-")
		gaps = append(gaps, gap{rows: load.RowRange{First: []byte(first), Last: []byte(last)}})
	}
	var got []string
	for _, r := range rangesOf(gaps) {
		got = append(got, fmt.Sprintf("%s-%s", r.First, r.Last))
	}
	if text := strings.Join(got, " "); text != "a-f m-z za-zb" {
		t.Error(text)
	}
}
