package jobs

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"bulkload/ingest"
	"bulkload/ingest/compressed"
	"bulkload/internal/storage"
	"bulkload/jobs/failure"
	"bulkload/jobs/jobfile"
	"bulkload/jobs/options"
)

// source is a job's input: its files, found and in order.
type source struct {
	job   *jobfile.Job
	root  string // the path or glob that was searched
	fsys  storage.FS
	files []ingest.File
	bytes int64
	text  int64 // bytes, about, when decompressed
}

// noInputError says that no input was found.
type noInputError struct{ error }

func (e *noInputError) Unwrap() error { return e.error }

// openSource finds the input. A path that names nothing is refused.
func openSource(j *jobfile.Job, s *site) (*source, error) {
	fsys, name, err := s.resolve(j.Input.Path, j.Dir)
	if err != nil {
		return nil, fmt.Errorf("open the input %s: %w", j.Input.Path, err)
	}
	src := &source{job: j, root: name, fsys: fsys}
	if err = src.find(name); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = &noInputError{failure.Refusef("the input %s is not there; check input.path, --date and whether the export has run%s", fsys.URI(name), noBraces(name))}
		}
		if errors.Is(err, ingest.ErrNoFile) {
			err = &noInputError{failure.Refusef("%w", err)}
		}
		if errors.Is(err, ingest.ErrLink) {
			err = failure.Refusef("%w", err)
		}
		return nil, errors.Join(err, fsys.Close())
	}
	return src, nil
}

// noBraces says of a path that was not found what shells and Hadoop would have made of it.
func noBraces(name string) string {
	if open := strings.Index(name, "{"); open < 0 || !strings.Contains(name[open:], "}") {
		return ""
	}
	return "; {a,b} is no glob here, only *, ? and [a-z] are"
}

// sayDoubts says what the files look like, if that is hardly what the job file says.
func (s *source) sayDoubts(o options.Options) {
	for _, doubt := range s.job.Input.Form.Doubts(s.fsys, s.files) {
		o.Sayf("%s", doubt)
	}
}

// checkApart refuses an output inside the input, whose files the next run would read, and an input inside the output.
func (s *source) checkApart(fsys storage.FS, dir string) error {
	for at := dir; at != "/" && at != "."; at = path.Dir(at) {
		matched, _ := path.Match(s.root, at) // a root that is no pattern is compared as it is
		if (matched || at == s.root) && s.fsys.URI(at) == fsys.URI(at) {
			return failure.Refusef("the output %s is inside the input %s, and would be read as input; choose another output", fsys.URI(dir), s.fsys.URI(s.root))
		}
	}
	for _, f := range s.files {
		if storage.Below(dir, f.Path) && s.fsys.URI(f.Path) == fsys.URI(f.Path) {
			return failure.Refusef("the input %s is inside the output %s; choose another output", s.fsys.URI(f.Path), fsys.URI(dir))
		}
	}
	return nil
}

func (s *source) close() error { return s.fsys.Close() }

// find lists the files. That the export is finished is looked up before: what is listed then is all of it.
func (s *source) find(name string) (err error) {
	var finished []string
	if s.job.Input.RequireSuccess {
		if finished, err = s.finishedFolders(name); err != nil {
			return err
		}
	}
	if s.files, err = ingest.List(s.fsys, name); err != nil {
		return err
	}
	for _, f := range s.files {
		if s.job.Input.RequireSuccess && !slices.ContainsFunc(finished, func(dir string) bool { return storage.Below(dir, f.Path) }) {
			return failure.Laterf("the input file %s has come while the input was looked at; try again", s.fsys.URI(f.Path))
		}
		s.bytes += f.Size
		s.text += f.Size * compressed.Growth(f.Path, s.job.Input.Form.Codec())
	}
	return s.checkUnfinished(name)
}

// temporaryName is the folder that Hadoop's jobs, Sqoop's too, write in until they have ended well.
const temporaryName = "_temporary"

// checkUnfinished refuses folders whose export is still running, or was broken off: what is there is not all of it. A
// file that is named itself is the caller's choice.
func (s *source) checkUnfinished(name string) error {
	if len(s.files) == 1 && s.files[0].Path == name {
		return nil
	}
	folders, err := ingest.Folders(s.fsys, name)
	if err != nil {
		return err
	}
	for _, dir := range folders {
		if _, err := s.fsys.Stat(path.Join(dir, temporaryName)); errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return fmt.Errorf("look whether the export is finished: %w", err)
		}
		if _, err := s.fsys.Stat(path.Join(dir, successName)); errors.Is(err, fs.ErrNotExist) {
			return failure.Refusef("the input %s holds %s and no %s: its export is still running, or was broken off; wait for it, or export again",
				s.fsys.URI(dir), temporaryName, successName)
		}
	}
	return nil
}

// finishedFolders lists the folders of the input, each of which must have its _SUCCESS.
func (s *source) finishedFolders(name string) ([]string, error) {
	folders, err := ingest.Folders(s.fsys, name)
	if err != nil {
		return nil, err
	}
	for _, dir := range folders {
		_, err := s.fsys.Stat(path.Join(dir, successName))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, failure.Refusef("the input %s has no %s: its export is not finished (input.require_success)", s.fsys.URI(dir), successName)
		}
		if err != nil {
			return nil, fmt.Errorf("look whether the export is finished: %w", err)
		}
	}
	return folders, nil
}
