package load

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"bulkload/internal/hbase"

	"github.com/tsuna/gohbase/pb"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"
)

// Status is how a cluster is: as its servers have reported to the master in the last few seconds.
type Status struct {
	Version string                  // of HBase; "" if the master does not say
	Servers int                     // region servers that are alive
	Clocks  map[string]time.Time    // by host:port, when each server reported last, by its own clock
	Regions map[string]RegionStatus // by the regions' names
}

// RegionStatus is what a region holds. Sizes are whole megabytes.
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
		s.Regions[string(r.Region)] = RegionStatus{Files: r.StoreFiles, Bytes: int64(r.FileMB) << 20, Memstore: int64(r.MemstoreMB) << 20}
	}
}

// lookUps is how many rows are looked up in parallel.
const lookUps = 16

// CountPresent counts those of the rows that a table has.
func (c *Cluster) CountPresent(ctx context.Context, table string, rows [][]byte) (int, error) {
	id, err := parseName(table)
	if err == nil {
		err = c.usable(ctx, id)
	}
	if err != nil {
		return 0, fmt.Errorf("look up rows of table %s: %w", table, classify(ctx, err))
	}
	var found atomic.Int64
	group, running := errgroup.WithContext(ctx)
	group.SetLimit(lookUps)
	for _, row := range rows {
		group.Go(func() error {
			if running.Err() != nil {
				return running.Err()
			}
			there, err := c.reader.present(running, id, row)
			if there {
				found.Add(1)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return 0, fmt.Errorf("look up rows of table %s: %w", table, classify(ctx, err))
	}
	return int(found.Load()), nil
}

func (r *reader) present(ctx context.Context, id hbase.TableName, row []byte) (bool, error) {
	found, err := r.get(ctx, id.String(), &pb.Get{Row: row, ExistenceOnly: proto.Bool(true)})
	return found.Exists, err
}
