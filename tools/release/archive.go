package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// archive writes the tar.gz, for users who can't install a package: a folder with the program at its top, and the jobs,
// schedules and documents as in a package.
func (r *release) archive(p platform, root string) error {
	top := fmt.Sprintf("bulkload-%s", strings.TrimPrefix(r.version, "v"))
	text, err := tarOf(root, r.time, func(name string) string {
		switch {
		case name == programPath:
			return top + "/bulkload"
		case name == docsPath+"/jobs", name == docsPath+"/deploy":
			return "" // the folders exist
		case strings.HasPrefix(name, docsPath+"/"):
			return top + strings.TrimPrefix(name, docsPath)
		case strings.HasPrefix(name, jobsPath+"/"):
			return top + "/jobs" + strings.TrimPrefix(name, jobsPath)
		case strings.HasPrefix(name, deployPath+"/"):
			return top + "/deploy" + strings.TrimPrefix(name, deployPath)
		}
		return top + "/share/" + filepath.Base(filepath.Dir(name)) + "/" + filepath.Base(name)
	})
	if err != nil {
		return err
	}
	if text, err = compressed(text); err != nil {
		return err
	}
	return writeFile(r.name(p, ".tar.gz"), text)
}

// tarOf is a tar file of the files below root in the order of their names, which rename may change; "" leaves a file
// out. Its bytes depend only on names, contents and whether files are executable.
func tarOf(root string, at time.Time, rename func(string) string) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		below, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name := rename(filepath.ToSlash(below))
		switch {
		case name == "":
			return nil
		case entry.Type() == fs.ModeSymlink:
			return addLink(w, path, name, at)
		}
		return addFile(w, path, name, modeOf(entry), at)
	})
	if err == nil {
		err = w.Close()
	}
	return b.Bytes(), err
}

func addLink(w *tar.Writer, path, name string, at time.Time) error {
	to, err := os.Readlink(path)
	if err != nil {
		return err
	}
	return w.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: to, Mode: 0o777,
		ModTime: at, Format: tar.FormatUSTAR})
}

func addFile(w *tar.Writer, path, name string, mode fs.FileMode, at time.Time) error {
	text, err := os.ReadFile(path) //nolint:gosec // a file that was staged
	if err != nil {
		return err
	}
	return addBytes(w, name, mode, at, text)
}

func addBytes(w *tar.Writer, name string, mode fs.FileMode, at time.Time, text []byte) error {
	err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(text)), Mode: int64(mode.Perm()),
		ModTime: at, Format: tar.FormatUSTAR})
	if err == nil {
		_, err = w.Write(text)
	}
	return err
}

// writeSums writes SHA256SUMS, in the format of sha256sum -c, of all other files of the folder.
func writeSums(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var sums bytes.Buffer
	for _, entry := range entries {
		sum, err := sha256File(filepath.Join(dir, entry.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sum, entry.Name())
	}
	return writeFile(filepath.Join(dir, "SHA256SUMS"), sums.Bytes())
}

func sha256File(name string) ([]byte, error) {
	f, err := os.Open(name) //nolint:gosec // a file of the release
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	h := sha256.New()
	_, err = io.Copy(h, f)
	return h.Sum(nil), err
}
