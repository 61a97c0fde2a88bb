package jobs

import (
	"errors"
	"fmt"
	"path/filepath"

	"bulkload/internal/storage"
	"bulkload/jobs/draft"
	"bulkload/jobs/failure"
	"bulkload/jobs/jobfile"
	"bulkload/jobs/options"
	"bulkload/jobs/site"
)

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
