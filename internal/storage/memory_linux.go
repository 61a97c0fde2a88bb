package storage

import "golang.org/x/sys/unix"

// InMemory reports whether the files of a local folder use the machine's memory: it is on tmpfs or ramfs (statfs(2)).
func InMemory(dir string) bool {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return false
	}
	return st.Type == unix.TMPFS_MAGIC || st.Type == unix.RAMFS_MAGIC
}
