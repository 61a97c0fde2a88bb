package verify

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/cell"
	"bulkload/internal/digest"
	"bulkload/internal/errcode"
	"bulkload/internal/siteconf"
	"bulkload/internal/storage"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/simcluster"
	"bulkload/internal/test/sortingtest"
	"bulkload/internal/test/testfs"
	"bulkload/internal/test/testwords"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/ledger"
	"bulkload/jobs/pipeline/sorting"
	"bulkload/load"
	"bulkload/partition"
)

// tableCase is a source of six rows in three regions, of which the last has none, and a simulated table with its cells.
type tableCase struct {
	*testing.T
	sim      *simcluster.Cluster
	verifier *outputVerifier
	rows     *sorting.Rows
	cells    []cell.Cell // of the source
	said     []string
}

const tableRows = 6

func newTableCase(t *testing.T) *tableCase {
	t.Helper()
	in := testfs.Tree(t, map[string]string{"part-0": "b,1,2\nc,3,4\nf,5,6\nh,7,8\nk,9,10\nl,11,12\n"})
	j, src, into := jobtest.Open(t, fmt.Sprintf("table: t\nfamily: f\ntimestamp: 2026-11-20\noutput: out\nhfile: {}\nrowkey: id\nregions: {from: splits, splits: [g, p]}\n"+
		"input: {path: '%s', columns: [id, a, b], field_delimiter: ',', record_delimiter: '\\n'}\ncolumns_map: {id: {skip: true}}\n", in))
	c := &tableCase{T: t, sim: simcluster.New(2), rows: sortingtest.Sort(t, j, src, into)}
	t.Cleanup(c.sim.Close)
	client, err := load.Connect(t.Context(), new(siteconf.Conf), load.Caller{User: "tina"}, c.sim)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() }) // it only reads
	c.verifier = &outputVerifier{job: j, target: into, cluster: client, report: new(Verification)}
	for _, u := range c.rows.SliceTasks(j, into) {
		cells, err := sorting.NewCells(into, c.rows.Sorted, u.Slice, sorting.AllFamilies)
		c.do(err)
		c.cells = append(c.cells, present(t, cells)...)
		c.do(cells.Close())
	}
	c.do(c.sim.Create("t", [][]byte{[]byte("g"), []byte("p")}, simcluster.Family{Name: "f"}, simcluster.Family{Name: "other"}))
	c.do(c.sim.BulkLoad("t", c.cells))
	return c
}

func (c *tableCase) do(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// at is a cell of the table, so much later than the source's.
func (c *tableCase) at(row, column string, later int64, value string) cell.Cell {
	family, qualifier, _ := strings.Cut(column, ":")
	return cell.Cell{Row: []byte(row), Family: []byte(family), Qualifier: []byte(qualifier), Timestamp: c.cells[0].Timestamp + later, Type: cell.Put, Value: []byte(value)}
}

func (c *tableCase) options() options.Options {
	o, err := options.Options{WorkDir: c.TempDir(), Say: func(text string) { c.said = append(c.said, text) }}.WithDefaults()
	c.do(err)
	return o
}

// rowDeleted is a delete marker that hides a row.
func (c *tableCase) rowDeleted(row string) cell.Cell {
	marker := c.at(row, "f:", 1, "")
	marker.Type = cell.DeleteFamily
	return marker
}

// tableChange is what has happened to a table, and what a comparison finds. Extra rows depend on what of the table is
// read.
type tableChange struct {
	what                           string
	change                         func(c *tableCase)
	missing, different, superseded int64
	older                          int64 // missing, with older versions that only a reading of the whole table meets
	between, all                   int64 // extra rows
	extraCells                     int64 // of rows of the source
}

func tableChanges() []tableChange {
	compact := func(c *tableCase) {
		for _, row := range []string{"a", "h", "q"} {
			c.do(c.sim.Compact("t", []byte(row), 10, true))
		}
	}
	return []tableChange{
		{what: "nothing"},
		{what: "a compaction", change: compact},
		{what: "a row was deleted", change: func(c *tableCase) { c.do(c.sim.Put("t", c.rowDeleted("c"))) }, missing: 2},
		{what: "the first and the last row were deleted", change: func(c *tableCase) { c.do(c.sim.Put("t", c.rowDeleted("b"), c.rowDeleted("l"))) }, missing: 4},
		{what: "a newer version, equal", change: func(c *tableCase) { c.do(c.sim.Put("t", c.at("c", "f:a", 1, "3"))) }, superseded: 1},
		{what: "a newer version, other", change: func(c *tableCase) { c.do(c.sim.Put("t", c.at("c", "f:a", 1, "33"))) }, superseded: 1},
		{what: "newer versions, and the older are compacted away", change: func(c *tableCase) {
			c.do(c.sim.Put("t", c.at("c", "f:a", 1, "33"), c.at("k", "f:b", 5, "x")))
			compact(c)
		}, superseded: 2},
		{what: "deleted, and put again later", change: func(c *tableCase) {
			c.do(c.sim.Put("t", c.rowDeleted("c"), c.at("c", "f:a", 2, "3")))
			compact(c)
		}, missing: 1, superseded: 1},
		{what: "another value with the same timestamp", change: func(c *tableCase) { c.do(c.sim.Put("t", c.at("h", "f:b", 0, "x"))) }, different: 1},
		{what: "an older version only", change: func(c *tableCase) {
			c.do(c.sim.Truncate("t", true))
			older := slices.Clone(c.cells)
			for i := range older {
				older[i].Timestamp--
			}
			c.do(c.sim.BulkLoad("t", older))
		}, older: 12},
		{what: "truncated", change: func(c *tableCase) { c.do(c.sim.Truncate("t", false)) }, missing: 12},
		{what: "rows of others", change: func(c *tableCase) {
			c.do(c.sim.Put("t", c.at("a", "f:a", 0, "x"), c.at("d", "f:a", 0, "x"), c.at("d", "f:b", 0, "x"), c.at("i", "f:a", -1, "x"), c.at("z", "f:a", 0, "x")))
		}, between: 1, all: 4},
		{what: "cells of others in rows of the source", change: func(c *tableCase) {
			c.do(c.sim.Put("t", c.at("b", "f:z", 0, "x"), c.at("l", "f:z", 9, "x")))
		}, extraCells: 2},
		{what: "regions were split, merged and moved", change: func(c *tableCase) {
			c.do(c.sim.Split("t", []byte("c")))
			c.do(c.sim.Merge("t", []byte("k")))
			c.do(c.sim.Move("t", []byte("b")))
		}},
	}
}

// TestTableComparison: the source's rows are compared with those of the table, or with all of it. Cells of earlier
// loads are only met in the whole table.
func TestTableComparison(t *testing.T) {
	t.Parallel()
	for _, change := range tableChanges() {
		for whole, extra := range map[bool]int64{false: change.between, true: change.all} {
			c := newTableCase(t)
			if change.change != nil {
				change.change(c)
			}
			c.verifier.whole = whole
			missing, different := change.missing+change.older, change.different
			if whole {
				missing, different = change.missing, change.different+change.older
			}
			err := c.verifier.run(t.Context(), c.rows, c.options())
			r := c.verifier.report
			n := missing + different
			if (n == 0) != (err == nil) || n > 0 && failure.CodeOf(err) != errcode.VerifyDiffers || (r.Status == "done") != (n == 0) || len(r.Differences) != int(n) {
				t.Errorf("%s, whole %v: %s, %v", change.what, whole, r.Status, err)
			}
			if r.Missing != missing || r.Different != different || r.Superseded != change.superseded ||
				r.ExtraRows != extra || r.Rows != tableRows || r.Cells != 12-n-change.superseded ||
				r.Against != "table t" {
				t.Errorf("%s, whole %v: %+v", change.what, whole, r)
			}
			if extra == 0 && r.Extra != change.extraCells {
				t.Errorf("%s, whole %v: %d extra cells, want %d", change.what, whole, r.Extra, change.extraCells)
			}
			if got := c.verifier.compared.Sum(); got != tableRows+extra {
				t.Errorf("%s, whole %v: %d rows were compared, want %d", change.what, whole, got, tableRows+extra)
			}
			if want := digestOf(c.cells); c.verifier.wantedSum != want {
				t.Errorf("%s, whole %v: the source has %v, want %v", change.what, whole, c.verifier.wantedSum, want)
			}
		}
	}
}

// TestStaleCellsOfATable: listed are cells with the source's timestamp that the source does not have. What differs is
// decided by the cells with any timestamp, since a newer version may have replaced those of the source.
func TestStaleCellsOfATable(t *testing.T) {
	t.Parallel()
	for _, change := range tableChanges() {
		c := newTableCase(t)
		if change.change != nil {
			change.change(c)
		}
		c.do(c.sim.Put("t", c.at("e", "f:a", 0, "stale"), c.at("f", "other:a", 0, "stale"), c.at("f", "f:late", 1, "of another night")))
		name := filepath.Join(t.TempDir(), "list")
		list, err := newStaleList(name)
		c.do(err)
		c.verifier.stale = list
		err = c.verifier.run(t.Context(), c.rows, c.options())
		r := c.verifier.report
		missing := change.missing + change.older
		if n := missing + change.different; (n == 0) != (err == nil) || r.Missing != missing ||
			r.Different != change.different || r.Rows != tableRows {
			t.Errorf("%s: %+v, %v", change.what, r, err)
		}
		// It is read a second time only if something seems to differ.
		if again := c.verifier.stale == nil; again && err == nil && r.Superseded == 0 {
			t.Errorf("%s: the table was read twice, and nothing differs", change.what)
		}
		c.do(list.save())
		c.do(list.close())
		text, err := os.ReadFile(name)
		c.do(err)
		if lines := string(text); !strings.Contains(lines, "row\te\tf:a\t") || !strings.Contains(lines, "cell\tf\tother:a\t") || strings.Contains(lines, "late") || int64(strings.Count(lines, "\n")) != r.Extra {
			t.Errorf("%s: listed is %q of %d cells", change.what, lines, r.Extra)
		}
	}
}

// TestTableThatCantBeRead: a comparison that could not be made is no success, however much of the table it reads.
func TestTableThatCantBeRead(t *testing.T) {
	t.Parallel()
	for _, whole := range []bool{false, true} {
		c := newTableCase(t)
		c.verifier.whole = whole
		stopped, cancel := context.WithCancel(t.Context())
		cancel()
		if err := c.verifier.run(stopped, c.rows, c.options()); failure.KindOf(err) != failure.Interrupted {
			t.Errorf("stopped, whole %v: %v", whole, err)
		}
		c.do(c.sim.Disable("t"))
		if err := c.verifier.run(t.Context(), c.rows, c.options()); failure.KindOf(err) != failure.Refused || c.verifier.report.Status == "done" || c.verifier.report.Rows != 0 {
			t.Errorf("a disabled table, whole %v: %+v, %v", whole, c.verifier.report, err)
		}
		c.do(c.sim.Drop("t"))
		if err := c.verifier.run(t.Context(), c.rows, c.options()); failure.KindOf(err) != failure.Refused {
			t.Errorf("a dropped table, whole %v: %v", whole, err)
		}
	}
}

// TestHowATableIsRead: the command says it, with the number of rows. Only slices with rows of the source are read,
// and of these only those with rows of the wanted ranges.
func TestHowATableIsRead(t *testing.T) {
	t.Parallel()
	for whole, want := range map[bool]string{
		false: "comparing 6 source rows with table t (about 2.0 MiB), one range scan per region",
		true:  ", scans of all regions",
	} {
		c := newTableCase(t)
		c.verifier.whole = whole
		c.do(c.verifier.run(t.Context(), c.rows, c.options()))
		if !slices.ContainsFunc(c.said, func(text string) bool { return strings.HasSuffix(text, want) }) {
			t.Errorf("said %q, want %q", c.said, want)
		}
	}
	c := newTableCase(t)
	called := false
	c.sim.Interrupt(0, func() { called = true })
	if err := c.verifier.scanRows(t.Context(), nil, &joiner{cursors: []*cursor{{}}}); err != nil || called {
		t.Errorf("a slice without rows is scanned: %t, %v", called, err)
	}
	c.sim.Interrupt(0, nil)
	for _, ranges := range []struct {
		within []load.RowRange
		rows   int64
	}{
		{nil, 6}, {[]load.RowRange{}, 0}, {[]load.RowRange{{First: []byte("a"), Last: []byte("b")}}, 3}, {[]load.RowRange{{First: []byte("g"), Last: []byte("g")}}, 3},
		{[]load.RowRange{{First: []byte("f"), Last: []byte("g")}}, 6}, {[]load.RowRange{{First: []byte("q"), Last: []byte("z")}}, 0},
	} {
		c := newTableCase(t)
		c.verifier.within = ranges.within
		if err := c.verifier.run(t.Context(), c.rows, c.options()); err != nil || c.verifier.report.Rows != ranges.rows {
			t.Errorf("%q: %d rows, %v", ranges.within, c.verifier.report.Rows, err)
		}
	}
	v, _ := wideSource(t, "a,1,x,y,z\n")
	for name, slice := range map[string]partition.Slice{"start": {Start: []byte("a")}, "end": {End: []byte("a")}} {
		if _, _, err := v.bounds(slice); err == nil {
			t.Errorf("a slice whose %s is no key of the sort has bounds", name)
		}
		if err := v.present(t.Context(), slice, new(joiner)); err == nil {
			t.Errorf("a slice whose %s is no key of the sort is scanned", name)
		}
		v.within = []load.RowRange{{}}
		if _, err := v.compares(slice); err == nil {
			t.Errorf("a slice whose %s is no key of the sort is compared", name)
		}
	}
}

func digestOf(cells []cell.Cell) digest.Sum {
	var s digest.Stream
	for i := range cells {
		s.Add(&cells[i])
	}
	return s.Sum
}

// loaded is what the ledger has of the load of the table's cells.
func (c *tableCase) loaded() (*loadedRun, *ledger.Entry) {
	c.Helper()
	e := &ledger.Entry{State: ledger.Loaded, Job: "job.yaml", JobHash: c.verifier.job.Hash(), Table: "t", Run: "run1", Output: "out", Digest: digestOf(c.cells),
		Counts: []byte(`{"rows_written":6}`), Inputs: []byte("[]")}
	probe := func(row string, later int64) []ledger.KnownCell {
		return []ledger.KnownCell{{Row: row, Timestamp: c.cells[0].Timestamp + later}}
	}
	for _, f := range [][2]string{{"h", "l"}, {"b", "f"}} { // in any order
		e.Files = append(e.Files, ledger.LoadedFile{URI: "out/f/" + f[0], Family: "f", FirstRow: f[0], LastRow: f[1], Probes: probe(f[0], 0)})
	}
	l := ledger.Open(storage.Local, filepath.Join(c.TempDir(), "ledger"))
	c.do(l.Write(e, ""))
	other := *e
	other.JobHash, other.Job, other.Run, other.Files = "later", "later.yaml", "run2", []ledger.LoadedFile{{URI: "x", Family: "f", FirstRow: "a", LastRow: "z", Probes: probe("a", 1)}}
	c.do(l.Write(&other, ""))
	return &loadedRun{options: c.options(), ledger: l, cluster: c.verifier.cluster}, e
}

// TestLoadedSums: the table's cells with the run's timestamp must add up to what was loaded. If they don't, newer
// versions may be why; if there are too few of those, cells are gone for sure.
func TestLoadedSums(t *testing.T) {
	t.Parallel()
	for _, change := range []struct {
		what   string
		change func(c *tableCase)
		cells  int64
		open   errcode.Code // what the source has to decide
		failed errcode.Code // what is certain
		says   string
	}{
		{"nothing", func(*tableCase) {}, 12, "", "", ""},
		{"newer versions", func(c *tableCase) { c.do(c.sim.Put("t", c.at("b", "f:a", 1, "x"), c.at("d", "f:a", 1, "x"))) }, 12, "", "", ""},
		{"other columns, families and rows", func(c *tableCase) {
			c.do(c.sim.Put("t", c.at("b", "f:z", 0, "x"), c.at("b", "other:a", 0, "x"), c.at("a", "f:a", 0, "x"), c.at("g", "f:a", 0, "x"), c.at("m", "f:a", 0, "x")))
		}, 12, "", "", ""},
		{"a row is gone", func(c *tableCase) { c.do(c.sim.Put("t", c.rowDeleted("c"))) }, 10, "", errcode.VerifyDiffers,
			"at least 2 cells"},
		{"a row is gone, and another has a newer version", func(c *tableCase) {
			c.do(c.sim.Put("t", c.rowDeleted("c"), c.at("d", "f:a", 1, "x")))
		}, 10, "", errcode.VerifyDiffers, "at least 1 cell"},
		{"a row is gone, and another is newer", func(c *tableCase) {
			c.do(c.sim.Put("t", c.rowDeleted("c"), c.at("d", "f:a", 1, "x"), c.at("d", "f:b", 1, "x")))
		}, 10, errcode.VerifySource, "", "up to 2 others"},
		{"a newer version, and the older one is compacted away", func(c *tableCase) {
			c.do(c.sim.Put("t", c.at("b", "f:a", 1, "x")))
			c.do(c.sim.Compact("t", []byte("b"), 10, true))
		}, 11, errcode.VerifySource, "", "up to 1 others"},
		{"a newer version, in a family that keeps deleted cells", func(c *tableCase) {
			keeps := map[string]string{"KEEP_DELETED_CELLS": "TTL"}
			c.do(c.sim.Alter("t", simcluster.Family{Name: "f", Attributes: keeps}, simcluster.Family{Name: "other"}))
			c.do(c.sim.Put("t", c.at("b", "f:a", 1, "x")))
		}, 11, errcode.VerifySource, "", "up to 1 others"},
		{"a newer version, and another family keeps deleted cells", func(c *tableCase) {
			keeps := map[string]string{"KEEP_DELETED_CELLS": "TRUE"}
			c.do(c.sim.Alter("t", simcluster.Family{Name: "f"}, simcluster.Family{Name: "other", Attributes: keeps}))
			c.do(c.sim.Put("t", c.at("b", "f:a", 1, "x")))
		}, 12, "", "", ""},
		{"another value", func(c *tableCase) { c.do(c.sim.Put("t", c.at("b", "f:a", 0, "x"))) }, 12,
			errcode.VerifyDiffers, "", "Only the source"},
		{"an extra row", func(c *tableCase) { c.do(c.sim.Put("t", c.at("d", "f:a", 0, "x"))) }, 13,
			errcode.VerifyDiffers, "", "13 cells"},
		{"a disabled table", func(c *tableCase) { c.do(c.sim.Disable("t")) }, 0, "", errcode.TableDisabled, "verify table t"},
	} {
		c := newTableCase(t)
		r, e := c.loaded()
		change.change(c)
		report := new(Verification)
		open, err := r.verifyOne(t.Context(), c.verifier.job, e, report)
		if open == nil && change.open != "" || open != nil && failure.CodeOf(open) != change.open || err == nil && change.failed != "" || err != nil && failure.CodeOf(err) != change.failed {
			t.Errorf("%s: open %v, failed %v", change.what, open, err)
		}
		if report.Cells != change.cells || (report.Status == "done") != (open == nil && err == nil) || report.Against != "table t" || report.Sharers != nil ||
			change.says != "" && !testwords.Names(cmp.Or(open, err), change.says) {
			t.Errorf("%s: %+v; open %v, failed %v", change.what, report, open, err)
		}
		if said := strings.Join(c.said, "\n"); change.failed != errcode.TableDisabled &&
			!strings.Contains(said, "counting the 12 cells of 6 rows with timestamp 1795132800000 in table t: "+
				"2 range scans (at most 2.0 MiB); the source is not read") {
			t.Errorf("%s: said %q", change.what, said)
		}
	}
}

// TestLoadsOfOneTimestamp: they are named.
func TestLoadsOfOneTimestamp(t *testing.T) {
	t.Parallel()
	c := newTableCase(t)
	r, e := c.loaded()
	for i, other := range []ledger.Entry{{Job: "twin.yaml", JobHash: "twin", Run: "run3"}, {Output: "hdfs:///dir", JobHash: "dir"}, {Job: "job.yaml", JobHash: e.JobHash, Date: "2026-11-19", Run: "run4"}} {
		other.State, other.Table, other.Counts, other.Inputs, other.Files = ledger.Loaded, "t", e.Counts, e.Inputs, e.Files
		c.do(r.ledger.Write(&other, ""))
		_, before, err := r.loadsOf(c.verifier.job, e)
		c.do(err)
		if others, again, err := r.loadsOf(c.verifier.job, e); err != nil || len(others) != i+1 || again != before {
			t.Errorf("%q, %v", others, err)
		}
	}
	report := new(Verification)
	if open, err := r.verifyOne(t.Context(), c.verifier.job, e, report); open != nil || err != nil || report.Rows != tableRows {
		t.Errorf("%+v, %v, %v", report, open, err)
	}
	slices.Sort(report.Sharers)
	if want := []string{"hdfs:///dir (run of files)", "job.yaml (run run4)", "twin.yaml (run run3)"}; !slices.Equal(report.Sharers, want) {
		t.Errorf("%q, want %q", report.Sharers, want)
	}
	c.do(c.sim.Put("t", c.rowDeleted("c")))
	_, err := r.verifyOne(t.Context(), c.verifier.job, e, new(Verification))
	if failure.CodeOf(err) != errcode.VerifyDiffers || !testwords.Names(err, report.Sharers...) {
		t.Error(err)
	}
	moments := *c.verifier.job
	moments.Moments = "at"
	if _, err := r.verifyOne(t.Context(), &moments, e, new(Verification)); failure.KindOf(err) != failure.Usage {
		t.Errorf("each row has its own timestamp: %v", err)
	}
	for _, damaged := range []func(*ledger.LoadedFile){func(f *ledger.LoadedFile) { f.FirstRow = `\x0` }, func(f *ledger.LoadedFile) { f.LastRow = `\x0` }} {
		bad := *e
		bad.Files = slices.Clone(e.Files)
		damaged(&bad.Files[1])
		if _, err := r.verifyOne(t.Context(), c.verifier.job, &bad, new(Verification)); !testwords.Names(err, "ledger") {
			t.Errorf("rows that can't be read: %v", err)
		}
	}
}

// TestRangesOfFiles: files that overlap, touch or lie in one another make one range; the others stay apart, in order.
func TestRangesOfFiles(t *testing.T) {
	for _, c := range []struct{ files, want string }{
		{"a-c", "a-c"}, {"d-f a-c", "a-c d-f"}, {"a-c c-d", "a-d"}, {"a-f b-c", "a-f"}, {"b-c a-f g-g", "a-f g-g"}, {"a-b c-d b-c", "a-d"}, {"a-c a-d", "a-d"},
	} {
		e := new(ledger.Entry)
		for _, f := range strings.Fields(c.files) {
			e.Files = append(e.Files, ledger.LoadedFile{FirstRow: f[:1], LastRow: f[2:]})
		}
		ranges, err := rangesOf(e)
		var got []string
		for _, r := range ranges {
			got = append(got, r.First+"-"+r.Last)
			if string(r.first) != r.First || string(r.last) != r.Last {
				t.Errorf("%s: %+v", c.files, r)
			}
		}
		if strings.Join(got, " ") != c.want || err != nil {
			t.Errorf("%s: %q, %v, want %s", c.files, got, err, c.want)
		}
	}
}

// TestSavedRanges: a verification that was stopped goes on with the ranges that it had read, unless the table, its
// regions or what was loaded has changed since. If the sums differ then, they are read again.
func TestSavedRanges(t *testing.T) {
	t.Parallel()
	for _, change := range []struct {
		what    string
		change  func(c *tableCase, e *ledger.Entry)
		resumed int64 // rows that are not read again
		differs bool
	}{
		{"nothing", func(*tableCase, *ledger.Entry) {}, 3, false},
		{"the table was disabled", func(c *tableCase, _ *ledger.Entry) { c.do(c.sim.Disable("t")); c.do(c.sim.Enable("t")) }, 0, false},
		{"a region was moved", func(c *tableCase, _ *ledger.Entry) { c.do(c.sim.Move("t", []byte("b"))) }, 0, false},
		{"another region was moved", func(c *tableCase, _ *ledger.Entry) { c.do(c.sim.Move("t", []byte("h"))) }, 3, false},
		{"another run was loaded", func(_ *tableCase, e *ledger.Entry) { e.Run = "run9" }, 0, false},
		{"a row was deleted that was read before", func(c *tableCase, _ *ledger.Entry) { c.do(c.sim.Put("t", c.rowDeleted("b"))) }, 3, false},
		{"a row was deleted that was not", func(c *tableCase, _ *ledger.Entry) { c.do(c.sim.Put("t", c.rowDeleted("k"))) }, 0, true},
	} {
		begun := time.Date(2026, 11, 20, 1, 2, 3, 0, time.UTC) // of the first verification, however often it is stopped
		c := newTableCase(t)
		r, e := c.loaded()
		ranges, err := rangesOf(e)
		c.do(err)
		reader := func() *rangeReader {
			all := slices.Clone(ranges)
			x := &rangeReader{options: c.options(), cluster: r.cluster, ledger: r.ledger, job: c.verifier.job, want: columnsOf(c.verifier.job), read: options.NewCounter(nil, "compare", 6, "rows")}
			c.do(x.resume(t.Context(), e, all, "loads"))
			return x
		}
		stopped := reader()
		stopped.saved.Begun = begun
		c.do(stopped.readRange(t.Context(), e, 0))
		c.do(stopped.save(e))
		change.change(c, e)
		next := reader()
		if goesOn := next.resumed() != nil; goesOn != next.saved.Begun.Equal(begun) || goesOn != strings.Contains(strings.Join(c.said, "\n"), "begun at 2026-11-20 01:02:03 UTC: 3 rows") {
			t.Errorf("%s: begun at %v, said %q", change.what, next.saved.Begun, c.said)
		}
		sum, earlier, err := next.sum(t.Context(), e)
		c.do(err)
		resumed := int64(0)
		if earlier != nil {
			resumed = earlier.Rows
		}
		if resumed != change.resumed || (sum != e.Digest) != change.differs {
			t.Errorf("%s: %d rows were not read again, sum %v of %v", change.what, resumed, sum, e.Digest)
		}
		if again := reader(); again.resumed() != nil {
			t.Errorf("%s: what was read is not forgotten after the end", change.what)
		}
	}
}
