package testcluster

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// openedToPrograms are the packages of the JDK that Spark reaches into, beyond Hadoop's.
var openedToPrograms = strings.Fields(`
	java.base/java.lang.invoke java.base/java.util.concurrent.atomic java.base/sun.nio.cs java.base/sun.security.action java.base/sun.util.calendar`)

// Program is a Java program of another folder of this repository, a pom.xml and *.java at the top of files, that runs with
// its own jars before the cluster's, and the cluster's configuration. It is compiled once for a state of its files. The
// process is not started; it has the JVM's own choice of garbage collector and a heap such as 4g.
func (c *Cluster) Program(ctx context.Context, files fs.FS, heap, class string, args ...string) (*exec.Cmd, error) {
	pom, err := fs.ReadFile(files, "pom.xml")
	if err != nil {
		return nil, err
	}
	dir, err := cached("jars-"+hash(pom), func(dir string) error { return resolve(ctx, pom, ofCluster, dir) }, jarsPresent)
	if err != nil {
		return nil, err
	}
	jars, err := readClasspath(dir)
	if err != nil {
		return nil, err
	}
	classes, err := programClasses(ctx, files, pom, jars+string(os.PathListSeparator)+c.jars)
	if err != nil {
		return nil, err
	}
	flags := []string{"-Xmx" + heap, "-Dfile.encoding=UTF-8", "-Dlog4j.configuration=oracle.log4j.properties"}
	for _, p := range append(append([]string{}, opened...), openedToPrograms...) {
		flags = append(flags, "--add-opens="+p+"=ALL-UNNAMED")
	}
	cmd := exec.CommandContext(ctx, "java", append(append(flags, class), args...)...)
	classpath := []string{c.ConfDir(), classes, c.classes, jars, c.jars}
	cmd.Env = append(os.Environ(), "CLASSPATH="+strings.Join(classpath, string(os.PathListSeparator)), "LC_ALL=C.UTF-8")
	return cmd, nil
}

// programClasses gives the folder of a program's classes.
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
		if out, err := exec.CommandContext(ctx, "javac", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("compile %s: %w\n%s", strings.Join(names, ", "), err, out)
		}
		return os.WriteFile(filepath.Join(dir, "done"), nil, 0o644)
	}, done)
}
