package testcluster

import (
	"fmt"
	"net"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// role is one of the cluster's processes.
type role struct {
	name    string // nn (nn1 and nn2 with HA), dn1…, zk, master, rs1…
	stage   int    // the roles of a stage start together, once the previous stage is ready
	heap    string
	flags   []string // in place of the heap and the garbage collector
	class   string
	program func() (*exec.Cmd, error) // in place of a JVM's
	args    []string
	port    int      // offset of the port that is open when the role is ready
	address string   // of that port, if it is not at the offset
	ready   []string // further texts in its log when it is ready
	jars    string   // its class path, if it is not that of HBase and HDFS
	env     []string // in addition to the cluster's
}

const (
	stageKeys    = iota // the KDC
	stageStore          // name nodes and ZooKeeper
	stageBlocks         // data nodes
	stageServers        // master and region servers
)

// roles returns the cluster's roles in the order in which they are started.
func (c *Cluster) roles() []role {
	roles := append(c.kdcRoles(), c.nameNodes()...)
	for i := range c.DataNodes {
		roles = append(roles, c.dataNode(i+1))
	}
	roles = append(roles, c.yarnRoles()...)
	if c.HDFSOnly {
		return roles
	}
	roles = append(roles,
		role{name: "zk", stage: stageStore, heap: "192m", class: "org.apache.hadoop.hbase.zookeeper.HQuorumPeer", args: []string{"start"}, port: portZooKeeper},
		role{name: "master", stage: stageServers, heap: "512m", class: "org.apache.hadoop.hbase.master.HMaster", args: []string{"start"}, port: portMaster,
			ready: []string{"Master has completed initialization"}},
	)
	for i := range c.RegionServers {
		roles = append(roles, c.regionServer(i+1))
	}
	slices.SortStableFunc(roles, func(a, b role) int { return a.stage - b.stage })
	return roles
}

func (c *Cluster) nameNodes() []role {
	nn := role{name: "nn", stage: stageStore, heap: "384m", class: nameNodeClass, port: portNameNode, ready: c.blocksKnown()}
	if !c.HA {
		return []role{nn}
	}
	nn1, nn2 := nn, nn
	nn1.name, nn1.args = "nn1", []string{"-Ddfs.ha.namenode.id=nn1"}
	nn2.name, nn2.args, nn2.port = "nn2", []string{"-Ddfs.ha.namenode.id=nn2"}, portNameNode2
	return []role{nn1, nn2}
}

// blocksKnown is the text in a NameNode's log once the running DataNodes have reported their blocks. Before that it is
// in safe mode, and HBase's servers end when they try to write.
func (c *Cluster) blocksKnown() []string {
	for i := range c.DataNodes {
		if _, alive := c.pid(dataNodeName(i + 1)); alive {
			return []string{"Safe mode is OFF"}
		}
	}
	return nil
}

func dataNodeName(i int) string { return fmt.Sprintf("dn%d", i) }

const nameNodeClass = "org.apache.hadoop.hdfs.server.namenode.NameNode"

func (c *Cluster) dataNode(i int) role {
	name := dataNodeName(i)
	port := portDataNode + (i-1)*portDataNodeStep
	var registered []string
	for _, nn := range c.nameNodes() {
		if _, alive := c.pid(nn.name); alive {
			// Until a DataNode has reported its blocks, no client is sent to it to read them.
			registered = append(registered, fmt.Sprintf(":%d successfully registered with NN", c.Port+nn.port), "Successfully sent block report")
			if c.HA { // each NameNode gets one; older releases don't name it
				registered = append(registered, fmt.Sprintf(":%d,  containing", c.Port+nn.port))
			}
		}
	}
	address := c.address(port)
	if k := c.Kerberos; k != nil && k.PrivilegedPort > 0 && i == 1 {
		address = net.JoinHostPort("localhost", strconv.Itoa(k.PrivilegedPort))
	}
	return role{name: name, stage: stageBlocks, heap: "384m", class: "org.apache.hadoop.hdfs.server.datanode.DataNode", port: port, address: address, ready: registered, args: []string{
		"-Ddfs.datanode.data.dir=file://" + c.path("data", name),
		"-Ddfs.datanode.address=" + address,
		"-Ddfs.datanode.http.address=" + c.address(port+1),
		"-Ddfs.datanode.ipc.address=" + c.address(port+2),
	}}
}

func (c *Cluster) regionServer(i int) role {
	port := portRegionServer + i - 1
	return role{name: fmt.Sprintf("rs%d", i), stage: stageServers, heap: "1g", flags: c.RegionServerJVM, class: "org.apache.hadoop.hbase.regionserver.HRegionServer", port: port,
		ready: []string{"Serving as "}, // the master knows it
		args:  []string{"-D", fmt.Sprintf("hbase.regionserver.port=%d", c.Port+port), "start"}}
}

func (c *Cluster) role(name string) (role, error) {
	var names []string
	for _, r := range c.roles() {
		if r.name == name {
			return r, nil
		}
		names = append(names, r.name)
	}
	return role{}, fmt.Errorf("the test cluster in %s has no role %q, only %s", c.Dir, name, strings.Join(names, ", "))
}

// ports returns the offsets of every port the cluster listens on.
func (c *Cluster) ports() []int {
	offsets := append([]int{portNameNodeHTTP}, c.yarnPorts()...)
	if c.HA {
		offsets = append(offsets, portNameNode2HTTP)
	}
	for _, r := range c.roles() {
		offsets = append(offsets, r.port)
		if r.stage == stageBlocks {
			offsets = append(offsets, r.port+1, r.port+2)
		}
	}
	return offsets
}
