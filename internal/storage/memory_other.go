//go:build !linux

package storage

// InMemory reports whether the files of a local folder take the machine's memory, which is known on Linux only.
func InMemory(string) bool { return false }
