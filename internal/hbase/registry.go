package hbase

import (
	"context"
	"errors"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"
)

// MetaService is Registry.proto's ClientMetaService. Masters have it since HBase 2.3, region servers since 2.5.
const MetaService Service = "ClientMetaService"

// ActiveMaster asks any server for the address of the active master: GetActiveMasterResponse{1 ServerName}.
func (c *Conn) ActiveMaster(ctx context.Context) (addr string, err error) {
	return c.registered(ctx, "GetActiveMaster", func(found *[]byte, f field) {
		if f.number == 1 {
			*found = f.bytes
		}
	})
}

// MetaServer asks any server for the address of the region server that holds hbase:meta, or its first replica:
// GetMetaRegionLocationsResponse{1 RegionLocation{1 RegionInfo, 2 ServerName}}.
func (c *Conn) MetaServer(ctx context.Context) (addr string, err error) {
	var broken error
	addr, err = c.registered(ctx, "GetMetaRegionLocations", func(found *[]byte, f field) {
		if f.number != 1 {
			return
		}
		var replica uint64
		var server []byte
		err := fields(f.bytes, func(f field) {
			switch f.number {
			case 1:
				broken = errors.Join(broken, fields(f.bytes, func(f field) {
					if f.number == 7 { // RegionInfo's replica_id
						replica = f.uint
					}
				}))
			case 2:
				server = f.bytes
			}
		})
		broken = errors.Join(broken, err)
		if replica == 0 {
			*found = server
		}
	})
	if broken != nil {
		return "", c.malformed("GetMetaRegionLocations", broken)
	}
	return addr, err
}

// errNotRegistered says that a server does not know what it was asked for: it has no contact to ZooKeeper, or there is
// no such server now.
var errNotRegistered = errors.New("it knows of none")

// registered asks a question that needs no parameters. add finds the ServerName among the answer's fields.
func (c *Conn) registered(ctx context.Context, method string, add func(*[]byte, field)) (addr string, err error) {
	var found []byte
	if err := c.call(ctx, method, message{}, func(f field) { add(&found, f) }); err != nil {
		return "", err
	}
	if found == nil {
		return "", c.connError(method, true, errNotRegistered)
	}
	var m pb.ServerName
	if err := proto.Unmarshal(found, &m); err != nil {
		return "", c.malformed(method, err)
	}
	server, err := serverName(&m)
	if err != nil {
		return "", c.malformed(method, err)
	}
	return server.Addr(), nil
}
