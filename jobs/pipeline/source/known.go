package source

import (
	"fmt"

	"bulkload/ingest"
	"bulkload/jobs/env/site"
	"bulkload/jobs/spec/jobfile"
)

// Known returns the source of a job whose files another process has found. files are in the order of their ordinals.
func Known(j *jobfile.Job, s *site.Site, files []ingest.SourceFile) (*Source, error) {
	fsys, root, err := s.Resolve(j.Input.Path, j.Dir)
	if err != nil {
		return nil, fmt.Errorf("open the input %s: %w", j.Input.Path, err)
	}
	src := &Source{Job: j, root: root, FS: fsys, Files: files}
	for _, f := range files {
		src.Bytes += f.Size
	}
	return src, nil
}
