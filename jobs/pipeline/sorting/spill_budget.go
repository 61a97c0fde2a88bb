package sorting

import (
	"math"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"bulkload/internal/bytesize"
	"bulkload/internal/storage"
	"bulkload/jobs/base/options"
)

// UncompressedSpill returns how many of the first bytes of sorted runs are spilled uncompressed. Compression and
// decompression are a sixth of a run's work, so they pay only if the runs would otherwise fill the disk, or have to be
// read from it. In half of the memory that the sort leaves, the page cache can keep them beside what else is read and
// written.
func UncompressedSpill(o options.Options, input int64) int64 {
	dir, err := WorkFolder(o.WorkDir)
	if err != nil {
		return 0
	}
	free, err := storage.Local.Free(dir)
	if err != nil {
		return 0
	}
	memory := func() int64 { return systemMemory("/", true) }
	if o.Available != nil {
		memory = o.Available
	}
	return min(int64(sortedRatio*float64(input)), free/4, max(memory()-o.Memory, 0)/2)
}

// warnOfMemory warns if --memory exceeds the memory of the machine or container, because the system kills a process
// that uses so much.
func warnOfMemory(o options.Options) {
	if all := systemMemory("/", false); all > 0 && o.Memory > all {
		o.Warnf("--memory is %s, and this machine or container has %s: the system may kill the process; give less",
			bytesize.Format(o.Memory), bytesize.Format(all))
	}
}

// systemMemory returns how many bytes of memory the machine has, or the control group of this process may have; 0 if
// unknown. With available, it returns the memory that can be used without swapping, including the page cache, because a
// group is charged for the cache of the files that it writes. root is "/", except in tests.
func systemMemory(root string, available bool) int64 {
	name := "MemTotal:"
	if available {
		name = "MemAvailable:"
	}
	memory := field(filepath.Join(root, "proc/meminfo"), name) << 10
	text, _ := os.ReadFile(filepath.Join(root, "proc/self/cgroup")) // if unreadable, there is no group and no limit
	for line := range strings.Lines(string(text)) {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, group, _ := strings.Cut(rest, ":")
		if v, ok := controlGroups[controllers]; ok {
			memory = min(memory, v.limitOf(filepath.Join(root, v.folder), group, available))
		}
	}
	return memory
}

// controlGroup has the files in which a version of control groups shows the limit and the use of memory.
type controlGroup struct{ folder, limit, used, cached string }

// controlGroups has both versions, by the controllers in /proc/self/cgroup.
var controlGroups = map[string]controlGroup{
	"":       {"sys/fs/cgroup", "memory.max", "memory.current", "file "},
	"memory": {"sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_cache "},
}

// limitOf returns the least of the limits of a group and of those above it or, with left, the least that is unused. In
// a container the group may have another path than /proc says; then only the groups above it are found.
func (c controlGroup) limitOf(folder, group string, left bool) int64 {
	least := int64(math.MaxInt64)
	for at := path.Join("/", group); ; at = path.Dir(at) {
		in := filepath.Join(folder, at)
		if limit := field(filepath.Join(in, c.limit), ""); limit > 0 {
			if left {
				used := field(filepath.Join(in, c.used), "") - field(filepath.Join(in, "memory.stat"), c.cached)
				limit = max(limit-max(used, 0), 0)
			}
			least = min(least, limit)
		}
		if at == "/" {
			return least
		}
	}
}

// field returns the number after a name at the start of a line of a file; 0 if there is none.
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
