package testcluster

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// RunJava is Java on this process's own input and output.
func (c *Cluster) RunJava(ctx context.Context, class string, args ...string) error {
	return attached(ctx, toolJVM(c.ConfDir(), c.classes, c.jars, class, args).secured(c.ConfDir(), "hdfs"))
}

// RunOracle runs one command of the oracle on this process's own input and output, with the configuration of the
// cluster in dir, if there is one.
func RunOracle(ctx context.Context, dir string, args ...string) error {
	jars, err := classpath(ctx, ofCluster)
	if err != nil {
		return err
	}
	classes, err := oracleClasses(ctx, jars, ofCluster)
	if err != nil {
		return err
	}
	conf := filepath.Join(dir, "conf")
	if _, err := os.Stat(filepath.Join(dir, stateFile)); errors.Is(err, fs.ErrNotExist) {
		conf = ""
	}
	return attached(ctx, toolJVM(conf, classes, jars, oracleClass, args).secured(conf, "hbase"))
}

// attached runs a Java program to its end on this process's input and output. A status other than 0 is an
// *exec.ExitError. HEAP in the environment sets the heap.
func attached(ctx context.Context, j jvm) error {
	if heap := os.Getenv("HEAP"); heap != "" {
		j.heap = heap
	}
	cmd := j.command()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	defer stop()
	return cmd.Wait()
}
