package parquet

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"bulkload/ingest"
	"bulkload/internal/storage"
)

// row is a copy of a record; nil for a null.
type row []*string

func listed(t testing.TB, name string) []ingest.SourceFile {
	t.Helper()
	if !filepath.IsAbs(name) {
		name = filepath.Join(must(t, os.Getwd), name)
	}
	files, err := ingest.List(storage.Local, name)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func must[T any](t testing.TB, f func() (T, error)) T {
	t.Helper()
	v, err := f()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// readAll reads all rows of files, split by split, and returns bad records with their reasons.
func readAll(form *FlatForm, files []ingest.SourceFile, size int64) (rows []row, bad []*ingest.BadRecord, err error) {
	return readFrom(storage.Local, form, files, size)
}

func readFrom(fsys storage.FS, form *FlatForm, files []ingest.SourceFile, size int64) (rows []row, bad []*ingest.BadRecord, err error) {
	splits, err := form.Splits(fsys, files, size)
	if err != nil {
		return nil, nil, err
	}
	for _, split := range splits {
		r, err := form.Open(fsys, split)
		if err != nil {
			return nil, nil, err
		}
		err = drain(r, func(rec *ingest.Record) { rows = append(rows, keep(rec)) }, func(b *ingest.BadRecord) {
			c := *b
			c.Raw = append([]byte{}, b.Raw...)
			bad = append(bad, &c)
		})
		if err := errors.Join(err, r.Close()); err != nil {
			return rows, bad, err
		}
	}
	return rows, bad, nil
}

// drain reads to the end, and returns any error other than io.EOF.
func drain(r ingest.Records, visit func(*ingest.Record), reject func(*ingest.BadRecord)) error {
	for {
		rec, err := r.Next()
		if err == nil {
			visit(rec)
			continue
		}
		var bad *ingest.BadRecord
		switch {
		case errors.As(err, &bad):
			reject(bad)
		case err == io.EOF:
			return nil
		default:
			return err
		}
	}
}

func keep(rec *ingest.Record) row {
	kept := make(row, len(rec.Fields))
	for i, f := range rec.Fields {
		if !f.Null() {
			s := string(f.Bytes())
			kept[i] = &s
		}
	}
	return kept
}
