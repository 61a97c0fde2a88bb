package load

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"bulkload/internal/errcode"
	"bulkload/internal/hbase"
	"bulkload/internal/siteconf"
)

// registry finds the cluster's servers by asking masters or region servers: RpcConnectionRegistry, which is the default
// of HBase 3's clients. It keeps no connection, because it is rarely asked.
type registry struct {
	quorum
	options []hbase.Options // for each of the principals that the servers may have
}

const (
	registryProperty  = "hbase.client.registry.impl"
	bootstrapProperty = "hbase.client.bootstrap.servers"
	mastersProperty   = "hbase.masters"
)

// findServers finds the cluster of the site files as HBase's clients do: by the registry that they name; without a name
// by ZooKeeper if they have its address, because that works with all versions, else by their masters or other servers.
func findServers(conf *siteconf.Conf, options hbase.Options) (finder, error) {
	named := conf.Get(registryProperty, "")
	switch named[strings.LastIndexByte(named, '.')+1:] {
	case "RpcConnectionRegistry", "MasterRegistry":
		return findRegistry(conf, options)
	case "":
		others := cmp.Or(conf.Get(bootstrapProperty, ""), conf.Get(mastersProperty, ""))
		if conf.Get(quorumProperty, "") == "" && others != "" {
			return findRegistry(conf, options)
		}
	case "ZKConnectionRegistry", "ZKAsyncRegistry":
	default:
		return nil, errcode.SiteProperty.Errorf("%w: %s is %s (in %s): known are ZKConnectionRegistry and "+
			"RpcConnectionRegistry", ErrRefused, registryProperty, named, conf.Source(registryProperty))
	}
	return findZooKeeper(conf)
}

func findRegistry(conf *siteconf.Conf, options hbase.Options) (*registry, error) {
	r := &registry{}
	r.fill(bootstrapProperty, conf.Get(bootstrapProperty, ""), "16020")
	roles := []hbase.Service{hbase.ClientService, hbase.MasterService} // a bootstrap server may be a master
	if len(r.servers) == 0 {
		r.fill(mastersProperty, conf.Get(mastersProperty, ""), conf.Get("hbase.master.port", "16000"))
		roles = []hbase.Service{hbase.MasterService}
	}
	if len(r.servers) == 0 {
		return nil, errcode.SiteMissing.Errorf("%w: neither %s nor %s is set: give the folder of hbase-site.xml (--conf, "+
			"HBASE_CONF_DIR or hbase.conf)", ErrRefused, bootstrapProperty, mastersProperty)
	}
	handshake := options.Handshake
	if handshake == nil {
		r.options = []hbase.Options{options}
		return r, nil
	}
	if conf.Get(masterProperty, "") == conf.Get(regionServerProperty, "") {
		roles = roles[:1]
	}
	for _, role := range roles {
		options.Handshake = func(addr string, _ hbase.Service) hbase.Handshake { return handshake(addr, role) }
		r.options = append(r.options, options)
	}
	return r, nil
}

// Master is the address of the active master.
func (r *registry) Master(ctx context.Context) (string, error) {
	return r.find(ctx, "the active master", (*hbase.Conn).ActiveMaster)
}

// Meta is the address of the region server that holds hbase:meta.
func (r *registry) Meta(ctx context.Context) (string, error) {
	return r.find(ctx, "the place of "+metaTable, (*hbase.Conn).MetaServer)
}

// find asks a server after another. The answer may be out of date, as one of ZooKeeper may.
func (r *registry) find(ctx context.Context, what string,
	ask func(*hbase.Conn, context.Context) (string, error)) (string, error) {
	return first(ctx, &r.quorum, what, func(ctx context.Context, addr string) (found string, err error) {
		var refused error
		for _, options := range r.options {
			if found, err = askOnce(ctx, addr, options, ask); err == nil {
				return found, nil
			}
			refused = errors.Join(refused, err)
			if !isLogin(err) {
				break
			}
		}
		return "", refused
	})
}

// TableState is not known to these servers, which are HBase 2.3 or later, and is not asked for.
func (r *registry) TableState(context.Context, string) ([]byte, int64, error) {
	return nil, 0, errors.ErrUnsupported
}

func askOnce(ctx context.Context, addr string, options hbase.Options,
	ask func(*hbase.Conn, context.Context) (string, error)) (string, error) {
	conn, err := hbase.Dial(ctx, addr, hbase.MetaService, options)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	return ask(conn, ctx)
}
