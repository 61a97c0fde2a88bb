package storage

import (
	"errors"
	"io/fs"
	"path"
	"strings"
)

// IsHDFS reports whether a path or URI is in HDFS.
func IsHDFS(uri string) bool { return strings.HasPrefix(uri, "hdfs:") }

// Below reports whether a name is inside a directory.
func Below(dir, name string) bool { return strings.HasPrefix(name, strings.TrimSuffix(dir, "/")+"/") }

// Missing returns those of a directory and the directories above it that do not exist, the innermost first.
func Missing(fsys FS, dir string) (missing []string, err error) {
	for ; ; dir = path.Dir(dir) {
		switch _, err := fsys.Stat(dir); {
		case err == nil || dir == path.Dir(dir):
			return missing, nil
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
		missing = append(missing, dir)
	}
}

// RemoveEmpty deletes directories listed by Missing that have since been made and are empty. A symbolic link without a
// target, which Missing also lists, stays, because only its owner knows its purpose.
func RemoveEmpty(fsys FS, dirs []string) {
	for _, dir := range dirs {
		if info, err := fsys.Stat(dir); err == nil && info.Dir {
			_ = fsys.Remove(dir) // succeeds only if it is empty, as intended
		}
	}
}
