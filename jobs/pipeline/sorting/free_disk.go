package sorting

import (
	"io/fs"
	"os"
	"path/filepath"

	"bulkload/internal/errcode"

	"golang.org/x/sys/unix"
)

// sortedRatio is roughly how many bytes of keys and columns the sort holds for each byte of input.
const sortedRatio = 1.4

// WorkFolder returns the absolute name of the folder that the sort spills to, or of its nearest existing parent, and an
// error if that is not writable.
func WorkFolder(name string) (string, error) {
	if name == "" {
		name = os.TempDir()
	}
	name, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	name = NearestFolder(name)
	if info, err := os.Stat(name); err != nil || !info.IsDir() {
		return "", errcode.Folder.Errorf("%s is not a folder", name)
	}
	if err := unix.Access(name, unix.W_OK|unix.X_OK); err != nil {
		return "", &fs.PathError{Op: "write in", Path: name, Err: err}
	}
	return name, nil
}

// NearestFolder returns a path or its nearest existing parent.
func NearestFolder(name string) string {
	for {
		_, err := os.Stat(name)
		if err == nil || name == filepath.Dir(name) {
			return name
		}
		name = filepath.Dir(name)
	}
}

// SpillRatio is how many bytes of sorted runs result from each byte of input that does not fit in memory: 0.6 for the
// check table.
const SpillRatio = 0.6
