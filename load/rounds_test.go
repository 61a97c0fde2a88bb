package load

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"bulkload/cell"
	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/internal/test/hbasetest"
	"bulkload/internal/test/testfs"
	"bulkload/internal/test/testwords"
)

// These tests have a region server that fails as a real one can't be made to, and files on the local disk.

var (
	yes = hbasetest.Answer{Param: []byte{8, 1}} // BulkLoadHFileResponse{loaded: true}
	no  = hbasetest.Answer{Param: []byte{8, 0}}
)

// bench is a loading of files a and b of family f, in one region.
type bench struct {
	*loadRun
	t        *testing.T
	group    group
	requests atomic.Int32
	reported []string
}

// newBench makes one whose region server answers as answer says.
func newBench(t *testing.T, answer func(b *bench) hbasetest.Answer) *bench {
	b := &bench{t: t}
	server := hbasetest.Serve(t, func(r hbasetest.Request) hbasetest.Answer {
		if r.Method != "BulkLoadHFile" {
			t.Errorf("unexpected call of %s", r.Method)
		}
		b.requests.Add(1)
		return answer(b)
	})
	c := unconnected(t)
	c.limits.quiescence, c.limits.refusal, c.limits.rounds = 20*time.Millisecond, 0, 2
	b.loadRun = &loadRun{cluster: c, fs: storage.Local, token: "file://" + t.TempDir()}
	b.resolve = func(_ context.Context, files []*pendingFile) ([]*pendingFile, []ProbeResult, error) {
		return files, nil, nil
	}
	b.hooks.Done = func(files []HFile) error {
		for _, f := range files {
			b.reported = append(b.reported, filepath.Base(f.URI))
		}
		return nil
	}
	b.group.region = Region{Name: []byte("t,,1.x."), Server: server.Addr}
	source := t.TempDir()
	for _, name := range []string{"a", "b"} {
		b.add(filepath.Join(source, name))
	}
	return b
}

func (b *bench) add(path string) {
	b.t.Helper()
	if err := os.WriteFile(path, []byte("cells"), 0o600); err != nil {
		b.t.Fatal(err)
	}
	_, staging := storage.SplitURI(b.token)
	f := &pendingFile{HFile: HFile{Family: "f", URI: "file://" + path}, path: path, staged: filepath.Join(staging, "f", filepath.Base(path))}
	if err := os.MkdirAll(filepath.Dir(f.staged), 0o700); err != nil {
		b.t.Fatal(err)
	}
	b.group.files = append(b.group.files, f)
}

// stage does what a region server does first, take does it all.
func (b *bench) stage(i int) {
	if err := os.Rename(b.group.files[i].path, b.group.files[i].staged); err != nil {
		b.t.Error(err)
	}
}

func (b *bench) take(i int) {
	if err := os.Remove(b.group.files[i].path); err != nil {
		b.t.Error(err)
	}
}

// wantLeft checks which files are left, at their place, and whether they are in doubt.
func (b *bench) wantLeft(isInDoubt bool, names ...string) {
	b.t.Helper()
	var left []string
	for _, f := range b.left {
		left = append(left, filepath.Base(f.path))
		if _, err := os.Stat(f.path); err != nil {
			b.t.Errorf("left, but not at its place: %v", err)
		}
		if f.inDoubt != isInDoubt {
			b.t.Errorf("%s in doubt: %v, want %v", f.path, f.inDoubt, isInDoubt)
		}
	}
	if !slices.Equal(left, names) {
		b.t.Errorf("left are %q, want %q", left, names)
	}
}

func (b *bench) wantReported(names ...string) {
	b.t.Helper()
	if !slices.Equal(b.reported, names) || b.report.Files != len(names) {
		b.t.Errorf("reported %q (report: %d), want %q", b.reported, b.report.Files, names)
	}
}

func (b *bench) run() (transient, err error) { return b.round(context.Background(), []group{b.group}) }

func TestLoaded(t *testing.T) {
	b := newBench(t, func(b *bench) hbasetest.Answer { b.take(0); b.take(1); return yes })
	transient, err := b.run()
	if transient != nil || err != nil {
		t.Errorf("got %v, %v", transient, err)
	}
	b.wantLeft(false)
	b.wantReported("a", "b")
	if b.report.Regions != 1 {
		t.Errorf("%d regions", b.report.Regions)
	}
}

// lookedAt is a file system in which something happens before so many looks at files.
type lookedAt struct {
	storage.FS
	looks int
	do    func()
}

func (f *lookedAt) Stat(name string) (storage.Info, error) {
	if f.looks--; f.looks == 0 {
		f.do()
	}
	return f.FS.Stat(name)
}

// After a lost connection the files' places tell what happened; nothing is sent again within the round.
func TestConnectionLost(t *testing.T) {
	for name, test := range map[string]struct {
		before       func(*bench)
		looks        int // before the server goes on and stages the second file; 0: it does not
		loaded, left []string
	}{
		"before it began":      {func(*bench) {}, 0, nil, []string{"a", "b"}},
		"while staging":        {func(b *bench) { b.stage(0) }, 0, nil, []string{"a", "b"}},
		"while taking":         {func(b *bench) { b.take(0); b.stage(1) }, 0, []string{"a"}, []string{"b"}},
		"when all was done":    {func(b *bench) { b.take(0); b.take(1) }, 0, []string{"a", "b"}, nil},
		"while it was staging": {func(*bench) {}, 5, nil, []string{"a", "b"}}, // two before the request, two after it
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(b *bench) hbasetest.Answer { test.before(b); return hbasetest.Answer{Hangup: true} })
			looked := &lookedAt{FS: b.fs, looks: test.looks, do: func() { b.stage(1) }}
			b.fs = looked
			transient, err := b.run()
			if err != nil || (transient == nil) != (test.left == nil) {
				t.Errorf("got %v, %v", transient, err)
			}
			b.wantLeft(true, test.left...)
			b.wantReported(test.loaded...)
			if n := b.requests.Load(); n != 1 {
				t.Errorf("%d requests", n)
			}
			if looked.looks > 0 {
				t.Error("the files were looked at only once after the request")
			}
		})
	}
}

// A server continues after its connection broke: the next round sees that, and sends only what is left.
func TestLoadedAfterTheConnectionWasLost(t *testing.T) {
	b := newBench(t, func(b *bench) hbasetest.Answer {
		if b.requests.Load() == 1 {
			return hbasetest.Answer{Hangup: true}
		}
		b.take(0)
		return yes
	})
	if transient, err := b.run(); transient == nil || err != nil {
		t.Errorf("got %v, %v", transient, err)
	}
	b.wantLeft(true, "a", "b")
	b.take(0)
	if transient, err := b.run(); transient != nil || err != nil {
		t.Errorf("second round: %v, %v", transient, err)
	}
	b.wantLeft(true, "b")
	b.wantReported("a")
	b.group.files = b.left
	if transient, err := b.run(); transient != nil || err != nil || b.requests.Load() != 2 {
		t.Errorf("third round: %v, %v, %d requests", transient, err, b.requests.Load())
	}
	b.wantReported("a", "b")
}

// loaded=false says nothing: files are brought back from staging, and asked for once more.
func TestNotLoadedOnce(t *testing.T) {
	b := newBench(t, func(b *bench) hbasetest.Answer {
		if b.requests.Load() == 1 {
			b.stage(0)
			return no
		}
		b.take(0)
		b.take(1)
		return yes
	})
	transient, err := b.run()
	if transient != nil || err != nil {
		t.Errorf("got %v, %v", transient, err)
	}
	b.wantLeft(false, "a", "b")
	if transient, err = b.run(); transient != nil || err != nil {
		t.Errorf("second round: %v, %v", transient, err)
	}
	b.wantLeft(false)
	b.wantReported("a", "b")
}

func TestNotLoadedTwice(t *testing.T) {
	b := newBench(t, func(b *bench) hbasetest.Answer { b.stage(1); return no })
	if _, err := b.run(); err != nil {
		t.Fatal(err)
	}
	_, err := b.run()
	if !errors.Is(err, ErrUnavailable) || errcode.Outermost(err) != errcode.HBaseRefused ||
		!testwords.Names(err, b.group.region.Server, "Failed to complete bulk load", b.group.files[0].URI) {
		t.Errorf("got %v", err)
	}
	b.wantLeft(false, "a", "b")
	b.wantReported()
}

// Files are offered again until the number of tries and the minutes are both used up.
func TestRefusalsTakeTime(t *testing.T) {
	b := newBench(t, func(b *bench) hbasetest.Answer { return no })
	b.cluster.limits.refusal = time.Hour
	for range 5 {
		if _, err := b.run(); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range b.left {
		f.refused = f.refused.Add(-time.Hour)
	}
	if _, err := b.run(); !errors.Is(err, ErrUnavailable) {
		t.Errorf("after an hour: %v", err)
	}
	b.cluster.limits.rounds = 100
	if _, err := b.run(); err != nil {
		t.Errorf("before the last try: %v", err)
	}
}

func TestHalfTaken(t *testing.T) {
	b := newBench(t, func(b *bench) hbasetest.Answer { b.take(0); b.stage(1); return no })
	if transient, err := b.run(); transient != nil || err != nil {
		t.Errorf("got %v, %v", transient, err)
	}
	b.wantLeft(false, "b")
	b.wantReported("a")
}

func TestExceptions(t *testing.T) {
	for class, kind := range map[string]error{
		"org.apache.hadoop.hbase.NotServingRegionException":         nil,
		"org.apache.hadoop.hbase.exceptions.RegionMovedException":   nil,
		"org.apache.hadoop.hbase.RegionTooBusyException":            nil,
		"org.apache.hadoop.hbase.CallQueueTooBigException":          nil,
		"org.apache.hadoop.hbase.ipc.ServerTooBusyException":        nil,
		"org.apache.hadoop.hbase.exceptions.TimeoutIOException":     nil,
		"org.apache.hadoop.hbase.security.AccessDeniedException":    ErrRefused,
		"org.apache.hadoop.hbase.DoNotRetryIOException":             ErrRefused,
		"org.apache.hadoop.security.AccessControlException":         ErrRefused,
		"org.apache.hadoop.hbase.NotServingRegionExceptionNot":      nil,
		"java.net.ConnectException":                                 nil,
		"java.io.IOException":                                       nil,
		"org.apache.hadoop.hbase.TableNotFoundException":            ErrNotFound,
		"org.apache.hadoop.hbase.ipc.ServerNotRunningYetException":  nil,
		"org.apache.hadoop.hbase.regionserver.WrongRegionException": nil,
	} {
		b := newBench(t, func(b *bench) hbasetest.Answer { return hbasetest.Answer{Exception: class, Stack: class + ": why"} })
		transient, err := b.run()
		if kind == nil && (transient == nil || err != nil) || kind != nil && !errors.Is(classify(context.Background(), err), kind) {
			t.Errorf("%s: got %v, %v", class, transient, err)
		}
		b.wantLeft(false, "a", "b")
	}
}

// TestStagingIsAskedForAgain: the server's own client of HDFS does not reach the NameNode, or any one that is active.
// That is waited for, and what lasts is to be tried later; what the server or HDFS forbids ends the load at once.
func TestStagingIsAskedForAgain(t *testing.T) {
	t.Parallel()
	for class, kind := range map[string]error{
		"java.net.ConnectException":                                nil,
		"java.net.SocketTimeoutException":                          nil,
		"java.io.IOException":                                      nil,
		"org.apache.hadoop.ipc.StandbyException":                   nil,
		"org.apache.hadoop.ipc.RemoteException":                    nil,
		"org.apache.hadoop.ipc.RetriableException":                 nil,
		"org.apache.hadoop.hdfs.server.namenode.SafeModeException": nil,
		"org.apache.hadoop.hbase.security.AccessDeniedException":   ErrRefused,
		"org.apache.hadoop.hbase.DoNotRetryIOException":            ErrRefused,
		"org.apache.hadoop.hbase.TableNotFoundException":           ErrNotFound,
		"org.apache.hadoop.security.AccessControlException":        ErrRefused,
		"org.apache.hadoop.hdfs.protocol.NSQuotaExceededException": ErrRefused,
	} {
		for _, tries := range []int32{2, math.MaxInt32} {
			t.Run(fmt.Sprint(class, "/", tries), func(t *testing.T) {
				t.Parallel() // most wait for an answer that does not come
				var asked atomic.Int32
				server := hbasetest.Serve(t, func(r hbasetest.Request) hbasetest.Answer {
					if asked.Add(1) > tries {
						return hbasetest.Answer{Param: append([]byte{1<<3 | 2, 1}, 's')} // PrepareBulkLoadResponse{1 bulk_token}
					}
					return hbasetest.Answer{Exception: class, Stack: class + ": Call From h/127.0.0.1 to h:8020 failed"}
				})
				b := newBench(t, nil)
				b.regions = []Region{{Name: []byte("t,,1.x."), Server: server.Addr}}
				wait := time.Minute
				if kind == nil && tries > 2 {
					wait = 10 * time.Second // in which a busy machine asks twice
				}
				err := classify(t.Context(), b.requestStaging(t.Context(), &Table{Name: "t"}, wait))
				switch {
				case kind != nil:
					if !errors.Is(err, kind) || asked.Load() > 1 {
						t.Errorf("asked %d times, %v", asked.Load(), err)
					}
				case tries == 2:
					if err != nil || b.token != "s" {
						t.Errorf("%q, %v", b.token, err)
					}
				case !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrRefused) || asked.Load() < 2:
					t.Errorf("asked %d times, %v", asked.Load(), err)
				}
			})
		}
	}
}

func TestServerDown(t *testing.T) {
	b := newBench(t, nil)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b.group.region.Server = listener.Addr().String()
	listener.Close()
	transient, err := b.run()
	if transient == nil || err != nil {
		t.Errorf("got %v, %v", transient, err)
	}
	b.wantLeft(false, "a", "b")
}

func TestFileIsGone(t *testing.T) {
	b := newBench(t, func(b *bench) hbasetest.Answer { return yes })
	b.take(1)
	_, err := b.run()
	if !errors.Is(err, fs.ErrNotExist) || !testwords.Names(err, b.group.files[1].URI) || b.requests.Load() != 0 {
		t.Errorf("got %v after %d requests", err, b.requests.Load())
	}
	b.wantReported()
}

// A file that can't be brought back stays in staging, which then must not be deleted.
func TestCannotMoveBack(t *testing.T) {
	b := newBench(t, func(b *bench) hbasetest.Answer {
		b.stage(0)
		b.take(1)
		if err := os.Remove(filepath.Dir(b.group.files[0].path)); err != nil {
			b.t.Error(err)
		}
		return no
	})
	b.report.Staging, b.keep = b.token, true
	_, err := b.run()
	if !testwords.Names(err, b.token, b.group.files[0].URI) {
		t.Errorf("got %v", err)
	}
	if len(b.left) != 1 || !b.left[0].inDoubt {
		t.Errorf("left: %+v", b.left)
	}
	b.cleanup(context.Background()) // would panic if it asked HBase: there is none
	if b.report.Staging != b.token {
		t.Error("the report does not name the staging folder")
	}
	b.wantReported("b")
}

// movedAway is a file system in which somebody moves a file away just before it is renamed.
type movedAway struct{ storage.FS }

func (m movedAway) Rename(from, to string) error {
	return errors.Join(m.FS.Rename(from, from+".moved"), m.FS.Rename(from, to))
}

// TestMovedWhileItIsMovedBack: a server that goes on with a request may move a file from staging after it was found there.
// That is worth another try.
func TestMovedWhileItIsMovedBack(t *testing.T) {
	b := newBench(t, func(b *bench) hbasetest.Answer { b.stage(0); b.take(1); return no })
	b.fs = movedAway{b.fs}
	if transient, err := b.run(); !errors.Is(transient, ErrUnavailable) || err != nil {
		t.Errorf("%v, %v", transient, err)
	}
	if len(b.left) != 1 || !b.left[0].inDoubt {
		t.Errorf("left: %+v", b.left)
	}
}

// TestMovedBackWhileItIsLookedFor: a server may move a file from staging back to its source after the look there.
func TestMovedBackWhileItIsLookedFor(t *testing.T) {
	b := newBench(t, func(*bench) hbasetest.Answer { return no })
	b.stage(0)
	f := b.group.files[0]
	b.fs = &lookedAt{FS: b.fs, looks: 2, do: func() {
		if err := os.Rename(f.staged, f.path); err != nil {
			t.Error(err)
		}
	}}
	if place, err := b.locateFile(f); place != atSource || err != nil {
		t.Errorf("it is at place %d, %v", place, err)
	}
}

// TestUnseenIsNotGone: the NameNode does not say whether a file is at its source, or in the staging folder.
func TestUnseenIsNotGone(t *testing.T) {
	b := newBench(t, func(*bench) hbasetest.Answer { return no })
	b.stage(0)
	for looks := 1; looks < 4; looks++ {
		fault := new(testfs.Fault)
		fault.Left.Store(int64(looks))
		fsys := b.fs
		b.fs = &testfs.Failing{FS: fsys, Fault: fault}
		place, err := b.locateFile(b.group.files[0])
		if failed := fault.Failed() != ""; failed != (err != nil) || !failed && place != inStaging {
			t.Errorf("look %d fails (%t): it is at place %d, %v", looks, failed, place, err)
		}
		b.fs = fsys
	}
}

// A file that is gone after an answer other than yes is not loaded for that: the open region decides.
func TestGoneIsNotLoaded(t *testing.T) {
	b := newBench(t, func(b *bench) hbasetest.Answer { b.take(0); b.take(1); return no })
	b.resolve = func(_ context.Context, files []*pendingFile) ([]*pendingFile, []ProbeResult, error) {
		return files[:1], []ProbeResult{{HFile: files[1].HFile, Serving: Missing}}, nil
	}
	if transient, err := b.run(); transient != nil || err != nil {
		t.Errorf("%v, %v", transient, err)
	}
	b.wantReported("a")
	b.wantLeft(false)
	if len(b.lost) != 1 || b.lost[0].URI != b.group.files[1].URI {
		t.Errorf("lost: %+v", b.lost)
	}
}

// Where the open region can't be asked now, the files are neither loaded nor lost, and are asked for again.
func TestUndecided(t *testing.T) {
	b := newBench(t, func(b *bench) hbasetest.Answer { b.take(0); return no })
	decide := b.resolve
	b.resolve = func(context.Context, []*pendingFile) ([]*pendingFile, []ProbeResult, error) {
		return nil, nil, ErrUnavailable
	}
	if transient, err := b.run(); transient == nil || err != nil {
		t.Errorf("%v, %v", transient, err)
	}
	b.wantReported()
	if len(b.left) != 2 || len(b.lost) != 0 {
		t.Errorf("left %d, lost %d", len(b.left), len(b.lost))
	}
	b.resolve, b.group.files = decide, b.left
	if _, err := b.run(); err != nil {
		t.Error(err)
	}
	b.wantReported("a")
}

// TestYesWithoutMeta: cells that the table returned before prove nothing, so a server's yes counts only if hbase:meta
// says that the region is still open there. If hbase:meta can't be read, the files are in doubt, and the open region is
// asked.
func TestYesWithoutMeta(t *testing.T) {
	for _, before := range []bool{false, true} {
		b := newBench(t, func(b *bench) hbasetest.Answer { b.take(0); b.take(1); return yes })
		b.cluster.servers.finder = &zooKeeper{quorum: quorum{servers: []string{closedPort(t)}}, parent: "/hbase"}
		limits := b.cluster.limits
		limits.idle = 100 * time.Millisecond
		b.cluster.reader = newReader(b.cluster.servers, limits)
		b.group.files[1].Probes = []Probe{{Type: byte(cell.Put), Before: before}}
		doubted := 0
		b.resolve = func(_ context.Context, files []*pendingFile) ([]*pendingFile, []ProbeResult, error) {
			doubted += len(files)
			return files[:1], []ProbeResult{{HFile: files[1].HFile, Serving: Missing}}, nil
		}
		if transient, err := b.run(); transient != nil || err != nil {
			t.Errorf("served before: %v: %v, %v", before, transient, err)
		}
		if before {
			b.wantReported("a")
		} else {
			b.wantReported("a", "b")
		}
		if want := map[bool]int{true: 2}[before]; doubted != want || len(b.lost) != want/2 {
			t.Errorf("served before: %v: %d files were doubted, %d are lost", before, doubted, len(b.lost))
		}
	}
}

func TestDoneFails(t *testing.T) {
	full := errors.New("disk full")
	b := newBench(t, func(b *bench) hbasetest.Answer { b.take(0); b.take(1); return yes })
	b.hooks.Done = func([]HFile) error { return full }
	if _, err := b.run(); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
}

// A request under way when the caller gives up is waited for, and no other one is sent.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	b := newBench(t, func(b *bench) hbasetest.Answer {
		cancel()
		time.Sleep(30 * time.Millisecond)
		b.take(0)
		b.take(1)
		return yes
	})
	b.cluster.limits.parallel = 1
	second := group{region: b.group.region, files: []*pendingFile{{HFile: HFile{URI: "file:///none"}, path: "/none"}}}
	_, err := b.round(ctx, []group{b.group, second})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	b.wantReported("a", "b")
	if len(b.left) != 1 || b.requests.Load() != 1 {
		t.Errorf("%d left, %d requests", len(b.left), b.requests.Load())
	}
}

// TestNoRequestWithoutLeave: a request that the caller has no leave for any more is not sent, and its files stay.
func TestNoRequestWithoutLeave(t *testing.T) {
	b := newBench(t, func(b *bench) hbasetest.Answer { b.take(0); return yes })
	taken := errors.New("another one loads them")
	asked := 0
	b.hooks.Before = func() error {
		if asked++; asked > 1 {
			return taken
		}
		return nil
	}
	first, second := b.group, b.group
	first.files, second.files = b.group.files[:1], b.group.files[1:]
	if transient, err := b.round(context.Background(), []group{first}); transient != nil || err != nil {
		t.Fatalf("with leave: %v, %v", transient, err)
	}
	transient, err := b.round(context.Background(), []group{second})
	if transient != nil || !errors.Is(err, taken) || b.requests.Load() != 1 {
		t.Errorf("without: %v, %v, %d requests", transient, err, b.requests.Load())
	}
	b.wantLeft(false, "b")
	b.wantReported("a")
}

// TestNoRequestWithoutToken: HBase with Kerberos gets no request without a delegation token.
func TestNoRequestWithoutToken(t *testing.T) {
	noTokens, noNameNode := errors.New("no tokens today"), fmt.Errorf("%w: no NameNode", storage.ErrUnavailable)
	for name, c := range map[string]struct {
		rights           *delegation
		final, transient error
	}{
		"no rights":      {nil, ErrRefused, nil},
		"failing rights": {&delegation{fs: &delegator{failing: noTokens}}, noTokens, nil},
		"no NameNode":    {&delegation{fs: &delegator{failing: noNameNode}}, nil, noNameNode},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(*bench) hbasetest.Answer { return no })
			b.cluster.secured, b.rights = true, c.rights
			o := b.attempt(t.Context(), b.group)
			if !errors.Is(o.err, c.final) || !errors.Is(o.transient, c.transient) || len(o.left) != 2 {
				t.Errorf("%v, transient %v, %d left", o.err, o.transient, len(o.left))
			}
			if n := b.requests.Load(); n != 0 {
				t.Errorf("%d requests were sent", n)
			}
		})
	}
}
