package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/test/testcluster"
)

// TestWays: Put, ImportTsv and bulkload load the same cells. The ways to put differ only in one setting.
func TestWays(t *testing.T) {
	c := testcluster.Use(t)
	p := &puts{bench: &bench{binary: filepath.Join(t.TempDir(), "bulkload"), memory: "128MiB", dir: t.TempDir(), cluster: c}}
	if out, err := exec.Command("go", "build", "-C", "../../..", "-pgo=off", "-o", p.binary, "./cmd/bulkload").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const rows = 2000
	if err := p.prepareRows(t.Context(), rows, 1, p.keys(rowsDir)); err != nil {
		t.Fatal(err)
	}
	digests := map[string]string{}
	for _, w := range ways[2:] {
		table := c.UniqueTable(t)
		if err := p.create(t.Context(), table); err != nil {
			t.Fatal(err)
		}
		if _, err := w.run(p, t.Context(), table); err != nil {
			t.Fatalf("%s: %v", w.name, err)
		}
		digest, err := p.java(t.Context(), "digest", table)
		if err != nil || !strings.HasPrefix(digest, "2000 rows, 36000 cells, ") {
			t.Errorf("%s: %s, %v", w.name, digest, err)
		}
		digests[digest] = w.name
	}
	if len(digests) != 1 {
		t.Errorf("the cells differ: %v", digests)
	}
}

func TestPauses(t *testing.T) {
	log := filepath.Join(t.TempDir(), "gc.log")
	before := "[0.1s][info][gc] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 24M->9M(512M) 7.000ms\n"
	text := before + "[2.3s][info][gc] GC(1) Concurrent Mark Cycle 9.449ms\n[2.4s][info][gc] GC(1) Pause Remark 22M->22M(4096M) 9.125ms\n"
	if err := os.WriteFile(log, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, length, err := (&servers{gc: log}).pauses(len(before))
	if err != nil || !slices.Equal(got, []float64{9.125}) || length != len(text) {
		t.Errorf("%v, %d, %v", got, length, err)
	}
}
