package livetest

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/test/runtest"
	"bulkload/internal/test/sample"
)

// The nights of most tests.
const (
	Night19 = "2026-11-19"
	Night20 = "2026-11-20"
	Night21 = "2026-11-21"
)

// Night makes one night's input.
func (l *Live) Night(t *testing.T, date string, rows int, seed uint64) {
	t.Helper()
	in := filepath.Join(l.Folder, "in", date)
	if err := os.MkdirAll(in, 0o755); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := sample.Check(&b, sample.Options{Rows: rows, Seed: seed}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(in, "part-m-00000"), b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// WrittenNight is a table with ten regions and a night for it, whose files are written but not loaded.
func WrittenNight(t *testing.T, rows int, seed uint64) *Live {
	t.Helper()
	l := New(t)
	l.Table10(t)
	l.Night(t, Night20, rows, seed)
	o := l.Options()
	o.NoLoad = true
	runtest.Must(t, l.Job(t, Night20), o)
	return l
}

// KeepAll disables compactions of a table, because one of all files of a region drops deleted cells.
const KeepAll = "TABLE:COMPACTION_ENABLED=false"

// Table10 creates the table with a region for each salt.
func (l *Live) Table10(t *testing.T) {
	t.Helper()
	l.Ask(t, "create", l.Table, "f", "1,2,3,4,5,6,7,8,9", "COMPRESSION=SNAPPY", "DATA_BLOCK_ENCODING=FAST_DIFF", "BLOOMFILTER=ROW")
}

// Correct changes one record of a night without changing a row key.
func (l *Live) Correct(t *testing.T, date string) {
	t.Helper()
	name := filepath.Join(l.Folder, "in", date, "part-m-00000")
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	records := strings.Split(string(content), "\x10")
	records[len(records)/2] += " corrected"
	if err := os.WriteFile(name, []byte(strings.Join(records, "\x10")), 0o600); err != nil {
		t.Fatal(err)
	}
}

// NewNight is a table with the night's input, to which a test then applies a change.
func NewNight(t *testing.T, before func(t *testing.T, l *Live)) *Live {
	t.Helper()
	l := New(t)
	l.Table10(t)
	l.Night(t, Night20, 600, 60)
	if before != nil {
		before(t, l)
	}
	return l
}
