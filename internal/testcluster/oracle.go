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

// toolJVM is a Java program that uses a cluster (conf) or files alone (conf is "").
func toolJVM(conf, classes, jars, class string, args []string) jvm {
	j := jvm{heap: "1500m", classpath: []string{classes, jars}, properties: []string{"log4j.configuration=oracle.log4j.properties"}, class: class, args: args}
	if conf != "" {
		j.classpath = append([]string{conf}, j.classpath...)
	}
	return j
}

const oracleClass = "oracle.Oracle"

// Oracle runs the commands of java/Oracle.java in one JVM, which starts with the first and ends with this process. It may be used by many at once;
// commands run one after the other.
type Oracle struct {
	jvm jvm

	mu     sync.Mutex
	cmd    *exec.Cmd // nil where none runs
	in     io.WriteCloser
	out    *bufio.Reader
	stderr *tail
}

func newOracle(conf, classes, jars string) *Oracle {
	return &Oracle{jvm: toolJVM(conf, classes, jars, oracleClass, []string{"serve"}).secured(conf, "hbase")}
}

// Run runs a command of the oracle, such as "diff", a, b, and gives what it printed. The error is the oracle's, which for diff and check also means
// that something differs; the output then says what. Arguments hold neither TAB nor line break.
func (o *Oracle) Run(args ...string) (string, error) {
	for _, a := range args {
		if strings.ContainsAny(a, "\t\r\n") {
			return "", fmt.Errorf("oracle %s: an argument with a TAB or a line break: %q", args[0], a)
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.start(); err != nil {
		return "", fmt.Errorf("oracle: start the JVM: %w", err)
	}
	answer, failed, err := o.ask(strings.Join(args, "\t"))
	if err != nil {
		err = fmt.Errorf("oracle %s: the JVM has gone: %w\n%s", strings.Join(args, " "), err, o.stderr)
		o.stop()
		return answer, err
	}
	if failed != "" {
		return answer, fmt.Errorf("oracle %s: %s", strings.Join(args, " "), failed)
	}
	return answer, nil
}

// ask sends a line and reads the answer up to ".ok" or ".err MESSAGE"; failed is that message.
func (o *Oracle) ask(line string) (answer, failed string, err error) {
	if _, err := io.WriteString(o.in, line+"\n"); err != nil {
		return "", "", err
	}
	var b strings.Builder
	for {
		line, err := o.out.ReadString('\n')
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

func (o *Oracle) start() error {
	if o.cmd != nil {
		return nil
	}
	cmd := o.jvm.command()
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	errs := &tail{}
	cmd.Stderr = errs
	if err := cmd.Start(); err != nil {
		return err
	}
	o.cmd, o.in, o.out, o.stderr = cmd, in, bufio.NewReaderSize(out, 1<<16), errs
	return nil
}

// stop ends the JVM; the next Run starts another.
func (o *Oracle) stop() {
	_ = o.in.Close()
	_ = o.cmd.Process.Kill()
	_ = o.cmd.Wait()
	o.cmd = nil
}

// Close ends the JVM, if one runs. A test process need not: the JVM ends with it.
func (o *Oracle) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.cmd == nil {
		return nil
	}
	err := errors.Join(o.in.Close(), o.cmd.Wait())
	o.cmd = nil
	return err
}

// tail keeps the end of what is written to it.
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
