package storage

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/siteconf"
	"bulkload/internal/test/testcluster"
	"bulkload/internal/test/testwords"
)

// damaged is an HDFS with two DataNodes, for this test only, which damages disks and stops DataNodes.
type damaged struct {
	*testcluster.Cluster
	conf *siteconf.Conf
	fsys FS
	root string
	said []string
}

// TestDamagedBlocks runs for about a minute.
func TestDamagedBlocks(t *testing.T) {
	testcluster.Use(t) // runs only if a cluster is wanted
	if testing.Short() {
		t.Skip("starts a cluster of its own")
	}
	c, err := testcluster.Start(t.Context(), testcluster.Options{Dir: t.TempDir(), DataNodes: 2, HDFSOnly: true})
	check(t, err)
	t.Cleanup(func() { check(t, c.Stop()) })
	d := &damaged{Cluster: c, conf: siteOf(t, c)}
	for _, test := range []struct {
		name string
		run  func(*testing.T, *damaged)
	}{
		{"data of one replica", damagedData},
		{"checksums of one replica", damagedSums},
		{"one of two replicas", damagedOneOfTwo},
		{"two replicas in different bytes", damagedBoth},
		{"no checksums", withoutChecksums},
		{"no checksums on one replica", withoutChecksumsOnOne},
		{"DataNode hangs", hangs},
		{"one damaged and one down", damagedAndDown},
		{"DataNode dies", dies},
		{"only DataNode hangs or dies", onlyOneFails},
	} {
		t.Run(test.name, func(t *testing.T) {
			d.fsys, d.root = onHDFS(t, d.conf)
			d.said = nil
			Listen(d.fsys, noting(func(s string) { d.said = append(d.said, s) }))
			d.fsys.(*hdfsFS).timeouts.retry = 3 * time.Second
			test.run(t, d)
		})
	}
}

// file writes a file of one block, and returns it with its replicas.
func (d *damaged) file(t *testing.T, size, replication int) (name string, content []byte, replicas []testcluster.Replica) {
	t.Helper()
	d.fsys.(*hdfsFS).replication = replication
	name, content = path.Join(d.root, "f"), append(noise(size-20), time.Now().Format("15:04:05.999999999 and so on")[:20]...)
	write(t, d.fsys, name, content)
	for until := time.Now().Add(30 * time.Second); len(replicas) < replication; time.Sleep(50 * time.Millisecond) {
		var err error
		replicas, err = d.Replicas(content)
		check(t, err)
		if time.Now().After(until) {
			t.Fatalf("%d replicas of %d", len(replicas), replication)
		}
	}
	return name, content, replicas
}

// readAll reads a file in pieces of the given size.
func (d *damaged) readAll(t *testing.T, name string, piece int) ([]byte, error) {
	t.Helper()
	f, err := d.fsys.Open(name)
	check(t, err)
	defer f.Close()
	return readInPieces(f, piece)
}

func flip(t *testing.T, file string, at int64) {
	t.Helper()
	check(t, testcluster.Flip(file, at))
}

const metaLead = 7 // bytes before the checksums of a block's .meta file

// wantDamage requires an error that names file, block and DataNodes, right bytes before the damage, and a note.
func (d *damaged) wantDamage(t *testing.T, name string, content []byte, at int, replicas []testcluster.Replica) {
	t.Helper()
	for _, piece := range []int{100, 1 << 20} {
		got, err := d.readAll(t, name, piece)
		if !errors.Is(err, ErrChecksum) || errors.Is(err, ErrUnavailable) {
			t.Fatalf("pieces of %d: %d bytes, %v", piece, len(got), err)
		}
		if len(got) != at/512*512 || !bytes.HasPrefix(content, got) {
			t.Errorf("pieces of %d: %d bytes before the error, right: %v", piece, len(got), bytes.HasPrefix(content, got))
		}
		if !testwords.Names(err, name, replicas[0].Block()+" of BP-", "CRC32C") {
			t.Errorf("%v", err)
		}
		if n := strings.Count(err.Error(), "DataNode 127.0.0.1:"); n != len(replicas) {
			t.Errorf("%v; names %d DataNodes", err, n)
		}
	}
	d.wantNotes(t, len(replicas), "is damaged")
	f, err := d.fsys.Open(name)
	check(t, err)
	defer f.Close()
	sound := make([]byte, 1000)
	if _, err := f.ReadAt(sound, int64(at/512*512+512)); err != nil || !bytes.Equal(sound, content[at/512*512+512:][:1000]) {
		t.Errorf("sound bytes after the damage: %v", err)
	}
}

func (d *damaged) wantNotes(t *testing.T, n int, want string) {
	t.Helper()
	for _, s := range d.said {
		if !strings.Contains(s, want) {
			t.Errorf("note %q; want %q in it", s, want)
		}
	}
	if len(d.said) != n {
		t.Errorf("%d notes, want %d: %q", len(d.said), n, d.said)
	}
}

func (d *damaged) wantRight(t *testing.T, name string, content []byte) {
	t.Helper()
	for _, piece := range []int{100, 1 << 20} {
		if got, err := d.readAll(t, name, piece); err != nil || !bytes.Equal(got, content) {
			t.Errorf("pieces of %d: %d bytes of %d, %v", piece, len(got), len(content), err)
		}
	}
}

func damagedData(t *testing.T, d *damaged) {
	name, content, replicas := d.file(t, 300_000, 1)
	flip(t, replicas[0].Data, 150_000)
	d.wantDamage(t, name, content, 150_000, replicas)
}

func damagedSums(t *testing.T, d *damaged) {
	name, content, replicas := d.file(t, 300_000, 1)
	flip(t, replicas[0].Sums, metaLead+4*200)
	d.wantDamage(t, name, content, 200*512, replicas)
}

func damagedOneOfTwo(t *testing.T, d *damaged) {
	for i := range 2 { // a reader first asks a DataNode that has not failed it yet
		name, content, replicas := d.file(t, 300_000, 2)
		flip(t, replicas[i].Data, 150_000)
		flip(t, replicas[i].Sums, metaLead+4*500)
		d.wantRight(t, name, content)
		d.wantRight(t, name, content)
		d.wantReported(t, name, replicas[i])
		check(t, d.fsys.Remove(name))
	}
	if n := len(d.said); n == 0 || n > 2 {
		t.Errorf("%d notes on two damaged replicas: %q", n, d.said)
	}
	d.wantNotes(t, len(d.said), "149504 to 150015")
}

// wantReported requires the NameNode to know that a replica is damaged, if it was read at all: then it offers it no
// more.
func (d *damaged) wantReported(t *testing.T, name string, bad testcluster.Replica) {
	t.Helper()
	h := d.fsys.(*hdfsFS)
	found, err := h.locate(name)
	check(t, err)
	for _, r := range found.blocks[0].replicas {
		for _, note := range d.said {
			if strings.Contains(note, found.blocks[0].id.String()+" ") && strings.Contains(note, "on DataNode "+r.address+" is damaged") {
				t.Errorf("the NameNode still gives out the damaged replica of %s on %s", bad.Block(), r.address)
			}
		}
	}
}

func damagedBoth(t *testing.T, d *damaged) {
	name, content, replicas := d.file(t, 300_000, 2)
	flip(t, replicas[0].Data, 150_000)
	flip(t, replicas[0].Data, 290_000)
	flip(t, replicas[1].Data, 151_000) // in the same packet
	for range 4 {
		d.wantRight(t, name, content)
	}
	flip(t, replicas[1].Data, 290_000)
	d.wantDamage(t, name, content, 290_000, replicas)
}

// damagedAndDown: the sound replica is down, and may come back.
func damagedAndDown(t *testing.T, d *damaged) {
	name, content, replicas := d.file(t, 300_000, 2)
	flip(t, replicas[0].Data, 150_000)
	check(t, d.Kill(replicas[1].DataNode))
	_, err := d.readAll(t, name, 1<<20)
	wants(t, err, ErrUnavailable)
	if errors.Is(err, ErrChecksum) {
		t.Errorf("%v", err)
	}
	// The NameNode offers the damaged one no more once it is reported: then only the note names it.
	text := err.Error() + strings.Join(d.said, "")
	for _, want := range []string{name, replicas[0].Block(), "CRC32C", syscall.ECONNREFUSED.Error()} {
		if !strings.Contains(text, want) {
			t.Errorf("%v; want %q in it", text, want)
		}
	}
	check(t, d.StartRole(t.Context(), replicas[1].DataNode))
	d.wantRight(t, name, content)
}

// withoutChecksums: Hadoop's own client writes a file without checksums.
func withoutChecksums(t *testing.T, d *damaged) {
	name, content := path.Join(d.root, "bare"), noise(3<<20)
	local := filepath.Join(t.TempDir(), "bare")
	check(t, os.WriteFile(local, content, 0o600))
	_, err := d.Java(t.Context(), "org.apache.hadoop.fs.FsShell", "-D", "dfs.checksum.type=NULL", "-D", "dfs.blocksize=1048576",
		"-put", local, name)
	check(t, err)
	d.wantRight(t, name, content)
	d.wantNotes(t, 1, name+" was written without")
}

// withoutChecksumsOnOne: a replica with checksums is preferred to one without.
func withoutChecksumsOnOne(t *testing.T, d *damaged) {
	for i := range 2 {
		name, content, replicas := d.file(t, 300_000, 2)
		check(t, os.WriteFile(replicas[i].Sums, []byte{0, 1, checksumNone, 0, 0, 2, 0}, 0o600))
		flip(t, replicas[i].Data, 150_000)
		d.wantRight(t, name, content)
		d.wantRight(t, name, content)
		check(t, d.fsys.Remove(name))
	}
	d.wantNotes(t, 0, "")
}

// underReader reads part of a file, stops each of its DataNodes in turn in one way, and reads the rest.
func underReader(t *testing.T, d *damaged, stop, start func(role string)) {
	name, content, replicas := d.file(t, 20<<20, 2)
	for _, r := range replicas {
		f, err := d.fsys.Open(name)
		check(t, err)
		head := make([]byte, 100_000)
		_, err = io.ReadFull(f, head)
		check(t, err)
		stop(r.DataNode)
		rest, err := io.ReadAll(f)
		start(r.DataNode)
		if err != nil || !bytes.Equal(append(head, rest...), content) {
			t.Errorf("without %s: %d bytes of %d, %v", r.DataNode, len(head)+len(rest), len(content), err)
		}
		check(t, f.Close())
	}
	d.wantNotes(t, 0, "")
}

// impatiently gives the test's HDFS short timeouts for DataNodes.
func (d *damaged) impatiently(t *testing.T) {
	t.Helper()
	d.conf.Set("dfs.client.socket-timeout", "1000")
	d.fsys, d.root = onHDFS(t, d.conf)
	d.conf.Set("dfs.client.socket-timeout", "60000")
	d.fsys.(*hdfsFS).timeouts.retry = 3 * time.Second
	Listen(d.fsys, noting(func(s string) { d.said = append(d.said, s) }))
}

func hangs(t *testing.T, d *damaged) {
	d.impatiently(t)
	underReader(t, d, func(role string) { signal(t, d.Cluster, role, syscall.SIGSTOP) },
		func(role string) { signal(t, d.Cluster, role, syscall.SIGCONT) })
}

func dies(t *testing.T, d *damaged) {
	underReader(t, d, func(role string) { check(t, d.Kill(role)) },
		func(role string) { check(t, d.StartRole(context.WithoutCancel(t.Context()), role)) })
}

func onlyOneFails(t *testing.T, d *damaged) {
	d.impatiently(t)
	name, content, replicas := d.file(t, 20<<20, 1)
	role := replicas[0].DataNode
	failing := func(stop, start func()) {
		t.Helper()
		f, err := d.fsys.Open(name)
		check(t, err)
		defer f.Close()
		head := make([]byte, 100_000)
		_, err = io.ReadFull(f, head)
		check(t, err)
		stop()
		rest, err := io.ReadAll(f)
		start()
		wants(t, err, ErrUnavailable)
		if err != nil && !testwords.Names(err, replicas[0].Block()) ||
			!bytes.HasPrefix(content, append(head, rest...)) {
			t.Errorf("after %d bytes: %v", len(head)+len(rest), err)
		}
	}
	failing(func() { signal(t, d.Cluster, role, syscall.SIGSTOP) }, func() { signal(t, d.Cluster, role, syscall.SIGCONT) })
	failing(func() { check(t, d.Kill(role)) }, func() { check(t, d.StartRole(context.WithoutCancel(t.Context()), role)) })
	d.wantNotes(t, 0, "")
	d.wantRight(t, name, content)
}
