package livetest

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/storage"
	"bulkload/internal/test/testcluster"
	"bulkload/jobs/env/ledger"
	"bulkload/jobs/env/site"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/spec/jobfile"
)

// Manifest is the manifest of Night20's output.
func (l *Live) Manifest(t *testing.T) *manifest.Manifest {
	t.Helper()
	fsys, name := l.HDFS(t, l.Out+"/"+Night20)
	m, err := manifest.Read(fsys, name)
	if err != nil || m == nil {
		t.Fatal(m, err)
	}
	return m
}

// OtherTools has HFileOutputFormat2 write cells into a directory, one file for each family.
func (l *Live) OtherTools(t *testing.T, dir string, lines []string) {
	t.Helper()
	local := filepath.Join(t.TempDir(), "cells")
	if err := os.WriteFile(local, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l.Ask(t, "output", local, dir, "COMPRESSION=GZ", "BLOCKSIZE=4096")
}

// Damage flips a byte of an HDFS file on the DataNode's disk, and returns the name of the block.
func (l *Live) Damage(t *testing.T, uri string, at int64) string {
	t.Helper()
	content := l.ReadHDFS(t, uri)
	replicas, err := l.Replicas(content)
	if err != nil || len(replicas) != 1 {
		t.Fatalf("blocks of %s: %v, %v", uri, replicas, err)
	}
	if err := testcluster.Flip(replicas[0].Data, at); err != nil {
		t.Fatal(err)
	}
	return replicas[0].Block()
}

// HDFS is the file system of a URI, and the path in it.
func (l *Live) HDFS(t *testing.T, uri string) (storage.FS, string) {
	t.Helper()
	s, err := site.Open(l.Options(), jobfile.HBase{Kerberos: l.Who}, true)
	if err != nil {
		t.Fatal(err)
	}
	fsys, name, err := s.Resolve(uri, "/")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = fsys.Close() })
	return fsys, name
}

// ReadHDFS returns the content of a file in HDFS.
func (l *Live) ReadHDFS(t *testing.T, uri string) []byte {
	t.Helper()
	fsys, name := l.HDFS(t, uri)
	content, err := storage.ReadFile(fsys, name, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// WithoutOutput deletes the output of a night.
func (l *Live) WithoutOutput(t *testing.T, date string) {
	t.Helper()
	fsys, dir := l.HDFS(t, l.Out+"/"+date)
	if err := fsys.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
}

// Ledger is the ledger of the cluster.
func (l *Live) Ledger(t *testing.T) *ledger.Ledger {
	t.Helper()
	s, err := site.Open(l.Options(), jobfile.HBase{}, true)
	if err != nil {
		t.Fatal(err)
	}
	book, err := s.OpenLedger()
	if err != nil {
		t.Fatal(err)
	}
	closing(t, book)
	return book
}

// Hex is the bytes of a text in hexadecimal digits.
func Hex(s string) string { return hex.EncodeToString([]byte(s)) }
