// Command cluster starts and stops the test cluster and makes its tools available. See usage.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"

	"bulkload/internal/test/testcluster"
)

const usage = `usage: cluster COMMAND [-dir DIR] …

  up [-dir DIR] [-port P] [-rs N] [-dn N] [-ha] [-hbase V] [-hadoop V] [-endpoint] [-hdfs] [-yarn] [-measure] [-kerberos RPC,TRANSFER,HBASE]
                                                          start an empty cluster, -hbase and -hadoop: versions of Maven, -endpoint: of HBase 1, for loads, -hdfs: without HBase, -yarn: with YARN, -measure: JVMs at full
                                                          speed, -kerberos: secured, with these protections, + between those
                                                          that are offered side by side, or aes for TRANSFER; prints its conf folder
  down                                                    kill it
  status                                                  its roles; exit 1 where one isn't running
  kill ROLE, start ROLE                                   nn (-ha: nn1, nn2), dn1…, zk, master, rs1…, rm, nm
  active nn1|nn2                                          -ha: make that NameNode the active one
  java CLASS ARG…                                         a class of Hadoop or HBase with the cluster's configuration
  oracle COMMAND ARG…                                     the oracle, see java/Oracle.java; works on HFiles without a cluster too

DIR is $` + testcluster.Environment + `, else bulkload-cluster in the system's folder for temporary files.
`

var errUsage = errors.New("usage")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := run(ctx, os.Args[1:])
	var exit *exec.ExitError
	switch {
	case err == nil:
	case errors.Is(err, errUsage):
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	case errors.As(err, &exit) && err == error(exit): // a program with our stdout and stderr, which has reported why
		os.Exit(max(exit.ExitCode(), 1))
	default:
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errUsage
	}
	o := testcluster.Options{Dir: os.Getenv(testcluster.Environment)}
	if o.Dir == "" {
		o.Dir = filepath.Join(os.TempDir(), "bulkload-cluster")
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.Usage = func() {}
	flags.StringVar(&o.Dir, "dir", o.Dir, "")
	if args[0] == "up" {
		flags.IntVar(&o.Port, "port", 0, "")
		flags.IntVar(&o.RegionServers, "rs", 1, "")
		flags.IntVar(&o.DataNodes, "dn", 1, "")
		flags.BoolVar(&o.HA, "ha", false, "")
		flags.StringVar(&o.HBase, "hbase", "", "")
		flags.StringVar(&o.Hadoop, "hadoop", "", "")
		flags.BoolVar(&o.Endpoint, "endpoint", false, "")
		flags.BoolVar(&o.HDFSOnly, "hdfs", false, "")
		flags.BoolFunc("yarn", "", func(string) error { o.YARN = &testcluster.YARN{}; return nil })
		flags.BoolVar(&o.Measure, "measure", false, "")
		flags.Func("kerberos", "", func(text string) error { return secure(&o, text) })
	}
	if flags.Parse(args[1:]) != nil {
		return errUsage
	}
	return command(ctx, args[0], o, flags.Args())
}

// secure reads RPC,TRANSFER,HBASE.
func secure(o *testcluster.Options, text string) error {
	words := strings.Split(text, ",")
	if len(words) != 3 {
		return errUsage
	}
	for i, word := range words {
		words[i] = strings.ReplaceAll(word, "+", ",")
	}
	o.Kerberos = &testcluster.Kerberos{RPC: words[0], Transfer: words[1], HBase: words[2]}
	if o.Kerberos.Transfer == "aes" {
		o.Kerberos.Transfer, o.Kerberos.AES = "privacy", true
	}
	return nil
}

func command(ctx context.Context, name string, o testcluster.Options, args []string) error {
	switch {
	case name == "up" && len(args) == 0:
		return up(ctx, o)
	case name == "oracle" && len(args) > 0:
		return testcluster.RunOracle(ctx, o.Dir, args...)
	}
	run, wants := map[string]func(*testcluster.Cluster) error{
		"down":   func(c *testcluster.Cluster) error { return c.Stop() },
		"status": status,
		"kill":   func(c *testcluster.Cluster) error { return c.Kill(args[0]) },
		"start":  func(c *testcluster.Cluster) error { return c.StartRole(ctx, args[0]) },
		"active": func(c *testcluster.Cluster) error { return c.Failover(ctx, args[0]) },
		"java":   func(c *testcluster.Cluster) error { return c.RunJava(ctx, args[0], args[1:]...) },
	}[name], map[string]int{"kill": 1, "start": 1, "active": 1, "java": 1}[name]
	if run == nil || len(args) < wants || len(args) > wants && name != "java" {
		return errUsage
	}
	c, err := testcluster.Open(ctx, o.Dir)
	if err != nil {
		return err
	}
	return run(c)
}

func up(ctx context.Context, o testcluster.Options) error {
	c, err := testcluster.Start(ctx, o)
	if err != nil {
		return err
	}
	fmt.Println(c.ConfDir())
	return nil
}

func status(c *testcluster.Cluster) error {
	fmt.Printf("%s\nports from %d, file system %s, conf %s\n", c.Dir, c.Port, c.FS(), c.ConfDir())
	return c.Alive()
}
