// Package load talks to HBase: it looks up a table's regions and family settings, loads finished HFiles into the
// regions, creates tables and reads rows. It knows nothing of input and sorting.
//
// All calls to HBase use internal/hbase's connections, one to each server.
package load

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"bulkload/internal/hbase"
	"bulkload/internal/siteconf"
)

// ErrUnavailable marks errors of a cluster that can't be reached now; ErrNotFound those of a table or family that
// does not exist; ErrExists a table that does; ErrRefused a request that HBase will refuse until something is
// changed.
var (
	ErrUnavailable = errors.New("HBase unavailable")
	ErrNotFound    = errors.New("not found")
	ErrExists      = errors.New("exists already")
	ErrRefused     = errors.New("refused")
	// ErrStraddles marks, together with ErrRefused, a file with rows of several regions.
	ErrStraddles = errors.New("rows of several regions")
)

// notFound is an ErrNotFound with its complete text.
type notFound string

func (e notFound) Error() string { return string(e) }

// Is makes it an ErrNotFound.
func (notFound) Is(target error) bool { return target == ErrNotFound }

// Cluster is a connection to an HBase cluster. Its methods are safe for concurrent use; each fails within a minute if
// HBase does not answer. Once a load or a scan has begun, it waits longer: as long as the recovery from a region
// server's death may take.
type Cluster struct {
	conf    *siteconf.Conf
	user    string // the user's name for HDFS and grants: with Kerberos the first part of the principal
	secured bool   // with Kerberos
	limits  settings
	servers *servers
	reader  *reader
	era     atomic.Int32 // the first number of HBase's version, 1 or 2 (also for 3); 0: not known yet

	onProbeCall  func(server string, gets []hbase.RegionGets) // for tests that count probes' calls; nil
	onLookUpCall func(rows int)                               // for tests that count calls of Exist and Rows; nil
}

// Connect finds the cluster of the site files over TCP, or another cluster over another network (nil: none). It fails
// within a minute.
//
// It reads these properties. hbase.zookeeper.quorum, hbase.zookeeper.property.clientPort and zookeeper.znode.parent
// locate the cluster, or hbase.client.bootstrap.servers or hbase.masters (see findServers). hbase.rpc.timeout,
// hbase.ipc.client.socket.timeout.connect and hbase.client.scanner.timeout.period say how long to wait, in
// milliseconds: never over 55 seconds, except for a load request, which gets at least ten minutes.
// hbase.client.scanner.caching and hbase.client.scanner.max.result.size bound one answer to a scan.
// hbase.bulkload.retries.number, hbase.loadincremental.threads.max and
// hbase.mapreduce.bulkload.max.hfiles.perRegion.perFamily control LoadFrom. hbase.security.authentication,
// hbase.rpc.protection, hbase.master.kerberos.principal and hbase.regionserver.kerberos.principal control
// authentication and the protection of connections.
func Connect(ctx context.Context, conf *siteconf.Conf, who Caller, network Network) (*Cluster, error) {
	c, err := open(conf, who, network)
	if err != nil {
		return nil, fmt.Errorf("connect to HBase: %w", err)
	}
	limited, cancel := c.limit(ctx)
	defer cancel()
	if _, err := c.servers.master(limited); err != nil {
		c.Close()
		return nil, fmt.Errorf("connect to HBase: %w", classify(ctx, err))
	}
	return c, nil
}

// open makes a Cluster that has no connections yet.
func open(conf *siteconf.Conf, who Caller, network Network) (*Cluster, error) {
	user, options, err := identify(conf, who)
	if err != nil {
		return nil, err
	}
	limits, err := readSettings(conf)
	if err != nil {
		return nil, err
	}
	options.DialTimeout, options.Log = limits.dial, who.Log
	var servers finder = network
	if network != nil {
		options.Dial = network.Dial
	} else if servers, err = findServers(conf, options); err != nil {
		return nil, err
	}
	c := &Cluster{conf: conf, user: user, secured: options.Handshake != nil, limits: limits}
	c.servers = newServers(servers, options)
	c.reader = newReader(c.servers, limits)
	c.reader.throttle(who.Rate)
	return c, nil
}

// Close ends the connections.
func (c *Cluster) Close() error {
	c.reader.close()
	c.servers.close()
	return nil
}

// limit bounds the time of a call that changes nothing.
func (c *Cluster) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, callTimeout)
}
