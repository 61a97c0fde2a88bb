//go:build !linux

package storage

// InMemory reports whether the files of a local folder use the machine's memory, which is known only on Linux.
func InMemory(string) bool { return false }
