package storage

import "strings"

// IsHDFS reports whether a path is in HDFS.
func IsHDFS(path string) bool { return strings.HasPrefix(path, "hdfs:") }

// Below reports whether a name is inside a directory.
func Below(dir, name string) bool { return strings.HasPrefix(name, strings.TrimSuffix(dir, "/")+"/") }
