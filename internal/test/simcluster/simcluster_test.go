package simcluster_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bulkload/cell"
	"bulkload/internal/hbase"
	"bulkload/internal/siteconf"
	"bulkload/internal/storage"
	"bulkload/internal/test/simcluster"
	"bulkload/load"

	"github.com/tsuna/gohbase/pb"
)

// world is a simulated cluster with a table t of three regions, two families and four rows, and a client of it.
type world struct {
	*testing.T
	sim    *simcluster.Cluster
	client *load.Cluster
}

// in runs a test in a bubble of its own.
func in(t *testing.T, run func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, sim: simcluster.New(2)}
		t.Cleanup(w.sim.Close)
		var err error
		if w.client, err = load.Connect(t.Context(), new(siteconf.Conf), load.Caller{User: "tina"}, w.sim); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { w.client.Close() })
		w.do(w.sim.Create("t", [][]byte{[]byte("g"), []byte("p")}, families()...))
		w.do(w.sim.BulkLoad("t", cells(1)))
		run(w)
	})
}

func families() []simcluster.Family {
	return []simcluster.Family{{Name: "f"}, {Name: "g", Attributes: map[string]string{"VERSIONS": "2"}}}
}

var names = []string{"a", "f", "h", "q"}

// day is a timestamp near the begin of a bubble's time, which is 2000-01-01.
func day(n int) int64 { return time.Date(2000, 1, n, 0, 0, 0, 0, time.UTC).UnixMilli() }

// cells are a load's.
func cells(n int) (all []cell.Cell) {
	for _, row := range names {
		for _, family := range []string{"f", "g"} {
			all = append(all, cell.Cell{Row: []byte(row), Family: []byte(family), Qualifier: []byte("c"), Timestamp: day(n), Type: cell.Put, Value: fmt.Append(nil, row, family, n)})
		}
	}
	return all
}

func (w *world) do(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) table() *load.Table {
	w.Helper()
	t, err := w.client.Table(w.Context(), "t")
	w.do(err)
	return t
}

// files are the cells as files of one cell.
func files(all []cell.Cell) (list []load.HFile) {
	for _, c := range all {
		list = append(list, load.HFile{URI: fmt.Sprintf("%s:%s", c.Row, c.Family), Family: string(c.Family), FirstRow: c.Row, LastRow: c.Row,
			Probes: []load.Probe{{Row: c.Row, Qualifier: c.Qualifier, Timestamp: c.Timestamp, Type: byte(c.Type), Value: load.SumValue(c.Value)}}})
	}
	return list
}

// expect asks for the cells of load 1, and compares with what there must be; also that the truth is the same.
func (w *world) expect(want ...load.Serving) {
	w.Helper()
	findings, err := w.client.Probe(w.Context(), "t", files(cells(1)))
	w.do(err)
	var got []load.Serving
	lost := 0
	for i := range findings {
		got = append(got, findings[i].Serving)
		if !findings[i].Serving.Readable() {
			lost++
		}
	}
	if len(want) == 1 {
		want = slices.Repeat(want, len(got))
	}
	if !slices.Equal(got, want) {
		w.Errorf("the table serves %v, want %v", got, want)
	}
	if n := len(w.sim.Unreadable("t", 0, cells(1))); n != lost {
		w.Errorf("%d cells are not readable, and %d were found so", n, lost)
	}
}

const (
	served     = load.Served
	superseded = load.Superseded
	deleted    = load.Deleted
	expired    = load.Expired
	missing    = load.Missing
)

// TestSeenByLoad: what happens to a table is seen by package load as on a real cluster.
func TestSeenByLoad(t *testing.T) {
	row := func(name string) []byte { return []byte(name) }
	marker := func(kind cell.KeyType, name, qualifier string, at int64) cell.Cell {
		return cell.Cell{Row: row(name), Family: row("f"), Qualifier: []byte(qualifier), Timestamp: at, Type: kind}
	}
	for _, test := range []struct {
		name     string
		do       func(w *world, sim *simcluster.Cluster)
		identity bool // the table's identity is as before
		openings bool // all regions are open as before
		want     []load.Serving
	}{
		{"nothing", func(*world, *simcluster.Cluster) {}, true, true, []load.Serving{served}},
		{"split", func(w *world, sim *simcluster.Cluster) { w.do(sim.Split("t", row("c"))) }, true, false, []load.Serving{served}},
		{"split and compacted", func(w *world, sim *simcluster.Cluster) {
			w.do(sim.Split("t", row("c")))
			w.do(sim.Compact("t", row("a"), 0, true))
		}, true, false, []load.Serving{served}},
		{"merge", func(w *world, sim *simcluster.Cluster) { w.do(sim.Merge("t", row("a"))) }, true, false, []load.Serving{served}},
		{"move", func(w *world, sim *simcluster.Cluster) { w.do(sim.Move("t", row("a"))) }, true, false, []load.Serving{served}},
		{"restart", func(_ *world, sim *simcluster.Cluster) { sim.Restart(0) }, true, false, []load.Serving{served}},
		{"compaction", func(w *world, sim *simcluster.Cluster) { w.do(sim.Compact("t", row("a"), 0, true)) }, true, true, []load.Serving{served}},
		{"disabled and enabled", func(w *world, sim *simcluster.Cluster) { w.do(sim.Disable("t")); w.do(sim.Enable("t")) }, false, false, []load.Serving{served}},
		{"truncated", func(w *world, sim *simcluster.Cluster) { w.do(sim.Truncate("t", true)) }, false, false, []load.Serving{missing}},
		{"truncated to one region", func(w *world, sim *simcluster.Cluster) { w.do(sim.Truncate("t", false)) }, false, false, []load.Serving{missing}},
		{"region truncated", func(w *world, sim *simcluster.Cluster) { w.do(sim.TruncateRegion("t", row("a"))) }, true, false,
			[]load.Serving{missing, missing, missing, missing, served, served, served, served}},
		{"a newer load", func(w *world, sim *simcluster.Cluster) { w.do(sim.BulkLoad("t", cells(2))) }, true, true,
			[]load.Serving{served}}, // f keeps one version, but no compaction has forgotten the first one
		{"a newer load, compacted", func(w *world, sim *simcluster.Cluster) {
			w.do(sim.BulkLoad("t", cells(2)))
			w.do(sim.Compact("t", row("a"), 0, false))
		}, true, true, []load.Serving{superseded, served, superseded, served, served, served, served, served}},
		{"truncated under a newer load", func(w *world, sim *simcluster.Cluster) {
			w.do(sim.Truncate("t", true))
			w.do(sim.BulkLoad("t", cells(2)))
		}, false, false, []load.Serving{superseded, missing, superseded, missing, superseded, missing, superseded, missing}},
		{"a column deleted", func(w *world, sim *simcluster.Cluster) {
			w.do(sim.Put("t", marker(cell.DeleteColumn, "a", "c", day(1))))
		}, true, true,
			[]load.Serving{deleted, served, served, served, served, served, served, served}},
		{"a family deleted", func(w *world, sim *simcluster.Cluster) {
			w.do(sim.Put("t", marker(cell.DeleteFamily, "a", "", day(5))))
			w.do(sim.Compact("t", row("a"), 0, false))
		}, true, true, []load.Serving{deleted, served, served, served, served, served, served, served}},
		{"deleted and compacted", func(w *world, sim *simcluster.Cluster) {
			w.do(sim.Put("t", marker(cell.Delete, "a", "c", day(1))))
			w.do(sim.Compact("t", row("a"), 0, true))
		}, true, true, []load.Serving{missing, served, served, served, served, served, served, served}},
		{"a version deleted that is another", func(w *world, sim *simcluster.Cluster) { w.do(sim.Put("t", marker(cell.Delete, "a", "c", day(2)))) }, true, true,
			[]load.Serving{served}},
		{"expired", func(w *world, sim *simcluster.Cluster) {
			w.do(sim.Alter("t", simcluster.Family{Name: "f", Attributes: map[string]string{"TTL": "3600"}}, families()[1]))
			time.Sleep(2 * time.Hour)
		}, true, false, []load.Serving{expired, served, expired, served, expired, served, expired, served}},
		{"a family removed and added", func(w *world, sim *simcluster.Cluster) {
			w.do(sim.Alter("t", families()[0]))
			w.do(sim.Alter("t", families()...))
		}, true, false, []load.Serving{served, missing, served, missing, served, missing, served, missing}},
		{"restored", func(w *world, sim *simcluster.Cluster) {
			w.do(sim.Snapshot("t", "s"))
			w.do(sim.Truncate("t", true))
			w.do(sim.Disable("t"))
			w.do(sim.Restore("s"))
		}, false, false, []load.Serving{served}},
		{"dropped and cloned", func(w *world, sim *simcluster.Cluster) {
			w.do(sim.Snapshot("t", "s"))
			w.do(sim.Drop("t"))
			w.do(sim.Restore("s"))
		}, false, false, []load.Serving{served}},
	} {
		t.Run(test.name, func(t *testing.T) {
			in(t, func(w *world) {
				before := w.table()
				test.do(w, w.sim)
				after := w.table()
				if (before.Identity() == after.Identity()) != test.identity {
					w.Error("the table's identity is another, or should be")
				}
				if first, last := row("a"), row("z"); (before.Openings(first, last) == after.Openings(first, last)) != test.openings {
					w.Error("the regions' openings are others, or should be")
				}
				w.expect(test.want...)
			})
		})
	}
}

// TestReopened: package load moves regions of the simulated cluster, unless it may not, or there is one server only.
func TestReopened(t *testing.T) {
	in(t, func(w *world) {
		w.do(w.sim.Truncate("t", true))
		findings, err := w.client.Probe(w.Context(), "t", files(cells(1))[:1])
		w.do(err)
		w.sim.DenyMoves(true)
		again, err := w.client.ReopenAndProbe(w.Context(), "t", findings)
		if w.do(err); again[0].Reopened || again[0].Serving != missing {
			w.Errorf("without the right: %+v", again[0])
		}
		w.sim.DenyMoves(false)
		again, err = w.client.ReopenAndProbe(w.Context(), "t", findings)
		if w.do(err); !again[0].Reopened || again[0].Serving != missing {
			w.Errorf("with the right: %+v", again[0])
		}
	})
}

// TestReads: scans and look-ups find what readers find, also where regions have moved since the client looked them up.
func TestReads(t *testing.T) {
	in(t, func(w *world) {
		scanned := func() (all []string) {
			w.do(w.client.ScanRange(w.Context(), "t", []byte("b"), nil, func(c *cell.Cell) error {
				all = append(all, fmt.Sprintf("%s:%s=%s", c.Row, c.Family, c.Value))
				return nil
			}))
			return all
		}
		w.do(w.sim.BulkLoad("t", cells(2)[:4]))
		want := []string{"f:f=ff2", "f:g=fg2", "h:f=hf1", "h:g=hg1", "q:f=qf1", "q:g=qg1"}
		if got := scanned(); !slices.Equal(got, want) {
			w.Errorf("scanned %v, want %v", got, want)
		}
		w.do(w.sim.Split("t", []byte("b")))
		w.do(w.sim.Move("t", []byte("h")))
		w.sim.Restart(1)
		if got := scanned(); !slices.Equal(got, want) {
			w.Errorf("after a split, a move and a restart: scanned %v, want %v", got, want)
		}
		n := 0
		w.do(w.client.ScanTimestamp(w.Context(), "t", []string{"g"}, nil, nil, day(1), func(*cell.Cell) error { n++; return nil }))
		if n != 4 {
			w.Errorf("%d cells of family g have the first timestamp, want 4", n)
		}
		found, err := w.client.Exist(w.Context(), "t", []load.Lookup{{Row: []byte("a"), Other: day(2)}, {Row: []byte("q"), Other: day(1)}})
		if w.do(err); !slices.Equal(found, []bool{true, false}) {
			w.Errorf("found %v", found)
		}
		w.do(w.client.CheckRead(w.Context(), w.table(), []string{"f"}))
		status, err := w.client.Status(w.Context())
		if w.do(err); status.Servers != 2 || len(status.Regions) != 4 {
			w.Errorf("status %+v", status)
		}
		w.do(w.sim.Disable("t"))
		if _, err := w.client.Table(w.Context(), "t"); !errors.Is(err, load.ErrRefused) {
			w.Errorf("a disabled table: %v", err)
		}
		w.do(w.sim.Drop("t"))
		if _, err := w.client.Table(w.Context(), "t"); !errors.Is(err, load.ErrNotFound) {
			w.Errorf("a dropped table: %v", err)
		}
	})
}

// TestReadsOfATableThatGoes: a table is dropped or disabled before it is read, or after any call of a scan or a
// look-up. The read ends with that, or with what the table had.
func TestReadsOfATableThatGoes(t *testing.T) {
	lookups := []load.Lookup{{Row: []byte("a"), Other: -1}, {Row: []byte("h"), Other: -1}, {Row: []byte("q"), Other: -1}}
	for _, goes := range []struct {
		how  string
		do   func(*simcluster.Cluster) error
		want error
	}{
		{"disabled", func(sim *simcluster.Cluster) error { return sim.Disable("t") }, load.ErrRefused},
		{"dropped", func(sim *simcluster.Cluster) error { return sim.Drop("t") }, load.ErrNotFound},
	} {
		for _, read := range []struct {
			what string
			do   func(w *world) error
		}{
			{"existence", func(w *world) error { _, err := w.client.Exist(w.Context(), "t", lookups); return err }},
			{"scan", func(w *world) error {
				return w.client.ScanRange(w.Context(), "t", nil, nil, func(*cell.Cell) error { return nil })
			}},
			{"reversed scan", func(w *world) error { // which does not ask for the table's state first
				return w.client.Scan(w.Context(), "t", load.Range{Reversed: true}, func(*cell.Cell) error { return nil })
			}},
		} {
			t.Run(goes.how+"/"+read.what, func(t *testing.T) {
				for _, known := range []bool{false, true} { // the regions' places
					refused := 0
					for calls, done := 0, false; !done; calls++ {
						in(t, func(w *world) {
							if known {
								w.do(read.do(w))
							}
							gone := false
							w.sim.Interrupt(calls, func() { gone = true; w.do(goes.do(w.sim)) })
							err := read.do(w)
							if done = !gone; err != nil {
								refused++
							}
							if err != nil && !errors.Is(err, goes.want) {
								w.Errorf("known %t, after %d calls: %v", known, calls, err)
							}
						})
					}
					if refused == 0 {
						t.Errorf("known %t: the read never met it", known)
					}
				}
			})
		}
	}
}

// TestRefusals: the simulated cluster refuses what HBase refuses. TestAnswersAsHBase compares all answers.
func TestRefusals(t *testing.T) {
	sim := simcluster.New(2)
	sim.WithDisk(simcluster.NewDisk())
	client := sim.Client("tina", func() {})
	s := newSide(t, "t", "tina", likeReal{sim}, client, client.FS(), "/files")
	t.Cleanup(sim.Close)
	want := func(what string, got []string, want string) {
		t.Helper()
		if !slices.Contains(got, want) {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	families := []load.Family{{Name: "f"}}
	for _, w := range []string{"ns:t done", "ns:t error, exists already", "t done"} {
		name, _, _ := strings.Cut(w, " ")
		_, err := s.client.Create(s.ctx, name, families, [][]byte{row('m')})
		want("create", []string{name + " " + kinds(err)}, w)
	}
	s.look()
	f := &file{"f", "1", []cell.Cell{{Row: row('a'), Family: []byte("f"), Qualifier: []byte("c"), Timestamp: 1, Type: cell.Put, Value: []byte("v")}}}
	s.write(f)
	token := must(s.server(0).PrepareBulkLoad(s.ctx, hbase.StagedLoad, s.id(), s.regions[0].name))
	path := hbase.FamilyPath{Family: "f", Path: s.fs.URI(s.path(f))}
	loaded, err := s.server(0).BulkLoadHFile(s.ctx, &hbase.BulkLoadHFileRequest{Region: s.regions[0].name, Bulk: token, Files: []hbase.FamilyPath{path, path}})
	want("the same file twice", []string{fmt.Sprint(loaded, said(err), s.where(f, token))}, "falsedone  1: at its source false, staged true, the family's folder true")
	want("the same file twice", s.scanOnce(0, &pb.Scan{}, 9), "scan: 0 cells, more true, in the region false, partial false, with an id: true")

	must(0, sim.BulkLoad("t", f.cells))
	must(0, sim.BulkLoad("t", []cell.Cell{{Row: row('b'), Family: []byte("f"), Timestamp: 1, Type: cell.Put}}))
	begin := func() uint64 {
		return must(s.server(0).Scan(s.ctx, hbase.OpenScanner(s.regions[0].name, &pb.Scan{}, 1))).Scanner
	}
	next := func(id, number uint64) []string { return scanned(s.server(0).Scan(s.ctx, hbase.NextOf(id, 9, number))) }
	id := begin()
	want("a number too high", next(id, 2), "scan: OutOfOrderScannerNextException, do not retry")
	want("the next rows", next(id, 1), "scan: 1 cells, more true, in the region false, partial false, with an id: true")
	want("after the end", next(id, 2), "scan: OutOfOrderScannerNextException, do not retry")
	want("closed after the end", scanned(s.server(0).Scan(s.ctx, hbase.CloseOf(id))), "scan: the scanner is closed")
	want("an unknown scanner", next(99, 1), "scan: UnknownScannerException, do not retry")
	get := func(region int, at byte) []string {
		_, err := s.server(region).Get(s.ctx, s.regions[region].name, &pb.Get{Row: row(at)})
		return []string{said(err)}
	}
	want("a row of another region", get(0, 'x'), "WrongRegionException")
	id = begin()
	must(0, sim.Move("t", row('a')))
	want("a scan of a region that has moved", next(id, 1), "scan: NotServingRegionException")
	want("a region that has moved", get(0, 'a'), "RegionMovedException, with the place")
	want("to an unknown region", []string{said(s.master().MoveRegion(s.ctx, "unknown", hbase.ServerName{Host: "server1", Port: 16020}))}, "UnknownRegionException, do not retry")
	must(0, sim.Disable("t"))
	s.look()
	_, err = s.server(0).PrepareBulkLoad(s.ctx, hbase.StagedLoad, s.id(), s.regions[0].name)
	want("prepare by a closed region", []string{said(err)}, "NotServingRegionException")
	want("clean up by a closed region", []string{said(s.server(0).CleanupBulkLoad(s.ctx, hbase.StagedLoad, token, s.regions[0].name))}, "NotServingRegionException")
	for _, to := range []hbase.ServerName{s.other(0), s.serverName(s.regions[0].server)} {
		want("move a closed region", []string{said(s.master().MoveRegion(s.ctx, s.encoded(0), to))}, "DoNotRetryRegionException, do not retry")
	}
}

// TestDataNodes: what a killed client sent of an open file can be read only when its lease has ended, nothing can be
// read or written while no DataNode answers, and a client can't complete a file after its lease, even if the NameNode
// could not end it in time.
func TestDataNodes(t *testing.T) {
	in(t, func(w *world) {
		disk := simcluster.NewDisk()
		w.sim.WithDisk(disk)
		killed := w.sim.Client("tina", func() {})
		f, err := killed.FS().Create("/f", 0o600)
		w.do(err)
		const sent = 128 << 10 // of what the client writes
		_, err = f.Write(make([]byte, sent+1))
		w.do(err)
		killed.Kill()
		read := func() string {
			r, err := disk.FS("tina").Open("/f")
			w.do(err)
			text, err := io.ReadAll(r)
			if err != nil {
				return fmt.Sprint(errors.Is(err, storage.ErrUnavailable))
			}
			return fmt.Sprint(len(text))
		}
		got := []string{read()}
		time.Sleep(20 * time.Minute)
		synctest.Wait()
		got = append(got, read())
		disk.NoDataNodes(true)
		got = append(got, read())
		if want := []string{"0", fmt.Sprint(sent), "true"}; !slices.Equal(got, want) {
			w.Errorf("read %q, want %q", got, want)
		}
		f, err = disk.FS("tina").Create("/g", 0o600)
		w.do(err)
		_, err = f.Write([]byte("text")) // is collected
		w.do(err)
		if err := f.Close(); !errors.Is(err, storage.ErrDataNode) {
			w.Errorf("a write without DataNodes: %v", err)
		}
		disk.NoDataNodes(false)
		w.sim.Watch(func([]*simcluster.Call) (int, simcluster.Verdict) { return 0, simcluster.Verdict{} })
		defer w.sim.Unwatch()
		stopped := w.sim.Client("tina", func() {})
		f, err = stopped.FS().Create("/h", 0o600)
		w.do(err)
		_, err = f.Write([]byte("text"))
		w.do(err)
		w.sim.After(15*time.Minute, func() { disk.NoNameNode(true) })
		w.sim.After(25*time.Minute, func() { disk.NoNameNode(false) })
		stopped.Stop(30 * time.Minute)
		if err := f.Close(); !errors.Is(err, storage.ErrLeaseLost) {
			w.Errorf("a file is completed after its lease: %v", err)
		}
	})
}
