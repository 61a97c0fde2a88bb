package storage_test

import (
	"testing"

	"bulkload/internal/storage"
	"bulkload/internal/test/simcluster"
)

// TestSimulatedDisk: the simulated HDFS keeps the promises that the real one keeps in TestHDFS.
func TestSimulatedDisk(t *testing.T) {
	storage.Conforms(t, simcluster.NewDisk().FS("tina"), "/tmp")
}
