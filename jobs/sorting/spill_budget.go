package sorting

import (
	"bufio"
	"os"
	"strconv"
	"strings"

	"bulkload/internal/storage"
	"bulkload/jobs/options"
)

// UncompressedSpill is how many bytes of sorted runs, the first ones, are spilled uncompressed. Compression and
// decompression are a tenth of a run's work. They pay only if the runs would otherwise not fit in the page cache, or
// fill the disk.
func UncompressedSpill(o options.Options, input int64) int64 {
	dir, err := WorkFolder(o.WorkDir)
	if err != nil {
		return 0
	}
	free, err := storage.Local.Free(dir)
	if err != nil {
		return 0
	}
	memory := availableMemory
	if o.Available != nil {
		memory = o.Available
	}
	return min(int64(sortedRatio*float64(input)), free/4, memory()/10)
}

// availableMemory is how many bytes of the machine's memory can be used without swapping, including the page cache; 0
// if unknown.
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
