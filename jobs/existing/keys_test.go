package existing

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"testing"

	"bulkload/internal/storage"
	"bulkload/jobs/failure"
	"bulkload/jobs/manifest"
	"bulkload/partition"
)

// written is an output in a folder with the keys of two regions.
func written(t *testing.T) (fsys storage.FS, dir string, e *manifest.Existing) {
	t.Helper()
	dir = t.TempDir()
	fsys, _, err := storage.ResolveAs(dir, "/", nil, storage.Identity{})
	if err != nil {
		t.Fatal(err)
	}
	temp := path.Join(dir, "temp")
	if err := fsys.MkdirAll(temp, storage.DirPerm); err != nil {
		t.Fatal(err)
	}
	e = &manifest.Existing{Rows: 100}
	for _, region := range []int{2, 5} {
		w, err := createKeys(fsys, path.Join(temp, fileName(region)), region)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < 1000; i += 3 {
			if err := w.add(key(region, i)); err != nil {
				t.Fatal(err)
			}
		}
		record, err := w.close()
		if err != nil {
			t.Fatal(err)
		}
		e.Files = append(e.Files, *record)
	}
	if err := Keep(fsys, dir, temp, e); err != nil {
		t.Fatal(err)
	}
	return fsys, dir, e
}

func key(region, i int) []byte { return fmt.Appendf(nil, "%d-%04d", region, i) }

// TestKeys: the keys that were written are found, in every part of a region, and no others.
func TestKeys(t *testing.T) {
	fsys, dir, e := written(t)
	if err := Check(fsys, dir, e); err != nil {
		t.Fatal(err)
	}
	for _, from := range []int{0, 1, 500, 998, 1200} {
		keys, err := Open(fsys, dir, e, 5)
		if err != nil {
			t.Fatal(err)
		}
		for i := from; i < 1300; i++ {
			if got, err := keys.Has(key(5, i)); err != nil || got != (i < 1000 && i%3 == 0) {
				t.Fatalf("from %d, key %d: %v, %v", from, i, got, err)
			}
		}
		if err := keys.Close(); err != nil {
			t.Fatal(err)
		}
	}
	none, err := Open(fsys, dir, e, 3)
	if err != nil || none != nil {
		t.Fatal(none, err)
	}
	if got, err := none.Has(key(3, 0)); got || err != nil || none.Close() != nil {
		t.Error(got, err)
	}
}

// TestDamagedKeys: no key is believed of a file that is not as it was written.
func TestDamagedKeys(t *testing.T) {
	fsys, dir, e := written(t)
	name := filepath.Join(dir, manifest.ExistingDir, fileName(2))
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/2] ^= 1
	for _, damaged := range [][]byte{text, text[:len(text)-1], nil} {
		if err := os.WriteFile(name, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := Check(fsys, dir, e); failure.KindOf(err) != failure.Differs {
			t.Errorf("%d bytes: %v", len(damaged), err)
		}
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if err := Check(fsys, dir, e); failure.KindOf(err) != failure.Refused {
		t.Errorf("missing: %v", err)
	}
	for _, text := range []string{"\xff\xff\xff\x7f", "\x05abc", "\xff"} { // never with a checksum, and no panic without one
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		keys, err := Open(fsys, dir, e, 2)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := keys.Has(make([]byte, partition.MaxKey)); err == nil {
			if _, err = keys.Has([]byte("z")); err == nil {
				t.Errorf("%q was read", text)
			}
		}
		if err := keys.Close(); err != nil {
			t.Error(err)
		}
	}
}
