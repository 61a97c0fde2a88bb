package testcluster

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Replica is a block on a DataNode's disk.
type Replica struct {
	DataNode string // dn1…
	Data     string // the file of the block's bytes
	// the file of its checksums: 2 bytes of version, 1 of their type, 4 of bytes per checksum; the checksums
	Sums string
}

// Block returns the name of the replica's block: blk_ and its number.
func (r Replica) Block() string { return filepath.Base(r.Data) }

// Replicas finds the finished blocks that hold exactly these bytes.
func (c *Cluster) Replicas(content []byte) ([]Replica, error) {
	var found []Replica
	for i := range c.DataNodes {
		name := dataNodeName(i + 1)
		err := filepath.WalkDir(c.path("data", name), func(file string, entry fs.DirEntry, err error) (failed error) {
			defer func() { // the DataNode moves and deletes files meanwhile
				if entry != nil && errors.Is(failed, fs.ErrNotExist) {
					failed = nil
				}
			}()
			if err != nil {
				return err
			}
			if !strings.HasPrefix(entry.Name(), "blk_") || strings.HasSuffix(file, ".meta") || !strings.Contains(file, "/finalized/") {
				return nil
			}
			if info, err := entry.Info(); err != nil || info.Size() != int64(len(content)) {
				return err
			}
			if b, err := os.ReadFile(file); err != nil || !bytes.Equal(b, content) {
				return err
			}
			sums, err := filepath.Glob(file + "_*.meta")
			if err == nil && len(sums) != 1 {
				err = fmt.Errorf("checksums of %s: found %q", file, sums)
			}
			found = append(found, Replica{name, file, strings.Join(sums, "")})
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// Flip changes a byte of a file in place, as a disk may.
func Flip(file string, at int64) error {
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	var b [1]byte
	if _, err = f.ReadAt(b[:], at); err == nil {
		_, err = f.WriteAt([]byte{b[0] ^ 1}, at)
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}
