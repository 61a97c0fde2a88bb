//go:build poison

package poison_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"testing"

	"bulkload/cell"
	"bulkload/hfilewriter"
	"bulkload/ingest"
	"bulkload/ingest/csv"
	"bulkload/ingest/delimited"
	"bulkload/ingest/parquet"
	"bulkload/internal/test/testfs"
	"bulkload/partition"
)

// TestKeptBytes: bytes that are kept for longer than their documented lifetime are overwritten at its end, and not
// before.
func TestKeptBytes(t *testing.T) {
	text := &delimited.Form{Columns: []string{"a", "b"}, FieldDelimiter: []byte{','}, RecordDelimiter: []byte{'\n'}}
	escaped := *text
	escaped.Escape = '\\'
	parquetFile, err := os.ReadFile("../../ingest/parquet/testdata/small.parquet")
	if err != nil {
		t.Fatal(err)
	}
	for name, lend := range map[string]func(t *testing.T, keep func(b []byte, want string)){
		"record":           records(text, "alpha,beta\ngamma,delta\n", "alpha"),
		"escaped record":   records(&escaped, "al\\,pha,beta\ngam\\,ma,delta\n", "al,pha"),
		"CSV record":       records(&csv.Form{Columns: []string{"a", "b"}, Delimiter: ',', Quote: '"'}, "a,b\nalpha,beta\ngamma,delta\n", "alpha"),
		"quoted record":    records(&csv.Form{Columns: []string{"a", "b"}, Delimiter: ',', Quote: '"'}, "a,b\n\"al\"\"pha\",beta\n\"gam\"\"ma\",delta\n", "al\"pha"),
		"row of Parquet":   records(&parquet.FlatForm{Columns: []string{"id"}}, string(parquetFile), "1"),
		"entry in memory":  entries(3),
		"entry on disk":    entries(5000),
		"buffer of a sort": shardBuffer,
		"scanned cell":     scanned,
		"verified cell":    verified,
	} {
		t.Run(name, func(t *testing.T) {
			var kept [][]byte
			lend(t, func(b []byte, want string) {
				if string(b) != want {
					t.Fatalf("%q before its end, want %q", b, want)
				}
				kept = append(kept, b)
			})
			if len(kept) == 0 {
				t.Fatal("nothing was kept")
			}
			for _, b := range kept {
				if !bytes.Equal(b, bytes.Repeat([]byte{0xDB}, len(b))) {
					t.Errorf("%q after its end", b)
				}
			}
		})
	}
}

// records keeps the first record of a file of two, until the second is read.
func records(form ingest.Format, content, want string) func(t *testing.T, keep func(b []byte, want string)) {
	return func(t *testing.T, keep func(b []byte, want string)) {
		file := ingest.SourceFile{Path: "/memory", Size: int64(len(content))}
		r, err := form.Open(testfs.Memory{Content: []byte(content)}, ingest.Split{File: file, End: file.Size})
		if err != nil {
			t.Fatal(err)
		}
		rec, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		keep(rec.Fields[0].Bytes(), want)
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}
}

// entries keeps the first of n sorted entries until the next but one is read.
func entries(n int) func(t *testing.T, keep func(b []byte, want string)) {
	return func(t *testing.T, keep func(b []byte, want string)) {
		s, shard := sorter(t)
		for i := range n {
			key := fmt.Appendf(nil, "key %06d", i)
			entry := append(append(shard.Buffer(), key...), "payload"...)
			if err := shard.Commit(entry, len(key), len(key), partition.EntryOrigin{Offset: int64(i)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := shard.Close(); err != nil {
			t.Fatal(err)
		}
		sorted, err := s.Sort(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if spilled := sorted.Stats().Runs > 0; spilled != (n > 3) {
			t.Fatalf("%d runs of %d entries", sorted.Stats().Runs, n)
		}
		run, err := sorted.Region(0)
		if err != nil {
			t.Fatal(err)
		}
		first, err := run.Next()
		_, err2 := run.Next()
		keep(first.Key, "key 000000")
		keep(first.Payload, "payload")
		_, err3 := run.Next()
		if err := errors.Join(err, err2, err3, run.Close(), sorted.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

func sorter(t *testing.T) (*partition.Sorter, *partition.Shard) {
	t.Helper()
	regions, err := partition.NewRegions(nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := partition.NewSorter(partition.SortOptions{Regions: regions, WorkDir: t.TempDir(), Shards: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Discard() })
	return s, s.NewShard()
}

// shardBuffer keeps an entry after its commit.
func shardBuffer(t *testing.T, keep func(b []byte, want string)) {
	_, shard := sorter(t)
	entry := append(shard.Buffer(), "key payload"...)
	keep(entry, "key payload")
	if err := shard.Commit(entry, 3, 3, partition.EntryOrigin{}); err != nil {
		t.Fatal(err)
	}
}

// scanned keeps the first cell of a file until the next one is read.
func scanned(t *testing.T, keep func(b []byte, want string)) {
	s := twoCells(t).Seek(nil)
	if !s.Next() {
		t.Fatal(s.Err())
	}
	keep(s.Cell().Row, "row 1")
	keep(s.Cell().Value, "one")
	if !s.Next() {
		t.Fatal(s.Err())
	}
}

// verified keeps all cells of a file after the calls that show them.
func verified(t *testing.T, keep func(b []byte, want string)) {
	_, err := twoCells(t).Verify(func(b *hfilewriter.CellBatch) error {
		keep(b.Cell.Value, map[string]string{"row 1": "one", "row 2": "two"}[string(b.Cell.Row)])
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// twoCells is a file of two rows.
func twoCells(t *testing.T) *hfilewriter.Reader {
	t.Helper()
	var file bytes.Buffer
	w, err := hfilewriter.NewWriter(&file, hfilewriter.Settings{Compression: hfilewriter.CompressNone}, hfilewriter.Provenance{})
	if err != nil {
		t.Fatal(err)
	}
	for row, value := range []string{"one", "two"} {
		c := cell.Cell{Row: fmt.Appendf(nil, "row %d", row+1), Family: []byte("f"), Type: cell.Put, Timestamp: 1, Value: []byte(value)}
		if err := w.Append(&c); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := hfilewriter.Open(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return r
}
