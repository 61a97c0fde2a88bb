package testcluster

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
)

// toolJVM is a Java program that uses a cluster (conf), or only files (conf is "").
func toolJVM(conf, classes, jars, class string, args []string) jvm {
	j := jvm{heap: "1500m", classpath: []string{classes, jars}, properties: []string{"log4j.configuration=oracle.log4j.properties"}, class: class, args: args}
	if conf != "" {
		j.classpath = append([]string{conf}, j.classpath...)
	}
	return j
}

const oracleClass = "oracle.Oracle"

// Oracle runs the commands of java/Oracle.java in a JVM, which starts with the first command and ends with this
// process. Many goroutines may use it: if all of its JVMs are busy, a command starts another one, up to oracleJVMs, or
// waits.
type Oracle struct {
	jvm   jvm
	turns chan struct{} // has an entry for each running command

	mu   sync.Mutex
	idle []*oracleProcess // the most recently used one last
}

// oracleJVMs is the largest number of JVMs of an oracle, because most commands wait for a cluster.
const oracleJVMs = 3

// newOracle makes an oracle that acts as a service if the cluster has Kerberos.
func newOracle(conf, classes, jars, service string) *Oracle {
	return &Oracle{
		jvm:   toolJVM(conf, classes, jars, oracleClass, []string{"serve"}).secured(conf, service),
		turns: make(chan struct{}, oracleJVMs),
	}
}

// Run runs a command of the oracle, such as "diff", a, b, and returns its output. The error is the oracle's; for diff
// and check it can also mean that there is a difference, which the output describes. Arguments contain neither TAB nor
// line break.
func (o *Oracle) Run(args ...string) (string, error) {
	for _, a := range args {
		if strings.ContainsAny(a, "\t\r\n") {
			return "", fmt.Errorf("oracle %s: an argument with a TAB or a line break: %q", args[0], a)
		}
	}
	o.turns <- struct{}{}
	defer func() { <-o.turns }()
	p, err := o.process()
	if err != nil {
		return "", fmt.Errorf("oracle: start the JVM: %w", err)
	}
	answer, failed, err := p.ask(strings.Join(args, "\t"))
	if err != nil {
		err = fmt.Errorf("oracle %s: the JVM has gone: %w\n%s", strings.Join(args, " "), err, p.stderr)
		p.kill()
		return answer, err
	}
	o.mu.Lock()
	o.idle = append(o.idle, p)
	o.mu.Unlock()
	if failed != "" {
		return answer, fmt.Errorf("oracle %s: %s", strings.Join(args, " "), failed)
	}
	return answer, nil
}

// process returns an idle JVM.
func (o *Oracle) process() (*oracleProcess, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if last := len(o.idle) - 1; last >= 0 {
		p := o.idle[last]
		o.idle = o.idle[:last]
		return p, nil
	}
	return startOracle(o.jvm)
}

// Close ends the JVMs once they are idle. A test process need not call it, because they end with the process.
func (o *Oracle) Close() (err error) {
	for range cap(o.turns) {
		o.turns <- struct{}{}
		defer func() { <-o.turns }()
	}
	for _, p := range o.idle {
		err = errors.Join(err, p.in.Close(), p.cmd.Wait())
	}
	o.idle = nil
	return err
}

// oracleProcess is one JVM of an oracle.
type oracleProcess struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr *tail
}

func startOracle(j jvm) (*oracleProcess, error) {
	p := &oracleProcess{cmd: j.command(), stderr: &tail{}}
	p.cmd.Stderr = p.stderr
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.in, p.out = in, bufio.NewReaderSize(out, 1<<16)
	return p, p.cmd.Start()
}

// ask sends a line and reads the answer up to ".ok" or ".err MESSAGE"; failed is that message.
func (p *oracleProcess) ask(line string) (answer, failed string, err error) {
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		return "", "", err
	}
	var b strings.Builder
	for {
		line, err := p.out.ReadString('\n')
		if err != nil {
			return b.String(), "", err
		}
		switch {
		case line == ".ok\n":
			return b.String(), "", nil
		case strings.HasPrefix(line, ".err "):
			return b.String(), strings.TrimSpace(line[len(".err "):]), nil
		}
		b.WriteString(strings.TrimPrefix(line, "."))
	}
}

func (p *oracleProcess) kill() {
	_ = p.in.Close()
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// tail keeps the end of the bytes written to it.
type tail struct {
	mu sync.Mutex
	b  []byte
}

const tailBytes = 8 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p...)
	if len(t.b) > tailBytes {
		t.b = bytes.Clone(t.b[len(t.b)-tailBytes:])
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return lastLines(string(t.b), tailLines)
}
