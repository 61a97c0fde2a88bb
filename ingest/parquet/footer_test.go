package parquet

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"sync"
	"testing"

	"bulkload/ingest"
	"bulkload/internal/storage"
)

// TestOutlines: only the part of each file's footer that is needed to cut splits stays in memory.
func TestOutlines(t *testing.T) {
	name := "testdata/spark/spark-default.parquet"
	all, err := (&FlatForm{Columns: describe(t, name).Columns}).outlines(storage.Local, listed(t, name))
	if err != nil || len(all) != 1 || len(all[0].groups) == 0 || all[0].groups[0].rows == 0 {
		t.Fatalf("%+v, %v", all, err)
	}
	for _, g := range all[0].groups {
		if g.chunks != nil {
			t.Errorf("the row group at row %d keeps the places of %d columns", g.first, len(g.chunks))
		}
	}
	for _, c := range all[0].columns {
		if c.descr != nil {
			t.Errorf("column %s keeps the schema", c.name)
		}
	}
}

// footerFS is many files with the same bytes; it records how many footers are read at once.
type footerFS struct {
	storage.FS
	content []byte
	footer  int64 // bytes of one

	mu        sync.Mutex
	now, most int64 // footers
}

type footerFile struct {
	memoryFile
	fsys *footerFS
}

func (f *footerFS) Open(string) (storage.File, error) {
	return footerFile{memoryFile{bytes.NewReader(f.content)}, f}, nil
}

func (f *footerFS) count(n int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now += n
	f.most = max(f.most, f.now)
}

func (f footerFile) ReadAt(p []byte, at int64) (int, error) {
	if int64(len(p)) == f.fsys.footer {
		f.fsys.count(1)
		defer f.fsys.count(-1)
		for range 100 {
			runtime.Gosched() // let the others run
		}
	}
	return f.memoryFile.ReadAt(p, at)
}

// TestFootersAtOnce: no more bytes of footers are held than the limit allows, and a longer footer is read alone.
func TestFootersAtOnce(t *testing.T) {
	content, err := os.ReadFile("testdata/spark/spark-default.parquet")
	if err != nil {
		t.Fatal(err)
	}
	fsys := &footerFS{content: content}
	if _, fsys.footer, err = findFooter(memoryFile{bytes.NewReader(content)}, "/it"); err != nil {
		t.Fatal(err)
	}
	form := FlatForm{Columns: describe(t, "testdata/spark/spark-default.parquet").Columns}
	var files []ingest.SourceFile
	for i := range 64 {
		files = append(files, ingest.SourceFile{Path: fmt.Sprint("/", i), Size: int64(len(content))})
	}
	whole := footers
	defer func() { footers = whole }()
	for _, c := range []struct{ room, least, most int64 }{{100 * fsys.footer, 2, 64}, {3 * fsys.footer, 2, 3}, {fsys.footer, 1, 1}, {10, 1, 1}} {
		footers = newFooterLimit(c.room)
		fsys.most = 0
		splits, err := form.Splits(fsys, files, 0)
		if err != nil || len(splits) != len(files) {
			t.Fatalf("%d splits, %v", len(splits), err)
		}
		var opened sync.WaitGroup
		for _, s := range splits {
			opened.Go(func() {
				r, err := form.Open(fsys, s)
				if err == nil {
					err = r.Close()
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		opened.Wait()
		if fsys.most < c.least || fsys.most > c.most {
			t.Errorf("room for %d bytes: %d footers of %d bytes at once, want %d to %d", c.room, fsys.most, fsys.footer, c.least, c.most)
		}
	}
}
