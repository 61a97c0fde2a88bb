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
	"bulkload/internal/storage"
)

// File is one input file. Its Ordinal is its index in the sorted list of the job's input, which decides which of two
// differing records for one row wins.
type File struct {
	Path    string // in the form that the storage accepts
	Size    int64
	ModTime time.Time
	Ordinal int
}

// ErrNoFile says that an input is neither a file nor a directory.
var ErrNoFile = errcode.InputFile.New("is a pipe, a socket or a device; the input is read from files only")

// ErrLink says that an input is a symbolic link without a target.
var ErrLink = errcode.InputFile.New("is a symbolic link to nothing or to itself; repair it or move it away")

// List finds the input files of a path: a file, a directory (all files in it and below, except names that begin with
// _ or .) or a glob (of *, ? and [a-z] in any element; its matches may be files or directories, and only an element
// that itself begins with _ or . matches hidden names). They are sorted by the bytes of their path. A path that
// matches nothing is fs.ErrNotExist; an empty directory gives no files and no error.
func List(fsys storage.FS, name string) ([]File, error) {
	roots, err := match(fsys, name)
	if err != nil {
		return nil, err
	}
	var files []File
	for _, root := range roots {
		if files, err = collect(fsys, root, files); err != nil {
			return nil, fmt.Errorf("list the input: %w", err)
		}
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	for i := range files {
		files[i].Ordinal = i
	}
	return files, nil
}

// Folders lists the folders of a path of List: the directories that it matches, and those of the files that it
// matches. A path that matches nothing is fs.ErrNotExist.
func Folders(fsys storage.FS, name string) ([]string, error) {
	roots, err := match(fsys, name)
	if err != nil {
		return nil, err
	}
	var folders []string
	for _, root := range roots {
		if root.Dir {
			folders = append(folders, root.path)
		} else {
			folders = append(folders, path.Dir(root.path))
		}
	}
	slices.Sort(folders)
	return slices.Compact(folders), nil
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
		return nil, fmt.Errorf("find the input: %s: %w", name, ErrLink)
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
		ok, _ := path.Match(element, info.Name) // the pattern was checked before
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

// hidden is Hadoop's rule for files that are no input (FileInputFormat.hiddenFileFilter).
func hidden(name string) bool { return strings.HasPrefix(name, "_") || strings.HasPrefix(name, ".") }

func collect(fsys storage.FS, at found, files []File) ([]File, error) {
	if at.Mode&fs.ModeSymlink != 0 { // the storage has followed those that have a target
		return nil, fmt.Errorf("%s: %w", at.path, ErrLink)
	}
	if at.Mode&(fs.ModeNamedPipe|fs.ModeSocket|fs.ModeDevice|fs.ModeCharDevice|fs.ModeIrregular) != 0 {
		return nil, fmt.Errorf("%s: %w", at.path, ErrNoFile)
	}
	if !at.Dir {
		return append(files, File{Path: at.path, Size: at.Size, ModTime: at.ModTime}), nil
	}
	infos, err := fsys.ReadDir(at.path)
	if err != nil {
		return nil, err
	}
	for _, info := range infos {
		if hidden(info.Name) {
			continue
		}
		if files, err = collect(fsys, found{path.Join(at.path, info.Name), info}, files); err != nil {
			return nil, err
		}
	}
	return files, nil
}
