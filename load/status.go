package load

import (
	"bytes"
	"context"
	"fmt"
	"sort"
	"time"

	"bulkload/internal/hbase"
)

// Status is the state of a cluster, as its servers have reported it to the master in the last few seconds.
type Status struct {
	Version string                  // HBase's version; "" if the master does not say
	Servers int                     // region servers that are alive
	Clocks  map[string]time.Time    // by host:port, when each server last reported, by its own clock
	Regions map[string]RegionStatus // by the regions' names
}

// RegionStatus is the contents of a region. Sizes are whole megabytes.
type RegionStatus struct {
	Files    int   // of all families
	Bytes    int64 // of the files
	Memstore int64 // bytes in memory
}

// Status asks the master.
func (c *Cluster) Status(ctx context.Context) (*Status, error) {
	limited, cancel := c.limit(ctx)
	defer cancel()
	s := &Status{Regions: map[string]RegionStatus{}, Clocks: map[string]time.Time{}}
	err := c.onMaster(limited, func(ctx context.Context, master *hbase.Conn) error {
		reported, err := master.ClusterStatus(ctx)
		if err == nil {
			s.fill(reported)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the cluster's status: %w", classify(ctx, err))
	}
	return s, nil
}

func (s *Status) fill(reported *hbase.ClusterStatus) {
	s.Version, s.Servers = reported.Version, len(reported.Servers)
	for _, server := range reported.Servers {
		if server.Reported > 0 {
			s.Clocks[server.Server.Addr()] = time.UnixMilli(server.Reported)
		}
	}
	for _, r := range reported.Regions {
		s.Regions[string(r.Region)] = RegionStatus{Files: r.StoreFiles, Bytes: int64(r.FileMB) << 20,
			Memstore: int64(r.MemstoreMB) << 20}
	}
}

// RowRange is a range of rows.
type RowRange struct {
	First, Last []byte // both are in the range
}

// Rows is the range of a file's rows.
func (f *HFile) Rows() RowRange { return RowRange{First: f.FirstRow, Last: f.LastRow} }

// SizeOf is the size in bytes of the store files, of all families, in the regions that have rows of some ranges (nil:
// in all regions). The ranges must be in order, without overlaps. HBase counts whole MiB, and at least one for a region
// that is not empty.
func (c *Cluster) SizeOf(ctx context.Context, table string, ranges []RowRange) (size int64, err error) {
	id, err := parseName(table)
	if err != nil {
		return 0, err
	}
	regions, err := c.regions(ctx, id)
	if err != nil {
		return 0, fmt.Errorf("look up the regions of table %s: %w", table, classify(ctx, err))
	}
	status, err := c.Status(ctx)
	if err != nil {
		return 0, err
	}
	for i := range regions {
		r := &regions[i]
		first := sort.Search(len(ranges), func(i int) bool { return bytes.Compare(ranges[i].Last, r.Start) >= 0 })
		if ranges == nil || first < len(ranges) && (len(r.End) == 0 || bytes.Compare(ranges[first].First, r.End) < 0) {
			size += status.Regions[string(r.Name)].Bytes
		}
	}
	return size, nil
}

// Enabled is when a table was last created, enabled, truncated or restored, in epoch milliseconds. A table that is not
// enabled is ErrRefused.
func (c *Cluster) Enabled(ctx context.Context, table string) (int64, error) {
	limited, cancel := c.limit(ctx)
	defer cancel()
	id, err := parseName(table)
	if err != nil {
		return 0, err
	}
	written, err := c.stateOf(limited, id)
	if err != nil {
		return 0, fmt.Errorf("look up table %s: %w", table, classify(ctx, err))
	}
	return written, nil
}
