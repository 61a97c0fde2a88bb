package hbase

import (
	"context"

	"github.com/tsuna/gohbase/pb"
)

// RegionLoad is the part of ClusterStatus.proto's RegionLoad about sizes. Servers report it every few seconds, with sizes
// rounded down to megabytes.
type RegionLoad struct {
	Region     []byte // its name
	StoreFiles int    // of all families
	FileMB     int    // their size
	MemstoreMB int
}

// ClusterStatus asks the master for the live region servers and what their regions hold.
func (c *Conn) ClusterStatus(ctx context.Context) (servers []ServerName, regions []RegionLoad, err error) {
	const method = "GetClusterStatus"
	var answer pb.GetClusterStatusResponse
	if err := c.exchange(ctx, method, &pb.GetClusterStatusRequest{}, &answer); err != nil {
		return nil, nil, err
	}
	for _, live := range answer.GetClusterStatus().GetLiveServers() {
		server, err := serverName(live.GetServer())
		if err != nil {
			return nil, nil, c.malformed(method, err)
		}
		servers = append(servers, server)
		regions = appendLoads(regions, live.GetServerLoad())
	}
	return servers, regions, nil
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
