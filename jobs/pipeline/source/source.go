// Package source finds a job's input: its files in order, and whether its export is finished.
package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"bulkload/ingest"
	"bulkload/ingest/compressed"
	"bulkload/internal/errcode"
	"bulkload/internal/parallel"
	"bulkload/internal/printable"
	"bulkload/internal/storage"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/site"
	"bulkload/jobs/spec/jobfile"
)

// Source is a job's input: its files, found and in order.
type Source struct {
	Job   *jobfile.Job
	root  string // the path or glob that was searched
	FS    storage.FS
	Files []ingest.SourceFile
	Bytes int64
	Text  int64 // approximate bytes after decompression
}

// MissingError means that no input was found.
type MissingError struct{ error }

// Unwrap returns the error that says what was not found.
func (e *MissingError) Unwrap() error { return e.error }

// Open finds the input. A path that matches nothing is refused.
func Open(j *jobfile.Job, s *site.Site) (*Source, error) {
	fsys, name, err := s.Resolve(j.Input.Path, j.Dir)
	if err != nil {
		return nil, fmt.Errorf("open the input %s: %w", j.Input.Path, err)
	}
	src := &Source{Job: j, root: name, FS: fsys}
	if err = src.Find(name); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = &MissingError{notThere(fsys.URI(name))}
		}
		if errors.Is(err, ingest.ErrNoFile) {
			err = &MissingError{errcode.InputPath.Wrap(err)}
		}
		if errors.Is(err, ingest.ErrLink) {
			err = errcode.InputPath.Wrap(err)
		}
		return nil, errors.Join(err, fsys.Close())
	}
	return src, nil
}

// notThere returns the error for a path that was not found. Braces in it, which shells and Hadoop would expand, are a
// mistake that waiting does not correct.
func notThere(uri string) error {
	if open := strings.Index(uri, "{"); open >= 0 && strings.Contains(uri[open:], "}") {
		return errcode.InputPath.Errorf("the input %s does not exist, and its path has braces; {a,b} is not a pattern "+
			"here, only *, ? and [a-z] are", uri)
	}
	return errcode.InputMissing.Errorf(
		"the input %s does not exist; check input.path, --date and whether the export has run", uri)
}

// Until returns the input's file system, but it opens no file after the context has ended, so that whoever looks into
// many files stops then.
func (s *Source) Until(ctx context.Context) storage.FS { return &stoppableFS{s.FS, ctx} }

type stoppableFS struct {
	storage.FS
	ctx context.Context
}

func (f *stoppableFS) Open(name string) (storage.File, error) {
	if err := f.ctx.Err(); err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	return f.FS.Open(name)
}

// LogWarnings logs where the files seem to contradict the job file.
func (s *Source) LogWarnings(ctx context.Context, o options.Options) {
	for _, doubt := range s.Job.Input.Form.Warnings(s.Until(ctx), s.Files) {
		o.Warnf("%s", doubt)
	}
}

// CheckApart refuses an output inside the input, whose files the next run would read, and an input inside the output.
func (s *Source) CheckApart(fsys storage.FS, dir string) error {
	for at := dir; at != "/" && at != "."; at = path.Dir(at) {
		matched, _ := path.Match(s.root, at) // a root that is not a pattern is compared as it is
		if (matched || at == s.root) && s.FS.URI(at) == fsys.URI(at) {
			return errcode.InputPath.Errorf("the output %s is inside the input %s, and would be read as input; choose "+
				"another output", fsys.URI(dir), printable.Name(s.FS.URI(s.root)))
		}
	}
	for _, f := range s.Files {
		if storage.Below(dir, f.Path) && s.FS.URI(f.Path) == fsys.URI(f.Path) {
			return errcode.InputPath.Errorf("the input %s is inside the output %s; choose another output",
				printable.Name(s.FS.URI(f.Path)), fsys.URI(dir))
		}
	}
	return nil
}

// Close closes the file system.
func (s *Source) Close() error { return s.FS.Close() }

// maxListings is how often an input is listed if it changes each time.
const maxListings = 10

// Find lists the files. A listing takes time, and an export that ends meanwhile moves its files in one by one. So Find
// lists the input until two listings agree on all files, and on which exports are finished.
func (s *Source) Find(name string) error {
	last, err := ingest.Look(s.FS, name)
	for n := 1; err == nil; n++ {
		if err = s.checkFinished(name, last); err != nil {
			return err
		}
		var again *ingest.Listing
		if again, err = ingest.Look(s.FS, name); err != nil {
			break
		}
		if again.Equal(last) {
			s.setFiles(last.Files)
			return s.checkEmpty(last)
		}
		if n == maxListings {
			return errcode.InputUnfinished.Errorf("the input %s changed each time it was listed, %d times; try again when its "+
				"export is finished", printable.Name(s.FS.URI(name)), n)
		}
		last = again
	}
	return err
}

func (s *Source) setFiles(files []ingest.SourceFile) {
	s.Files = files
	for _, f := range files {
		s.Bytes += f.Size
		s.Text += f.Size * compressed.ExpansionFactor(f.Path, s.Job.Input.Form.Codec())
	}
}

// checkFinished refuses folders whose export is still running or was aborted, because their files are not complete. If
// the path names a file, that is the caller's choice, unless input.require_success requires _SUCCESS beside it.
func (s *Source) checkFinished(name string, l *ingest.Listing) error {
	for _, f := range l.Folders {
		if s.Job.Input.RequireSuccess && !f.Success {
			return errcode.InputUnfinished.Errorf("the input %s has no %s: its export is not finished (input.require_success)",
				printable.Name(s.FS.URI(f.Path)), ingest.SuccessName)
		}
	}
	if len(l.Unfinished) > 0 && !(len(l.Files) == 1 && l.Files[0].Path == name) {
		return errcode.InputUnfinished.Errorf("the input %s has %s and no %s: the export is still running or has failed; "+
			"wait for it, or export again",
			printable.Name(s.FS.URI(l.Unfinished[0])), ingest.TemporaryName, ingest.SuccessName)
	}
	if len(l.Copying) > 0 {
		return errcode.InputUnfinished.Errorf("the input file %s is being copied, or its copy has failed; wait for it, "+
			"or delete it and copy the file again", printable.Name(s.FS.URI(l.Copying[0])))
	}
	return s.checkWritten(l.Files)
}

// maxCalls is how many files a NameNode is asked for at a time.
const maxCalls = 8

// checkWritten refuses files that are being written.
func (s *Source) checkWritten(files []ingest.SourceFile) error {
	return parallel.Share(context.Background(), make([]struct{}, maxCalls), files,
		func(_ context.Context, _ struct{}, f ingest.SourceFile) error {
			open, err := storage.IsBeingWritten(s.FS, f.Path)
			if err == nil && open {
				err = errcode.InputUnfinished.Errorf("the input file %s is being written, or its writer has died; wait for "+
					"it, or write it again", printable.Name(s.FS.URI(f.Path)))
			}
			return err
		})
}

// checkEmpty refuses folders without a file, unless each has a _SUCCESS: then its export had nothing to write.
func (s *Source) checkEmpty(l *ingest.Listing) error {
	if len(l.Files) > 0 {
		return nil
	}
	for _, f := range l.Folders {
		if !f.Success {
			return &MissingError{errcode.InputMissing.Errorf("the input %s has no file yet; an export without records must "+
				"have an empty file, or %s", printable.Name(s.FS.URI(f.Path)), ingest.SuccessName)}
		}
	}
	return nil
}

// CheckEmptyFiles checks that empty files are still empty after all others were read, because no reader opens them.
func (s *Source) CheckEmptyFiles() error {
	for _, f := range s.Files {
		if f.Size > 0 {
			continue
		}
		if err := f.CheckUnchanged(s.FS); err != nil {
			return err
		}
	}
	return nil
}

// Splits returns the splits, which are read in parallel.
func Splits(ctx context.Context, in *jobfile.Input, src *Source) ([]ingest.Split, error) {
	splits, err := in.Form.Splits(src.Until(ctx), src.Files, src.SplitSize())
	if err != nil {
		return nil, fmt.Errorf("read the input: %w", err)
	}
	return splits, nil
}

// SplitSize is how many bytes of a file one goroutine reads at a time. A small input has as many splits as 16 cores
// need to end at about the same time.
func (s *Source) SplitSize() int64 {
	const least, most, splits = 4 << 20, 32 << 20, 32
	return min(max(s.Bytes/splits, least), most)
}
