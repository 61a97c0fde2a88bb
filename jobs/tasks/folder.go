package tasks

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"bulkload/internal/bytesize"
	"bulkload/internal/errcode"
	"bulkload/internal/seal"
	"bulkload/internal/storage"
	"bulkload/jobs/pipeline/manifest"
)

// A run by tasks has a folder in its first output:
//
//	.tasks/<run>/plan.json                       the plan; written.json when all files are written, until they are loaded
//	.tasks/<run>/map/00017/<attempt>/            for each attempt at a map task:
//	    attempt.json                             who began it; written first
//	    0/run, 1/run, …                          a sorted run for each output that got rows
//	    rejects                                  the records that can't be used, if there are any
//	    result.json                             what the attempt has done; written last
//	    failure.json                             or why it failed
//	.tasks/<run>/units.json                      the latest ReducePlan
//	.tasks/<run>/units-<hash>.json               the same, by a name that follows from its content
//	.tasks/<run>/reduce/00003/<attempt>/         for each attempt at a reduce task: the same documents, and
//	    <name>, …                                its files, which keep this name in the family's folder
//
// Files of another output are in a folder of the same name in that output, because files can't be renamed from one file
// system to another.
//
// Only the driver, which holds the output's lock, renames files out of these folders or deletes any of them, and no
// attempt writes to another's folder. So attempts can't disturb each other. A document counts if its checksum is right
// and it belongs to the plan; a folder without one is garbage.
const (
	planName    = "plan.json"
	writtenName = "written.json"
	unitsName   = "units.json"
	rejectsName = "rejects"
	runName     = "run"

	// AttemptName, ResultName and FailureName are an attempt's documents, at which engines may look.
	AttemptName = "attempt.json"
	ResultName  = "result.json"
	FailureName = "failure.json"
)

// The permissions of a run's folder: sorted runs and rejects are the export's records.
const (
	dirPerm  fs.FileMode = 0o700
	filePerm fs.FileMode = 0o600
)

// folder is a folder of a file system.
type folder struct {
	fs  storage.FS
	dir string
	run string // the run's folder that contains it; "": none
}

func (f folder) sub(elements ...string) folder {
	return folder{f.fs, path.Join(append([]string{f.dir}, elements...)...), f.run}
}

func (f folder) path(name string) string { return path.Join(f.dir, name) }
func (f folder) uri(name string) string  { return f.fs.URI(f.path(name)) }

// make creates the folder. It makes the run's folder first: as a missing parent that would be open to others.
func (f folder) make() error {
	if f.run != "" && f.run != f.dir {
		if err := f.fs.MkdirAll(f.run, dirPerm); err != nil {
			return err
		}
	}
	return f.fs.MkdirAll(f.dir, dirPerm)
}

// runFolder is a run's folder in an output.
type runFolder struct {
	folder
	output string // the output's directory
}

func newRunFolder(fsys storage.FS, output, run string) runFolder {
	dir := path.Join(output, manifest.TasksDir, run)
	return runFolder{folder{fsys, dir, dir}, output}
}

// folders lists the folders in it; it returns none if the folder does not exist.
func (f folder) folders() (names []string, err error) {
	all, err := storage.List(f.fs, f.dir)
	for _, info := range all {
		if info.Dir {
			names = append(names, info.Name)
		}
	}
	return names, err
}

// sizes returns the lengths of its files in bytes, by name; none if the folder does not exist.
func (f folder) sizes() (map[string]int64, error) {
	all, err := storage.List(f.fs, f.dir)
	sizes := make(map[string]int64, len(all))
	for _, info := range all {
		sizes[info.Name] = info.Size
	}
	return sizes, err
}

// bytes returns the size of all files in it and in the folders below; 0 if it does not exist.
func (f folder) bytes() (sum int64, err error) {
	all, err := storage.List(f.fs, f.dir)
	for _, info := range all {
		if !info.Dir {
			sum += info.Size
			continue
		}
		below, err := f.sub(info.Name).bytes()
		if err != nil {
			return 0, err
		}
		sum += below
	}
	return sum, err
}

// maxDocument bounds the documents that are read, in bytes.
const maxDocument = 1 << 30

// write writes a sealed document. Its name appears only when it is complete.
func (f folder) write(name string, document any) error {
	text, err := sealed(document)
	if err != nil {
		return err
	}
	return f.writeText(name, text)
}

// sealed returns the text of a document, with its checksum.
func sealed(document any) ([]byte, error) {
	text, err := seal.Marshal(document)
	return append(text, '\n'), err
}

func (f folder) writeText(name string, text []byte) error {
	if err := storage.ReplaceFile(f.fs, f.path(name), f.path(name+".tmp"), text); err != nil {
		return fmt.Errorf("write %s: %w", f.uri(name), err)
	}
	return nil
}

// errNoDocument means that a document is missing or has changed.
var errNoDocument = errors.New("no sound document")

// read reads a sealed document: errNoDocument if it is missing or damaged.
func (f folder) read(name string, into any) error {
	text, err := storage.ReadFile(f.fs, f.path(name), maxDocument)
	if errors.Is(err, fs.ErrNotExist) {
		return errNoDocument
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", f.uri(name), err)
	}
	if err := seal.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%w: %s: %w", errNoDocument, f.uri(name), err)
	}
	return nil
}

// TaskFolder returns the name of a task's folder in its phase's folder.
func TaskFolder(index int) string { return fmt.Sprintf("%05d", index) }

// documentShare limits the text of a task's document to 1/documentShare of the task's memory. The parsed document needs
// about as much again, and the rest is for the work.
const documentShare = 8

// checkDocument refuses a document of size bytes that is too large for a task with memory bytes.
func checkDocument(uri string, size, memory int64) error {
	if size <= memory/documentShare {
		return nil
	}
	return errcode.TaskMemory.Errorf("%s has %s, too much for a task with %s of memory: give each task at least %s, or "+
		"fewer and larger input files",
		uri, bytesize.Format(size), bytesize.Format(memory), bytesize.Format(wholeMebi(size*documentShare)))
}

// readDocument reads the document that a task was given, and returns its text. memory is the task's; 0: unknown. The
// error has errcode.TaskPlan, or errcode.TaskMemory.
func readDocument(fsys storage.FS, name string, memory int64, into any) ([]byte, error) {
	if info, err := fsys.Stat(name); err == nil && memory > 0 {
		if err := checkDocument(fsys.URI(name), info.Size, memory); err != nil {
			return nil, err
		}
	}
	text, err := storage.ReadFile(fsys, name, maxDocument)
	if err != nil {
		return nil, errcode.TaskPlan.Errorf("read the plan of the task: %w; it is deleted when its run is done or begun anew",
			err)
	}
	if err := seal.Unmarshal(text, into); err != nil {
		return nil, errcode.TaskPlan.Errorf("%s is not what bulkload task plan has written: %w", fsys.URI(name), err)
	}
	return text, nil
}
