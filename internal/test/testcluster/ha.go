package testcluster

import (
	"context"
	"fmt"
	"os"
)

// haSite lets the two NameNodes share their edits in a local folder, which suffices while both are on one machine.
// There is no automatic failover.
func (c *Cluster) haSite() []property {
	p := []property{
		{"dfs.nameservices", nameService},
		{"dfs.ha.namenodes." + nameService, "nn1,nn2"},
		{"dfs.namenode.shared.edits.dir", "file://" + c.path("data", "edits")},
		{"dfs.client.failover.proxy.provider." + nameService, "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider"},
		{"dfs.ha.automatic-failover.enabled", "false"},
		{"dfs.ha.fencing.methods", "shell(/bin/true)"},
		{"dfs.ha.tail-edits.period", "1"},
	}
	for id, ports := range map[string][2]int{"nn1": {portNameNode, portNameNodeHTTP}, "nn2": {portNameNode2, portNameNode2HTTP}} {
		of := "." + nameService + "." + id
		p = append(p,
			property{"dfs.namenode.rpc-address" + of, c.address(ports[0])},
			property{"dfs.namenode.http-address" + of, c.address(ports[1])},
			property{"dfs.namenode.name.dir" + of, "file://" + c.path("data", id)},
		)
	}
	return p
}

// copyNames copies nn1's new namespace to nn2, like the NameNode's -bootstrapStandby, but without a JVM.
func (c *Cluster) copyNames() error {
	return os.CopyFS(c.path("data", "nn2"), os.DirFS(c.path("data", "nn1")))
}

// activate makes nn1 the active NameNode of a fresh cluster.
func (c *Cluster) activate(ctx context.Context) error {
	return c.haAdmin(ctx, "-transitionToActive", "nn1")
}

// Failover makes nn1 or nn2 the active NameNode; the other one becomes standby, or is considered dead if it doesn't
// answer.
func (c *Cluster) Failover(ctx context.Context, to string) error {
	others := map[string]string{"nn1": "nn2", "nn2": "nn1"}
	from, ok := others[to]
	if !c.HA || !ok {
		return fmt.Errorf("fail over to %s: the test cluster in %s has no such NameNode (start it with HA)", to, c.Dir)
	}
	return c.haAdmin(ctx, "-failover", from, to)
}

func (c *Cluster) haAdmin(ctx context.Context, args ...string) error {
	if _, err := c.Java(ctx, "org.apache.hadoop.hdfs.tools.DFSHAAdmin", args...); err != nil {
		return fmt.Errorf("set the active NameNode: %w", err)
	}
	return nil
}
