package testcluster

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// YARN adds a ResourceManager (role rm) and a NodeManager (nm) with MapReduce's shuffle service. Containers find
// Hadoop's jars in Maven's repository, so no job uploads any. Only memory is scheduled.
type YARN struct {
	// Memory is the NodeManager's memory for containers, in MiB; 0: 4096.
	Memory int `json:"memory,omitempty"`
	// TokenLife is how long the ResourceManager's delegation tokens last without a renewal, in milliseconds; 0: 24
	// hours.
	TokenLife int `json:"token_life,omitempty"`
}

// yarnProfile is the profile of pom.xml with YARN's jars.
const yarnProfile = "yarn"

// Offsets of YARN's ports from portYARN.
const (
	portRMClient = iota
	portRMScheduler
	portRMTracker
	portRMAdmin
	portRMWeb
	portNM
	portNMLocalizer
	portNMWeb
	portNMCollector
	portShuffle
	yarnPortCount
)

func (c *Cluster) yarnPorts() (offsets []int) {
	if c.YARN != nil {
		for i := range yarnPortCount {
			offsets = append(offsets, portYARN+i)
		}
	}
	return offsets
}

func (c *Cluster) yarnRoles() []role {
	if c.YARN == nil {
		return nil
	}
	rm := role{name: "rm", stage: stageServers, heap: "384m", class: "org.apache.hadoop.yarn.server.resourcemanager.ResourceManager", port: portYARN + portRMTracker,
		jars: c.yarnJars, ready: []string{"Transitioned to active state"}}
	nm := role{name: "nm", stage: stageServers, heap: "384m", class: "org.apache.hadoop.yarn.server.nodemanager.NodeManager", port: portYARN + portShuffle,
		jars: c.yarnJars, env: javaHome(), ready: []string{"Registered with ResourceManager as"}}
	return []role{rm, nm}
}

// javaHome is the environment in which containers find java.
func javaHome() []string {
	java, err := exec.LookPath("java")
	if err == nil {
		java, err = filepath.EvalSymlinks(java)
	}
	if err != nil {
		return nil // the NodeManager itself then does not start
	}
	return []string{"JAVA_HOME=" + filepath.Dir(filepath.Dir(java))}
}

func (c *Cluster) yarnAddress(port int) string { return c.address(portYARN + port) }

// yarnSites are YARN's and MapReduce's site files.
func (c *Cluster) yarnSites() map[string][]property {
	if c.YARN == nil {
		return nil
	}
	return map[string][]property{
		"yarn-site.xml":   append(c.yarnSite(), c.secureYARN()...),
		"mapred-site.xml": c.mapredSite(),
		// None of the jars has the default scheduler's file.
		"capacity-scheduler.xml": {
			{"yarn.scheduler.capacity.root.queues", "default,other"},
			{"yarn.scheduler.capacity.root.default.capacity", "90"},
			{"yarn.scheduler.capacity.root.other.capacity", "10"},
			{"yarn.scheduler.capacity.root.other.maximum-capacity", "100"},
			{"yarn.scheduler.capacity.maximum-am-resource-percent", "0.5"},
			{"yarn.scheduler.capacity.root.other.user-limit-factor", "10"},
		},
	}
}

// containerClasses is the class path of containers.
func (c *Cluster) containerClasses() string { return c.ConfDir() + "," + c.path("jars") + "/*" }

func (c *Cluster) yarnSite() []property {
	p := []property{
		{"yarn.resourcemanager.hostname", "localhost"},
		{"yarn.resourcemanager.address", c.yarnAddress(portRMClient)},
		{"yarn.resourcemanager.scheduler.address", c.yarnAddress(portRMScheduler)},
		{"yarn.resourcemanager.resource-tracker.address", c.yarnAddress(portRMTracker)},
		{"yarn.resourcemanager.admin.address", c.yarnAddress(portRMAdmin)},
		{"yarn.resourcemanager.webapp.address", c.yarnAddress(portRMWeb)},
		{"yarn.nodemanager.hostname", "localhost"},
		{"yarn.nodemanager.address", c.yarnAddress(portNM)},
		{"yarn.nodemanager.localizer.address", c.yarnAddress(portNMLocalizer)},
		{"yarn.nodemanager.webapp.address", c.yarnAddress(portNMWeb)},
		{"yarn.nodemanager.collector-service.address", c.yarnAddress(portNMCollector)},
		{"yarn.nodemanager.aux-services", "mapreduce_shuffle"}, // no MapReduce job runs without it
		{"yarn.nodemanager.local-dirs", c.path("data", "nm")},
		{"yarn.nodemanager.log-dirs", c.path("log", "containers")},
		{"yarn.nodemanager.disk-health-checker.enable", "false"},
		// The disks are checked once anyway: one that is more than 90 percent full would get no container.
		{"yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage", "100"},
		{"yarn.nodemanager.resource.memory-mb", fmt.Sprint(cmp.Or(c.YARN.Memory, 4096))},
		{"yarn.nodemanager.resource.cpu-vcores", "8"},
		{"yarn.scheduler.minimum-allocation-mb", "64"},
		{"yarn.nodemanager.vmem-check-enabled", "false"},
		{"yarn.cluster.max-application-priority", "5"}, // VERY_HIGH
		// If it were true without cgroups, a container beyond its memory would not be killed.
		{"yarn.nodemanager.resource.memory.enforced", "false"},
		{"yarn.nodemanager.container-monitor.interval-ms", "500"},
		{"yarn.application.classpath", c.containerClasses()},
	}
	if c.YARN.TokenLife > 0 {
		p = append(p, property{"yarn.resourcemanager.delegation.token.renew-interval", fmt.Sprint(c.YARN.TokenLife)})
	}
	return p
}

func (c *Cluster) mapredSite() []property {
	p := []property{
		{"mapreduce.framework.name", "yarn"},
		{"mapreduce.shuffle.port", fmt.Sprint(c.Port + portYARN + portShuffle)}, // ignored in yarn-site.xml
		{"mapreduce.application.classpath", c.containerClasses()},
		{"yarn.app.mapreduce.am.staging-dir", "/tmp/staging"},
		{"yarn.app.mapreduce.am.resource.mb", "640"},
		{"yarn.app.mapreduce.am.command-opts", "-Xmx384m -XX:+UseSerialGC -XX:TieredStopAtLevel=1"},
		{"mapred.child.java.opts", "-Xmx320m -XX:+UseSerialGC -XX:TieredStopAtLevel=1"},
	}
	if c.Kerberos != nil { // the users' names are those of the realm
		realm := "-Djava.security.krb5.conf=" + c.Krb5Conf()
		p = append(p, property{"yarn.app.mapreduce.am.admin-command-opts", realm}, property{"mapreduce.admin.map.child.java.opts", realm})
	}
	return p
}

func (c *Cluster) secureYARN() []property {
	if c.Kerberos == nil {
		return nil
	}
	return append(principalsOf("yarn", "yarn.resourcemanager", "yarn.nodemanager"),
		property{"yarn.resourcemanager.keytab", c.Keytab("yarn")},
		property{"yarn.nodemanager.keytab", c.Keytab("yarn")},
	)
}

// prepareYARN makes the folder of jars for containers, and the folder that HadoopHome returns.
func (c *Cluster) prepareYARN() error {
	if c.YARN == nil {
		return nil
	}
	for _, dir := range []string{"jars", "hadoop/bin", "hadoop/share/hadoop/tools/lib"} {
		if err := os.MkdirAll(c.path(dir), 0o755); err != nil {
			return err
		}
	}
	for _, jar := range filepath.SplitList(c.yarnJars) {
		links := []string{c.path("jars", filepath.Base(jar))}
		if strings.HasPrefix(filepath.Base(jar), "hadoop-streaming-") {
			links = append(links, c.path("hadoop/share/hadoop/tools/lib", filepath.Base(jar)))
		}
		for _, link := range links {
			if err := os.Symlink(jar, link); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
		}
	}
	for _, name := range []string{"hadoop", "yarn", "mapred"} {
		if err := os.WriteFile(c.path("hadoop/bin", name), []byte(c.hadoopScript()), 0o755); err != nil {
			return err
		}
	}
	return nil
}

// hadoopScript is a script for the commands that tests need. It does the same as those of a Hadoop installation.
func (c *Cluster) hadoopScript() string {
	var open strings.Builder
	for _, p := range opened {
		open.WriteString(" --add-opens=" + p + "=ALL-UNNAMED")
	}
	return fmt.Sprintf(`#!/bin/sh
# usage: hadoop jar JAR ARG… | yarn application ARG… | mapred job ARG…
command=$1; shift
case $command in
  jar) class=org.apache.hadoop.util.RunJar ;;
  application) class=org.apache.hadoop.yarn.client.cli.ApplicationCLI; set -- application "$@" ;;
  job) class=org.apache.hadoop.mapred.JobClient ;;
  fs) class=org.apache.hadoop.fs.FsShell ;;
  *) echo "no command $command" >&2; exit 2 ;;
esac
exec java -Xmx512m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 %s $HADOOP_OPTS -cp "${HADOOP_CONF_DIR:-%s}:%s/*:$HADOOP_CLASSPATH" "$class" "$@"
`, open.String(), c.ConfDir(), c.path("jars"))
}

// HadoopHome is a folder like that of a Hadoop installation: bin has hadoop, yarn and mapred, which know the commands
// jar, application, job and fs, and share/hadoop/tools/lib has the jar of Hadoop Streaming.
func (c *Cluster) HadoopHome() string { return c.path("hadoop") }

// KillNode ends the NodeManager and its containers at once, as a machine that fails would.
func (c *Cluster) KillNode() error {
	return errors.Join(c.Kill("nm"), c.killContainers())
}

// stopContainers is KillNode for a NodeManager that may not run, or may not exist.
func (c *Cluster) stopContainers() error {
	if c.YARN == nil {
		return nil
	}
	_, err := c.kill("nm")
	return errors.Join(err, c.killContainers())
}

// killContainers kills each container's process group. The NodeManager must be gone, because it would start others.
func (c *Cluster) killContainers() error {
	pids, err := c.containers()
	if err != nil {
		return err
	}
	for _, pid := range pids {
		if err := syscall.Kill(-pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("kill the container with process %d: %w", pid, err)
		}
	}
	for _, pid := range pids {
		for end := time.Now().Add(goneIn); !gone(pid); time.Sleep(pause / 10) {
			if time.Now().After(end) {
				return fmt.Errorf("kill the container with process %d: it is still there after %v", pid, goneIn)
			}
		}
	}
	return nil
}

// containers returns the processes of the running containers, from the NodeManager's own files. A number may belong to
// another process by now; the command line of a container's process names this cluster's folder.
func (c *Cluster) containers() (pids []int, err error) {
	err = filepath.WalkDir(c.path("data", "nm"), func(name string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // deleted meanwhile, or no container has ever run
			return nil
		}
		if err != nil || entry.IsDir() || !strings.HasPrefix(entry.Name(), "container") || filepath.Ext(entry.Name()) != ".pid" {
			return err
		}
		b, err := os.ReadFile(name)
		if err != nil {
			return nil
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
		if err != nil || pid <= 1 {
			return nil
		}
		if line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil && strings.Contains(string(line), c.Dir) {
			pids = append(pids, pid)
		}
		return nil
	})
	return pids, err
}
