package load

import (
	"cmp"
	"errors"
	"io/fs"
	"path"
	"slices"
	"testing"
	"time"

	"bulkload/cell"
	"bulkload/internal/errcode"
	"bulkload/internal/hbase"
	"bulkload/internal/storage"
	"bulkload/internal/test/simcluster"
	"bulkload/internal/test/testwords"
)

// oldWays are the ways in which HBase 1 takes files, and the site files' properties for them.
var oldWays = map[string]hbase.LoadWay{"endpoint": hbase.EndpointLoad, "plain": hbase.PlainLoad}

const oldRoot = simcluster.URI + "/hbase"

func simulatedOld(t *testing.T, run func(s *simulation)) {
	for name, way := range oldWays {
		t.Run(name, func(t *testing.T) { simulatedWay(t, way, run, rootProperty, oldRoot) })
	}
}

// TestOldLoad: HBase 1 takes files in the way that it has, and the hooks are called as with HBase 2.
func TestOldLoad(t *testing.T) {
	simulatedOld(t, func(s *simulation) {
		methods, endpoint := map[string]int{}, 0
		s.decide = func(c *simcluster.Call) (v simcluster.Verdict) {
			methods[c.What]++
			if c.Endpoint {
				endpoint++
			}
			return v
		}
		var folder string
		hooks := s.hooks()
		hooks.Staging = func(name string) error {
			folder = cmp.Or(name, folder)
			return s.hooks().Staging(name)
		}
		report, err := s.load(hooks, s.write("1", "f", "a", "c"), s.write("2", "g", "b"), s.write("3", "f", "h"))
		if s.do(err); *report != (Report{Files: 3, Regions: 2, Rounds: 1}) {
			s.Errorf("report %+v", report)
		}
		calls := []string{"staging", "request", "done: 1 2", "done: 3", "request"}
		if !isPlain(folder) {
			calls = slices.Insert(calls, 4, "forgotten")
		}
		s.wantCalls(calls...)
		s.wantLeft(false)
		s.wantRows("h a b x c", true, true, true, false, true)
		// 2 requests; the endpoint is also asked to make the staging folder, which fails without it, and to delete it
		plain := isPlain(folder)
		if methods["BulkLoadHFile"] != 2 || methods["PrepareBulkLoad"] != 1 || methods["CleanupBulkLoad"] != map[bool]int{false: 1}[plain] ||
			endpoint != map[bool]int{true: 1, false: 4}[plain] {
			s.Errorf("calls %v, %d of the endpoint", methods, endpoint)
		}
	})
}

// TestOldTableState: HBase 1's states of tables are found in ZooKeeper, and a truncated table has another identity,
// although its regions are the same. A table without a state does not exist.
func TestOldTableState(t *testing.T) {
	simulatedOld(t, func(s *simulation) {
		before, err := s.Table(s.Context(), "t")
		s.do(err)
		s.do(s.world.Move("t", []byte("a")))
		moved, err := s.Table(s.Context(), "t")
		if s.do(err); moved.Identity() != before.Identity() {
			s.Error("a move changes the identity")
		}
		time.Sleep(time.Second)
		s.do(s.world.Truncate("t", true))
		after, err := s.Table(s.Context(), "t")
		if s.do(err); after.Identity() == before.Identity() {
			s.Error("a truncated table has the same identity")
		}
		if _, err := s.Table(s.Context(), "u"); !errors.Is(err, ErrNotFound) || errcode.Outermost(err) != errcode.TableMissing {
			s.Error(err)
		}
		s.do(s.world.Disable("t"))
		if _, err := s.Table(s.Context(), "t"); !errors.Is(err, ErrRefused) || errcode.Outermost(err) != errcode.TableDisabled {
			s.Error(err)
		}
		s.servers.finder = &registry{}
		if _, err := s.Table(s.Context(), "t"); !errors.Is(err, ErrRefused) || errcode.Outermost(err) != errcode.SiteMissing ||
			!testwords.Names(err, quorumProperty) {
			s.Errorf("without ZooKeeper: %v", err)
		}
	})
}

// TestOldCreate: HBase 1 makes a namespace without a procedure, and requires attributes of a family.
func TestOldCreate(t *testing.T) {
	simulatedOld(t, func(s *simulation) {
		made, err := s.Create(s.Context(), "n:t", []Family{{Name: "f", Attributes: map[string]string{"VERSIONS": "3"}}}, [][]byte{[]byte("k")})
		if s.do(err); made != "n" {
			s.Errorf("made %q", made)
		}
		table, err := s.Table(s.Context(), "n:t")
		s.do(err)
		if f := table.Families[0]; len(table.Regions) != 2 || f.Attributes["VERSIONS"] != "3" || f.Attributes["MIN_VERSIONS"] != "0" {
			s.Errorf("%d regions, %v", len(table.Regions), f)
		}
		for name, want := range map[string]error{"t": ErrExists, "n:u": nil} {
			if _, err := s.Create(s.Context(), name, []Family{{Name: "f"}}, nil); !errors.Is(err, want) {
				s.Errorf("%s: %v, want %v", name, err, want)
			}
		}
	})
}

// TestOldLoadStopsHalfway: a server that ends between two files of a request has taken the first. What it has is known
// from the table alone, and the same load of the other file ends as if nothing had happened.
func TestOldLoadStopsHalfway(t *testing.T) {
	simulatedOld(t, func(s *simulation) {
		commits := 0
		s.decide = func(c *simcluster.Call) (v simcluster.Verdict) {
			if c.What == "commit" {
				if commits++; commits == 2 {
					s.world.Crash(c.Server - 1)
				}
			}
			return v
		}
		report, err := s.load(s.hooks(), s.write("1", "f", "a"), s.write("2", "g", "b"))
		if s.do(err); report.Files != 2 || report.Rounds > 1 {
			s.Errorf("report %+v", report)
		}
		s.wantLeft(report.Staging != "")
		s.wantRows("a b", true, true)
	})
}

// TestPlainLoadIsRecovered: a plain load that was killed has no staging folder. Its record shows that it was begun, and
// the table says which files it has.
func TestPlainLoadIsRecovered(t *testing.T) {
	simulatedWay(t, hbase.PlainLoad, func(s *simulation) {
		f, g := s.write("1", "f", "a"), s.write("2", "g", "b")
		var folder string
		hooks := s.hooks()
		hooks.Staging = func(name string) error {
			folder = name
			return nil
		}
		_, err := s.load(hooks, f)
		s.do(err)
		s.era.Store(0) // another process knows nothing
		loaded, err := s.RecoverStaging(s.Context(), s.fs, "t", folder, []HFile{f, g}, nil)
		if s.do(err); len(loaded) != 1 || loaded[0].URI != f.URI || !isPlain(folder) {
			s.Errorf("%v, %s", loaded, folder)
		}
		s.wantLeft(false, "2")
	}, rootProperty, oldRoot)
}

// TestPlainLoadRefuses: the region servers take files in their own name, from HBase's own file system.
func TestPlainLoadRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		root   string
		change func(s *simulation, uri string)
		code   errcode.Code
		want   string
	}{
		"no root folder":      {"", nil, errcode.SiteMissing, rootProperty},
		"a root without host": {"/hbase", nil, errcode.SiteMissing, rootProperty},
		"another file system": {"hdfs://other:8020/hbase", nil, errcode.FileSystem, "other:8020"},
		"Kerberos":            {oldRoot, func(s *simulation, _ string) { s.secured = true }, errcode.SecurityUnsupported, "SecureBulkLoadEndpoint"},
	} {
		t.Run(name, func(t *testing.T) {
			simulatedWay(t, hbase.PlainLoad, func(s *simulation) {
				f := s.write("1", "f", "a")
				l := newLoadRun(s.Cluster, s.fs)
				l.table = hbase.TableName{Namespace: "default", Qualifier: "t"}
				if c.change != nil {
					c.change(s, f.URI)
				}
				err := l.preparePlain()
				if err == nil {
					err = l.checkPlace(f.URI)
				}
				if !errors.Is(err, ErrRefused) || errcode.Outermost(err) != c.code || !testwords.Names(err, c.want) {
					s.Errorf("%v [%s]", err, errcode.Outermost(err))
				}
			}, rootProperty, c.root)
		})
	}
}

// shown shows files and folders with other modes and owners.
type shown struct {
	storage.FS
	as map[string]storage.Info
}

func (f shown) Stat(name string) (storage.Info, error) {
	info, err := f.FS.Stat(name)
	if as, ok := f.as[name]; ok {
		info.Mode, info.Owner = as.Mode, as.Owner
	}
	return info, err
}

// TestPlainLoadNeedsRights: HBase's user must be able to read a file and to take it from its folder, unless they are its
// own. A right of the group may be its right.
func TestPlainLoadNeedsRights(t *testing.T) {
	simulatedWay(t, hbase.PlainLoad, func(s *simulation) {
		f := s.write("1", "f", "a")
		disk := s.fs
		for _, c := range []struct {
			file, dir fs.FileMode
			user      string
			names     string // "": allowed
		}{
			{0o644, 0o777, "hbase", ""}, {0o600, 0o700, "tina", ""}, {0o640, 0o770, "hbase", ""},
			{0o600, 0o777, "hbase", "/in/1"}, {0o644, 0o755, "hbase", "/in "}, {0o644, 0o722, "hbase", "/in "}, {0o644, 0o705, "hbase", "/in "},
		} {
			s.fs = shown{disk, map[string]storage.Info{at(f): {Mode: c.file, Owner: "tina"}, sourceFolder: {Mode: c.dir | fs.ModeDir, Owner: "tina"},
				"/hbase": {Mode: 0o711 | fs.ModeDir, Owner: c.user}}}
			_, err := s.load(s.hooks(), f)
			if (err == nil) != (c.names == "") || err != nil && (!errors.Is(err, ErrRefused) || errcode.Outermost(err) != errcode.LoadFiles ||
				!testwords.Names(err, c.names, "SecureBulkLoadEndpoint")) {
				s.Errorf("%+v: %v", c, err)
			}
			if err == nil {
				f = s.write("1", "f", "a")
			}
		}
		below := f
		below.URI = simcluster.URI + sourceFolder + "/below/1"
		s.do(disk.MkdirAll(path.Dir(at(below)), 0o777))
		s.do(disk.Rename(at(f), at(below)))
		s.fs = shown{disk, map[string]storage.Info{at(below): {Mode: 0o644, Owner: "tina"}, path.Dir(at(below)): {Mode: 0o777 | fs.ModeDir, Owner: "tina"},
			sourceFolder: {Mode: 0o700 | fs.ModeDir, Owner: "tina"}, "/hbase": {Mode: 0o711 | fs.ModeDir, Owner: "hbase"}}}
		if _, err := s.load(s.hooks(), below); errcode.Outermost(err) != errcode.LoadFiles || !testwords.Names(err, "pass through", "/in ") {
			s.Errorf("a folder above: %v", err)
		}
	}, rootProperty, oldRoot)
}

// TestPlainLoadWithoutRoot: hbase.rootdir must be the cluster's.
func TestPlainLoadWithoutRoot(t *testing.T) {
	simulatedWay(t, hbase.PlainLoad, func(s *simulation) {
		if _, err := s.load(s.hooks(), s.write("1", "f", "a")); !errors.Is(err, ErrRefused) || errcode.Outermost(err) != errcode.SiteProperty ||
			!testwords.Names(err, rootProperty, "/elsewhere") {
			s.Error(err)
		}
	}, rootProperty, simcluster.URI+"/elsewhere")
}

// TestPlainLoadIsChecked: the check before a run tries the rights with an empty file, and leaves nothing.
func TestPlainLoadIsChecked(t *testing.T) {
	simulatedWay(t, hbase.PlainLoad, func(s *simulation) {
		table, err := s.Table(s.Context(), "t")
		s.do(err)
		disk, probe := s.fs, sourceFolder+"/probe"
		for mode, want := range map[fs.FileMode]error{0o755: ErrRefused, 0o777: nil} {
			fsys := shown{disk, map[string]storage.Info{sourceFolder: {Mode: mode | fs.ModeDir, Owner: "tina"}, "/hbase": {Mode: 0o711 | fs.ModeDir, Owner: "hbase"}}}
			checks := s.CheckStaging(s.Context(), fsys, table, "f", sourceFolder, probe)
			if !checks.Plain || checks.Folder != "" || checks.Above != "" || !errors.Is(checks.Move, want) || !errors.Is(checks.Err(), want) {
				s.Errorf("%v: %+v", mode, checks)
			}
			s.wantLeft(false)
		}
		if checks := s.CheckStaging(s.Context(), disk, table, "f", sourceFolder, ""); checks.Err() != nil || !errors.Is(checks.Move, ErrUnchecked) {
			s.Errorf("without a file: %+v", checks)
		}
	}, rootProperty, oldRoot)
}

// TestOldAnswersAreRepeated: HBase 1 may have a region open twice, so that an answer counts only if the opening that
// hbase:meta names gives it twice.
func TestOldAnswersAreRepeated(t *testing.T) {
	simulatedOld(t, func(s *simulation) {
		f := s.write("1", "f", "a")
		_, err := s.load(s.hooks(), f)
		s.do(err)
		var asked []string
		s.decide = func(c *simcluster.Call) (v simcluster.Verdict) {
			if c.What == "Multi" || c.What == "Scan" {
				asked = append(asked, c.What)
			}
			return v
		}
		findings, err := s.Probe(s.Context(), "t", []HFile{f})
		if s.do(err); findings[0].Serving != Served || !slices.Equal(asked, []string{"Scan", "Multi", "Scan", "Scan", "Multi", "Scan"}) {
			s.Errorf("%v, asked %v", findings, asked)
		}
		// Rows that are lost between the two questions are missing. A region that moves between them is asked twice again.
		for name, change := range map[string]func(){
			"lost": func() { s.world.Lose("t", []byte("a")) }, "moved": func() { s.do(s.world.Move("t", []byte("a"))) },
		} {
			questions := 0
			s.decide = func(c *simcluster.Call) (v simcluster.Verdict) {
				if c.What == "Multi" {
					if questions++; questions == 2 {
						change()
					}
				}
				return v
			}
			findings, err := s.Probe(s.Context(), "t", []HFile{f})
			if want := map[bool]Serving{true: Missing, false: Served}[name == "lost"]; err != nil || findings[0].Serving != want || questions < 3 {
				s.Errorf("%s: %v, %v, after %d questions", name, findings, err, questions)
			}
			s.decide = nil
			if name == "lost" {
				s.do(s.world.BulkLoad("t", []cell.Cell{cellOf("f", "a")}))
			}
		}
	})
}

// TestOldRegionsMoveLater: HBase 1's master answers before it moves a region, which is waited for.
func TestOldRegionsMoveLater(t *testing.T) {
	simulatedOld(t, func(s *simulation) {
		f := s.write("1", "f", "a")
		_, err := s.load(s.hooks(), f)
		s.do(err)
		s.world.Lose("t", []byte("a"))
		findings, err := s.Probe(s.Context(), "t", []HFile{f})
		s.do(err)
		begun := time.Now()
		again, err := s.ReopenAndProbe(s.Context(), "t", findings)
		if s.do(err); len(again) != 1 || !again[0].Reopened || again[0].Serving != Missing || time.Since(begun) < 300*time.Millisecond {
			s.Errorf("%+v after %v", again, time.Since(begun))
		}
	})
}
