package storage_test

import (
	"testing"

	"bulkload/internal/storage"
	"bulkload/internal/test/simcluster"
)

// TestSimulatedDisk: the simulated HDFS keeps the promises that the real one keeps in TestHDFS.
func TestSimulatedDisk(t *testing.T) {
	fsys := simcluster.NewDisk().FS("tina")
	storage.Conforms(t, fsys, "/tmp")
	storage.ShowsNothingUnfinished(t, fsys, "/tmp")
}
