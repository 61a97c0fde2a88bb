package sorting

import (
	"testing"

	"bulkload/internal/storage"
	"bulkload/internal/test/testfs"
	"bulkload/jobs/base/options"
)

func TestSpillIsUncompressedIfTheDiskIsLargeEnough(t *testing.T) {
	dir := t.TempDir()
	free, err := storage.Local.Free(dir)
	if err != nil {
		t.Fatal(err)
	}
	memory := systemMemory("/", true)
	if memory < 100<<20 {
		t.Fatalf("%d bytes of memory are available", memory)
	}
	if n := UncompressedSpill(options.Options{WorkDir: dir}, 1<<20); n < 1<<20 {
		t.Errorf("of a megabyte of input %d bytes of runs are not compressed", n)
	}
	for _, input := range []int64{memory, 10 * free} {
		if n := UncompressedSpill(options.Options{WorkDir: dir}, input); n > memory*5/8 || n > free/3 || n == 0 {
			t.Errorf("%d bytes of runs are not compressed, of %d of memory and %d of disk", n, memory, free)
		}
	}
	if UncompressedSpill(options.Options{WorkDir: "/dev/null/none"}, 1) != 0 {
		t.Error("no folder, and not compressed")
	}
}

// TestMemoryOfAContainer: the page cache of a container is its control group's, whose limit may be far below the
// machine's memory.
func TestMemoryOfAContainer(t *testing.T) {
	const host = "MemTotal:  9000 kB\nMemAvailable:   8000 kB\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  int64 // available
		all   int64
	}{
		"no group":   {map[string]string{"proc/meminfo": host}, 8000 << 10, 9000 << 10},
		"nothing":    {map[string]string{"proc/x": ""}, 0, 0},
		"no limit":   {map[string]string{"proc/meminfo": host, "proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "max\n"}, 8000 << 10, 9000 << 10},
		"version 2":  {map[string]string{"proc/meminfo": host, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "4096000\n", "sys/fs/cgroup/memory.current": "3000000\n", "sys/fs/cgroup/memory.stat": "anon 1\nfile 2000000\n"}, 3096000, 4096000},
		"group":      {map[string]string{"proc/meminfo": host, "proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/memory.max": "5000\n", "sys/fs/cgroup/a/memory.current": "1000\n", "sys/fs/cgroup/a/b/memory.max": "7000\n"}, 4000, 5000},
		"full":       {map[string]string{"proc/meminfo": host, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "5000\n", "sys/fs/cgroup/memory.current": "6000\n"}, 0, 5000},
		"version 1":  {map[string]string{"proc/meminfo": host, "proc/self/cgroup": "5:cpu:/x\n4:memory:/docker/1\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "6000\n", "sys/fs/cgroup/memory/memory.usage_in_bytes": "5000\n", "sys/fs/cgroup/memory/memory.stat": "cache 1\ntotal_cache 500\n"}, 1500, 6000},
		"both":       {map[string]string{"proc/meminfo": host, "proc/self/cgroup": "4:memory:/d\n0::/\n", "sys/fs/cgroup/memory/d/memory.limit_in_bytes": "6000\n"}, 6000, 6000},
		"small host": {map[string]string{"proc/meminfo": "MemAvailable: 1 kB\n", "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "6000\n"}, 1024, 0},
	} {
		root := testfs.Tree(t, c.files)
		if available, all := systemMemory(root, true), systemMemory(root, false); available != c.want || all != c.all {
			t.Errorf("%s: %d bytes of %d, want %d of %d", name, available, all, c.want, c.all)
		}
	}
}
