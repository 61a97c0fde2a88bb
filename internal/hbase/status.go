package hbase

import "context"

// RegionLoad is ClusterStatus.proto's RegionLoad, as far as sizes go. Servers report it every few seconds, sizes rounded
// down to megabytes.
type RegionLoad struct {
	Region     []byte // 1 region_specifier{2 value}: the region's name
	StoreFiles int    // 3, of all families
	FileMB     int    // 5 storefile_size_MB
	MemstoreMB int    // 6 memstore_size_MB
}

// ClusterStatus asks the master for the region servers that live and what their regions hold: GetClusterStatusRequest{},
// GetClusterStatusResponse{1 cluster_status{2 live_servers{1 server, 2 server_load{5 region_loads}}}}.
func (c *Conn) ClusterStatus(ctx context.Context) (servers []ServerName, regions []RegionLoad, err error) {
	err = c.call(ctx, "GetClusterStatus", message{}, func(f field) error {
		if f.number != 1 {
			return nil
		}
		return fields(f.bytes, func(f field) error {
			if f.number != 2 {
				return nil
			}
			return fields(f.bytes, func(f field) (err error) {
				switch f.number {
				case 1:
					var server ServerName
					server, err = readServerName(f.bytes)
					servers = append(servers, server)
				case 2:
					regions, err = appendServerLoad(regions, f.bytes)
				}
				return err
			})
		})
	})
	return servers, regions, err
}

// appendServerLoad reads a ServerLoad.
func appendServerLoad(regions []RegionLoad, b []byte) ([]RegionLoad, error) {
	err := fields(b, func(f field) error {
		if f.number != 5 {
			return nil
		}
		r, err := parseRegionLoad(f.bytes)
		regions = append(regions, r)
		return err
	})
	return regions, err
}

func parseRegionLoad(b []byte) (RegionLoad, error) {
	var r RegionLoad
	err := fields(b, func(f field) error {
		switch f.number {
		case 1:
			return fields(f.bytes, func(f field) error {
				if f.number == 2 {
					r.Region = append([]byte{}, f.bytes...)
				}
				return nil
			})
		case 3:
			r.StoreFiles = int(f.uint)
		case 5:
			r.FileMB = int(f.uint)
		case 6:
			r.MemstoreMB = int(f.uint)
		}
		return nil
	})
	return r, err
}
