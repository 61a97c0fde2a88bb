package ingest

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/printable"
	"bulkload/internal/storage"
)

// SourceFile is one input file. Its Ordinal is its index in the sorted list of the job's input. If two records for one
// row differ, the ordinal decides which one wins.
type SourceFile struct {
	Path    string // in the form that the storage accepts
	Size    int64
	ModTime time.Time
	Ordinal int
}

// ErrNoFile says that an input is neither a file nor a directory.
var ErrNoFile = errcode.InputPath.New("is a pipe, a socket or a device; the input is read from files only")

// ErrLink says that an input is a symbolic link without a target.
var ErrLink = errcode.InputPath.New("is a symbolic link to nothing or to itself; repair it or move it away")

// ErrLoop says that an input has a symbolic link to a folder that contains it.
var ErrLoop = errcode.InputPath.New(
	"is a symbolic link to a folder above itself, so the input has no end; move the link away")

// String is the file's name in errors and messages.
func (f SourceFile) String() string { return printable.Name(f.Path) }

// Same reports whether two listings describe the same content: equal path, size and time.
func (f SourceFile) Same(o SourceFile) bool {
	return f.Path == o.Path && f.Size == o.Size && f.ModTime.Equal(o.ModTime)
}

// CheckUnchanged checks that a file still has the size and the time with which it was listed.
func (f SourceFile) CheckUnchanged(fsys storage.FS) error {
	info, err := fsys.Stat(f.Path)
	if err != nil {
		return fmt.Errorf("check whether the input has changed: %w", err)
	}
	if info.Size != f.Size || !info.ModTime.Equal(f.ModTime) {
		return errcode.InputChanged.Errorf("the input file %s has changed since it was listed: it had %d bytes of %s and "+
			"has %d of %s; start again when the export is complete",
			printable.Name(fsys.URI(f.Path)), f.Size, f.ModTime.UTC().Format(time.RFC3339Nano), info.Size,
			info.ModTime.UTC().Format(time.RFC3339Nano))
	}
	return nil
}

// Listing is the files and folders that an input's path stands for.
type Listing struct {
	Files []SourceFile
	// Folders are the directories that the path matches, and those of the files that it matches, in order.
	Folders []Folder
	// Unfinished are the folders, at any depth, with TemporaryName and without SuccessName.
	Unfinished []string
	Copying    []string // the files with CopyingSuffix
}

// Folder is a folder of an input.
type Folder struct {
	Path               string
	Temporary, Success bool // it has TemporaryName, SuccessName
}

const (
	// TemporaryName is the folder in which Hadoop's jobs, including Sqoop's, write until they have succeeded.
	TemporaryName = "_temporary"
	// SuccessName is the file that Hadoop's jobs write once they have succeeded.
	SuccessName = "_SUCCESS"
	// CopyingSuffix ends the name of a file that is being copied by hdfs dfs -put or -cp, which rename it when it is
	// complete.
	CopyingSuffix = "._COPYING_"
)

// Equal reports whether nothing has changed between two listings.
func (l *Listing) Equal(o *Listing) bool {
	return slices.EqualFunc(l.Files, o.Files, SourceFile.Same) && slices.Equal(l.Folders, o.Folders) &&
		slices.Equal(l.Unfinished, o.Unfinished)
}

// List finds the input files of a path: a file, a directory (all files in it and below, except names that begin with
// _ or .) or a glob (of *, ? and [a-z] in any element; its matches may be files or directories, and only an element
// that itself begins with _ or . matches hidden names). They are sorted by the bytes of their path. A path that
// matches nothing is fs.ErrNotExist; an empty directory gives no files and no error.
func List(fsys storage.FS, name string) ([]SourceFile, error) {
	l, err := Look(fsys, name)
	if err != nil {
		return nil, err
	}
	return l.Files, nil
}

// Look is List, and also says which folders the input has and which of them are finished. A pattern that matches a
// file's final name also matches the file while it is being copied.
func Look(fsys storage.FS, name string) (*Listing, error) {
	roots, err := match(fsys, name)
	if err != nil {
		return nil, err
	}
	l := &Listing{}
	parents := map[string]bool{} // of files that the path matches
	for _, root := range roots {
		if !root.Dir {
			parents[path.Dir(root.path)] = true
		}
		if err := l.collect(fsys, root, true); err != nil {
			return nil, fmt.Errorf("list the input: %w", err)
		}
	}
	for dir := range parents {
		if err := l.lookInto(fsys, dir); err != nil {
			return nil, fmt.Errorf("check whether the export is finished: %w", err)
		}
	}
	slices.SortFunc(l.Files, func(a, b SourceFile) int { return strings.Compare(a.Path, b.Path) })
	for i := range l.Files {
		l.Files[i].Ordinal = i
	}
	slices.SortFunc(l.Folders, func(a, b Folder) int { return strings.Compare(a.Path, b.Path) })
	slices.Sort(l.Unfinished)
	return l, nil
}

// lookInto adds a folder that is not listed itself.
func (l *Listing) lookInto(fsys storage.FS, dir string) (err error) {
	f := Folder{Path: dir}
	if f.Temporary, err = has(fsys, path.Join(dir, TemporaryName)); err != nil {
		return err
	}
	// Checked afterwards: an export that finishes in between then has both files or only this one.
	if f.Success, err = has(fsys, path.Join(dir, SuccessName)); err != nil {
		return err
	}
	l.add(f, true)
	return nil
}

func (l *Listing) add(f Folder, matched bool) {
	if matched {
		l.Folders = append(l.Folders, f)
	}
	if f.Temporary && !f.Success {
		l.Unfinished = append(l.Unfinished, f.Path)
	}
}

// has reports whether a file exists. Any error except fs.ErrNotExist is returned, because it says nothing about the
// file.
func has(fsys storage.FS, name string) (bool, error) {
	switch _, err := fsys.Stat(name); {
	case err == nil:
		return true, nil
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	default:
		return false, err
	}
}

// found is a file or directory and its whole path.
type found struct {
	path string
	storage.Info
}

func match(fsys storage.FS, name string) ([]found, error) {
	info, err := fsys.Stat(name)
	if err == nil {
		return []found{{name, info}}, nil // even if the file's name looks like a glob
	}
	if errors.Is(err, syscall.ELOOP) {
		return nil, fmt.Errorf("find the input: %s: %w", printable.Name(name), ErrLink)
	}
	if !errors.Is(err, fs.ErrNotExist) || !strings.ContainsAny(name, `*?[`) {
		return nil, fmt.Errorf("find the input: %w", err)
	}
	if _, err := path.Match(name, ""); err != nil {
		return nil, fmt.Errorf("find the input %s: %w", name, err)
	}
	at := []found{{path: "/", Info: storage.Info{Dir: true}}}
	for element := range strings.SplitSeq(strings.Trim(name, "/"), "/") {
		if at, err = descend(fsys, at, element); err != nil {
			return nil, fmt.Errorf("find the input %s: %w", name, err)
		}
	}
	if len(at) == 0 {
		return nil, &fs.PathError{Op: "find the input", Path: name, Err: fs.ErrNotExist}
	}
	return at, nil
}

// descend returns the matches of element, a name or a pattern, in the directories at.
func descend(fsys storage.FS, at []found, element string) ([]found, error) {
	var next []found
	for _, dir := range at {
		if !dir.Dir {
			continue
		}
		names, err := matching(fsys, dir.path, element)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		next = append(next, names...)
	}
	return next, nil
}

func matching(fsys storage.FS, dir, element string) ([]found, error) {
	if !strings.ContainsAny(element, `*?[`) {
		full := path.Join(dir, element)
		info, err := fsys.Stat(full)
		return []found{{full, info}}[:oneIf(err == nil)], err
	}
	infos, err := fsys.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []found
	for _, info := range infos {
		ok, _ := path.Match(element, strings.TrimSuffix(info.Name, CopyingSuffix)) // the pattern was checked before
		if ok && (!hidden(info.Name) || hidden(element)) {
			names = append(names, found{path.Join(dir, info.Name), info})
		}
	}
	return names, nil
}

func oneIf(b bool) int {
	if b {
		return 1
	}
	return 0
}

// hidden is Hadoop's rule for files that are not input (FileInputFormat.hiddenFileFilter).
func hidden(name string) bool { return strings.HasPrefix(name, "_") || strings.HasPrefix(name, ".") }

// collect adds the files of a root, or of a folder below it.
func (l *Listing) collect(fsys storage.FS, at found, root bool) error {
	if at.Mode&fs.ModeSymlink != 0 && at.Dir {
		return fmt.Errorf("%s: %w", printable.Name(at.path), ErrLoop)
	}
	if at.Mode&fs.ModeSymlink != 0 { // only a link without a target: the storage follows all others
		return fmt.Errorf("%s: %w", printable.Name(at.path), ErrLink)
	}
	if at.Mode&(fs.ModeNamedPipe|fs.ModeSocket|fs.ModeDevice|fs.ModeCharDevice|fs.ModeIrregular) != 0 {
		return fmt.Errorf("%s: %w", printable.Name(at.path), ErrNoFile)
	}
	if !at.Dir {
		l.Files = append(l.Files, SourceFile{Path: at.path, Size: at.Size, ModTime: at.ModTime})
		if strings.HasSuffix(at.path, CopyingSuffix) {
			l.Copying = append(l.Copying, at.path)
		}
		return nil
	}
	infos, err := fsys.ReadDir(at.path)
	if err != nil {
		return err
	}
	f := Folder{Path: at.path}
	for _, info := range infos {
		f.Temporary = f.Temporary || info.Name == TemporaryName
		f.Success = f.Success || info.Name == SuccessName
		if hidden(info.Name) {
			continue
		}
		if err := l.collect(fsys, found{path.Join(at.path, info.Name), info}, false); err != nil {
			return err
		}
	}
	l.add(f, root)
	return nil
}
