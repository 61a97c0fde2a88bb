package jobfile

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"syscall"

	"bulkload/internal/bytesize"
	"bulkload/internal/errcode"
	"bulkload/jobs/spec/yamldoc"
)

// Origin is everything that a job was read from, so that another process, on another machine, can read the same job. It
// has the texts of the job's files and the variables that they use, but no others of the environment.
type Origin struct {
	Path string `json:"path"` // of the job file, as it was given
	Dir  string `json:"dir"`  // its folder
	Text []byte `json:"text"`
	// included files and lists of splits, by the names under which they were read
	Files       map[string][]byte `json:"files,omitempty"`
	Date        string            `json:"date,omitempty"` // LogicalDate.Text
	Hour        bool              `json:"hour,omitempty"`
	Set         map[string]string `json:"set,omitempty"`
	Environment map[string]string `json:"environment,omitempty"`
}

// Origin returns what the job was read from; nil for one output of several.
func (j *Job) Origin() *Origin { return j.origin }

// Job reads the job again.
func (o *Origin) Job() (*Job, error) {
	again := ReadOptions{Set: o.Set, Environment: func(name string) (string, bool) {
		value, ok := o.Environment[name]
		return value, ok
	}}
	if o.Date != "" {
		var err error
		if again.Date, err = ParseText(o.Date); err != nil {
			return nil, err
		}
		again.Hour = o.Hour
	}
	return parse(o.Path, o.Dir, bytes.NewReader(o.Text), again, storedFiles(o.Files))
}

// storedFiles are the files of an Origin.
type storedFiles map[string][]byte

func (f storedFiles) Read(name string, _ int64) ([]byte, error) {
	text, ok := f[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return text, nil
}

// diskFiles are the files on the disk.
type diskFiles struct{}

func (diskFiles) Read(name string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // otherwise a pipe without a writer would block
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a file", name)
	case info.Size() > limit:
		return nil, fmt.Errorf("%s has %s; at most %s are expected", name,
			bytesize.Format(info.Size()), bytesize.Format(limit))
	}
	return io.ReadAll(io.LimitReader(f, limit))
}

// recorder notes what a job is read from.
type recorder struct {
	from   yamldoc.Files
	origin *Origin
}

// record begins the origin of a job, and from then on notes which files and variables of the environment are read.
func record(path, dir string, o *ReadOptions, from yamldoc.Files) *recorder {
	r := &recorder{from, &Origin{Path: path, Dir: dir, Date: LogicalDate{o.Date, o.Hour}.Text(),
		Hour: o.Hour, Set: maps.Clone(o.Set)}}
	look := o.Environment
	o.Environment = func(name string) (string, bool) {
		value, ok := look(name)
		if ok {
			r.variable(name, value)
		}
		return value, ok
	}
	return r
}

func (r *recorder) variable(name, value string) {
	if r.origin.Environment == nil {
		r.origin.Environment = map[string]string{}
	}
	r.origin.Environment[name] = value
}

func (r *recorder) Read(name string, limit int64) ([]byte, error) {
	text, err := r.from.Read(name, limit)
	if err == nil {
		if r.origin.Files == nil {
			r.origin.Files = map[string][]byte{}
		}
		r.origin.Files[name] = text
	}
	return text, err
}

func readText(path string, in io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(in, yamldoc.MaxBytes+1))
	switch {
	case err != nil:
		return nil, errcode.JobRead.Errorf("read the job file %s: %w", path, err)
	case len(text) > yamldoc.MaxBytes:
		return nil, errcode.JobRead.Errorf("%s:1: the job file has more than %s; is it another file?", path,
			bytesize.Format(yamldoc.MaxBytes))
	}
	return text, nil
}
