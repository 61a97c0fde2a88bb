package hbase

import (
	"context"

	"github.com/tsuna/gohbase/pb"
)

// RegionLoad is the part of ClusterStatus.proto's RegionLoad about sizes. Servers report it every few seconds, with
// sizes rounded down to megabytes.
type RegionLoad struct {
	Region     []byte // its name
	StoreFiles int    // of all families
	FileMB     int    // their size
	MemstoreMB int
}

// ServerLoad is a live region server and its latest report to the master.
type ServerLoad struct {
	Server   ServerName
	Reported int64 // when it reported, by its own clock, in epoch milliseconds; 0 if it does not say
}

// ClusterStatus is the master's view of the cluster.
type ClusterStatus struct {
	Version string // of the master's HBase; "" if it does not say
	Servers []ServerLoad
	Dead    int // servers that ended, and have not been started again on the same host and port
	Regions []RegionLoad
}

// ClusterStatus asks the master for its version, the live region servers and the contents of their regions.
func (c *Conn) ClusterStatus(ctx context.Context) (*ClusterStatus, error) {
	const method = "GetClusterStatus"
	var answer pb.GetClusterStatusResponse
	if err := c.exchange(ctx, method, &pb.GetClusterStatusRequest{}, &answer); err != nil {
		return nil, err
	}
	s := &ClusterStatus{Version: answer.GetClusterStatus().GetHbaseVersion().GetVersion(),
		Dead: len(answer.GetClusterStatus().GetDeadServers())}
	for _, live := range answer.GetClusterStatus().GetLiveServers() {
		server, err := serverName(live.GetServer())
		if err != nil {
			return nil, c.malformed(method, err)
		}
		s.Servers = append(s.Servers, ServerLoad{server, int64(live.GetServerLoad().GetReportEndTime())})
		s.Regions = appendLoads(s.Regions, live.GetServerLoad())
	}
	return s, nil
}

func appendLoads(regions []RegionLoad, server *pb.ServerLoad) []RegionLoad {
	for _, r := range server.GetRegionLoads() {
		regions = append(regions, RegionLoad{
			Region:     r.GetRegionSpecifier().GetValue(),
			StoreFiles: int(r.GetStorefiles()),
			FileMB:     int(r.GetStorefileSize_MB()),
			MemstoreMB: int(r.GetMemstoreSize_MB()),
		})
	}
	return regions
}
