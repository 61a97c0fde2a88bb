package source_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"testing"

	"bulkload/ingest"
	"bulkload/internal/storage"
	"bulkload/internal/test/jobdir"
	"bulkload/jobs/env/site"
	"bulkload/jobs/pipeline/source"
	"bulkload/jobs/spec/jobfile"
)

// TestOffsetsAscend: in every form of input that the examples have, a record's offset is above that of the one before,
// also of one that can't be used: what is kept of a split ends at an offset.
func TestOffsetsAscend(t *testing.T) {
	var names []string
	for _, pattern := range []string{"../../examples/*.yaml", "../../examples/*/*.yaml"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, found...)
	}
	forms := map[string]int{}
	for _, name := range names {
		j, err := jobfile.Read(name, jobfile.ReadOptions{Date: jobdir.Date})
		if err != nil || storage.IsHDFS(j.Input.Path) {
			continue // which other tests look into
		}
		s, err := source.Open(j, &site.Site{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		n, err := ascends(j, s)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		forms[fmt.Sprintf("%T", j.Input.Form)] += n
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if len(forms) < 2 {
		t.Errorf("only %v were read", forms)
	}
	t.Log(forms)
}

// ascends reads a source and counts its records; an error where an offset does not ascend.
func ascends(j *jobfile.Job, s *source.Source) (n int, err error) {
	splits, err := source.Splits(context.Background(), &j.Input, s)
	if err != nil {
		return 0, err
	}
	for _, split := range splits {
		in, err := j.Input.Form.Open(s.FS, split)
		if err != nil {
			return n, err
		}
		for at := int64(-1); ; n++ {
			record, err := in.Next()
			var bad *ingest.BadRecord
			offset := int64(0)
			switch {
			case errors.Is(err, io.EOF):
			case errors.As(err, &bad):
				offset = bad.Offset
			case err != nil:
				return n, errors.Join(err, in.Close())
			default:
				offset = record.Offset
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if offset <= at {
				return n, errors.Join(fmt.Errorf("record %d of %s at offset %d, not after %d", n, split.File.Path, offset, at), in.Close())
			}
			at = offset
		}
		if err := in.Close(); err != nil {
			return n, err
		}
	}
	return n, nil
}
