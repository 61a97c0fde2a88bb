package loading

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"bulkload/cell"
	"bulkload/hfilewriter"
	"bulkload/internal/digest"
	"bulkload/internal/errcode"
	"bulkload/internal/siteconf"
	"bulkload/internal/storage"
	"bulkload/internal/test/simcluster"
	"bulkload/internal/test/testwords"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/ledger"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/output"
	"bulkload/jobs/pipeline/targets"
	"bulkload/jobs/spec/jobfile"
	"bulkload/load"
)

// These tests load outputs and directories of a simulated HDFS into a table of a simulated cluster, in a bubble of time
// of its own.

// simulation is a simulated cluster with a table t of three regions, which begin with "", "g" and "p", and an output
// with a file of one row in each of them.
type simulation struct {
	*testing.T
	sim      *simcluster.Cluster
	disk     *simcluster.Disk
	fs       storage.FS // the disk past the gate: for decide, and for what people do to files
	client   *load.Cluster
	out      *output.Output
	ledger   *ledger.Ledger
	requests int // load requests, which are counted before they have an effect
	// decide says what becomes of a load request; nil: it is answered. It may look at the disk through fs.
	decide func(request *simcluster.Call) simcluster.Verdict
	// lost are rows whose regions lose the files that they take before anybody asks for them.
	lost   []string
	onMove func() // as a region is to be moved; nil: nothing more
	// onMaster says what becomes of a question about the table's schema; nil: it is answered.
	onMaster func() simcluster.Verdict
}

// refused is the verdict on a load request that a server refuses for good.
var refused = simcluster.Verdict{Fate: simcluster.Refused, Exception: "org.apache.hadoop.hbase.DoNotRetryIOException"}

// simulatedLedger is the folder of the simulation's ledger.
const simulatedLedger = "/ledger"

func simulated(t *testing.T, run func(s *simulation)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &simulation{T: t, sim: simcluster.New(2), disk: simcluster.NewDisk()}
		t.Cleanup(s.sim.Close)
		s.sim.WithDisk(s.disk)
		s.fs = s.disk.FS("tina")
		process := s.sim.Client("tina", nil)
		s.ledger = ledger.Open(process.FS(), simulatedLedger)
		s.sim.Watch(s.next)
		t.Cleanup(s.sim.Unwatch)
		var err error
		s.client, err = load.Connect(t.Context(), new(siteconf.Conf), load.Caller{User: "tina"}, process)
		s.do(err)
		t.Cleanup(func() { s.client.Close() })
		s.do(s.sim.Create("t", [][]byte{[]byte("g"), []byte("p")}, simcluster.Family{Name: "f", Attributes: map[string]string{"VERSIONS": "3"}}))
		dir := dirAt(t, process.FS(), "/out", options.Options{})
		s.do(dir.Make(t.Context(), func(error) {}))
		t.Cleanup(func() { _ = dir.Lock.Release() })
		s.out = outputIn(t, dir, "a", "h", "x")
		s.out.Manifest.JobHash, s.out.Manifest.Timestamp = "0123456789abcdef", 1
		settings, err := targets.TableSettings(s.out.Site, s.table(), "f")
		s.do(err)
		s.out.Manifest.Families["f"] = jobfile.SettingsText(settings)
		run(s)
	})
}

func (s *simulation) do(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *simulation) table() *load.Table {
	s.Helper()
	table, err := s.client.Table(s.Context(), "t")
	s.do(err)
	return table
}

// next lets the first of the calls go on that wait.
func (s *simulation) next(waiting []*simcluster.Call) (pick int, v simcluster.Verdict) {
	c := waiting[0]
	if c.What == "BulkLoadHFile" {
		if s.requests++; s.decide != nil {
			return 0, s.decide(c)
		}
		return 0, v
	}
	if c.What == "GetTableDescriptors" && s.onMaster != nil {
		return 0, s.onMaster()
	}
	if c.What == "MoveRegion" && s.onMove != nil {
		s.onMove()
	}
	for _, row := range s.lost {
		s.sim.Lose("t", []byte(row))
	}
	return 0, v
}

// read returns the content of a file of the disk.
func (s *simulation) read(name string) []byte {
	s.Helper()
	text, err := s.disk.Read(name)
	s.do(err)
	return text
}

// write makes a file of the disk, or replaces its content.
func (s *simulation) write(name string, text []byte) {
	s.Helper()
	s.do(storage.ReplaceFile(s.fs, name, name+".new", text))
}

// cellOf is the cell of a row.
func cellOf(row string) cell.Cell {
	return cell.Cell{Row: []byte(row), Family: []byte("f"), Qualifier: []byte("q"), Timestamp: 1, Type: cell.Put, Value: []byte(row)}
}

// loader is that of a process that finds the output as it is on the disk.
func (s *simulation) loader() *Loader {
	s.Helper()
	m, err := manifest.Read(s.out.FS, s.out.Path)
	if s.do(err); m != nil {
		s.out = output.New(s.out.Dir, m)
	}
	return &Loader{Out: s.out, Cluster: s.client, Ledger: s.ledger}
}

// load does all steps of a load.
func (s *simulation) load(l *Loader) (report *load.Report, err error) {
	turn, err := l.AwaitTurn(s.Context())
	s.do(err)
	defer func() { err = errors.Join(err, turn.End()) }()
	if err := turn.Recover(s.Context()); err != nil {
		return nil, err
	}
	if report, err = turn.Load(s.Context()); err != nil {
		return report, err
	}
	return report, turn.Confirm(s.Context())
}

// unconfirmed does all steps of a job's load but the last.
func (s *simulation) unconfirmed(l *Loader) *OutputLoad {
	s.Helper()
	l.Out.ByJob = true
	turn, err := l.AwaitTurn(s.Context())
	s.do(err)
	s.do(turn.Recover(s.Context()))
	_, err = turn.Load(s.Context())
	s.do(err)
	return turn
}

// wantRecords compares the states of manifest and ledger, and the files that the manifest says are not loaded. Decide
// may call it.
func (s *simulation) wantRecords(what, state, entry string, left int) {
	s.Helper()
	m, err := manifest.Read(s.fs, s.out.Path)
	if err != nil || m == nil {
		s.Errorf("%s: the manifest is %+v, %v", what, m, err)
		return
	}
	e, err := ledger.Open(s.fs, simulatedLedger).Read(m.LedgerKey(s.fs.URI(s.out.Path)))
	if err != nil {
		s.Errorf("%s: %v", what, err)
	}
	if m.State != state || len(m.NotLoaded()) != left || e == nil || e.State != entry || len(e.Files) != 3 {
		s.Errorf("%s: the manifest says %s with %d files left, the ledger has %+v", what, m.State, len(m.NotLoaded()), e)
	}
}

// TestSimulatedOutput: before the first request the disk says all that a process needs to find the load. In the end it
// says what proves it, and the table is asked whenever the output is met again.
func TestSimulatedOutput(t *testing.T) {
	simulated(t, func(s *simulation) {
		s.decide = func(*simcluster.Call) (v simcluster.Verdict) {
			if s.requests == 1 {
				s.wantRecords("before a request", manifest.Loading, ledger.Loading, 3)
			}
			if m, err := manifest.Read(s.fs, s.out.Path); err != nil || m.Staging == "" {
				s.Errorf("the manifest has no staging folder: %v", err)
			}
			return v
		}
		report, err := s.load(s.loader())
		if s.do(err); report.Files != 3 || s.requests != 3 {
			s.Errorf("%d requests, report %+v", s.requests, report)
		}
		s.wantRecords("after the load", manifest.Loaded, ledger.Loaded, 0)
		l := s.loader()
		e, err := l.Entry()
		s.do(err)
		table := s.table()
		if m := l.Out.Manifest; m.Staging != "" || m.Table != table.Identity() || e.Identity != m.Table {
			s.Errorf("the manifest has the folder %q and the table %s, the ledger the table %s; it is %s", m.Staging, m.Table, e.Identity, table.Identity())
		}
		for _, f := range e.Files {
			if f.Opening != table.OpeningsOf(&load.HFile{Family: "f", FirstRow: []byte(f.FirstRow), LastRow: []byte(f.LastRow)}) {
				s.Errorf("the ledger has another opening of %s", f.URI)
			}
		}
		if report, err = s.load(l); err != nil || report.Files != 0 || s.requests != 3 {
			s.Errorf("loaded again: %d requests, %+v, %v", s.requests, report, err)
		}
		s.do(s.loader().CheckServed(s.Context()))
		s.do(s.loader().Adopt(s.Context(), e))
		s.do(s.sim.Move("t", []byte("h")))
		s.do(s.loader().CheckServed(s.Context()))
		s.do(s.sim.TruncateRegion("t", []byte("h")))
		err = s.loader().CheckServed(s.Context())
		if failure.CodeOf(err) != errcode.LoadLost || !testwords.Names(err, "1 of 3 loaded files") {
			s.Errorf("a region was truncated: %v", err)
		}
		if err := s.loader().Adopt(s.Context(), e); failure.CodeOf(err) != errcode.LoadLost {
			s.Errorf("a region was truncated, according to the ledger: %v", err)
		}
		if e.Run = "another"; l.Ledger.Write(e, "") != nil || failure.CodeOf(s.loader().CheckServed(s.Context())) != errcode.LoadOther {
			s.Error("another run was loaded since, and the output says that it is loaded")
		}
	})
}

// TestSimulatedInterruption: a load that ended after some requests goes on with the files that the table does not have,
// and asks for the others. Rows that were lost meanwhile are written again by the job, and are for the job to be run
// without it.
func TestSimulatedInterruption(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile func(s *simulation) error
		rewrites  bool
		code      errcode.Code
		rewrite   bool
	}{
		"goes on": {func(*simulation) error { return nil }, false, "", false},
		"moved":   {func(s *simulation) error { return s.sim.Move("t", []byte("a")) }, false, "", false},
		// What is loaded is not loaded again for the question that Confirm asks; here without the input.
		"all rows are to be asked for": {func(s *simulation) error {
			s.out.Manifest.SetMissing([]load.RowRange{{First: []byte("a"), Last: []byte("z")}})
			return s.out.Save()
		}, true, errcode.LoadUnsure, false},
		"lost, of a job":       {func(s *simulation) error { return s.sim.TruncateRegion("t", []byte("a")) }, true, "", true},
		"lost, of a directory": {func(s *simulation) error { return s.sim.TruncateRegion("t", []byte("a")) }, false, errcode.LoadLost, false},
		"another table":        {func(s *simulation) error { return s.sim.Truncate("t", true) }, true, errcode.LoadLost, false},
	} {
		for _, done := range []int{1, 0} { // files that the interrupted load knows to be loaded
			t.Run(fmt.Sprintf("%s/%d known", name, done), func(t *testing.T) {
				simulated(t, func(s *simulation) {
					s.decide = func(request *simcluster.Call) (v simcluster.Verdict) {
						if done == 1 && request.On == "t," {
							return v
						}
						return refused
					}
					if report, err := s.load(s.loader()); !testwords.Names(err, " of 3 files") || report.Files != done {
						s.Fatalf("report %+v, %v", report, err)
					}
					s.decide = nil
					s.wantRecords("interrupted", manifest.Loading, ledger.Loading, 3-done)
					if done == 0 { // HBase takes one after the load's end
						s.do(s.fs.Remove(path.Join(s.out.Path, s.out.Manifest.Slices[0].Files[0].Path)))
						s.do(s.sim.BulkLoad("t", []cell.Cell{cellOf("a")}))
					}
					l := s.loader()
					l.Out.ByJob = c.rewrites
					if done == 0 {
						turn, err := l.AwaitTurn(s.Context())
						s.do(err)
						err = turn.Recover(s.Context())
						s.do(err)
						s.wantRecords("recovered", manifest.Loading, ledger.Loading, 2)
					}
					s.do(c.meanwhile(s))
					s.requests = 0
					_, err := s.load(l)
					var again *RewriteError
					switch {
					case c.rewrite:
						if !errors.As(err, &again) || len(again.Lost.Files) != 1 ||
							l.Out.Manifest.State != manifest.Writing || s.requests > 0 {
							s.Errorf("%d requests, %v", s.requests, err)
						}
					case failure.CodeOf(err) != c.code && err != nil || (err == nil) != (c.code == ""):
						s.Errorf("%v", err)
					case err == nil:
						s.wantRecords("at the end", manifest.Loaded, ledger.Loaded, 0)
						if s.requests != 2 {
							s.Errorf("%d requests", s.requests)
						}
					}
				})
			})
		}
	}
}

// TestSimulatedLoss: a server says that it loaded a file, and its region never serves it. The ledger lists the file
// before anything is written again. Until its region was opened again, no other run may load cells of the same
// timestamp.
func TestSimulatedLoss(t *testing.T) {
	simulated(t, func(s *simulation) {
		s.lost = []string{"h"}
		l := s.loader()
		l.Out.ByJob = true
		var again *RewriteError
		if _, err := s.load(l); !errors.As(err, &again) || len(again.Lost.Files) != 1 || !again.Lost.Files[0].Reopened {
			s.Fatal(err)
		}
		unserved, err := s.ledger.Unserved("t", func(ledger.Unserved) bool { return false })
		if s.do(err); len(unserved) != 1 || unserved[0].Row != "h" || unserved[0].Run != "run" || unserved[0].Timestamp != 1 {
			s.Fatalf("the ledger lists %+v", unserved)
		}
		check := func(of cells) error {
			record := lostFiles{s.ledger, s.client, s.out.Dir}
			return record.checkCorrection(s.Context(), s.table(), of)
		}
		other := digest.Sum{Cells: 7}
		s.sim.DenyMoves(true)
		s.do(check(cells{"run", other, 1}))
		s.do(check(cells{"other", other, 2}))
		before := s.table().Opening([]byte("h"))
		err = check(cells{"other", other, 1})
		if failure.CodeOf(err) != errcode.LoadMove || !testwords.Names(err, unserved[0].URI) {
			s.Errorf("the region can't be opened again: %v", err)
		}
		s.sim.DenyMoves(false)
		if s.do(check(cells{"other", other, 1})); s.table().Opening([]byte("h")) == before {
			s.Error("the region was not opened again")
		}
		s.sim.DenyMoves(true)
		s.do(check(cells{"other", other, 1}))
	})
}

// TestLossInAChangedTable: a load was not confirmed, its table was disabled and enabled since, and lacks a file. Only a
// person knows why, so the file is not written again. The ledger lists it, because it may still appear.
func TestLossInAChangedTable(t *testing.T) {
	simulated(t, func(s *simulation) {
		l := s.loader()
		s.do(s.unconfirmed(l).End())
		s.sim.Lose("t", []byte("h"))
		s.do(s.sim.Disable("t"))
		time.Sleep(time.Second)
		s.do(s.sim.Enable("t"))
		var again *RewriteError
		if _, err := s.load(l); failure.CodeOf(err) != errcode.LoadLost || errors.As(err, &again) {
			s.Error(err)
		}
		unserved, err := s.ledger.Unserved("t", func(ledger.Unserved) bool { return false })
		if s.do(err); len(unserved) != 1 || unserved[0].Row != "h" {
			s.Errorf("the ledger lists %+v", unserved)
		}
	})
}

// TestLostWhileRegionsAreOpened: the rows that are missing are readable once their region was opened again, but by then
// others are lost. These are written again.
func TestLostWhileRegionsAreOpened(t *testing.T) {
	simulated(t, func(s *simulation) {
		turn := s.unconfirmed(s.loader())
		s.sim.Lose("t", []byte("h"))
		s.onMove = func() {
			s.do(s.sim.Put("t", cellOf("h")))
			s.sim.Lose("t", []byte("x"))
		}
		var again *RewriteError
		if err := turn.Confirm(s.Context()); !errors.As(err, &again) || len(again.Lost.Files) != 1 || string(again.Lost.Files[0].FirstRow) != "x" {
			s.Error(err)
		}
		s.do(turn.End())
	})
}

// TestSimulatedDirectory: the load of a directory without its manifest is known by the ledger alone, with each of its
// files until the end.
func TestSimulatedDirectory(t *testing.T) {
	simulated(t, func(s *simulation) {
		command := func() *directoryCommand {
			return &directoryCommand{out: s.out.Dir, report: &LoadReport{Table: "t"}, cluster: s.client, ledger: s.ledger, lost: func(error) {}}
		}
		record := func() *directoryLoad { return newDirectoryLoad(s.out.Dir, "t", s.client, s.ledger, nil) }
		waiting := newDirectoryLoad(s.out.Dir, "t", s.client, ledger.Open(s.fs, simulatedLedger), nil)
		if err := record().checkServed(s.Context()); failure.CodeOf(err) != errcode.HFileMissing {
			s.Errorf("nothing was loaded: %v", err)
		}
		s.decide = func(*simcluster.Call) (v simcluster.Verdict) {
			if s.requests > 1 {
				return refused
			}
			if e, err := waiting.record.read(); err != nil || e == nil ||
				e.State != ledger.Loading || e.Staging == "" || len(e.Files) != 3 {
				s.Errorf("before a request the ledger has %+v (%v)", e, err)
			}
			return v
		}
		c := command()
		if err := c.loadDirectory(s.Context()); !testwords.Names(err, "1 of 3 files") || c.report.Load.Files != 1 {
			s.Errorf("report %+v, %v", c.report, err)
		}
		other := command()
		other.report.Table = "u"
		if err := other.checkOtherTables(); failure.CodeOf(err) != errcode.OutputUnfinished {
			s.Errorf("into another table, after an interruption: %v", err)
		}
		s.do(command().checkOtherTables())
		s.decide = nil
		c = command()
		s.do(c.loadDirectory(s.Context()))
		if c.report.Files != 2 || c.report.Load.Files != 2 {
			s.Errorf("the rest: report %+v", c.report)
		}
		if e, err := record().record.read(); err != nil || e.State != ledger.Loaded || e.Staging != "" || len(e.Files) != 3 || e.Identity != s.table().Identity() {
			s.Errorf("in the end the ledger has %+v (%v)", e, err)
		}
		s.do(other.checkOtherTables())
		s.do(record().checkServed(s.Context()))
		s.do(s.sim.Truncate("t", true))
		err := record().checkServed(s.Context())
		if failure.CodeOf(err) != errcode.LoadLost || !testwords.Names(err, s.out.FS.URI(s.out.Path)) {
			s.Errorf("truncated: %v", err)
		}
	})
}

// TestSimulatedLossOfADirectory: what HBase lost of a directory can't be written again here, so it is for a person, and
// listed.
func TestSimulatedLossOfADirectory(t *testing.T) {
	simulated(t, func(s *simulation) {
		s.lost = []string{"a", "h", "x"}
		l := newDirectoryLoad(s.out.Dir, "t", s.client, s.ledger, nil)
		d, err := l.recovered(s.Context())
		s.do(err)
		_, err = l.load(s.Context(), d)
		if failure.CodeOf(err) != errcode.LoadLost || !testwords.Names(err, "another server", l.record.uri()) {
			s.Errorf("%v", err)
		}
		if unserved, err := s.ledger.Unserved("t", func(ledger.Unserved) bool { return false }); err != nil || len(unserved) != 3 {
			s.Errorf("the ledger lists %+v (%v)", unserved, err)
		}
	})
}

// TestTooManyFilesOfADirectory: HBase would refuse them, so nothing is sent.
func TestTooManyFilesOfADirectory(t *testing.T) {
	simulated(t, func(s *simulation) {
		l := newDirectoryLoad(s.out.Dir, "t", s.client, s.ledger, nil)
		d, err := l.recovered(s.Context())
		s.do(err)
		d.Files = slices.Repeat(d.Files, 1000)
		if _, err = l.load(s.Context(), d); failure.CodeOf(err) != errcode.FilesLimit || s.requests > 0 {
			s.Errorf("%d requests, %v", s.requests, err)
		}
	})
}

// TestFileDamagedAfterItWasChecked: nothing is sent of files whose cells can't prove later that they were loaded.
func TestFileDamagedAfterItWasChecked(t *testing.T) {
	simulated(t, func(s *simulation) {
		l := newDirectoryLoad(s.out.Dir, "t", s.client, s.ledger, nil)
		d, err := l.recovered(s.Context())
		s.do(err)
		name := path.Join(s.out.Path, d.Files[0].Path)
		text := bytes.Clone(s.read(name))
		text[40] ^= 1 // in the first block
		s.write(name, text)
		if _, err = l.load(s.Context(), d); failure.KindOf(err) != failure.Differs || s.requests > 0 {
			s.Errorf("%d requests, %v", s.requests, err)
		}
	})
}

// TestDirectoryThatCantBeRecorded: a load of a directory that the ledger can't take sends nothing, and asks HBase for
// nothing: it would be refused, too.
func TestDirectoryThatCantBeRecorded(t *testing.T) {
	simulated(t, func(s *simulation) {
		full := errors.New("no space")
		l := newDirectoryLoad(s.out.Dir, "t", s.client, ledger.Open(&countedSaves{FS: s.fs, fail: full}, "/full"), nil)
		d, err := l.recovered(s.Context())
		s.do(err)
		s.sim.DenyLoads(true)
		if _, err = l.load(s.Context(), d); !errors.Is(err, full) || s.requests > 0 {
			s.Errorf("%d requests, %v", s.requests, err)
		}
	})
}

// TestDirectoryWhoseCutsAreUnknown: without the record of an interrupted cut nobody knows which files are halves of
// others, so nothing is loaded, and nothing is said to be.
func TestDirectoryWhoseCutsAreUnknown(t *testing.T) {
	simulated(t, func(s *simulation) {
		folder := path.Join(s.out.Path, manifest.CutsDir)
		s.do(s.fs.MkdirAll(folder, storage.DirPerm))
		s.write(path.Join(folder, manifest.CutsName), []byte("{"))
		l := newDirectoryLoad(s.out.Dir, "t", s.client, s.ledger, nil)
		if d, err := l.recovered(s.Context()); err == nil || !testwords.Names(err, manifest.CutsName) {
			s.Errorf("recovered: %+v, %v", d, err)
		}
		if err := l.checkServed(s.Context()); err == nil || !testwords.Names(err, manifest.CutsName) {
			s.Errorf("served: %v", err)
		}
	})
}

// cutAfterItsFirstFiles loads a directory of which a region splits after other regions have taken their files.
func cutAfterItsFirstFiles(s *simulation) (*load.Report, error) {
	l := newDirectoryLoad(s.out.Dir, "t", s.client, s.ledger, nil)
	d, err := l.recovered(s.Context())
	s.do(err)
	settings, err := targets.TableSettings(s.out.Site, s.table(), "f")
	s.do(err)
	for _, f := range d.Files { // the last one gets a second row
		if string(f.First) != "x" {
			continue
		}
		var text bytes.Buffer
		w, err := hfilewriter.NewWriter(&text, settings, hfilewriter.Provenance{})
		s.do(err)
		for _, row := range []string{"x", "z"} {
			c := cellOf(row)
			s.do(w.Append(&c))
		}
		_, err = w.Close()
		s.do(err)
		s.write(path.Join(s.out.Path, f.Path), text.Bytes())
	}
	d, err = l.recovered(s.Context())
	s.do(err)
	s.decide = func(*simcluster.Call) (v simcluster.Verdict) {
		if s.requests == 1 {
			s.do(s.sim.Split("t", []byte("y")))
		}
		return v
	}
	return l.load(s.Context(), d)
}

// TestDirectoryIsCutAfterItsFirstFiles: what is left of the directory is cut and loaded by the same command.
func TestDirectoryIsCutAfterItsFirstFiles(t *testing.T) {
	simulated(t, func(s *simulation) {
		report, err := cutAfterItsFirstFiles(s)
		if s.do(err); report.Files != 4 {
			s.Errorf("report %+v", report)
		}
		for _, row := range []string{"a", "h", "x", "z"} {
			found, err := s.client.Exist(s.Context(), "t", []load.Lookup{{Row: []byte(row), Other: -1}})
			if s.do(err); !found[0] {
				s.Errorf("row %s is missing", row)
			}
		}
	})
}

// unlisted is a storage whose folders can't be listed once fails says so.
type unlisted struct {
	storage.FS
	fails func() bool
}

func (u unlisted) ReadDir(name string) ([]storage.Info, error) {
	if u.fails() {
		return nil, errDisk
	}
	return u.FS.ReadDir(name)
}

var errDisk = errors.New("the disk fails")

// TestDirectoryThatCantBeListedAgain: if what is left of a directory is not known after a split, the load is not done.
func TestDirectoryThatCantBeListedAgain(t *testing.T) {
	simulated(t, func(s *simulation) {
		s.out.FS = unlisted{s.out.FS, func() bool { return s.requests > 1 }}
		if report, err := cutAfterItsFirstFiles(s); !errors.Is(err, errDisk) {
			s.Errorf("%+v, %v", report, err)
		}
	})
}

// TestMasterDiesAfterTheLastRequest: the load waits for another one, which here takes over after three minutes.
func TestMasterDiesAfterTheLastRequest(t *testing.T) {
	simulated(t, func(s *simulation) {
		var died time.Time
		refused := 0
		s.onMaster = func() (v simcluster.Verdict) {
			if s.requests < 3 {
				return v
			}
			if died.IsZero() {
				died = time.Now()
			}
			if time.Since(died) < 3*time.Minute {
				refused++
				v.Fate = simcluster.Refused
			}
			return v
		}
		if _, err := s.load(s.loader()); err != nil || refused < 2 {
			s.Errorf("%v after %d calls", err, refused)
		}
	})
}

// TestSimulatedCommand: the command that loads an output records it as its job does, and refuses one that lacks files.
func TestSimulatedCommand(t *testing.T) {
	simulated(t, func(s *simulation) {
		ctx, cancel := context.WithTimeout(s.Context(), time.Hour)
		defer cancel()
		c := &directoryCommand{out: s.out.Dir, report: &LoadReport{Table: "t"}, cluster: s.client, ledger: s.ledger, lost: func(error) {}}
		name := path.Join(s.out.Path, s.out.Manifest.Files()[1].Path)
		s.do(s.fs.Rename(name, name+"x"))
		if err := c.loadOutput(ctx, s.out); err == nil || s.requests > 0 {
			s.Errorf("without a file: %d requests, %v", s.requests, err)
		}
		s.do(s.fs.Rename(name+"x", name))
		s.do(c.loadOutput(ctx, s.out))
		if c.report.Files != 3 || c.report.Load.Files != 3 || s.requests != 3 {
			s.Errorf("%d requests, report %+v", s.requests, c.report)
		}
		s.wantRecords("after the command", manifest.Loaded, ledger.Loaded, 0)
	})
}

// TestDisabledAtEveryCall: if the table is disabled at any of the calls that ask for what was loaded, the answer is not
// that it is served.
func TestDisabledAtEveryCall(t *testing.T) {
	simulated(t, func(s *simulation) {
		_, err := s.load(s.loader())
		s.do(err)
		for n := 0; ; n++ {
			isDisabled := false
			s.sim.Interrupt(n, func() { isDisabled = true; s.do(s.sim.Disable("t")) })
			err := s.loader().CheckServed(s.Context())
			s.sim.Interrupt(0, nil)
			if !isDisabled {
				if s.do(err); n < 5 {
					s.Errorf("only %d calls were made", n)
				}
				return
			}
			if !errors.Is(err, load.ErrRefused) {
				s.Errorf("at call %d: %v", n, err)
			}
			s.do(s.sim.Enable("t"))
		}
	})
}

// TestDisabledDuringALoad: a load during which the table is disabled at any call either fails, and goes on when the
// table is enabled again, or has ended. Then readers find all rows, and nothing was loaded twice.
func TestDisabledDuringALoad(t *testing.T) {
	t.Parallel()
	for n, isDone := 0, false; !isDone; n++ {
		simulated(t, func(s *simulation) {
			isDisabled := false
			s.sim.Interrupt(n, func() { isDisabled = true; s.do(s.sim.Disable("t")) })
			_, err := s.load(s.loader())
			s.sim.Interrupt(0, nil)
			if isDone = !isDisabled; isDone {
				s.do(err)
				return
			}
			s.do(s.sim.Enable("t"))
			if err != nil {
				_, err = s.load(s.loader())
			}
			if err != nil || s.loader().Out.Manifest.State != manifest.Loaded {
				s.Errorf("after call %d: the manifest says %s, %v", n, s.out.Manifest.State, err)
			}
			if lost := s.sim.Unreadable("t", 0, []cell.Cell{cellOf("a"), cellOf("h"), cellOf("x")}); len(lost) > 0 {
				s.Errorf("after call %d: %d rows are lost", n, len(lost))
			}
		})
	}
}

// TestEnabledAgainDuringALoad: a table that is disabled and enabled when it has all files is recorded as it is in the
// end, not as it was.
func TestEnabledAgainDuringALoad(t *testing.T) {
	for _, isOutput := range []bool{true, false} {
		simulated(t, func(s *simulation) {
			taken := 0
			s.out.Options.Failpoint = func(p options.Point) {
				if p == options.FilesLoaded {
					if taken++; taken == 3 {
						s.do(errors.Join(s.sim.Disable("t"), s.sim.Enable("t")))
					}
				}
			}
			var identity string
			if isOutput {
				_, err := s.load(s.loader())
				s.do(err)
				identity = s.loader().Out.Manifest.Table
			} else {
				l := newDirectoryLoad(s.out.Dir, "t", s.client, s.ledger, nil)
				d, err := l.recovered(s.Context())
				s.do(err)
				_, err = l.load(s.Context(), d)
				s.do(err)
				e, err := l.record.read()
				s.do(err)
				identity = e.Identity
			}
			if now := s.table().Identity(); taken != 3 || identity != now {
				s.Errorf("output %t: the table is %s, recorded is %s", isOutput, now, identity)
			}
		})
	}
}

// TestSimulatedLedgerFails: a load that can't be recorded in the ledger sends nothing. What was loaded is not said to
// be served if the ledger can't be read.
func TestSimulatedLedgerFails(t *testing.T) {
	simulated(t, func(s *simulation) {
		full := errors.New("no space")
		l := s.loader()
		l.Ledger = ledger.Open(&countedSaves{FS: s.fs, fail: full}, "/full")
		if _, err := s.load(l); !errors.Is(err, full) || s.requests > 0 {
			s.Errorf("%d requests, %v", s.requests, err)
		}
		_, err := s.load(s.loader())
		s.do(err)
		_, name := storage.SplitURI(s.ledger.EntryURI(s.out.Manifest.LedgerKey(s.out.FS.URI(s.out.Path))))
		text := s.read(name)
		s.write(name, text[:len(text)/2])
		if err := s.loader().CheckServed(s.Context()); failure.CodeOf(err) != errcode.ManifestMalformed {
			s.Errorf("the ledger's entry is cut: %v", err)
		}
	})
}

// TestProgressOfALoad: the progress names all files in the end, and the share of the whole never falls. Requests after
// files were cut are no new look at the table: its share comes after them.
func TestProgressOfALoad(t *testing.T) {
	simulated(t, func(s *simulation) {
		var mu sync.Mutex
		done, whole := map[string]int64{}, 0.0
		s.out.Options.Watch = func(p options.Progress) {
			mu.Lock()
			defer mu.Unlock()
			if done[p.Phase] = p.Done; p.Whole < whole {
				s.Errorf("%s: %v of the whole after %v", p.Phase, p.Whole, whole)
			}
			whole = p.Whole
		}
		s.decide = func(*simcluster.Call) (v simcluster.Verdict) {
			mu.Lock()
			defer mu.Unlock()
			if _, begun := done["load"]; !begun {
				s.Error("a request is sent, and the progress does not say so")
			}
			return v
		}
		_, err := s.load(s.loader())
		if s.do(err); done["load"] != 3 || done["probe"] != 3 || whole != 1 {
			s.Errorf("%v are done, and %v of the whole", done, whole)
		}
		s.out.Options.Watch = nil
		h := &requests{out: s.out.Dir}
		h.begin(3)
		first := h.watchLook(3)
		if h.count(0); first == nil || h.watchLook(3) != nil {
			s.Error("the first look is not counted, or a later one is")
		}
		if h.begin(0); h.watchLook(0) != nil {
			s.Error("no file is looked for, and that is counted")
		}
	})
}

// TestOthersWithEqualCells: another load may have had equal cells if the ledger has one with the timestamp of this one,
// or one whose timestamps it does not know. Where nobody knows, it may. It may have come later unless it ended long
// before this one.
func TestOthersWithEqualCells(t *testing.T) {
	t.Parallel()
	loaded := time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		entry       *ledger.Entry
		timestamp   int64
		want, later bool
	}{
		"none":                           {nil, 5, false, false},
		"its own":                        {&ledger.Entry{Run: "run", Moments: true}, 5, false, false},
		"of another timestamp":           {&ledger.Entry{Run: "other"}, 6, false, false},
		"of the same":                    {&ledger.Entry{Run: "other"}, 5, true, true},
		"of unknown ones":                {&ledger.Entry{Run: "other", Moments: true}, 6, true, true},
		"whatever this one's cells have": {&ledger.Entry{Run: "other"}, 0, true, true},
		"of a day before":                {&ledger.Entry{Run: "other", Time: loaded.AddDate(0, 0, -1)}, 5, true, false},
		"of a minute before":             {&ledger.Entry{Run: "other", Time: loaded.Add(-time.Minute)}, 5, true, true},
		"begun a day before":             {&ledger.Entry{Run: "other", Time: loaded.AddDate(0, 0, -1), State: ledger.Loading}, 5, true, true},
		"of a day after":                 {&ledger.Entry{Run: "other", Time: loaded.AddDate(0, 0, 1)}, 5, true, true},
	} {
		out := writtenOutput(t, options.Options{}, "a")
		out.Manifest.Timestamp = c.timestamp
		l := &Loader{Out: out, Ledger: ledger.Open(storage.Local, t.TempDir())}
		for i, e := range []*ledger.Entry{{Run: "run", Time: loaded}, c.entry} {
			if e == nil {
				continue
			}
			e.State, e.Time = cmp.Or(e.State, ledger.Loaded), cmp.Or(e.Time, loaded)
			e.Table, e.JobHash, e.Counts, e.Inputs = "t", fmt.Sprintf("fedcba987654321%d", i), []byte("{}"), []byte("[]")
			e.Files = []ledger.LoadedFile{{Family: "f", Probes: []ledger.KnownCell{{Timestamp: 5}}}}
			if err := l.Ledger.Write(e, ""); err != nil {
				t.Fatal(err)
			}
		}
		for _, later := range []bool{false, true} {
			want := map[bool]bool{false: c.want, true: c.later}[later]
			if got, err := l.othersHadEqualCells("run", later); got != want || err != nil {
				t.Errorf("%s, later %t: %t, %v", name, later, got, err)
			}
		}
		l.Ledger = nil
		if got, err := l.othersHadEqualCells("run", true); !got || err != nil {
			t.Errorf("%s, without a ledger: %t, %v", name, got, err)
		}
	}
}

// unread is a storage of which one look at a file's content fails.
type unread struct {
	storage.FS
	opens *int
	fails int
}

func (u unread) Open(name string) (storage.File, error) {
	if *u.opens++; *u.opens == u.fails {
		return nil, errDisk
	}
	return u.FS.Open(name)
}

// TestLoadThatCantReadTheLedger: whichever look at the ledger fails, the load is not done.
func TestLoadThatCantReadTheLedger(t *testing.T) {
	for n := 1; ; n++ {
		var opens int
		simulated(t, func(s *simulation) {
			other := &ledger.Entry{State: ledger.Loaded, Table: "t", JobHash: s.out.Manifest.JobHash, Run: "another", Output: s.out.FS.URI(s.out.Path),
				Files: []ledger.LoadedFile{{URI: "hdfs:///f", Family: "f"}}}
			s.do(s.ledger.Write(other, ""))
			s.out.Manifest.Corrects = other.Run
			s.ledger = ledger.Open(unread{s.out.FS, &opens, n}, simulatedLedger)
			if _, err := s.load(s.loader()); opens >= n && !errors.Is(err, errDisk) || opens < n && err != nil {
				s.Errorf("look %d of %d: %v", n, opens, err)
			}
		})
		if opens < n {
			if n < 3 {
				t.Errorf("the ledger is read only %d times", opens)
			}
			return
		}
	}
}
