package storage

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/siteconf"
	"bulkload/internal/test/testcluster"
	"bulkload/internal/test/testwords"
	"bulkload/internal/throttle"
)

// onHDFS returns a new directory on a cluster's HDFS.
func onHDFS(t *testing.T, conf *siteconf.Conf) (fsys FS, root string) {
	t.Helper()
	name := "hdfs:///tests/storage-" + t.Name() + "-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	fsys, root, err := ResolveAs(name, "/", conf, Identity{})
	check(t, err)
	check(t, fsys.MkdirAll(root, 0))
	t.Cleanup(func() {
		if err := fsys.RemoveAll(root); err != nil {
			t.Error(err)
		}
		check(t, fsys.Close())
		check(t, fsys.Close())
	})
	return fsys, root
}

func siteOf(t *testing.T, c *testcluster.Cluster) *siteconf.Conf {
	t.Helper()
	conf, err := siteconf.Load(c.ConfDir())
	check(t, err)
	return conf
}

func TestHDFS(t *testing.T) {
	fsys, root := onHDFS(t, siteOf(t, testcluster.Use(t)))
	conforms(t, fsys, root)
	showsNothingUnfinished(t, fsys, root)
}

// TestHDFSManyBlocks: a file of several blocks uses code that a file of one block does not.
func TestHDFSManyBlocks(t *testing.T) {
	conf := siteOf(t, testcluster.Use(t))
	conf.Set("dfs.blocksize", "1m")
	fsys, root := onHDFS(t, conf)
	if h := fsys.(*hdfsFS); h.blockSize != 1<<20 {
		t.Fatalf("block size %d", h.blockSize)
	}
	takesWritesOfAnySize(t, fsys, path.Join(root))
	want := noise(5<<20 + 12345)
	name := path.Join(root, "blocks")
	// A DataNode on a busy machine may report the last block but one too late for the next one. A run
	// would end with 75 then.
	for tries := 1; ; tries++ {
		w, err := fsys.Create(name, 0)
		check(t, err)
		if _, err = w.Write(want); err == nil {
			check(t, w.Close())
			break
		}
		if !testwords.Names(err, "NotReplicatedYetException") || tries == 20 {
			t.Fatal(err)
		}
		check(t, w.Abort())
		time.Sleep(100 * time.Millisecond)
	}
	f, err := fsys.Open(name)
	check(t, err)
	defer f.Close()
	buf := make([]byte, 300_000)
	for _, off := range []int64{1<<20 - 100, 1<<20 + 299_900 + 1000, 3<<20 - 150_000, 3<<20 + 150_000, 0, int64(len(want)) - 300_000} {
		if _, err := io.ReadFull(io.NewSectionReader(f, off, int64(len(buf))), buf); err != nil || !bytes.Equal(buf, want[off:off+int64(len(buf))]) {
			t.Errorf("at %d: %v", off, err)
		}
	}
	if !bytes.Equal(read(t, fsys, name), want) {
		t.Error("content differs")
	}
}

func TestHDFSNames(t *testing.T) {
	conf := siteOf(t, testcluster.Use(t))
	authority, err := defaultAuthority(conf)
	check(t, err)
	for _, uri := range []string{"hdfs:///a/b c", "hdfs:/a/b c", "hdfs://" + authority + "/a//b c", "hdfs://" + strings.ToUpper(authority) + "/a/b c"} {
		fsys, name, err := ResolveAs(uri, "/", conf, Identity{User: "tina"})
		check(t, err)
		if got, want := fsys.URI(name), "hdfs://"+authority+"/a/b c"; name != "/a/b c" || got != want {
			t.Errorf("%s is %s, and %s to the world; want %s", uri, name, got, want)
		}
		check(t, fsys.Close())
	}
}

func TestHDFSPermission(t *testing.T) {
	conf := siteOf(t, testcluster.Use(t))
	mine, root := onHDFS(t, conf)
	check(t, mine.MkdirAll(path.Join(root, "locked"), 0o700))
	fsys, _, err := ResolveAs("hdfs:///", "/", conf, Identity{User: "nobody_else"})
	check(t, err)
	defer fsys.Close()
	_, err = fsys.Create(path.Join(root, "locked/f"), 0)
	wants(t, err, fs.ErrPermission)
	if !testwords.Names(err, "nobody_else") {
		t.Errorf("%v does not say who", err)
	}
	err = fsys.MkdirAll("/user/nobody_else/out", 0)
	wants(t, err, fs.ErrPermission)
	if !testwords.Names(err, "hdfs dfs -chown nobody_else /user/nobody_else") {
		t.Errorf("%v does not say how to get a home folder", err)
	}
	st, err := mine.Stat(root)
	check(t, err)
	if user, _ := hdfsUser(""); st.Owner != user {
		t.Errorf("owner %q, want %q", st.Owner, user)
	}
}

// TestHDFSFailures has its own HA cluster, since it stops NameNodes and DataNodes. It runs for about half a minute.
func TestHDFSFailures(t *testing.T) {
	testcluster.Use(t) // runs only if a cluster is wanted
	if testing.Short() {
		t.Skip("starts a cluster of its own")
	}
	c, err := testcluster.Start(t.Context(), testcluster.Options{Dir: t.TempDir(), HA: true, HDFSOnly: true})
	check(t, err)
	t.Cleanup(func() { check(t, c.Stop()) })
	conf := siteOf(t, c)
	service, err := defaultAuthority(conf)
	check(t, err)

	t.Run("standby first", func(t *testing.T) {
		conf := siteOf(t, c)
		conf.Set("dfs.ha.namenodes."+service, "nn2,nn1") // nn1 is active
		fsys, root := onHDFS(t, conf)
		worksSideBySide(t, fsys, root)
	})
	t.Run("failover", func(t *testing.T) {
		fsys, root := onHDFS(t, conf)
		check(t, roundTrip(fsys, path.Join(root, "before"), noise(100_000)))
		w, err := fsys.Create(path.Join(root, "during"), 0)
		check(t, err)
		want := noise(500_000)
		_, err = w.Write(want[:200_000])
		check(t, err)
		check(t, c.Failover(t.Context(), "nn2"))
		_, err = w.Write(want[200_000:])
		check(t, err)
		check(t, w.Close())
		check(t, roundTrip(fsys, path.Join(root, "after"), noise(100_000)))
		if got := read(t, fsys, path.Join(root, "during")); !bytes.Equal(got, want) {
			t.Errorf("%d bytes are not what was written", len(got))
		}
		check(t, c.Failover(t.Context(), "nn1"))
	})
	t.Run("DataNode restarts under a reader", func(t *testing.T) {
		fsys, root := onHDFS(t, conf)
		name := path.Join(root, "f")
		want := noise(8 << 20)
		write(t, fsys, name, want)
		f, err := fsys.Open(name)
		check(t, err)
		defer f.Close()
		head := make([]byte, 100_000)
		_, err = io.ReadFull(f, head)
		check(t, err)
		check(t, c.Kill("dn1"))
		restarted := make(chan error)
		go func() {
			time.Sleep(time.Second)
			restarted <- c.StartRole(context.WithoutCancel(t.Context()), "dn1")
		}()
		rest, err := io.ReadAll(f)
		check(t, err)
		check(t, <-restarted)
		if !bytes.Equal(append(head, rest...), want) {
			t.Error("content differs")
		}
	})
	t.Run("a file of a killed writer is being closed", func(t *testing.T) {
		fsys, root := onHDFS(t, conf)
		name := path.Join(root, "f")
		w, err := fsys.Create(name, 0)
		check(t, err)
		_, err = w.Write(noise(3 * writeBuffer / 2)) // the first block is begun
		check(t, err)
		check(t, c.Pause("dn1"))
		defer func() { _ = c.Resume("dn1") }()
		// The NameNode begins to close the file, which it can't finish before the DataNode is awake.
		if err := c.RunJava(t.Context(), "org.apache.hadoop.hdfs.tools.DebugAdmin", "recoverLease", "-path", name); err == nil {
			t.Fatal("the file was closed at once")
		}
		exists := make(chan error, 1)
		go func() { exists <- CreateFile(fsys, name, nil) }()
		select {
		case err := <-exists:
			t.Fatalf("this is not waited for: %v", err)
		case <-time.After(2 * time.Second):
		}
		check(t, c.Resume("dn1"))
		wants(t, <-exists, fs.ErrExist)
		check(t, w.Abort())
	})
	t.Run("DataNode dies under a writer", func(t *testing.T) {
		fsys, root := onHDFS(t, conf)
		name := path.Join(root, "f")
		w, err := fsys.Create(name, 0)
		check(t, err)
		_, err = w.Write(noise(1 << 20))
		check(t, err)
		check(t, c.Kill("dn1"))
		for err == nil {
			_, err = w.Write(noise(1 << 20))
		}
		wants(t, err, ErrUnavailable)
		wants(t, w.Close(), ErrUnavailable)
		check(t, w.Abort())
		_, err = fsys.Stat(name)
		wants(t, err, fs.ErrNotExist)
		check(t, c.StartRole(t.Context(), "dn1"))
	})
	t.Run("NameNode hangs", func(t *testing.T) {
		short := hdfsTimeouts(conf)
		short.nameNode, short.retry, short.start = time.Second, 3*time.Second, time.Second
		addresses, err := nameNodes(conf, service)
		check(t, err)
		h, err := connectHDFS(conf, service, addresses, Identity{User: "tina"}, short)
		check(t, err)
		defer h.Close()
		signal(t, c, "nn1", syscall.SIGSTOP)
		defer signal(t, c, "nn1", syscall.SIGCONT)
		begun := time.Now()
		_, err = h.Stat("/")
		wants(t, err, ErrUnavailable) // nn2 is on standby
		if took := time.Since(begun); took < short.nameNode {
			t.Errorf("took %v", took)
		}
	})
	t.Run("all down", func(t *testing.T) {
		short := hdfsTimeouts(conf)
		short.retry, short.start = time.Second, time.Second
		addresses, err := nameNodes(conf, service)
		check(t, err)
		h, err := connectHDFS(conf, service, addresses, Identity{User: "tina"}, short)
		check(t, err)
		defer h.Close()
		check(t, c.Kill("nn1"))
		check(t, c.Kill("nn2"))
		_, err = h.Stat("/")
		wants(t, err, ErrUnavailable)
		_, err = h.Create("/f", 0)
		wants(t, err, ErrUnavailable)
	})
}

// signal sends a signal to a role's process.
func signal(t *testing.T, c *testcluster.Cluster, role string, s syscall.Signal) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(c.Dir, "run", role+"*"))
	check(t, err)
	if len(found) != 1 {
		t.Fatalf("process id of %s: found %q", role, found)
	}
	b, err := os.ReadFile(found[0])
	check(t, err)
	pid, err := strconv.Atoi(strings.Fields(string(b))[0])
	check(t, err)
	if err := syscall.Kill(pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
		t.Fatal(err)
	}
}

// TestHDFSLeaseLost: a writer whose file is deleted or closed by others says so, is not tried again, and leaves the file
// alone that has the name by then.
func TestHDFSLeaseLost(t *testing.T) {
	c := testcluster.Use(t)
	fsys, root := onHDFS(t, siteOf(t, c))
	others := func(name string) {
		check(t, fsys.Remove(name))
		check(t, CreateFile(fsys, name, []byte("another's")))
	}
	closed := func(name string) {
		check(t, c.RunJava(t.Context(), "org.apache.hadoop.hdfs.tools.DebugAdmin", "recoverLease", "-path", name, "-retries", "10"))
	}
	large := bytes.Repeat([]byte("x"), 3*writeBuffer/2) // the first block is begun
	for name, one := range map[string]struct {
		content []byte
		lose    func(name string)
		left    string
	}{
		"deleted":            {[]byte("content"), others, "another's"},
		"deleted in a block": {large, others, "another's"},
		"closed":             {[]byte("content"), closed, ""},
	} {
		name := path.Join(root, name)
		tries := 0
		err := small(func() error {
			tries++
			w, err := fsys.Create(name, 0)
			check(t, err)
			_, err = w.Write(one.content)
			check(t, err)
			one.lose(name)
			err = w.Close()
			check(t, w.Abort())
			return err
		})
		wants(t, err, ErrUnavailable)
		wants(t, err, ErrLeaseLost)
		if left, err := ReadFile(fsys, name, 100); err != nil || tries != 1 || string(left) != one.left {
			t.Errorf("%s: after %d tries there is %q, %v", name, tries, left, err)
		}
	}
}

// TestHDFSUmask: files and folders get the permissions that the site's umask leaves, or the fewer ones that were asked
// for.
func TestHDFSUmask(t *testing.T) {
	conf := siteOf(t, testcluster.Use(t))
	conf.Set(umaskProperty, "027")
	fsys, root := onHDFS(t, conf)
	for perm, want := range map[fs.FileMode]fs.FileMode{0: 0o640, 0o644: 0o640, 0o666: 0o640, 0o600: 0o600} {
		name := path.Join(root, perm.String())
		w, err := fsys.Create(name, perm)
		check(t, err)
		check(t, w.Close())
		if st, err := fsys.Stat(name); err != nil || st.Mode.Perm() != want {
			t.Errorf("a file of %v has %v, want %v; %v", perm, st.Mode.Perm(), want, err)
		}
	}
	for perm, want := range map[fs.FileMode]fs.FileMode{0: 0o750, 0o777: 0o750, 0o700: 0o700} {
		above := path.Join(root, "dir", perm.String())
		name := path.Join(above, "x")
		check(t, fsys.MkdirAll(name, perm))
		if st, err := fsys.Stat(name); err != nil || st.Mode.Perm() != want {
			t.Errorf("a folder of %v has %v, want %v; %v", perm, st.Mode.Perm(), want, err)
		}
		if st, err := fsys.Stat(above); err != nil || st.Mode.Perm() != 0o750 {
			t.Errorf("the folder above one of %v has %v, want what the umask leaves; %v", perm, st.Mode.Perm(), err)
		}
	}
}

// TestHDFSThrottled: every byte of content that is written to or read from HDFS counts once, whatever its replication,
// and so do bytes that are read only to be skipped. Local files don't count.
func TestHDFSThrottled(t *testing.T) {
	fsys, root := onHDFS(t, siteOf(t, testcluster.Use(t)))
	limit := throttle.New(t.Context(), 1<<40)
	Throttle(fsys, limit)
	Throttle(Local, limit)
	moved := func(what string, want int64) {
		t.Helper()
		if got := limit.Moved(); got != want {
			t.Errorf("%s: %d bytes counted, want %d", what, got, want)
		}
	}
	content, name := noise(1<<20), path.Join(root, "file")
	write(t, fsys, name, content)
	moved("written", 1<<20)
	f, err := fsys.Open(name)
	check(t, err)
	defer f.Close()
	_, err = io.Copy(io.Discard, f)
	check(t, err)
	moved("read", 2<<20)
	_, err = f.ReadAt(make([]byte, 1000), 0)
	check(t, err)
	_, err = f.ReadAt(make([]byte, 1000), 3000)
	check(t, err)
	moved("read with a gap of 2,000 bytes", 2<<20+4000)
	write(t, Local, filepath.Join(t.TempDir(), "file"), content)
	moved("local", 2<<20+4000)
}
