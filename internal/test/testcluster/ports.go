package testcluster

import (
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"time"
)

// Ports are the cluster's base port and these offsets.
const (
	portNameNode      = 0
	portNameNodeHTTP  = 1
	portNameNode2     = 2
	portNameNode2HTTP = 3
	portZooKeeper     = 5
	portKDC           = 6
	portMaster        = 10
	portRegionServer  = 20  // of rs1; the next ones follow
	portYARN          = 40  // of the ResourceManager and the NodeManager; see yarn.go
	portDataNode      = 100 // of dn1: transfer, HTTP, IPC; those of the next one are higher by ten
	portDataNodeStep  = 10

	portSpan = 200 // the largest number of ports that a cluster uses

	maxRegionServers = portYARN - portRegionServer
	maxDataNodes     = (portSpan - portDataNode) / portDataNodeStep

	firstPort = 29000
	lastPort  = 32700 // above it the kernel assigns ports to connections
)

// address returns localhost and the port at an offset.
func (c *Cluster) address(offset int) string {
	return net.JoinHostPort("localhost", strconv.Itoa(c.Port+offset))
}

// choosePort returns the first base port whose ports are all free.
func choosePort(offsets []int) (int, error) {
	for base := firstPort; base+portSpan <= lastPort; base += portSpan {
		if portsFree(base, offsets) == nil {
			return base, nil
		}
	}
	return 0, fmt.Errorf("choose ports for a test cluster: none free from %d to %d (take down a cluster that is not needed, or name a port)", firstPort, lastPort)
}

// lockPorts waits until no other cluster of this user is choosing ports.
func lockPorts() (unlock func(), err error) {
	root, err := cacheRoot()
	if err != nil {
		return nil, err
	}
	return lock(filepath.Join(root, "ports.lock"))
}

// portsFree fails if one of the ports is in use.
func portsFree(base int, offsets []int) error {
	for _, o := range offsets {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(base+o)))
		if err != nil {
			return fmt.Errorf("start a test cluster at port %d: port %d is taken: %w (choose another base port)", base, base+o, err)
		}
		if err := l.Close(); err != nil {
			return err
		}
	}
	return nil
}

func portOpen(address string) bool {
	conn, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}
