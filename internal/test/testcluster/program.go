package testcluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// openedToPrograms are the packages of the JDK whose internals Spark uses, in addition to Hadoop's.
var openedToPrograms = strings.Fields(`
	java.base/java.lang.invoke java.base/java.util.concurrent.atomic java.base/sun.nio.cs java.base/sun.security.action java.base/sun.util.calendar`)

// Program is a Java program in another folder of this repository, a pom.xml and *.java, if any, at the top of files. It
// runs with its own jars before the cluster's, and with the cluster's configuration. It is compiled once for each version of
// its files. The process is not started; it has the JVM's default garbage collector and a heap such as 4g.
func (c *Cluster) Program(ctx context.Context, files fs.FS, heap, class string, args ...string) (*exec.Cmd, error) {
	return program(ctx, files, []string{c.ConfDir()}, []string{c.classes, c.jars}, heap, class, args)
}

// Program is a Java program like that of Cluster.Program, without a cluster, for tests of data that Hadoop's classes
// and other programs write and read. The test is skipped, or fails if CI=true, only if this machine can't run Java.
func Program(t testing.TB, files fs.FS, heap, class string, args ...string) *exec.Cmd {
	t.Helper()
	jars, err := classpath(t.Context(), ofCluster)
	if errors.Is(err, errNoJava) {
		Without(t, err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	classes, err := oracleClasses(t.Context(), jars, ofCluster) // for its logging settings
	if err != nil {
		t.Fatal(err)
	}
	cmd, err := program(t.Context(), files, nil, []string{classes, jars}, heap, class, args)
	if errors.Is(err, errNoJava) {
		Without(t, err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	return cmd
}

// program returns the process of a program whose class path is first, its own classes and jars, and then last.
func program(ctx context.Context, files fs.FS, first, last []string, heap, class string, args []string) (*exec.Cmd, error) {
	pom, err := fs.ReadFile(files, "pom.xml")
	if err != nil {
		return nil, err
	}
	dir, err := cached("jars-"+hash(pom), func(dir string) error { return resolve(ctx, pom, ofCluster, nil, dir) }, jarsPresent)
	if err != nil {
		return nil, err
	}
	jars, err := readClasspath(dir)
	if err != nil {
		return nil, err
	}
	base := strings.Join(last, string(os.PathListSeparator))
	classes, err := programClasses(ctx, files, pom, jars+string(os.PathListSeparator)+base)
	if err != nil {
		return nil, err
	}
	flags := []string{"-Xmx" + heap, "-Dfile.encoding=UTF-8", "-Dlog4j.configuration=oracle.log4j.properties"}
	for _, p := range append(append([]string{}, opened...), openedToPrograms...) {
		flags = append(flags, "--add-opens="+p+"=ALL-UNNAMED")
	}
	cmd := exec.CommandContext(ctx, "java", append(append(flags, class), args...)...)
	classpath := append(append([]string{}, first...), classes, jars, base)
	cmd.Env = append(os.Environ(), "CLASSPATH="+strings.Join(classpath, string(os.PathListSeparator)), "LC_ALL=C.UTF-8")
	return cmd, nil
}

// programClasses returns the folder of a program's classes.
func programClasses(ctx context.Context, files fs.FS, pom []byte, classpath string) (string, error) {
	names, err := fs.Glob(files, "*.java")
	if err != nil {
		return "", err
	}
	content := [][]byte{pom}
	for _, name := range names {
		b, err := fs.ReadFile(files, name)
		if err != nil {
			return "", err
		}
		content = append(content, []byte(name), b)
	}
	done := func(dir string) bool { _, err := os.Stat(filepath.Join(dir, "done")); return err == nil }
	return cached("program-"+hash(content...), func(dir string) error {
		if err := os.CopyFS(filepath.Join(dir, "src"), files); err != nil {
			return err
		}
		args := []string{"-nowarn", "-encoding", "UTF-8", "-cp", classpath, "-d", dir}
		for _, name := range names {
			args = append(args, filepath.Join(dir, "src", name))
		}
		if len(names) > 0 {
			if out, err := exec.CommandContext(ctx, "javac", args...).CombinedOutput(); err != nil {
				return fmt.Errorf("compile %s: %w\n%s", strings.Join(names, ", "), err, out)
			}
		}
		return os.WriteFile(filepath.Join(dir, "done"), nil, 0o644)
	}, done)
}
