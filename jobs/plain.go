package jobs

import (
	"bufio"
	"os"
	"strconv"
	"strings"

	"bulkload/internal/storage"
)

// sortedRatio is about how many bytes of keys and columns the sort holds for a byte of input.
const sortedRatio = 1.4

// plainSpill is how many bytes of sorted runs, the first ones, are to stand on the disk uncompressed. Compressing and
// decompressing them is a tenth of a run's work, which is worth it only where they would else not fit into the page cache,
// or take the disk's room.
func plainSpill(workDir string, input int64) int64 {
	dir, err := workFolder(workDir)
	if err != nil {
		return 0
	}
	free, err := storage.Local.Free(dir)
	if err != nil {
		return 0
	}
	return min(int64(sortedRatio*float64(input)), free/4, availableMemory()/10)
}

// availableMemory is how many bytes of the machine's memory can be taken without swapping, the page cache's among them; 0
// where that is not known.
func availableMemory() int64 {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0
	}
	defer func() { _ = f.Close() }() // it was only read
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name, rest, _ := strings.Cut(lines.Text(), ":")
		if name != "MemAvailable" {
			continue
		}
		kb, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(rest, "kB")), 10, 64)
		if err != nil {
			return 0
		}
		return kb << 10
	}
	return 0
}
