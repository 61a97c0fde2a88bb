//go:build !linux

package storage

func renameNew(from, to string) error { return linkNew(from, to) }
