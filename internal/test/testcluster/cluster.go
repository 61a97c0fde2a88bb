package testcluster

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Options describe a cluster.
type Options struct {
	// Dir has all files of the cluster: conf, data, log (a file for each role), run (process ids), tmp. It is created
	// if necessary.
	Dir string `json:"-"`
	// Port is the first of the cluster's 200 ports. 0: the first base from 29000 whose ports are free.
	Port int `json:"port"`
	// RegionServers and DataNodes count the processes; 0 is 1.
	RegionServers int `json:"region_servers"`
	// QuickDeaths makes the NameNode declare a silent DataNode dead after about 14 seconds instead of ten minutes.
	QuickDeaths bool `json:"quick_deaths,omitempty"`
	DataNodes   int  `json:"data_nodes"`
	// HA makes two NameNodes, nn1 and nn2, under the name service "bulkload". nn1 is active first; see Failover.
	HA bool `json:"ha"`
	// HDFSOnly omits ZooKeeper and HBase.
	HDFSOnly bool `json:"hdfs_only"`
	// YARN adds a ResourceManager and a NodeManager, which run Hadoop Streaming jobs.
	YARN *YARN `json:"yarn,omitempty"`
	// Session is the ZooKeeper session's timeout in milliseconds, after which a hanging RegionServer is considered
	// dead. 0 is 20,000.
	Session int `json:"session"`
	// Kerberos makes it a secured cluster; nil: simple authentication.
	Kerberos *Kerberos `json:"kerberos,omitempty"`
	// HBase and Hadoop are the versions to run, as Maven names them, such as 2.5.12-hadoop3 and 3.3.6. If empty, they
	// are those of pom.xml.
	HBase  string `json:"hbase,omitempty"`
	Hadoop string `json:"hadoop,omitempty"`
	// Endpoint adds SecureBulkLoadEndpoint to the regions of an HBase 1. One with Kerberos always has it.
	Endpoint bool `json:"endpoint,omitempty"`
	// Measure lets the JVMs optimize fully, for measurements; the cluster then needs twice the CPU time to start.
	Measure bool `json:"measure"`
	// RegionServerJVM are flags of the region servers' JVMs in place of their heap and garbage collector, for
	// measurements.
	RegionServerJVM []string `json:"region_server_jvm,omitempty"`
	// Site are further settings of hbase-site.xml, which win over the cluster's own.
	Site map[string]string `json:"site,omitempty"`
}

// Cluster is an HBase on HDFS that is running, or was.
type Cluster struct {
	Options
	jars     string // class path of HBase's and Hadoop's jars
	yarnJars string // the same and YARN's
	classes  string // folder of the oracle's classes
}

// stateFile in Dir describes the cluster.
const stateFile = "cluster.json"

// Start starts a cluster and returns when it is usable, after about 15 s. It starts empty: the files of an earlier
// cluster in Dir are deleted. If a part doesn't start, everything is stopped again, and the error names the role and
// quotes its log.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	c, err := newCluster(ctx, o)
	if err != nil {
		return nil, err
	}
	if c.Port == 0 {
		// No other cluster may choose its ports until they are open.
		unlock, err := lockPorts()
		if err != nil {
			return nil, err
		}
		defer unlock()
	}
	if err := c.prepare(ctx); err != nil {
		return nil, err
	}
	if err := c.startAll(ctx); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

// Open returns the cluster that another process has started in dir. See Alive.
func Open(ctx context.Context, dir string) (*Cluster, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	b, err := os.ReadFile(filepath.Join(dir, stateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no test cluster in %s (start one: go run ./internal/test/testcluster/cluster up -dir %s)", dir, dir)
	}
	if err != nil {
		return nil, err
	}
	o := Options{Dir: dir}
	if err := json.Unmarshal(b, &o); err != nil {
		return nil, fmt.Errorf("read %s: %w", filepath.Join(dir, stateFile), err)
	}
	return newCluster(ctx, o)
}

func newCluster(ctx context.Context, o Options) (*Cluster, error) {
	if o.Dir == "" {
		return nil, errors.New("a test cluster needs a folder")
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	o.Dir = dir
	o.RegionServers, o.DataNodes = max(o.RegionServers, 1), max(o.DataNodes, 1)
	if o.RegionServers > maxRegionServers || o.DataNodes > maxDataNodes {
		return nil, fmt.Errorf("%d RegionServers and %d DataNodes are too many, at most %d and %d", o.RegionServers, o.DataNodes, maxRegionServers, maxDataNodes)
	}
	c := &Cluster{Options: o}
	wanted := releaseOf(o.HBase, o.Hadoop)
	if c.jars, err = classpath(ctx, wanted); err != nil {
		return nil, err
	}
	if c.YARN != nil {
		if c.yarnJars, err = classpath(ctx, wanted, yarnProfile); err != nil {
			return nil, err
		}
	}
	c.classes, err = oracleClasses(ctx, c.jars, wanted)
	return c, err
}

// path returns a path below Dir.
func (c *Cluster) path(parts ...string) string {
	return filepath.Join(append([]string{c.Dir}, parts...)...)
}

// ConfDir returns the folder of the cluster's site files, for HBASE_CONF_DIR and HADOOP_CONF_DIR.
func (c *Cluster) ConfDir() string { return c.path("conf") }

// prepare prepares Dir for an empty cluster: ports, folders, configuration.
func (c *Cluster) prepare(ctx context.Context) error {
	if up := c.running(); len(up) > 0 {
		return fmt.Errorf("a test cluster is running in %s already (%s); take it down first", c.Dir, strings.Join(up, ", "))
	}
	if err := c.claimPorts(); err != nil {
		return err
	}
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return err
	}
	if room, err := c.room(); err != nil || room < minRoom {
		return cmp.Or(err, fmt.Errorf("%s has room for %d MB, and a cluster needs %d: delete something (go clean -cache frees most)",
			c.Dir, room>>20, minRoom>>20))
	}
	if err := c.clear(); err != nil {
		return err
	}
	state, err := json.MarshalIndent(c.Options, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(c.path(stateFile), append(state, '\n'), 0o644); err != nil {
		return err
	}
	if err := c.writeConf(); err != nil {
		return err
	}
	if err := c.prepareYARN(); err != nil {
		return err
	}
	return c.prepareKDC(ctx)
}

// minRoom is what a cluster's folder must have room for, in bytes: what a run of all tests writes. HDFS and HBase stop
// wherever they are when the disk is full.
const minRoom = 4 << 30

// room is how many bytes the cluster's folder has room for.
func (c *Cluster) room() (int64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(c.Dir, &st); err != nil {
		return 0, fmt.Errorf("find out the room of %s: %w", c.Dir, err)
	}
	return int64(st.Bavail) * int64(st.Bsize), nil
}

func (c *Cluster) claimPorts() error {
	if c.Port != 0 {
		return portsFree(c.Port, c.ports())
	}
	base, err := choosePort(c.ports())
	c.Port = base
	return err
}

// clear deletes the files of an earlier cluster, and no others.
func (c *Cluster) clear() error {
	_, err := os.Stat(c.path(stateFile))
	ours := err == nil
	for _, dir := range []string{"conf", "data", "hadoop", "jars", "log", "run", "tmp"} {
		if entries, err := os.ReadDir(c.path(dir)); err == nil && len(entries) > 0 && !ours {
			return fmt.Errorf("%s has a folder %s that no test cluster made; choose another folder", c.Dir, dir)
		}
		if err := os.RemoveAll(c.path(dir)); err != nil {
			return err
		}
	}
	for _, dir := range []string{"conf", "data", "log", "run", "tmp"} {
		if err := os.MkdirAll(c.path(dir), 0o755); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) startAll(ctx context.Context) error {
	if err := c.startRoles(ctx, c.kdcRoles()); err != nil {
		return err
	}
	if err := c.loginServices(ctx); err != nil {
		return err
	}
	if err := c.format(ctx); err != nil {
		return err
	}
	for stage := stageStore; stage <= stageServers; stage++ {
		var roles []role
		for _, r := range c.roles() {
			if r.stage == stage {
				roles = append(roles, r)
			}
		}
		if err := c.startRoles(ctx, roles); err != nil {
			return err
		}
		if stage == stageStore && c.HA {
			if err := c.activate(ctx); err != nil {
				return err
			}
		}
		if stage == stageBlocks {
			if err := c.openRoot(); err != nil {
				return err
			}
		}
	}
	return nil
}

// startRoles launches the roles together and returns when all are ready.
func (c *Cluster) startRoles(ctx context.Context, roles []role) error {
	logged := make([]int64, len(roles))
	for i, r := range roles {
		var err error
		if logged[i], err = c.launch(r); err != nil {
			return err
		}
	}
	for i, r := range roles {
		if err := c.waitReady(ctx, r, logged[i]); err != nil {
			return err
		}
	}
	return nil
}

// format creates the file system that the NameNode serves.
func (c *Cluster) format(ctx context.Context) error {
	first := c.nameNodes()[0]
	j := c.jvm(first)
	j.brief = true
	j.args = append(slices.Clone(first.args), "-format", "-nonInteractive")
	if _, err := output(ctx, j); err != nil {
		return fmt.Errorf("format HDFS: %w", err)
	}
	if c.HA {
		return c.copyNames()
	}
	return nil
}

// output runs a Java program to its end and returns its stdout. The error quotes stderr.
func output(ctx context.Context, j jvm) (string, error) {
	cmd := j.command()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		return "", err
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	defer stop()
	if err := cmd.Wait(); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return stdout.String(), fmt.Errorf("%s: %w\n%s", j.class, err, lastLines(stderr.String(), tailLines))
	}
	return stdout.String(), nil
}

// Stop kills every process of the cluster. Logs and data remain.
func (c *Cluster) Stop() error {
	errs := []error{c.stopContainers()}
	for _, r := range slices.Backward(c.roles()) {
		_, err := c.kill(r.name)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// ErrNotRunning says that a role has no process.
var ErrNotRunning = errors.New("it isn't running")

// Kill ends a role (nn, or nn1 and nn2 with HA; dn1…; zk; master; rs1…; rm; nm) as a crash would. The containers of a
// NodeManager continue; see KillNode. HBase survives the loss of its NameNode for a while, but not that of its only
// DataNode: its servers end at their next write. Tests that kill must have their own cluster (Start), not that of Use.
func (c *Cluster) Kill(name string) error {
	if _, err := c.role(name); err != nil {
		return err
	}
	was, err := c.kill(name)
	if err == nil && !was {
		err = fmt.Errorf("kill %s: %w", name, ErrNotRunning)
	}
	return err
}

// Pause suspends a role's process (SIGSTOP), like a long garbage collection or a suspended machine. Resume continues
// it.
func (c *Cluster) Pause(name string) error { return c.signal(name, syscall.SIGSTOP) }

// Resume continues a role after Pause.
func (c *Cluster) Resume(name string) error { return c.signal(name, syscall.SIGCONT) }

func (c *Cluster) signal(name string, s syscall.Signal) error {
	pid, alive := c.pid(name)
	if !alive {
		return fmt.Errorf("%v for %s: %w", s, name, ErrNotRunning)
	}
	return syscall.Kill(-pid, s)
}

// StartRole starts a killed role, and returns when its port is open. A DataNode must also have registered with the
// running NameNodes and reported its blocks to them, and a region server with the master. A NameNode must have left
// safe mode, if a DataNode runs, and the master must have initialized. With HA the NameNode is then standby. Regions
// are assigned some seconds later.
func (c *Cluster) StartRole(ctx context.Context, name string) error {
	r, err := c.role(name)
	if err != nil {
		return err
	}
	if pid, alive := c.pid(name); alive {
		return fmt.Errorf("start %s: it is running already as process %d", name, pid)
	}
	return c.startRoles(ctx, []role{r})
}

// PID returns the id of a role's process; false if it isn't running.
func (c *Cluster) PID(role string) (int, bool) { return c.pid(role) }

// DataNodeHTTP returns the address of the web server of dn1, which has its metrics.
func (c *Cluster) DataNodeHTTP() string { return c.address(portDataNode + 1) }

// Roles returns the names of the cluster's processes.
func (c *Cluster) Roles() []string {
	var names []string
	for _, r := range c.roles() {
		names = append(names, r.name)
	}
	return names
}

func (c *Cluster) running() []string {
	return slices.DeleteFunc(c.Roles(), func(name string) bool {
		_, alive := c.pid(name)
		return !alive
	})
}

// Alive fails if a role isn't running, and names it.
func (c *Cluster) Alive() error {
	up := c.running()
	dead := slices.DeleteFunc(c.Roles(), func(name string) bool { return slices.Contains(up, name) })
	if len(dead) > 0 {
		room, err := c.room()
		return errors.Join(fmt.Errorf("test cluster in %s: not running: %s (see its logs in %s; `cluster start ROLE` starts one again; "+
			"the disk has room for %d MB)", c.Dir, strings.Join(dead, ", "), c.path("log"), room>>20), err)
	}
	return nil
}

// Revive restarts the processes that have ended, as an operator's supervisor does.
func (c *Cluster) Revive(ctx context.Context) error {
	for tries := 0; ; tries++ {
		up := c.running()
		down := slices.DeleteFunc(c.roles(), func(r role) bool { return slices.Contains(up, r.name) })
		// A server that slept past its session may end only now. A master that has just been started waits for it.
		if err := c.startRoles(ctx, down); err == nil || tries == 1 {
			return err
		}
	}
}

// Java runs a class of Hadoop, HBase or the oracle to its end, with the cluster's configuration, and with Kerberos as
// HDFS's superuser. It returns its stdout.
func (c *Cluster) Java(ctx context.Context, class string, args ...string) (string, error) {
	j := toolJVM(c.ConfDir(), c.classes, c.jars, class, args).secured(c.ConfDir(), "hdfs")
	j.brief = true
	return output(ctx, j)
}
