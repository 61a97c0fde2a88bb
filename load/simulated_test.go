package load

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"bulkload/cell"
	"bulkload/hfilewriter"
	"bulkload/internal/calllog"
	"bulkload/internal/errcode"
	"bulkload/internal/hbase"
	"bulkload/internal/storage"
	"bulkload/internal/test/simcluster"
	"bulkload/internal/test/testwords"
)

// These tests have whole loads on a simulated cluster, in a bubble of time of its own, with files on its HDFS.

// simulation is a simulated cluster with a table t of three regions, which begin with "", "g" and "p", and a client of
// it.
type simulation struct {
	*testing.T
	*Cluster
	world  *simcluster.Cluster
	fs     storage.FS // the cluster's HDFS
	called []string   // the calls of hooks
	// decide says what becomes of a call to HBase or to the disk, or of a step of a server; nil: it has its effect, and
	// is answered. It may call methods of world.
	decide func(c *simcluster.Call) simcluster.Verdict
}

// The folders of the files, and of the loads' staging folders.
const (
	sourceFolder  = "/in"
	stagingFolder = "/hbase/staging"
)

func simulated(t *testing.T, run func(s *simulation), properties ...string) {
	t.Helper()
	simulatedWay(t, hbase.StagedLoad, run, properties...)
}

// simulatedWay is simulated with an HBase that takes files in that way.
func simulatedWay(t *testing.T, way hbase.LoadWay, run func(s *simulation), properties ...string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &simulation{T: t, world: simcluster.New(2)}
		t.Cleanup(s.world.Close)
		s.world.WithDisk(simcluster.NewDisk())
		s.world.SetLoadWay(way)
		process := s.world.Client("tina", nil)
		s.fs = process.FS()
		s.world.Watch(func(waiting []*simcluster.Call) (pick int, v simcluster.Verdict) {
			if s.decide != nil {
				v = s.decide(waiting[0])
			}
			return 0, v
		})
		t.Cleanup(s.world.Unwatch)
		var err error
		if s.Cluster, err = Connect(t.Context(), siteOf(properties...), Caller{User: "tina"}, process); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		s.do(s.world.Create("t", [][]byte{[]byte("g"), []byte("p")}, simcluster.Family{Name: "f"}, simcluster.Family{Name: "g"}))
		s.do(s.fs.MkdirAll(sourceFolder, 0))
		s.do(s.fs.MkdirAll(path.Dir(stagingFolder), 0))
		run(s)
	})
}

// Context is the test's; Cluster has no such method.
func (s *simulation) Context() context.Context { return s.T.Context() }

func (s *simulation) do(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// cellOf is the cell that the files of these tests have in a row.
func cellOf(family, row string) cell.Cell {
	return cell.Cell{Row: []byte(row), Family: []byte(family), Qualifier: []byte("q"), Timestamp: 1000, Type: cell.Put,
		Value: []byte(row)}
}

// write makes a file of a family, with one cell in each row.
func (s *simulation) write(name, family string, rows ...string) HFile {
	s.Helper()
	var cells []cell.Cell
	for _, row := range rows {
		cells = append(cells, cellOf(family, row))
	}
	return s.writeCells(name, cells...)
}

// writeCells makes a file of some cells of one family, each in a row of its own.
func (s *simulation) writeCells(name string, cells ...cell.Cell) HFile {
	s.Helper()
	var text bytes.Buffer
	settings := hfilewriter.Settings{Compression: hfilewriter.CompressNone, Encoding: hfilewriter.EncodeNone,
		Bloom: hfilewriter.BloomRow}
	w, err := hfilewriter.NewWriter(&text, settings, hfilewriter.Provenance{})
	s.do(err)
	f := HFile{Family: string(cells[0].Family), FirstRow: cells[0].Row, LastRow: cells[len(cells)-1].Row}
	for i := range cells {
		c := &cells[i]
		s.do(w.Append(c))
		f.Probes = append(f.Probes, Probe{Row: c.Row, Qualifier: c.Qualifier, Timestamp: c.Timestamp, Type: byte(c.Type),
			Value: SumValue(c.Value)})
	}
	_, err = w.Close()
	s.do(err)
	at := path.Join(sourceFolder, name)
	f.URI = s.fs.URI(at)
	s.do(storage.ReplaceFile(s.fs, at, at+".new", text.Bytes()))
	return f
}

// at is where a file is on the disk.
func at(f HFile) string {
	_, name := storage.SplitURI(f.URI)
	return name
}

// hooks record their calls.
func (s *simulation) hooks() Hooks {
	var mu sync.Mutex
	names := func(what string, files []HFile) error {
		mu.Lock()
		defer mu.Unlock()
		for _, f := range files {
			what += " " + path.Base(f.URI)
		}
		s.called = append(s.called, what)
		return nil
	}
	return Hooks{
		ServedBefore: func(files []HFile) error { return names("served before:", files) },
		Staging: func(folder string) error {
			if folder == "" {
				return names("forgotten", nil)
			}
			return names("staging", nil)
		},
		Before: func() error { return names("request", nil) },
		Done:   func(files []HFile) error { return names("done:", files) },
	}
}

func (s *simulation) load(hooks Hooks, files ...HFile) (*Report, error) {
	report, err := s.LoadFrom(s.Context(), s.fs, "t", files, hooks)
	report.Probed = 0
	return report, err
}

// wantCalls compares the calls of hooks since it was called last: in order up to the first request, and in any order
// after it.
func (s *simulation) wantCalls(want ...string) {
	s.Helper()
	if first := slices.Index(s.called, "request"); first >= 0 {
		slices.Sort(s.called[first+1:])
	}
	if !slices.Equal(s.called, want) {
		s.Errorf("called: %q, want %q", s.called, want)
	}
	s.called = nil
}

// wantLeft compares the files that are at their source, and whether a staging folder is left.
func (s *simulation) wantLeft(isStaging bool, want ...string) {
	s.Helper()
	var left []string
	for _, dir := range []string{sourceFolder, stagingFolder} {
		infos, err := storage.List(s.fs, dir)
		s.do(err)
		for _, info := range infos {
			if dir == sourceFolder {
				left = append(left, info.Name)
			} else if !isStaging {
				s.Error("a staging folder is left")
			}
		}
	}
	if !slices.Equal(left, want) {
		s.Errorf("at their source are %q, want %q", left, want)
	}
}

// wantRows compares which of some rows readers find.
func (s *simulation) wantRows(rows string, want ...bool) {
	s.Helper()
	var all []Lookup
	for _, row := range strings.Fields(rows) {
		all = append(all, Lookup{Row: []byte(row), Other: -1})
	}
	if got, err := s.Exist(s.Context(), "t", all); err != nil || !slices.Equal(got, want) {
		s.Errorf("rows %s are there: %v, want %v (%v)", rows, got, want, err)
	}
}

// TestSimulatedLoad: the hooks are called in their order, and the report counts what they were called with. The regions
// are looked up before the table is asked for the files' rows, and after it, and not again. A second load of equal
// cells says that they were there before.
func TestSimulatedLoad(t *testing.T) {
	simulated(t, func(s *simulation) {
		looks := s.reader.metaScans.Load()
		report, err := s.load(s.hooks(), s.write("1", "f", "a", "c"), s.write("2", "g", "b"), s.write("3", "f", "h"))
		if s.do(err); *report != (Report{Files: 3, Regions: 2, Rounds: 1}) {
			s.Errorf("report %+v", report)
		}
		if n := s.reader.metaScans.Load() - looks; n != 2 {
			s.Errorf("all regions were looked up %d times", n)
		}
		s.wantCalls("staging", "request", "done: 1 2", "done: 3", "forgotten", "request")
		s.wantLeft(false)
		s.wantRows("h a b x c", true, true, true, false, true)
		_, err = s.load(s.hooks(), s.write("1", "f", "a", "z"), s.write("4", "f", "x"))
		if err == nil {
			s.Error("a file with rows of several regions was loaded")
		}
		s.wantCalls()
		report, err = s.load(s.hooks(), s.write("1", "f", "a", "c"), s.write("4", "f", "x"))
		if s.do(err); *report != (Report{Files: 2, Regions: 2, Rounds: 1}) {
			s.Errorf("again: report %+v", report)
		}
		s.wantCalls("served before: 1", "staging", "request", "done: 1", "done: 4", "forgotten", "request")
		s.wantRows("x", true)
	})
}

// TestRefusedBeforeAnyRequest: a load that can't succeed as a whole makes no staging folder, or deletes it again, and
// sends nothing.
func TestRefusedBeforeAnyRequest(t *testing.T) {
	for name, c := range map[string]struct {
		table  string
		change func(s *simulation, f *HFile)
		kind   error
		code   errcode.Code
		want   string
	}{
		"no table": {"u", func(*simulation, *HFile) {}, ErrNotFound, errcode.TableMissing, "u"},
		"bad name": {"a b", func(*simulation, *HFile) {}, ErrRefused, errcode.TableName, "a b"},
		"no family": {"t", func(_ *simulation, f *HFile) { f.Family = "x" }, ErrNotFound, errcode.TableSettings,
			"family x"},
		"straddles": {"t", func(_ *simulation, f *HFile) { f.LastRow = []byte("g") }, ErrStraddles,
			errcode.LoadStraddles, `before "g"`},
		"no rows": {"t", func(_ *simulation, f *HFile) { f.FirstRow = nil }, ErrRefused, errcode.HFileCorrupt,
			`from ""`},
		"gone": {"t", func(_ *simulation, f *HFile) { f.URI += "0" }, fs.ErrNotExist, errcode.RunAgain, "20"},
		"of one name": {"t", func(_ *simulation, f *HFile) { f.URI = strings.TrimSuffix(f.URI, "2") + "below/1" }, ErrRefused,
			errcode.LoadFiles, "/below/1"},
		"a folder": {"t", func(_ *simulation, f *HFile) { f.URI = strings.TrimSuffix(f.URI, "/2") }, ErrRefused,
			errcode.HFileMissing, "folder"},
		"empty": {"t", func(s *simulation, f *HFile) { s.do(storage.ReplaceFile(s.fs, at(*f), at(*f)+".new", nil)) },
			ErrRefused, errcode.HFileMissing, "empty"},
		"too many": {"t", func(_ *simulation, f *HFile) { f.Family = "f" }, ErrRefused, errcode.FilesLimit, "1 files"},
	} {
		t.Run(name, func(t *testing.T) {
			simulated(t, func(s *simulation) {
				files := []HFile{s.write("1", "f", "a"), s.write("2", map[bool]string{true: "f", false: "g"}[name == "of one name"], "b")}
				c.change(s, &files[1])
				report, err := s.LoadFrom(s.Context(), s.fs, c.table, files, s.hooks())
				if !errors.Is(err, c.kind) || errcode.Outermost(err) != c.code || !testwords.Names(err, c.want) {
					s.Errorf("%v [%s], want %v [%s] with %q", err, errcode.Outermost(err), c.kind, c.code, c.want)
				}
				if report.Probed = 0; *report != (Report{}) {
					s.Errorf("report %+v", report)
				}
				s.wantCalls()
				s.wantLeft(false, "1", "2")
			}, MaxFilesProperty, "1")
		})
	}
}

// TestStagingThatCannotBeUsed: with a staging folder that the caller can't record, or that is on another file system than
// the files, nothing is sent. The first stays, because it may be recorded nevertheless. Without the right to load there
// is none.
func TestStagingThatCannotBeUsed(t *testing.T) {
	simulated(t, func(s *simulation) {
		full := errors.New("no space")
		hooks := s.hooks()
		hooks.Staging = func(string) error { return full }
		f := s.write("1", "f", "a")
		report, err := s.load(hooks, f)
		if !errors.Is(err, full) || report.Staging == "" || !testwords.Names(err, report.Staging) || len(s.called) > 0 {
			s.Errorf("not recorded: %+v, %v", report, err)
		}
		s.wantLeft(true, "1")
		l := newLoadRun(s.Cluster, s.fs)
		l.token = "hdfs://nn:8020/staging/1"
		for uri, ok := range map[string]bool{"hdfs://nn/f": true, "hdfs:///f": true, "hdfs://other/f": false, "hdfs://nn:9000/f": false} {
			if err := l.checkPlace(uri); (err == nil) != ok || err != nil && !errors.Is(err, ErrRefused) {
				s.Errorf("%s: %v", uri, err)
			}
		}
		s.world.DenyLoads(true)
		report, err = s.load(s.hooks(), f)
		if !errors.Is(err, ErrRefused) || errcode.Outermost(err) != errcode.HBasePermission ||
			!testwords.Names(err, "grant 'tina', 'C', 't'") || *report != (Report{}) {
			s.Errorf("no right: %+v, %v", report, err)
		}
		s.wantCalls()
		s.wantLeft(true, "1")
	})
}

// TestServerThatLoadsNothing: files that a server leaves in the staging folder come back, each time. In the end the
// load fails, with all files at their source.
func TestServerThatLoadsNothing(t *testing.T) {
	simulated(t, func(s *simulation) {
		requests, steps := 0, 0
		s.decide = func(c *simcluster.Call) (v simcluster.Verdict) {
			switch c.What {
			case "BulkLoadHFile":
				requests++
			case "stage":
				if steps++; steps%2 == 0 { // one of the two files is in staging
					v.Fate = simcluster.Refused
				}
			}
			return v
		}
		report, err := s.load(s.hooks(), s.write("1", "f", "a"), s.write("2", "g", "b"))
		if !errors.Is(err, ErrUnavailable) || errcode.Outermost(err) != errcode.HBaseRefused ||
			*report != (Report{Rounds: report.Rounds, Staging: report.Staging}) || report.Staging == "" || requests < 10 {
			s.Errorf("%d requests, report %+v, %v", requests, report, err)
		}
		s.wantLeft(true, "1", "2")
		s.wantRows("a b", false, false)
	})
}

// TestSimulatedLostAnswers: after a connection that breaks, the files' places and the table tell what has happened.
func TestSimulatedLostAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		fate   simcluster.Fate // of the first request
		staged bool            // the server's HDFS client fails between its two steps
		lost   bool            // the region loses the file at once
		times  int             // requests
	}{
		"nothing was done":       {simcluster.Refused, false, false, 2},
		"staged":                 {simcluster.Lost, true, false, 2},
		"loaded":                 {simcluster.Lost, false, false, 1},
		"taken, and not served":  {simcluster.Lost, false, true, 1},
		"taken, it can't reopen": {simcluster.Lost, false, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			simulated(t, func(s *simulation) {
				deny := strings.Contains(name, "reopen")
				s.world.DenyMoves(deny)
				requests := 0
				s.decide = func(call *simcluster.Call) (v simcluster.Verdict) {
					switch {
					case call.What == "BulkLoadHFile":
						if requests++; requests == 1 {
							v.Fate = c.fate
						}
					case call.What == "commit" && requests == 1 && c.staged:
						v.Fate = simcluster.Refused
					case call.RPC && c.lost:
						s.world.Lose("t", []byte("a"))
					}
					return v
				}
				report, err := s.load(s.hooks(), s.write("1", "f", "a", "b"))
				var lost *LostError
				switch {
				case c.lost:
					if !errors.As(err, &lost) || lost.Files[0].Reopened == deny ||
						testwords.Names(err, "be opened again") != deny {
						s.Errorf("lost: %v", err)
					}
				case err != nil || report.Files != 1:
					s.Errorf("report %+v, %v", report, err)
				}
				if (report.Staging != "") != c.lost || requests != c.times {
					s.Errorf("%d requests, report %+v", requests, report)
				}
				s.wantLeft(c.lost)
				s.wantRows("a b", !c.lost, !c.lost)
			})
		})
	}
}

// TestTableThatCannotBeAsked: if HBase took a file, its answer got lost and the table can't be asked, the load fails.
// The file is neither loaded nor lost, and the staging folder stays.
func TestTableThatCannotBeAsked(t *testing.T) {
	simulated(t, func(s *simulation) {
		s.decide = func(c *simcluster.Call) (v simcluster.Verdict) {
			if c.What == "BulkLoadHFile" {
				v.Fate = simcluster.Lost
			}
			return v
		}
		hooks := s.hooks()
		hooks.Before = func() error {
			s.world.Interrupt(1, func() { s.do(s.world.Disable("t")) }) // after the request
			return nil
		}
		report, err := s.load(hooks, s.write("1", "f", "a"))
		if !errors.Is(err, ErrRefused) || errcode.Outermost(err) != errcode.TableDisabled || report.Files != 0 ||
			report.Staging == "" || !testwords.Names(err, report.Staging) {
			s.Errorf("report %+v, %v", report, err)
		}
		s.wantCalls("staging")
		s.wantLeft(true)
	})
}

// TestRegionsThatChangeUnderALoad: a region that moves after it was looked up gets its files where it is now. A file
// whose region splits stays at its source, for its caller to cut.
func TestRegionsThatChangeUnderALoad(t *testing.T) {
	simulated(t, func(s *simulation) {
		changed := false
		change := func(do func() error) Hooks {
			changed = false
			hooks := s.hooks()
			hooks.Before = func() error {
				if !changed {
					changed = true
					return do()
				}
				return nil
			}
			return hooks
		}
		report, err := s.load(change(func() error { return s.world.Move("t", []byte("a")) }), s.write("1", "f", "a", "d"))
		if s.do(err); *report != (Report{Files: 1, Regions: 1, Rounds: 1}) {
			s.Errorf("moved: report %+v", report)
		}
		report, err = s.load(change(func() error { return s.world.Split("t", []byte("c")) }), s.write("2", "f", "b", "e"))
		if !errors.Is(err, ErrStraddles) || report.Files != 0 || report.Staging == "" {
			s.Errorf("split: report %+v, %v", report, err)
		}
		s.wantLeft(true, "2")
		s.wantRows("a d b e", true, true, false, false)
	})
}

// TestSimulatedRecovery: of an interrupted load, files in staging come back, files that the table serves are loaded,
// and others that are gone are lost. The files that are loaded are returned in any case.
func TestSimulatedRecovery(t *testing.T) {
	for _, isLost := range []bool{false, true} {
		simulated(t, func(s *simulation) {
			died := errors.New("died")
			hooks := s.hooks()
			var folder string
			hooks.Staging = func(name string) error { folder = cmp.Or(name, folder); return nil }
			hooks.Before = func() error { return died }
			files := []HFile{s.write("1 staged", "f", "a"), s.write("2 loaded", "f", "h"), s.write("3 waits", "f", "x"), s.write("4 lost", "f", "z")}
			if !isLost {
				s.do(s.fs.Remove(at(files[3])))
				files = files[:3]
			}
			if _, err := s.load(hooks, files...); !errors.Is(err, died) {
				s.Fatal(err)
			}
			_, name := storage.SplitURI(folder)
			s.do(s.fs.MkdirAll(path.Join(name, "f"), 0o700))
			s.do(s.fs.Rename(at(files[0]), path.Join(name, "f", path.Base(at(files[0])))))
			s.do(s.fs.Remove(at(files[1])))
			s.do(s.world.BulkLoad("t", []cell.Cell{cellOf("f", "h")}))
			if isLost {
				s.do(s.fs.Remove(at(files[3])))
			}
			loaded, err := s.RecoverStaging(s.Context(), s.fs, "t", folder, files, func() error { return errors.New("forgotten") })
			if len(loaded) != 1 || loaded[0].URI != files[1].URI {
				s.Errorf("loaded are %v", loaded)
			}
			var lost *LostError
			if errors.As(err, &lost) != isLost || isLost && (len(lost.Files) != 1 || lost.Files[0].URI != files[3].URI) || !isLost && err != nil {
				s.Errorf("a file is lost: %t, %v", isLost, err)
			}
			s.wantLeft(true, "1 staged", "3 waits")
		})
	}
}

// TestFileThatIsThereTwice: somebody has put a file into the directory again that an interrupted load has left in staging.
// Waiting would not help.
func TestFileThatIsThereTwice(t *testing.T) {
	simulated(t, func(s *simulation) {
		died := errors.New("died")
		hooks := s.hooks()
		var folder string
		hooks.Staging = func(name string) error { folder = cmp.Or(name, folder); return nil }
		hooks.Before = func() error { return died }
		files := []HFile{s.write("1", "f", "a"), s.write("2", "f", "h")}
		if _, err := s.load(hooks, files...); !errors.Is(err, died) {
			s.Fatal(err)
		}
		_, name := storage.SplitURI(folder)
		staged := path.Join(name, "f", path.Base(at(files[1])))
		s.do(s.fs.MkdirAll(path.Join(name, "f"), 0o700))
		s.do(s.fs.Rename(at(files[1]), staged))
		s.write("2", "f", "h")
		for range 2 {
			_, err := s.RecoverStaging(s.Context(), s.fs, "t", folder, files, nil)
			if !errors.Is(err, ErrRefused) || errcode.Outermost(err) != errcode.LoadFiles || !testwords.Names(err, files[1].URI, staged) {
				s.Fatal(err)
			}
		}
		s.do(s.fs.Remove(staged))
		loaded, err := s.RecoverStaging(s.Context(), s.fs, "t", folder, files, nil)
		if s.do(err); len(loaded) > 0 {
			s.Errorf("loaded are %v", loaded)
		}
		s.wantLeft(true, "1", "2")
	})
}

// TestReusedStagingIsKept: a load that is refused before its first request does not delete the staging folder of the
// interrupted load before it, because a server that hung may have put a file there.
func TestReusedStagingIsKept(t *testing.T) {
	simulated(t, func(s *simulation) {
		died := errors.New("died")
		hooks := s.hooks()
		hooks.Staging = func(name string) error { hooks.Folder = name; return nil }
		hooks.Before = func() error { return died }
		file := s.write("1", "f", "a")
		if _, err := s.load(hooks, file); !errors.Is(err, died) || hooks.Folder == "" {
			s.Fatal(hooks.Folder, err)
		}
		_, staging := storage.SplitURI(hooks.Folder)
		looks := 0
		s.decide = func(c *simcluster.Call) (v simcluster.Verdict) {
			if c.What == "stat" && strings.HasPrefix(c.On, path.Dir(staging)) {
				if looks++; looks == 2 { // the first one finds the folder
					v.Fate = simcluster.Refused
				}
			}
			return v
		}
		if _, err := s.load(hooks, file); err == nil || looks < 2 {
			s.Errorf("%d looks, %v", looks, err)
		}
		if _, err := s.fs.Stat(staging); err != nil {
			s.Error(err)
		}
	})
}

// TestStagingIsUsedAgain: a load after an interrupted one uses its staging folder again, in which a server that hung may
// still put a file. The folder is deleted when all files are in the table and none is there. If one that is nobody's is
// there, it is only forgotten.
func TestStagingIsUsedAgain(t *testing.T) {
	for name, comes := range map[string]string{"nothing comes": "", "another's file comes": "other", "one of the files comes": "2"} {
		simulated(t, func(s *simulation) {
			died := errors.New("died")
			recorded := ""
			hooks := s.hooks()
			hooks.Staging = func(name string) error { recorded = name; return nil }
			hooks.Before = func() error { return died }
			files := []HFile{s.write("1", "f", "a"), s.write("2", "f", "h")}
			if _, err := s.load(hooks, files...); !errors.Is(err, died) || recorded == "" {
				s.Fatal(recorded, err)
			}
			folder := recorded
			_, err := s.RecoverStaging(s.Context(), s.fs, "t", folder, files, func() error { return errors.New("forgotten") })
			s.do(err)
			s.wantLeft(true, "1", "2")
			s.write("other", "f", "b")
			_, staging := storage.SplitURI(folder)
			staged := path.Join(staging, "f", comes)
			hooks.Folder = folder
			hooks.Before = func() error {
				if comes == "" {
					return nil
				}
				s.do(s.fs.MkdirAll(path.Join(staging, "f"), 0o777))
				return s.fs.Rename(path.Join(sourceFolder, comes), staged)
			}
			s.decide = func(call *simcluster.Call) (v simcluster.Verdict) {
				if call.What == "PrepareBulkLoad" {
					s.Errorf("%s: another staging folder is made", name)
				}
				return v
			}
			report, err := s.load(hooks, files[0])
			if errors.Is(err, ErrUnavailable) != (comes != "") || (err == nil) != (comes == "") || (recorded == "") != (comes == "") {
				s.Fatalf("%s: %+v, recorded %q, %v", name, report, recorded, err)
			}
			if comes == "" {
				s.wantLeft(false, "2", "other")
				return
			}
			loaded, err := s.RecoverStaging(s.Context(), s.fs, "t", folder, files, func() error { recorded = ""; return nil })
			if s.do(err); len(loaded) != 1 || recorded != folder {
				s.Errorf("%s: recorded %q, loaded %v", name, recorded, loaded)
			}
			_, err = s.fs.Stat(staged)
			if ours := comes == "2"; errors.Is(err, fs.ErrNotExist) != ours || !ours && err != nil {
				s.Errorf("%s: %v", name, err)
			}
			// In the end only what is nobody's is left.
			loaded, err = s.RecoverStaging(s.Context(), s.fs, "t", folder, files[:1], func() error { recorded = ""; return nil })
			if s.do(err); len(loaded) != 1 || recorded != "" {
				s.Errorf("%s: in the end recorded %q, loaded %v", name, recorded, loaded)
			}
			if _, err := s.fs.Stat(staged); (err == nil) != (comes == "other") {
				s.Errorf("%s: in the end %v", name, err)
			}
		})
	}
}

// failingRename is a file system whose Rename fails.
type failingRename struct {
	storage.FS
	err error
}

func (f failingRename) Rename(string, string) error { return f.err }

// TestFailedMoveToStaging: a file that can't be moved to staging is refused only if the file system refuses it, and not
// if that can't be asked.
func TestFailedMoveToStaging(t *testing.T) {
	simulated(t, func(s *simulation) {
		table, err := s.Table(s.Context(), "t")
		s.do(err)
		for cause, refused := range map[error]bool{
			fs.ErrPermission: true, errors.New("in another encryption zone"): true,
			storage.ErrUnavailable: false, syscall.EIO: false, errcode.HDFSQuota.New("no room"): false,
		} {
			failing := failingRename{s.fs, fmt.Errorf("rename: %w", cause)}
			c := s.CheckStaging(s.Context(), failing, table, "f", sourceFolder, sourceFolder+"/probe")
			if !errors.Is(c.Move, cause) || errors.Is(c.Move, ErrRefused) != refused {
				s.Errorf("%v: %v", cause, c.Move)
			}
		}
	})
}

// TestSimulatedChecksOfStaging: the check of a load goes its way with an empty file, and leaves nothing behind.
func TestSimulatedChecksOfStaging(t *testing.T) {
	simulated(t, func(s *simulation) {
		table, err := s.Table(s.Context(), "t")
		s.do(err)
		check := func(probe string) *StagingChecks {
			return s.CheckStaging(s.Context(), s.fs, table, "f", sourceFolder, probe)
		}
		if c := check(sourceFolder + "/probe"); c.Err() != nil || c.Move != nil || c.Tracker != nil ||
			c.Above != stagingFolder || !strings.HasPrefix(c.Folder, simcluster.URI+stagingFolder+"/") {
			s.Errorf("%+v", c)
		}
		if c := check(""); c.Err() != nil || !errors.Is(c.Move, ErrUnchecked) {
			s.Errorf("without a file: %+v", c)
		}
		if c := check(sourceFolder + "/missing/probe"); c.Err() == nil || c.Err() != c.Move ||
			errors.Is(c.Move, ErrUnchecked) {
			s.Errorf("the file can't be written: %+v", c)
		}
		table.Attributes = map[string]string{trackerProperty: "FILE"}
		if c := check(""); !errors.Is(c.Tracker, ErrRefused) {
			s.Errorf("files of HBase's own user only: %+v", c)
		}
		s.world.DenyLoads(true)
		if c := check(""); !errors.Is(c.Right, ErrRefused) || !errors.Is(c.Place, ErrUnchecked) || !errors.Is(c.Enter, ErrUnchecked) {
			s.Errorf("no right: %+v", c)
		}
		s.wantLeft(false)
	})
}

// TestDisabledWhileItIsLookedUp: a table that is disabled between the look at its state and that at its regions is not
// returned without regions.
func TestDisabledWhileItIsLookedUp(t *testing.T) {
	simulated(t, func(s *simulation) {
		s.world.Interrupt(2, func() { s.do(s.world.Disable("t")) })
		if table, err := s.Table(s.Context(), "t"); !errors.Is(err, ErrRefused) || table != nil {
			s.Errorf("%+v, %v", table, err)
		}
	})
}

// TestPausesOfProbes: an answer that is whole is not waited for any longer. Regions that are opened again after each
// answer are asked until the time is up, and the error says so; if a server refuses to answer for good, it says why.
func TestPausesOfProbes(t *testing.T) {
	simulated(t, func(s *simulation) {
		f := s.write("1", "f", "a")
		begun := time.Now()
		if _, err := s.Probe(s.Context(), "t", []HFile{f}); err != nil || !time.Now().Equal(begun) {
			s.Errorf("after %v: %v", time.Since(begun), err)
		}
		_, err := s.Probe(s.Context(), "t", []HFile{f, {Family: "f", URI: "none"}})
		if !testwords.Names(err, "file none") {
			s.Errorf("a file without known cells: %v", err)
		}
		calls := 0
		s.onProbeCall = func(string, []hbase.RegionGets) {
			calls++
			s.world.Interrupt(1, func() { s.do(s.world.Move("t", []byte("a"))) })
		}
		_, err = s.Probe(s.Context(), "t", []HFile{f})
		if !errors.Is(err, ErrUnavailable) || !testwords.Names(err, "keep moving") || calls < 10 {
			s.Errorf("after %d calls and %v: %v", calls, time.Since(begun), err)
		}
		s.onProbeCall = func(string, []hbase.RegionGets) {
			s.do(s.world.Move("t", []byte("a")))
		}
		_, err = s.Probe(s.Context(), "t", []HFile{f})
		if !errors.Is(err, ErrUnavailable) || !testwords.Names(err, "RegionMovedException") {
			s.Errorf("moved before each call: %v", err)
		}
		s.onProbeCall = nil
	})
}

// TestSecondTriesAreLogged: the log says what is tried again.
func TestSecondTriesAreLogged(t *testing.T) {
	simulated(t, func(s *simulation) {
		var text strings.Builder
		s.servers.options.Log = slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: calllog.Level}))
		s.onProbeCall = func(string, []hbase.RegionGets) {
			s.onProbeCall = nil
			s.do(s.world.Move("t", []byte("a")))
		}
		_, err := s.Probe(s.Context(), "t", []HFile{s.write("1", "f", "a")})
		if s.do(err); !strings.Contains(text.String(), `msg="try again" what="asking for the rows of files"`) {
			s.Errorf("the log has %q", &text)
		}
	})
}

// TestDisabledWhileItIsAsked: answers of a table that is disabled before they count are none.
func TestDisabledWhileItIsAsked(t *testing.T) {
	simulated(t, func(s *simulation) {
		s.onProbeCall = func(string, []hbase.RegionGets) {
			s.world.Interrupt(1, func() { s.do(s.world.Disable("t")) }) // after the answer
		}
		if findings, err := s.Probe(s.Context(), "t", []HFile{s.write("1", "f", "a")}); !errors.Is(err, ErrRefused) || findings != nil {
			s.Errorf("%v, %v", findings, err)
		}
	})
}

// TestProbesAreCounted: a file counts when all of its known cells have an answer, once. Where nobody counts, nothing is
// called.
func TestProbesAreCounted(t *testing.T) {
	simulated(t, func(s *simulation) {
		table, err := s.Table(s.Context(), "t")
		s.do(err)
		counted := 0
		files := []HFile{s.write("1", "f", "a", "h"), s.write("2", "f", "b"), s.write("3", "g", "z")}
		findings, err := s.ProbeTable(s.Context(), table, files, func(n int) { counted += n })
		if s.do(err); counted != len(files) || len(findings) != len(files) {
			s.Errorf("%d files were counted, of %d", counted, len(findings))
		}
		_, err = s.ProbeTable(s.Context(), table, files, nil)
		s.do(err)
	})
}

// TestOpeningsOfAFile: the text of a file changes if a region with its rows is opened again, or if its family changes,
// and with nothing else.
func TestOpeningsOfAFile(t *testing.T) {
	simulated(t, func(s *simulation) {
		openings := func(first, last string) string {
			table, err := s.Table(s.Context(), "t")
			s.do(err)
			return table.OpeningsOf(&HFile{Family: "f", FirstRow: []byte(first), LastRow: []byte(last)})
		}
		first, both := openings("a", "b"), openings("a", "h")
		if first != openings("c", "d") || first == both {
			s.Error("files in the same regions have other openings, or files in others the same")
		}
		s.do(s.world.Move("t", []byte("h")))
		if openings("a", "b") != first || openings("a", "h") == both {
			s.Error("after a move of the second region")
		}
		families := []simcluster.Family{{Name: "f"}, {Name: "g", Attributes: map[string]string{"TTL": "5"}}}
		table, err := s.Table(s.Context(), "t")
		s.do(err)
		of := func(families ...Family) string {
			table.Families = families
			return table.OpeningsOf(&HFile{Family: "f", FirstRow: []byte("a"), LastRow: []byte("b")})
		}
		same := of(Family{Name: "f"})
		if of(Family{Name: "f"}, Family{Name: families[1].Name, Attributes: families[1].Attributes}) != same || of(Family{Name: "f", Attributes: families[1].Attributes}) == same || of() == same {
			s.Error("after a change of a family")
		}
	})
}

// TestRegionsOfAFile: a region is one of those that had a file if it moved, was truncated as a whole, or came from one of
// them by splits that hbase:meta shows, or has shown to this process.
func TestRegionsOfAFile(t *testing.T) {
	var look func() error
	for what, c := range map[string]struct {
		change func(w *simcluster.Cluster) error
		want   bool
	}{
		"moved":     {func(w *simcluster.Cluster) error { return w.Move("t", []byte("h")) }, true},
		"truncated": {func(w *simcluster.Cluster) error { return w.TruncateRegion("t", []byte("h")) }, true},
		"split twice": {func(w *simcluster.Cluster) error {
			return errors.Join(w.Split("t", []byte("k")), w.Split("t", []byte("i")))
		}, true},
		"split, and its parent is gone": {func(w *simcluster.Cluster) error {
			return errors.Join(w.Split("t", []byte("k")), w.Compact("t", []byte("h"), 0, true))
		}, false},
		"split, looked up, and its parent is gone": {func(w *simcluster.Cluster) error {
			return errors.Join(w.Split("t", []byte("k")), look(), w.Compact("t", []byte("h"), 0, true))
		}, true},
		"split and merged": {func(w *simcluster.Cluster) error {
			return errors.Join(w.Split("t", []byte("k")), w.Merge("t", []byte("h")))
		}, false},
		"split, merged and split": {func(w *simcluster.Cluster) error {
			return errors.Join(w.Split("t", []byte("k")), w.Merge("t", []byte("h")), w.Split("t", []byte("i")))
		}, false},
		"merged with the next one": {func(w *simcluster.Cluster) error { return w.Merge("t", []byte("h")) }, false},
	} {
		simulated(t, func(s *simulation) {
			file := &HFile{Family: "f", FirstRow: []byte("h"), LastRow: []byte("l")}
			before, err := s.Table(s.Context(), "t")
			s.do(err)
			look = func() error { _, err := s.Table(s.Context(), "t"); return err }
			s.do(c.change(s.world))
			now, err := s.Table(s.Context(), "t")
			s.do(err)
			for _, r := range now.Overlapping(file.FirstRow, file.LastRow) {
				if r.CameFrom(before.OpeningsOf(file)) != c.want {
					s.Errorf("%s: %s, want %t", what, &r, c.want)
				}
			}
		})
	}
}

// TestYesOfARegionThatMoved: a server says that it loaded a file whose cells the table had before, or one of delete
// markers, which a compaction removes before anybody asks for them. If its region is open elsewhere by then, that
// proves nothing: the region is opened once more, which finds all files in its folder. Otherwise the yes counts.
func TestYesOfARegionThatMoved(t *testing.T) {
	for _, markers := range []bool{false, true} {
		for _, moves := range []bool{false, true} {
			simulated(t, func(s *simulation) {
				_, err := s.load(s.hooks(), s.write("1", "f", "a"))
				s.do(err)
				opening := func() string {
					table, err := s.Table(s.Context(), "t")
					s.do(err)
					return table.Opening([]byte("a"))
				}
				one := cellOf("f", "a")
				if markers {
					one.Type, one.Value = cell.DeleteColumn, nil
				}
				file := s.writeCells("1", one)
				hooks := s.hooks()
				before := ""
				hooks.Before = func() error {
					before = opening()
					s.world.Interrupt(1, func() { // after the request
						if markers {
							s.do(s.world.Compact("t", []byte("a"), 0, true))
						}
						if moves {
							s.do(s.world.Move("t", []byte("a")))
							before = opening()
						}
					})
					return nil
				}
				report, err := s.load(hooks, file)
				if s.do(err); report.Files != 1 || (opening() != before) != moves {
					s.Errorf("markers %t, moved %t: opened as %s, then as %s; report %+v", markers, moves, before, opening(), report)
				}
			})
		}
	}
}

// TestMarkersBefore: that a table does not return a delete marker before its load is known, unlike for a cell that
// newer ones may hide. So the marker proves its file later.
func TestMarkersBefore(t *testing.T) {
	simulated(t, func(s *simulation) {
		at := func(row string, timestamp int64, typ cell.KeyType) cell.Cell {
			return cell.Cell{Row: []byte(row), Family: []byte("f"), Qualifier: []byte("q"), Timestamp: timestamp, Type: typ}
		}
		for _, c := range []struct {
			what   string
			there  []cell.Cell
			typ    cell.KeyType
			before bool
		}{
			{"a marker, and the table has nothing", nil, cell.DeleteColumn, false},
			{"a marker, and the table has newer cells", []cell.Cell{at("b", 2000, cell.Put)}, cell.DeleteColumn, false},
			{"a marker that the table has", []cell.Cell{at("c", 1000, cell.DeleteColumn)}, cell.DeleteColumn, true},
			{"a cell under newer ones", []cell.Cell{at("d", 2000, cell.Put)}, cell.Put, true},
			{"a cell under a marker", []cell.Cell{at("e", 1000, cell.DeleteColumn)}, cell.Put, true},
			{"a cell, and the table has nothing", nil, cell.Put, false},
		} {
			s.do(s.world.Put("t", c.there...))
			row := "f"
			if c.there != nil {
				row = string(c.there[0].Row)
			} else if c.typ == cell.Put {
				row = "fa"
			}
			one := cellOf("f", row)
			if one.Type = c.typ; c.typ != cell.Put {
				one.Value = nil
			}
			file := s.writeCells(row, one)
			_, err := s.load(s.hooks(), file)
			if s.do(err); file.Probes[0].Before != c.before {
				s.Errorf("%s: %t", c.what, file.Probes[0].Before)
			}
		}
	})
}

// TestStagingThatCannotBeEntered: a user whom HDFS does not let into the staging folder can't load, and the error says
// so; another failure of the look at it is not called one of a right.
func TestStagingThatCannotBeEntered(t *testing.T) {
	simulated(t, func(s *simulation) {
		table, err := s.Table(s.Context(), "t")
		s.do(err)
		for failure, refused := range map[error]bool{fs.ErrPermission: true, errors.New("no NameNode"): false} {
			closed := &closedFolder{FS: s.fs, below: stagingFolder, err: failure}
			c := s.CheckStaging(s.Context(), closed, table, "f", sourceFolder, "")
			if !errors.Is(c.Enter, failure) || errors.Is(c.Enter, ErrRefused) != refused || !errors.Is(c.Tracker, ErrUnchecked) {
				s.Errorf("%v: %+v", failure, c)
			}
			if _, err := s.LoadFrom(s.Context(), closed, "t", []HFile{s.write("1", "f", "a")}, s.hooks()); !errors.Is(err, failure) {
				s.Errorf("%v: the load says %v", failure, err)
			}
		}
		s.wantCalls()
		s.wantLeft(false, "1")
	})
}

// closedFolder is a file system with a folder that can't be looked at.
type closedFolder struct {
	storage.FS
	below string
	err   error
}

func (f *closedFolder) Stat(name string) (storage.Info, error) {
	if strings.HasPrefix(name, f.below) {
		return storage.Info{}, f.err
	}
	return f.FS.Stat(name)
}

// TestLoadThatCantLookFirst: if the table can't be asked for the files' cells, or what it returned can't be recorded,
// nothing is sent, because an equal cell could later be taken for a file's own.
func TestLoadThatCantLookFirst(t *testing.T) {
	simulated(t, func(s *simulation) {
		_, err := s.load(s.hooks(), s.write("1", "f", "a"))
		s.do(err)
		s.called = nil
		full := errors.New("no space")
		hooks := s.hooks()
		hooks.ServedBefore = func([]HFile) error { return full }
		if report, err := s.load(hooks, s.write("2", "f", "a")); !errors.Is(err, full) || *report != (Report{}) {
			s.Errorf("not recorded: %+v, %v", report, err)
		}
		s.decide = func(c *simcluster.Call) (v simcluster.Verdict) {
			if c.What == "Multi" {
				v = simcluster.Verdict{Fate: simcluster.Refused, Exception: "org.apache.hadoop.hbase.security.AccessDeniedException"}
			}
			return v
		}
		if report, err := s.load(s.hooks(), s.write("2", "f", "a")); !errors.Is(err, ErrRefused) || *report != (Report{}) {
			s.Errorf("not answered: %+v, %v", report, err)
		}
		s.wantCalls()
		s.wantLeft(false, "2")
	})
}

// TestSlowLoadGoesOn: a load whose regions take files one after another, each after minutes, goes on for longer than it
// would wait without progress.
func TestSlowLoadGoesOn(t *testing.T) {
	simulated(t, func(s *simulation) {
		begun := time.Now()
		s.decide = func(c *simcluster.Call) (v simcluster.Verdict) {
			for start, after := range map[string]time.Duration{"t,g": 4 * time.Minute, "t,p": 8 * time.Minute} {
				if c.What == "BulkLoadHFile" && c.On == start && time.Since(begun) < after {
					v = simcluster.Verdict{Fate: simcluster.Refused, Exception: "org.apache.hadoop.hbase.RegionTooBusyException"}
				}
			}
			return v
		}
		report, err := s.load(s.hooks(), s.write("1", "f", "a"), s.write("2", "f", "h"), s.write("3", "f", "q"))
		if s.do(err); report.Files != 3 || time.Since(begun) < 8*time.Minute {
			s.Errorf("%+v after %v", report, time.Since(begun))
		}
		s.wantRows("a h q", true, true, true)
	})
}

// TestScansOfTimestamps: a scan gets only the cells of its timestamps, and of its families.
func TestScansOfTimestamps(t *testing.T) {
	simulated(t, func(s *simulation) {
		for row, timestamp := range map[string]int64{"a": 100, "h": 101, "x": 102} {
			c := cellOf("f", row)
			c.Timestamp = timestamp
			other := cellOf("g", row)
			other.Timestamp = timestamp
			s.do(s.world.BulkLoad("t", []cell.Cell{c, other}))
		}
		var got string
		visit := func(c *cell.Cell) error { got += string(c.Row) + string(c.Family) + " "; return nil }
		s.do(s.ScanTimestamp(s.Context(), "t", []string{"f"}, nil, nil, 101, visit))
		s.do(s.ScanSince(s.Context(), "t", []string{"g"}, nil, nil, 101, visit))
		s.do(s.ScanTimestamp(s.Context(), "t", nil, []byte("b"), []byte("i"), 101, visit))
		if want := "hf hg xg hf hg "; got != want {
			s.Errorf("got %q, want %q", got, want)
		}
	})
}

// wokenMeta is a finder of which some answers name another server of hbase:meta than the one that was read.
type wokenMeta struct {
	finder
	asked int
	moved map[int]bool // the numbers of these answers
}

func (w *wokenMeta) Meta(ctx context.Context) (string, error) {
	if w.asked++; w.moved[w.asked] {
		return "elsewhere:1", nil
	}
	return w.finder.Meta(ctx)
}

// TestMetaOfAServerThatWokeUp: what hbase:meta says counts only if it is still on the server that said it.
func TestMetaOfAServerThatWokeUp(t *testing.T) {
	simulated(t, func(s *simulation) {
		w := &wokenMeta{finder: s.servers.finder, moved: map[int]bool{2: true}} // the first is asked to find hbase:meta
		s.servers.finder = w
		before := s.reader.metaScans.Load()
		table, err := s.Table(s.Context(), "t")
		if s.do(err); len(table.Regions) == 0 || s.reader.metaScans.Load()-before != 2 || w.asked < 4 {
			s.Errorf("%d regions, %d scans, hbase:meta was looked for %d times", len(table.Regions), s.reader.metaScans.Load()-before, w.asked)
		}
	})
}
