package load

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/user"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/cell"
	"bulkload/internal/hbase"
	"bulkload/internal/siteconf"
	"bulkload/internal/storage"
	"bulkload/internal/test/testcluster"
	"bulkload/internal/test/testwords"

	"google.golang.org/protobuf/encoding/protowire"
)

// These tests use a real HBase. HFiles are written by HBase's own writer, tables read by HBase's own client as well.

// lab is a real cluster, and this package's connection to it.
type lab struct {
	testing.TB
	*Cluster
	real *testcluster.Cluster
	fs   storage.FS
	dir  string // a folder of the test's own in HDFS, as a URI
}

// testUser runs the cluster's processes, too, and so may do all in its HDFS.
var testUser = func() string {
	u, err := user.Current()
	if err != nil {
		return "root"
	}
	return u.Username
}()

func newLab(t *testing.T, properties ...string) *lab {
	t.Helper()
	real := testcluster.Use(t)
	t.Parallel() // tables and folders are each test's own
	return connect(t, real, testUser, properties...)
}

func connect(t testing.TB, real *testcluster.Cluster, as string, properties ...string) *lab {
	t.Helper()
	conf, err := siteconf.Load(real.ConfDir())
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(properties); i += 2 {
		conf.Set(properties[i], properties[i+1])
	}
	c, err := Connect(t.Context(), conf, Caller{User: as}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.limits.refusal, c.limits.rounds = 300*time.Millisecond, 2 // else a refusal takes minutes
	l := &lab{TB: t, Cluster: c, real: real, dir: real.FS() + "/load-test/" + fmt.Sprint(time.Now().UnixNano())}
	var name string
	if l.fs, name, err = storage.ResolveAs(l.dir, "/", conf, storage.Identity{User: as}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.fs.RemoveAll(name); err != nil {
			t.Error(err)
		}
		l.fs.Close()
	})
	return l
}

// newTable makes a table with families f and g, split at the rows given.
func (l *lab) newTable(splits ...string) string {
	l.Helper()
	name := l.real.UniqueTable(l.TB)
	var rows [][]byte
	for _, s := range splits {
		rows = append(rows, []byte(s))
	}
	if _, err := l.Create(l.Context(), name, []Family{{Name: "f"}, {Name: "g"}}, rows); err != nil {
		l.Fatal(err)
	}
	return name
}

// Context is the test's; Cluster has no such method.
func (l *lab) Context() context.Context { return l.TB.Context() }

// write has HBase's writer make an HFile with the rows, one cell of column q each, whose value names row and file.
func (l *lab) write(name, family string, rows ...string) HFile {
	l.Helper()
	var cells strings.Builder
	for _, row := range rows {
		fmt.Fprintf(&cells, "%x\t%s\t%x\t%d\tPut\t%x\n", row, family, "q", 1000, row+" of "+name)
	}
	f := l.writeCells(name, family, cells.String(), rows[0], rows[len(rows)-1])
	for _, row := range []string{rows[0], rows[len(rows)-1]} {
		f.Probes = append(f.Probes, Probe{Row: []byte(row), Qualifier: []byte("q"), Timestamp: 1000, Type: byte(cell.Put), Value: SumValue([]byte(row + " of " + name))})
	}
	return f
}

func (l *lab) writeCells(name, family, cells, first, last string) HFile {
	l.Helper()
	local := filepath.Join(l.TempDir(), "cells")
	if err := os.WriteFile(local, []byte(cells), 0o600); err != nil {
		l.Fatal(err)
	}
	answer, err := l.real.Oracle(l.TB).Run("write", local, l.dir+"/"+name)
	if err != nil {
		l.Fatal(err)
	}
	uri := strings.TrimSpace(answer)
	if strings.HasPrefix(uri, "/") {
		uri = l.real.FS() + uri
	}
	return HFile{Family: family, URI: uri, FirstRow: []byte(first), LastRow: []byte(last)}
}

// scan lists a range's cells as "row family value".
func (l *lab) scan(table, start, end string) []string {
	l.Helper()
	var cells []string
	err := l.ScanRange(l.Context(), table, []byte(start), []byte(end), func(c *cell.Cell) error {
		if string(c.Qualifier) != "q" || c.Timestamp != 1000 || c.Type != cell.Put {
			l.Errorf("unexpected cell %+v", c)
		}
		cells = append(cells, fmt.Sprintf("%s %s %s", c.Row, c.Family, c.Value))
		return nil
	})
	if err != nil {
		l.Fatal(err)
	}
	return cells
}

func (l *lab) wantScan(table string, want ...string) {
	l.Helper()
	if got := l.scan(table, "", ""); !slices.Equal(got, want) {
		l.Errorf("the table has %q, want %q", got, want)
	}
}

func (l *lab) exists(f HFile) bool {
	l.Helper()
	_, name := storage.SplitURI(f.URI)
	return l.existsAt(name)
}

func (l *lab) existsAt(name string) bool {
	l.Helper()
	_, err := l.fs.Stat(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.Fatal(err)
	}
	return err == nil
}

// load loads and returns the files that were reported to done.
func (l *lab) load(table string, files ...HFile) ([]HFile, *Report, error) {
	var reported []HFile
	report, err := l.LoadFrom(l.Context(), l.fs, table, files, Hooks{Done: func(files []HFile) error {
		reported = append(reported, files...)
		return nil
	}})
	return reported, report, err
}

// master calls a method of the master that only tests need.
func (l *lab) master(method string, build func([]byte) []byte) {
	l.Helper()
	conn, err := l.servers.master(l.Context())
	if err == nil {
		_, err = conn.Call(l.Context(), method, build(nil))
	}
	if err != nil {
		l.Fatal(err)
	}
}

func bytesField(b []byte, number protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, number, protowire.BytesType), value)
}

// move moves a region to the other server and waits until hbase:meta says so.
func (l *lab) move(table string, region Region) {
	l.Helper()
	l.master("MoveRegion", func(b []byte) []byte { // MoveRegionRequest{1 RegionSpecifier{1 type ENCODED, 2 value}}
		name := strings.TrimSuffix(string(region.Name), ".")
		encoded := name[strings.LastIndexByte(name, '.')+1:]
		return bytesField(b, 1, bytesField([]byte{8, 2}, 2, []byte(encoded)))
	})
	for range 100 {
		t, err := l.Table(l.Context(), table)
		if err != nil {
			l.Fatal(err)
		}
		if slices.ContainsFunc(t.Regions, func(r Region) bool { return string(r.Name) == string(region.Name) && r.Server != region.Server }) {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	l.Fatal("the region does not move")
}

// needsTwoServers ends a test that moves regions on a cluster where they have no other server.
func (l *lab) needsTwoServers() {
	l.Helper()
	if l.real.RegionServers < 2 {
		testcluster.Without(l.TB, "needs a cluster with two region servers: cluster up -rs 2")
	}
}

func (l *lab) split(table, row string) {
	l.Helper()
	if _, err := l.real.Oracle(l.TB).Run("split", table, row); err != nil {
		l.Fatal(err)
	}
}

func TestCreateAndDescribe(t *testing.T) {
	l := newLab(t)
	namespace := fmt.Sprint("load", time.Now().UnixNano())
	name := namespace + ":t"
	t.Cleanup(func() {
		if _, err := l.real.Oracle(t).Run("drop", name, "-if-exists"); err != nil {
			t.Error(err)
		}
	})
	if _, err := l.Table(t.Context(), name); !errors.Is(err, ErrNotFound) {
		t.Errorf("before: %v", err)
	}
	families := []Family{
		{Name: "f", Compression: "SNAPPY", DataBlockEncoding: "FAST_DIFF", BloomFilter: "NONE", BlockSize: 8192},
		{Name: "g", Attributes: map[string]string{"TTL": "86400", "DFS_REPLICATION": "1", "my.note": "x"}},
	}
	splits := [][]byte{{0}, []byte("5"), {0xff, 0}}
	if made, err := l.Create(t.Context(), name, families, splits); err != nil || made != namespace {
		t.Fatalf("with the namespace %q: %v", made, err)
	}
	table, err := l.Table(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	if table.Name != name || len(table.Families) != 2 {
		t.Fatalf("got %+v", table)
	}
	f, g := table.Families[0], table.Families[1]
	if f.Compression != "SNAPPY" || f.DataBlockEncoding != "FAST_DIFF" || f.BloomFilter != "NONE" || f.BlockSize != 8192 {
		t.Errorf("family f: %+v", f)
	}
	if g.Compression != "NONE" || g.DataBlockEncoding != "NONE" || g.BloomFilter != "ROW" || g.BlockSize != 65536 {
		t.Errorf("family g: %+v", g)
	}
	if a := g.Attributes; a["TTL"] != "86400" || a["DFS_REPLICATION"] != "1" || a["my.note"] != "x" {
		t.Errorf("attributes of g: %v", a)
	}
	if !slices.EqualFunc(table.Splits(), splits, slices.Equal) {
		t.Errorf("splits %q", table.Splits())
	}
	theirs, err := l.real.Oracle(t).Run("regions", name)
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(strings.TrimSuffix(theirs, "\n"), "\n") {
		parts := strings.Split(line, "\t") // server: host,port,start code
		if server := strings.Split(parts[2], ","); table.Regions[i].Server != server[0]+":"+server[1] || !strings.Contains(string(table.Regions[i].Name), parts[3]) {
			t.Errorf("region %+v, HBase says %s", table.Regions[i], line)
		}
	}
	if made, err := l.Create(t.Context(), name, families, nil); !errors.Is(err, ErrExists) || made != "" {
		t.Errorf("again, with the namespace %q: %v", made, err)
	}
}

func TestCreateRefused(t *testing.T) {
	l := newLab(t)
	for name, test := range map[string]struct {
		families []Family
		splits   [][]byte
	}{
		"no families":     {nil, nil},
		"bad compression": {[]Family{{Name: "f", Compression: "SQUEEZE"}}, nil},
		"same split":      {[]Family{{Name: "f"}}, [][]byte{[]byte("a"), []byte("a")}},
		"empty split":     {[]Family{{Name: "f"}}, [][]byte{{}}},
		"unsorted splits": {[]Family{{Name: "f"}}, [][]byte{[]byte("b"), []byte("a")}},
		"bad family":      {[]Family{{Name: "f:x"}}, nil},
	} {
		_, err := l.Create(t.Context(), l.real.UniqueTable(t), test.families, test.splits)
		if !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLoadAndReadBack(t *testing.T) {
	l := newLab(t)
	table := l.newTable("b", "c")
	files := []HFile{
		l.write("1", "f", "a1", "a3"),
		l.write("2", "f", "a2", "a4"),
		l.write("3", "g", "a1"),
		l.write("4", "f", "c1", "c\xff"),
		l.write("5", "f", "b"),
	}
	reported, report, err := l.load(table, files...)
	if err != nil {
		t.Fatal(err)
	}
	report.Probed = 0
	if len(reported) != 5 || *report != (Report{Files: 5, Regions: 3, Rounds: 1}) {
		t.Errorf("%d reported, report %+v", len(reported), report)
	}
	for _, f := range files {
		if l.exists(f) {
			t.Errorf("%s is still there", f.URI)
		}
	}
	all := []string{
		"a1 f a1 of 1", "a1 g a1 of 3", "a2 f a2 of 2", "a3 f a3 of 1", "a4 f a4 of 2",
		"b f b of 5", "c1 f c1 of 4", "c\xff f c\xff of 4",
	}
	l.wantScan(table, all...)
	for _, test := range []struct {
		start, end string
		want       []string
	}{
		{"a2", "a4", all[2:4]},
		{"a4", "c1", all[4:6]},
		{"b", "c", all[5:6]},
		{"c1", "", all[6:]},
		{"", "a1", nil},
		{"d", "", nil},
		{"a1\x00", "a2\x00", all[2:3]},
	} {
		if got := l.scan(table, test.start, test.end); !slices.Equal(got, test.want) {
			t.Errorf("[%q, %q): got %q, want %q", test.start, test.end, got, test.want)
		}
	}
	theirs, err := l.real.Oracle(t).Run("scan", table)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(theirs, "\n"); n != len(all) || !strings.Contains(theirs, hex.EncodeToString([]byte("c\xff of 4"))) {
		t.Errorf("HBase's client sees %d cells:\n%s", n, theirs)
	}
}

// What is refused before anything is sent leaves files and table as they were.
func TestLoadRefused(t *testing.T) {
	l := newLab(t, "hbase.mapreduce.bulkload.max.hfiles.perRegion.perFamily", "2")
	table := l.newTable("b")
	good := l.write("good", "f", "a1", "a2")
	with := func(change func(*HFile)) HFile {
		f := good
		change(&f)
		return f
	}
	elsewhere := l.write("elsewhere", "f", "a1", "b1")
	for name, test := range map[string]struct {
		table string
		files []HFile
		kind  error
		want  []string
	}{
		"missing table":  {"no_such_table", []HFile{good}, ErrNotFound, []string{"no_such_table"}},
		"bad table name": {"a b", []HFile{good}, ErrRefused, nil},
		"missing family": {table, []HFile{good, with(func(f *HFile) { f.Family = "x" })}, ErrNotFound, []string{"family x", good.URI}},
		"straddles":      {table, []HFile{good, elsewhere}, ErrRefused, []string{elsewhere.URI, `region ["", "b")`, `before "b"`}},
		"gone":           {table, []HFile{good, with(func(f *HFile) { f.URI += "0" })}, fs.ErrNotExist, []string{good.URI + "0"}},
		"twice":          {table, []HFile{good, good}, ErrRefused, []string{good.URI}},
		"a folder":       {table, []HFile{with(func(f *HFile) { f.URI = f.URI[:strings.LastIndexByte(f.URI, '/')] })}, nil, []string{"folder"}},
		"too many": {table, []HFile{good, with(func(f *HFile) { f.URI += "1" }),
			with(func(f *HFile) { f.URI += "2" })}, ErrRefused, []string{"2 files"}},
		"other authority": {table, []HFile{with(func(f *HFile) {
			_,
				p := storage.SplitURI(f.URI)
			f.URI = "hdfs://other:1" + p
		})}, ErrRefused, []string{"hdfs://other:1"}},
	} {
		t.Run(name, func(t *testing.T) {
			report, err := l.LoadFrom(t.Context(), l.fs, test.table, test.files, Hooks{Done: func([]HFile) error {
				t.Error("a file was reported")
				return nil
			}})
			if err == nil || test.kind != nil && !errors.Is(err, test.kind) {
				t.Fatalf("got %v, want %v", err, test.kind)
			}
			if !testwords.Names(err, test.want...) {
				t.Errorf("%v lacks one of %q", err, test.want)
			}
			report.Probed = 0
			if *report != (Report{}) {
				t.Errorf("report %+v", report)
			}
		})
	}
	if !l.exists(good) || !l.exists(elsewhere) {
		t.Error("a file is not at its place any more")
	}
	l.wantScan(table)
}

func TestLoadNothing(t *testing.T) {
	l := newLab(t)
	if report, err := l.LoadFrom(t.Context(), l.fs, "any", nil, Hooks{}); err != nil || *report != (Report{}) {
		t.Errorf("got %+v, %v", report, err)
	}
}

func TestLoadSameFileAgain(t *testing.T) {
	l := newLab(t)
	table := l.newTable()
	f := l.write("1", "f", "a", "b")
	if _, _, err := l.load(table, f); err != nil {
		t.Fatal(err)
	}
	reported, _, err := l.load(table, f)
	if !errors.Is(err, fs.ErrNotExist) || len(reported) != 0 {
		t.Errorf("got %v, %d reported", err, len(reported))
	}
	l.wantScan(table, "a f a of 1", "b f b of 1")
}

// The region server swallows the reason (token path); the message must say where to look.
func TestLoadCorruptFile(t *testing.T) {
	l := newLab(t)
	table := l.newTable()
	good := l.write("1", "f", "a")
	_, name := storage.SplitURI(good.URI)
	bad := good
	bad.URI += "bad"
	w, err := l.fs.Create(name+"bad", 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, strings.Repeat("no HFile\n", 100)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	reported, report, err := l.load(table, good, bad)
	if !errors.Is(err, ErrUnavailable) || !testwords.Names(err, "Failed to complete bulk load", "localhost:") {
		t.Errorf("got %v", err)
	}
	if len(reported) != 0 || report.Staging == "" || !l.exists(good) || !l.exists(bad) {
		t.Errorf("%d reported, report %+v", len(reported), report)
	}
	l.wantScan(table)
}

// HBase leaves the files of a request that fails half-way in staging: they come back.
func TestStagedFilesComeBack(t *testing.T) {
	root := newLab(t)
	table := root.newTable()
	mine := root.write("1", "f", "a")
	others := root.write("2", "f", "b")
	fsShell(t, root, "-chmod", "-R", "777", root.dir)
	fsShell(t, root, "-chown", "tina", mine.URI)
	tina := connect(t, root.real, "tina")
	reported, report, err := tina.load(table, mine, others)
	if !errors.Is(err, ErrRefused) || !testwords.Names(err, others.URI+" belongs to "+testUser, "as tina") {
		t.Errorf("got %v", err)
	}
	if len(reported) != 0 || report.Staging == "" || !root.exists(mine) || !root.exists(others) {
		t.Errorf("%d reported, report %+v, files that exist: %v, %v", len(reported), report, root.exists(mine), root.exists(others))
	}
	root.wantScan(table)
	if _, _, err := tina.load(table, mine); err != nil {
		t.Errorf("tina's own file: %v", err)
	}
	root.wantScan(table, "a f a of 1")
}

func fsShell(t *testing.T, l *lab, args ...string) {
	t.Helper()
	if _, err := l.real.Java(t.Context(), "org.apache.hadoop.fs.FsShell", args...); err != nil {
		t.Fatal(err)
	}
}

func TestSplitBetweenPlanAndLoad(t *testing.T) {
	l := newLab(t)
	table := l.newTable()
	seed := l.write("0", "f", "a", "z") // a region without rows can't be split
	if _, _, err := l.load(table, seed); err != nil {
		t.Fatal(err)
	}
	across := l.write("1", "f", "k", "n")
	beside := l.write("2", "f", "n")
	before, err := l.Table(l.Context(), table)
	if err != nil {
		t.Fatal(err)
	}
	l.split(table, "m")
	now, err := l.Table(l.Context(), table)
	if err != nil {
		t.Fatal(err)
	}
	for i := range now.Regions { // hbase:meta still has the region that was split
		if r := &now.Regions[i]; len(now.Regions) != 2 || !r.CameFrom(before.OpeningsOf(&seed)) {
			t.Errorf("%s of %d is not known as a half", r, len(now.Regions))
		}
	}
	_, _, err = l.load(table, beside, across)
	if !errors.Is(err, ErrRefused) || !testwords.Names(err, across.URI, `before "m"`) {
		t.Errorf("got %v", err)
	}
	if !l.exists(across) || !l.exists(beside) {
		t.Error("a file is not at its place any more")
	}
	if _, _, err := l.load(table, beside); err != nil {
		t.Error(err)
	}
	l.wantScan(table, "a f a of 0", "n f n of 2", "z f z of 0")
}

// The region moves after it was looked up: the old server refuses, the next round finds the new one.
func TestMoveWhileLoading(t *testing.T) {
	l := newLab(t)
	l.needsTwoServers()
	table := l.newTable()
	f := l.write("1", "f", "a")
	w := l.begin(table, f)
	before, err := l.Table(t.Context(), table)
	if err != nil {
		t.Fatal(err)
	}
	stale, err := assign(w.left, before.Regions, 32)
	if err != nil {
		t.Fatal(err)
	}
	l.move(table, before.Regions[0])
	transient, err := w.round(t.Context(), stale)
	if !isTransient(transient) || err != nil {
		t.Errorf("at the old server: %v, %v", transient, err)
	}
	now, err := l.regionsThrough(t.Context(), w.table)
	if err != nil {
		t.Fatal(err)
	}
	moved, err := assign(w.left, now, 32)
	if err != nil {
		t.Fatal(err)
	}
	if transient, err = w.round(t.Context(), moved); transient != nil || err != nil {
		t.Errorf("at the new server: %v, %v", transient, err)
	}
	w.cleanup(t.Context())
	if w.report.Files != 1 || w.report.Staging != "" {
		t.Errorf("report %+v", w.report)
	}
	l.wantScan(table, "a f a of 1")
}

// begin is the first part of LoadFrom.
func (l *lab) begin(table string, files ...HFile) *loadRun {
	l.Helper()
	w := newLoadRun(l.Cluster, l.fs)
	described, err := l.Table(l.Context(), table)
	if err == nil {
		w.table, err = parseName(table)
	}
	if err == nil {
		err = w.check(described, files)
	}
	if err == nil {
		err = w.requestStaging(l.Context(), described, callTimeout)
	}
	if err == nil {
		err = w.checkStaging(described)
	}
	if err != nil {
		l.Fatal(err)
	}
	if _, staging := storage.SplitURI(w.token); staging == "" || w.left[0].staged != staging+"/f/"+path.Base(files[0].URI) {
		l.Errorf("token %s, staged %s", w.token, w.left[0].staged)
	}
	return w
}

// TestRecoverStaging: what a process that died left in staging is moved back from the folder whose name was recorded.
func TestRecoverStaging(t *testing.T) {
	l := newLab(t)
	table := l.newTable()
	staged, loaded, waiting := l.write("1", "f", "a"), l.write("2", "f", "b"), l.write("3", "f", "c")
	died := errors.New("died")
	var folder string
	_, err := l.LoadFrom(t.Context(), l.fs, table, []HFile{staged, loaded}, Hooks{Staging: func(f string) error { folder = cmp.Or(f, folder); return died }})
	if !errors.Is(err, died) || folder == "" {
		t.Fatalf("staging folder %q, %v", folder, err)
	}
	l.wantScan(table)
	w := l.begin(table, staged)
	if err := errors.Join(l.fs.MkdirAll(path.Dir(w.left[0].staged), 0o711), l.fs.Rename(w.left[0].path, w.left[0].staged)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := l.load(table, loaded); err != nil {
		t.Fatal(err)
	}
	served, err := l.RecoverStaging(t.Context(), l.fs, table, w.token, []HFile{staged, loaded, waiting}, nil)
	if err != nil || len(served) != 1 || served[0].URI != loaded.URI {
		t.Fatal(served, err)
	}
	if _, folder := storage.SplitURI(w.token); !l.existsAt(folder) {
		t.Error("the staging folder is not kept for the next load")
	}
	if !l.exists(staged) || l.exists(loaded) || !l.exists(waiting) {
		t.Errorf("at their places: %v, %v, %v", l.exists(staged), l.exists(loaded), l.exists(waiting))
	}
}

// The connection breaks when the answer is due: the file's absence says that it was loaded. Nothing is sent twice.
func TestAnswerLost(t *testing.T) {
	l := newLab(t)
	table := l.newTable()
	f := l.write("1", "f", "a")
	described, err := l.Table(t.Context(), table)
	if err != nil {
		t.Fatal(err)
	}
	w := l.begin(table, f)
	addr := described.Regions[0].Server
	requests := deafProxy(t, l.servers, addr)
	transient, err := w.round(t.Context(), []group{{described.Regions[0], w.left}})
	if transient != nil || err != nil {
		t.Errorf("got %v, %v", transient, err)
	}
	if w.report.Files != 1 || len(w.left) != 0 || requests() != 1 {
		t.Errorf("report %+v, %d left, %d requests", w.report, len(w.left), requests())
	}
	w.cleanup(t.Context())
	if w.report.Staging != "" {
		t.Error("staging was not removed")
	}
	l.wantScan(table, "a f a of 1")
}

// deafProxy puts a connection instead of the one to a server that passes requests on, and breaks at the first answer.
func deafProxy(t *testing.T, s *servers, addr string) (requests func() int) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	count := make(chan int, 1)
	count <- 0
	go func() {
		in, err := listener.Accept()
		if err != nil {
			return
		}
		defer in.Close()
		out, err := net.Dial("tcp", addr)
		if err != nil {
			return
		}
		defer out.Close()
		go func() {
			buffer := make([]byte, 1<<16)
			for {
				n, err := in.Read(buffer)
				if err != nil {
					return
				}
				if strings.Contains(string(buffer[:n]), "BulkLoadHFile") {
					count <- <-count + 1
				}
				if _, err := out.Write(buffer[:n]); err != nil {
					return
				}
			}
		}()
		_, _ = out.Read(make([]byte, 1)) // the answer
	}()
	conn, err := hbase.Dial(t.Context(), listener.Addr().String(), hbase.ClientService, hbase.Options{User: testUser})
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := server{addr, hbase.ClientService}
	if before := s.conns[key]; before != nil {
		before.Close()
	}
	s.conns[key] = conn
	return func() int { n := <-count; count <- n; return n }
}

func TestDisabledTable(t *testing.T) {
	l := newLab(t)
	table := l.newTable()
	l.master("DisableTable", func(b []byte) []byte { // DisableTableRequest{1 table_name}
		return bytesField(b, 1, bytesField(bytesField(nil, 1, []byte("default")), 2, []byte(table)))
	})
	for range 100 {
		if _, err := l.Table(t.Context(), table); err != nil && testwords.Names(err, "DISABLED") {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	_, err := l.Table(t.Context(), table)
	if !errors.Is(err, ErrRefused) || !testwords.Names(err, "DISABLED") {
		t.Errorf("Table: %v", err)
	}
	err = l.ScanRange(t.Context(), table, nil, nil, func(*cell.Cell) error { return nil })
	if !errors.Is(err, ErrRefused) {
		t.Errorf("ScanRange: %v", err)
	}
	if _, err = l.Exist(t.Context(), table, allOf(-1, "a")); !errors.Is(err, ErrRefused) {
		t.Errorf("Exist: %v", err)
	}
}

// TestLoadIntoReadReplicas: a table with read replicas is loaded and read by its primary regions.
func TestLoadIntoReadReplicas(t *testing.T) {
	l := newLab(t)
	table := l.real.UniqueTable(t)
	if _, err := l.real.Oracle(t).Run("create", table, "f", "5", "TABLE:REGION_REPLICATION=2"); err != nil {
		t.Fatal(err)
	}
	found, err := l.Table(t.Context(), table)
	if err != nil || len(found.Regions) != 2 || found.Attributes["REGION_REPLICATION"] != "2" {
		t.Fatalf("%+v, %v", found, err)
	}
	files := []HFile{l.write("a", "f", "1", "2"), l.write("b", "f", "6")}
	if report, err := l.LoadFrom(t.Context(), l.fs, table, files, Hooks{}); err != nil || report.Files != 2 {
		t.Fatalf("%+v, %v", report, err)
	}
	findings, err := l.Probe(t.Context(), table, files)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		if f.Serving != Served {
			t.Error(f.String())
		}
	}
	if rows := l.scan(table, "", ""); len(rows) != 3 {
		t.Error(rows)
	}
}
