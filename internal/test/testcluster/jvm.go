package testcluster

import (
	"os"
	"os/exec"
	"slices"
	"strings"
)

// opened are packages of the JDK whose internals Hadoop and HBase use. Since version 17, Java must be told to open
// them.
var opened = strings.Fields(`
	java.base/java.io java.base/java.lang java.base/java.lang.reflect java.base/java.math java.base/java.net java.base/java.nio java.base/java.text
	java.base/java.util java.base/java.util.concurrent java.base/jdk.internal.misc java.base/jdk.internal.ref java.base/sun.nio.ch
	java.security.jgss/sun.security.krb5`)

var exported = strings.Fields(`java.base/jdk.internal.misc java.security.jgss/sun.security.krb5`)

// jvm is a Java program to start.
type jvm struct {
	heap       string   // as in -Xmx, such as 384m
	flags      []string // in place of the heap and the garbage collector
	classpath  []string // folders and jars, first found first
	properties []string // as in -D
	class      string
	args       []string
	env        []string
	brief      bool // too short to optimize: it starts with half the CPU time
}

// command returns the process, not started. The class path is in the environment, because it has many thousand
// characters, which would clutter every list of processes.
func (j jvm) command() *exec.Cmd {
	args := []string{"-Xmx" + j.heap, "-XX:+UseSerialGC"}
	if j.flags != nil {
		args = slices.Clone(j.flags)
	}
	args = append(args, "-Dfile.encoding=UTF-8")
	if j.brief {
		args = append(args, "-XX:TieredStopAtLevel=1")
	}
	for _, p := range opened {
		args = append(args, "--add-opens="+p+"=ALL-UNNAMED")
	}
	for _, p := range exported {
		args = append(args, "--add-exports="+p+"=ALL-UNNAMED")
	}
	for _, p := range j.properties {
		args = append(args, "-D"+p)
	}
	cmd := exec.Command("java", append(append(args, j.class), j.args...)...)
	cmd.Env = append(os.Environ(), "CLASSPATH="+strings.Join(j.classpath, string(os.PathListSeparator)), "LC_ALL=C.UTF-8")
	cmd.Env = append(cmd.Env, j.env...)
	return cmd
}
