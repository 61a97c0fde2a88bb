package jobs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"bulkload/internal/bytesize"
	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/jobs/draft"
	"bulkload/jobs/failure"
	"bulkload/jobs/jobfile"
	"bulkload/jobs/options"
	"bulkload/jobs/site"
)

// maxProperties bounds the properties of a job, in bytes.
const maxProperties = 1 << 20

// Convert makes a job file of the properties of the Spark job that bulkload replaces.
func Convert(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, errcode.Convert.Errorf("read the properties: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(f, maxProperties+1))
	if err != nil {
		return nil, errcode.Convert.Errorf("read the properties: %w", err)
	}
	if len(text) > maxProperties {
		return nil, errcode.Convert.Errorf("%s has more than %s; is it another file?", name, bytesize.Format(maxProperties))
	}
	return draft.Convert(text, filepath.Base(name))
}

// Draft writes the first job file for an input: a file, a folder or a glob. base is the folder that the job file will be in, from
// which its paths are counted.
func Draft(input, base string, o options.Options) (job []byte, err error) {
	s, err := site.Open(o, jobfile.HBase{}, storage.IsHDFS(input))
	if err != nil {
		return nil, err
	}
	fsys, name, err := s.Resolve(input, ".")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, fsys.Close()) }()
	shown := input
	if !storage.IsHDFS(input) {
		if base, err = filepath.Abs(base); err == nil {
			shown, err = filepath.Rel(base, name)
		}
		if err != nil {
			return nil, fmt.Errorf("the path of %s from the job file: %w", input, err)
		}
	}
	d, err := draft.Of(fsys, name, shown)
	if err != nil {
		return nil, failure.Early(err)
	}
	return d.YAML(), nil
}
