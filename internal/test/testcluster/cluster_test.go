package testcluster

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestTableLoadAndScan(t *testing.T) {
	c := Use(t)
	o, table := c.Oracle(t), c.UniqueTable(t)
	run(t, o, "create", table, "f", `b,.c,\x7F`, "COMPRESSION=SNAPPY", "DATA_BLOCK_ENCODING=FAST_DIFF", "BLOOMFILTER=ROW", "VERSIONS=3")
	regions := strings.Split(run(t, o, "regions", table), "\n")
	var starts []string
	for _, r := range regions {
		starts = append(starts, strings.Split(r, "\t")[0])
	}
	if got := strings.Join(starts, " "); got != ` .c b \x7F` {
		t.Fatalf("regions begin with %q", got)
	}
	dir := c.FS() + "/user/" + table
	defer remove(t, c, dir)
	run(t, o, "write", tempFile(t, someCells), dir, "COMPRESSION=SNAPPY", "DATA_BLOCK_ENCODING=FAST_DIFF")
	// Two rows of two regions are in one file: HBase's loader splits it.
	if got := run(t, o, "load", dir, table); got != "2 files loaded" {
		t.Errorf("load says %q", got)
	}
	if got := run(t, o, "scan", table); got+"\n" != someCells {
		t.Errorf("the table holds\n%s\nwant\n%s", got, someCells)
	}
	if got, want := run(t, o, "scan", table, "-digest"), "rows=2 cells=3 sha256="+sha256Hex(someCells); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
	if got := run(t, o, "split", table, "bb"); got != "5 regions" {
		t.Errorf("split says %q", got)
	}
	if got := run(t, o, "scan", table); got+"\n" != someCells {
		t.Errorf("after the split the table holds\n%s", got)
	}
}

// TestTableReads loads two versions of a cell and a delete of the older one, and reads them in every way, before and
// after a split and a compaction.
func TestTableReads(t *testing.T) {
	c := Use(t)
	o, table := c.Oracle(t), c.UniqueTable(t)
	if _, err := o.Run("create", table, "f", "", "g:VERSIONS=3"); err == nil || !strings.Contains(err.Error(), "no such family: g:VERSIONS") {
		t.Errorf("error %v, want one that names g:VERSIONS", err)
	}
	run(t, o, "create", table, "f,g", "", "TABLE:COMPACTION_ENABLED=false", "KEEP_DELETED_CELLS=TRUE", "f:versions=5", "g:VERSIONS=1")
	const a2, deleted, a1, b = "61\tf\t\t2\tPut\t76\n", "61\tf\t\t1\tDelete\t\n", "61\tf\t\t1\tPut\t75\n", "62\tf\t\t1\tPut\t\n"
	dir := c.FS() + "/user/" + table
	defer remove(t, c, dir)
	run(t, o, "write", tempFile(t, a2+deleted+a1+b), dir)
	run(t, o, "load", dir, table)
	reads := func(when string) {
		t.Helper()
		for _, read := range []struct {
			args []string
			want string
		}{
			{[]string{"scan", table}, a2 + b},
			{[]string{"scan", table, "-raw"}, a2 + deleted + a1 + b},
			{[]string{"scan", table, "-raw", "-reversed"}, b + a2 + deleted + a1},
			{[]string{"get", table, tempFile(t, "62\n61\tf\t\n61\tf\t00\n63\n")}, b + a2 + "absent\nabsent\n"},
		} {
			if got := run(t, o, read.args...) + "\n"; got != read.want {
				t.Errorf("%s: %v gives\n%s\nwant\n%s", when, read.args, got, read.want)
			}
		}
	}
	reads("loaded")
	run(t, o, "split", table, "b")
	if got := run(t, o, "files", table); strings.Count(got, "/f/") != 3 || strings.Count(got, ".") != 2 {
		t.Errorf("split: the files are\n%s\nwant one and two halves of it", got)
	}
	reads("split")
	run(t, o, "compact", table)
	reads("compacted")
	whole, files := 0, run(t, o, "files", table)
	for file := range strings.Lines(files) {
		if !strings.Contains(file, ".") && !strings.Contains(file, "_SeqId_") {
			whole++
		}
	}
	if whole < 2 { // more if HBase has also compacted by itself
		t.Errorf("compacted: %d files that HBase has written, want one a region, of\n%s", whole, files)
	}
}

func remove(t *testing.T, c *Cluster, dir string) {
	t.Helper()
	if _, err := c.Java(context.Background(), "org.apache.hadoop.fs.FsShell", "-rm", "-r", "-f", "-skipTrash", dir); err != nil {
		t.Error(err)
	}
}

func TestUniqueTableIsDropped(t *testing.T) {
	c := Use(t)
	var table string
	t.Run("within", func(t *testing.T) {
		table = c.UniqueTable(t)
		run(t, c.Oracle(t), "create", "other_"+table, "f", "")
		run(t, c.Oracle(t), "create", table, "f", "")
	})
	if _, err := c.Oracle(t).Run("regions", table); err == nil || !strings.Contains(err.Error(), "TableNotFound") {
		t.Errorf("table %s: error %v, want one that says it isn't there", table, err)
	}
	run(t, c.Oracle(t), "drop", "other_"+table)
	if _, err := c.Oracle(t).Run("drop", "other_"+table); err == nil {
		t.Error("a table that isn't there is dropped")
	}
}

// TestNameNodes starts two NameNodes and a DataNode, makes one NameNode active, kills it, and returns to the other.
func TestNameNodes(t *testing.T) {
	named(t) // it also starts JVMs: only if those are wanted
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	c := start(ctx, t, Options{HA: true, HDFSOnly: true})
	if c.FS() != "hdfs://bulkload" {
		t.Errorf("the file system is %s", c.FS())
	}
	file := tempFile(t, "text")
	shell(ctx, t, c, "-put", file, "/one")
	failover(ctx, t, c, "nn2")
	shell(ctx, t, c, "-put", file, "/two")
	if err := c.Kill("nn2"); err != nil {
		t.Fatal(err)
	}
	if err := c.Alive(); err == nil || !strings.Contains(err.Error(), "not running: nn2 ") {
		t.Errorf("error %v, want one that names nn2", err)
	}
	failover(ctx, t, c, "nn1")
	if got := shell(ctx, t, c, "-cat", "/one", "/two"); got != "texttext" {
		t.Errorf("read %q", got)
	}
	if err := c.StartRole(ctx, "nn2"); err != nil {
		t.Fatal(err)
	}
	if err := c.Alive(); err != nil {
		t.Error(err)
	}
	if err := c.StartRole(ctx, "nn2"); err == nil || !strings.Contains(err.Error(), "running already") {
		t.Errorf("start a running role: %v", err)
	}
	if _, err := Start(ctx, c.Options); err == nil || !strings.Contains(err.Error(), "is running in") {
		t.Errorf("start a cluster in the folder of another: %v", err)
	}
}

// start starts a cluster for one test.
func start(ctx context.Context, t *testing.T, o Options) *Cluster {
	t.Helper()
	o.Dir = t.TempDir()
	c, err := Start(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
		if up := c.running(); len(up) > 0 {
			t.Errorf("still running: %v", up)
		}
	})
	return c
}

func failover(ctx context.Context, t *testing.T, c *Cluster, to string) {
	t.Helper()
	if err := c.Failover(ctx, to); err != nil {
		t.Fatal(err)
	}
}

func shell(ctx context.Context, t *testing.T, c *Cluster, args ...string) string {
	t.Helper()
	out, err := c.Java(ctx, "org.apache.hadoop.fs.FsShell", args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// prepared returns a cluster with its folders, of which nothing runs.
func prepared(t *testing.T, o Options) *Cluster {
	t.Helper()
	Java(t) // skips if there is none
	o.Dir = t.TempDir()
	c, err := newCluster(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestRoleThatFails(t *testing.T) {
	c := prepared(t, Options{})
	err := c.StartRole(t.Context(), "nn") // nothing is formatted
	if err == nil || !strings.HasPrefix(err.Error(), "start nn: it has ended; the last lines of "+c.path("log", "nn.log")) || !strings.Contains(err.Error(), "storage directory does not exist") {
		t.Errorf("error %v, want one that names nn and quotes its log", err)
	}
}

func TestStartThatIsCanceled(t *testing.T) {
	c := prepared(t, Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := Start(ctx, c.Options); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want %v", err, context.DeadlineExceeded)
	}
	if up := c.running(); len(up) > 0 {
		t.Errorf("still running: %v", up)
	}
}

func TestPortsThatAreTaken(t *testing.T) {
	c := prepared(t, Options{DataNodes: 2})
	taken := c.Port + portDataNode + portDataNodeStep // of dn2
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(taken)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if _, err := Start(t.Context(), c.Options); err == nil || !strings.Contains(err.Error(), "port "+strconv.Itoa(taken)+" is taken") {
		t.Errorf("error %v, want one that names port %d", err, taken)
	}
	c.Port = 0
	if err := c.claimPorts(); err != nil || c.Port == taken-portDataNode-portDataNodeStep {
		t.Errorf("chose port %d, %v", c.Port, err)
	}
}

func TestFoldersOfOthers(t *testing.T) {
	c := prepared(t, Options{})
	dir := t.TempDir()
	precious := filepath.Join(dir, "data", "precious")
	if err := os.MkdirAll(precious, 0o755); err != nil {
		t.Fatal(err)
	}
	o := c.Options
	o.Dir = dir
	if _, err := Start(t.Context(), o); err == nil || !strings.Contains(err.Error(), "no test cluster made") {
		t.Errorf("error %v, want a refusal", err)
	}
	if _, err := os.Stat(precious); err != nil {
		t.Error(err)
	}
	if _, err := Open(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "no test cluster in "+dir) {
		t.Errorf("open a folder without a cluster: %v", err)
	}
}

func TestUnknownRoles(t *testing.T) {
	c := prepared(t, Options{RegionServers: 2})
	want := `no role "rs3", only nn, zk, dn1, master, rs1, rs2`
	for name, err := range map[string]error{"kill": c.Kill("rs3"), "start": c.StartRole(t.Context(), "rs3")} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %s", name, err, want)
		}
	}
	if err := c.Kill("rs2"); err == nil || !strings.Contains(err.Error(), "isn't running") {
		t.Errorf("kill a role that doesn't run: %v", err)
	}
	if err := c.Failover(t.Context(), "nn2"); err == nil {
		t.Error("a cluster of one NameNode fails over")
	}
	if _, err := Start(t.Context(), Options{Dir: t.TempDir(), DataNodes: 11}); err == nil || !strings.Contains(err.Error(), "too many") {
		t.Errorf("eleven DataNodes: %v", err)
	}
}

// TestPidOfAnother shows that a process that has a role's old number is neither mistaken for the role nor killed.
func TestPidOfAnother(t *testing.T) {
	c := prepared(t, Options{})
	if err := os.WriteFile(c.pidFile("nn"), []byte(strconv.Itoa(os.Getpid())), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, alive := c.pid("nn"); alive {
		t.Error("this test passes as a NameNode")
	}
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(c.pidFile("nn")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the old process id is still kept: %v", err)
	}
}
