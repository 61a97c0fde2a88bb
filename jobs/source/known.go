package source

import (
	"fmt"

	"bulkload/ingest"
	"bulkload/internal/errcode"
	"bulkload/jobs/jobfile"
	"bulkload/jobs/site"
)

// Known is the source of a job whose files another process has found, by their ordinals.
func Known(j *jobfile.Job, s *site.Site, files []ingest.File) (*Source, error) {
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

// CheckUnchanged checks that a file still has the size and the time with which it was listed.
func (s *Source) CheckUnchanged(file ingest.File) error {
	info, err := s.FS.Stat(file.Path)
	if err != nil {
		return fmt.Errorf("look whether the input has changed: %w", err)
	}
	if info.Size != file.Size || !info.ModTime.Equal(file.ModTime) {
		return errcode.InputChanged.Errorf("the input file %s has changed since the run was planned: it had %d bytes of %s and has %d of %s; start again when the export is complete",
			s.FS.URI(file.Path), file.Size, jobfile.TimeText(file.ModTime), info.Size, jobfile.TimeText(info.ModTime))
	}
	return nil
}
