package sorting

import (
	"math"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"bulkload/internal/storage"
	"bulkload/jobs/base/options"
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
	memory := func() int64 { return availableMemory("/") }
	if o.Available != nil {
		memory = o.Available
	}
	return min(int64(sortedRatio*float64(input)), free/4, memory()/10)
}

// availableMemory is how many bytes of memory can be used without swapping, including the page cache: what the machine
// has left, or the control group of this process, which is charged for the cache of the files that it writes; 0 if unknown.
// root is "/", except in tests.
func availableMemory(root string) int64 {
	available := field(filepath.Join(root, "proc/meminfo"), "MemAvailable:") << 10
	text, _ := os.ReadFile(filepath.Join(root, "proc/self/cgroup")) // unreadable: no group, no limit
	for line := range strings.Lines(string(text)) {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, group, _ := strings.Cut(rest, ":")
		if v, ok := controlGroups[controllers]; ok {
			available = min(available, v.left(filepath.Join(root, v.folder), group))
		}
	}
	return available
}

// controlGroup is where a version of control groups has the limit and the use of memory.
type controlGroup struct{ folder, limit, used, cached string }

// controlGroups are both versions, by the controllers in /proc/self/cgroup.
var controlGroups = map[string]controlGroup{
	"":       {"sys/fs/cgroup", "memory.max", "memory.current", "file "},
	"memory": {"sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_cache "},
}

// left is what the limits of a group and of those above it leave to it. In a container the group may have another path
// than the machine says, and then only those above it are there.
func (c controlGroup) left(folder, group string) int64 {
	least := int64(math.MaxInt64)
	for at := path.Join("/", group); ; at = path.Dir(at) {
		in := filepath.Join(folder, at)
		if limit := field(filepath.Join(in, c.limit), ""); limit > 0 {
			used := field(filepath.Join(in, c.used), "") - field(filepath.Join(in, "memory.stat"), c.cached)
			least = min(least, max(limit-max(used, 0), 0))
		}
		if at == "/" {
			return least
		}
	}
}

// field is the number after a name at the start of a line of a file; 0 if there is none.
func field(file, name string) int64 {
	text, _ := os.ReadFile(file)
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			n, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return n
		}
	}
	return 0
}
