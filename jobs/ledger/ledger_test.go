package ledger

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"bulkload/internal/seal"
	"bulkload/internal/storage"
)

func sample() *Entry {
	return &Entry{State: Loaded, Job: "check.yaml", JobHash: "0123456789abcdef0123", Table: "ns:t", Date: "2026-11-20", Run: "r1",
		Output: "hdfs:///out", Books: []byte(`{"rows_read":5}`), Inputs: []byte(`[]`), Files: []File{{URI: "hdfs:///out/f/1", Family: "f", FirstRow: "a",
			LastRow: `b\x00`, Probes: []Cell{{Row: "a", Qualifier: "q", Timestamp: 5, Type: 4, Value: "00"}}}}, Time: time.Unix(2e9, 0).UTC()}
}

func newLedger(t *testing.T) (*Ledger, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "a", "ledger")
	l, err := Open(storage.Local, dir)
	if err != nil {
		t.Fatal(err)
	}
	return l, dir
}

// TestEntryIsReadAsWritten: by its table, date and job alone; nobody else may read it.
func TestEntryIsReadAsWritten(t *testing.T) {
	l, dir := newLedger(t)
	want := sample()
	if e, err := l.Read(want.Table, want.Date, want.JobHash); e != nil || err != nil {
		t.Fatalf("before: %+v, %v", e, err)
	}
	for range 2 {
		if err := l.Write(want); err != nil {
			t.Fatal(err)
		}
	}
	got, err := l.Read(want.Table, want.Date, want.JobHash)
	if err != nil || !reflect.DeepEqual(compacted(t, got), compacted(t, want)) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, key := range [][3]string{{"ns:u", want.Date, want.JobHash}, {want.Table, "", want.JobHash}, {want.Table, want.Date, "1123456789abcdef"}} {
		if e, err := l.Read(key[0], key[1], key[2]); e != nil || err != nil {
			t.Errorf("%v: %+v, %v", key, e, err)
		}
	}
	other := sample()
	other.Date = ""
	if err := l.Write(other); err != nil {
		t.Fatal(err)
	}
	if files, err := l.Unserved(want.Table); err != nil || files != nil {
		t.Errorf("unserved: %v, %v", files, err)
	}
	unserved := []Unserved{{URI: "u", Row: "a", Opening: "o", Run: "r0", Time: time.Unix(1e9, 0).UTC()}}
	if err := l.SetUnserved(want.Table, unserved); err != nil {
		t.Fatal(err)
	}
	if files, err := l.Unserved(want.Table); err != nil || !reflect.DeepEqual(files, unserved) {
		t.Errorf("unserved: %v, %v", files, err)
	}
	for _, name := range []string{dir, filepath.Join(dir, "ns=t"), filepath.Join(dir, "ns=t", "2026-11-20_0123456789abcdef.json")} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if names, err := os.ReadDir(filepath.Join(dir, "ns=t")); err != nil || len(names) != 3 {
		t.Errorf("left: %v, %v", names, err)
	}
}

// compacted is an entry without the white space in its raw parts.
func compacted(t *testing.T, e *Entry) Entry {
	t.Helper()
	c := *e
	for _, raw := range []*[]byte{(*[]byte)(&c.Books), (*[]byte)(&c.Inputs)} {
		*raw = bytes.Join(bytes.Fields(*raw), nil)
	}
	return c
}

// TestDamagedEntryIsNotBelieved flips each byte of an entry, and cuts it at each length.
func TestDamagedEntryIsNotBelieved(t *testing.T) {
	l, dir := newLedger(t)
	e := sample()
	if err := l.Write(e); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "ns=t", "2026-11-20_0123456789abcdef.json")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	try := func(what string, at int, damaged []byte) {
		if err := os.WriteFile(name, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := l.Read(e.Table, e.Date, e.JobHash)
		if err == nil && reflect.DeepEqual(compacted(t, got), compacted(t, e)) {
			return // white space
		}
		if !errors.Is(err, seal.ErrMalformed) && !errors.Is(err, seal.ErrMismatch) {
			t.Errorf("byte %d %s: %+v, %v", at, what, got, err)
		}
	}
	for i := range text {
		damaged := bytes.Clone(text)
		damaged[i] ^= 1
		try("changed", i, damaged)
		try("cut", i, text[:i])
	}
}
