package yarn

import (
	"bufio"
	"context"
	"io"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"time"
)

// client is a running command of Hadoop, which prints the progress of a job.
type client struct {
	cmd    *exec.Cmd
	events func(event)
	debug  func(line string)

	mu    sync.Mutex
	last  []string // the last lines of its output
	said  string   // the reason that it gave for a failure
	ended chan struct{}
	err   error
}

// event is something that a client has printed.
type event struct {
	application string // the job's number with YARN
	tracking    string // the address of its page
	attempt     string // an attempt that failed,
	state       string // as FAILED or KILLED,
	diagnostics string // and why
	unknown     bool   // the client has lost the job: only YARN knows its state
}

// keptLines is how many lines of a client's output an error may quote.
const keptLines = 15

// outputDelay is how long the output of a command that has ended may stay open.
const outputDelay = 10 * time.Second

// start runs a command in its own process group, so that Ctrl-C does not reach it. The command ends with this process.
func start(cmd *exec.Cmd, events func(event), debug func(string)) (*client, error) {
	c := &client{cmd: cmd, events: events, debug: debug, ended: make(chan struct{})}
	r, w := io.Pipe()
	cmd.Stdout, cmd.Stderr = w, w
	cmd.WaitDelay = outputDelay
	detach(cmd)
	started := make(chan error)
	go func() {
		// The kernel ends the command when the thread that started it ends.
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		c.err = cmd.Wait()
		_ = w.Close() // never fails
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	go func() {
		c.read(r)
		close(c.ended)
	}()
	return c, nil
}

// wait returns the exit error of the command. If the context ends first, the command is killed.
func (c *client) wait(ctx context.Context) error {
	select {
	case <-c.ended:
	case <-ctx.Done():
		c.kill()
		<-c.ended
	}
	return c.err
}

// kill ends the command. The job continues.
func (c *client) kill() { end(c.cmd) }

// text returns the reason that the command gave for a failure, and the end of its output.
func (c *client) text() (said, last string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.said, strings.Join(c.last, "\n")
}

var (
	stampedLine = regexp.MustCompile(
		`^(?:\d{4}-\d\d-\d\d|\d\d/\d\d/\d\d) \d\d:\d\d:\d\d\S* \S+ (?:\[[^\]]*\] )?(?:\S+: )?(.*)$`)
	submitted   = regexp.MustCompile(`\b(?:application|job)_(\d+_\d+)\b`)
	trackingURL = regexp.MustCompile(`^The url to track the job: (\S+)`)
	endedTask   = regexp.MustCompile(`^Task Id : (attempt_\S+), Status : (FAILED|KILLED)`)
)

// reasons are the starts of lines that say why a submission failed.
var reasons = []string{"Error Launching job : ", "Exception in thread \"main\" ", "Job not successful. Error: ",
	"ERROR: ", "Error: ", "Streaming Command Failed!"}

// read parses the output, and passes its events on.
func (c *client) read(r io.Reader) {
	lines := bufio.NewReader(r)
	var open *event // the event to which the following diagnostics belong
	emit := func() {
		if open != nil {
			open.diagnostics = strings.TrimSpace(open.diagnostics)
			c.events(*open)
			open = nil
		}
	}
	defer emit()
	for {
		line, err := lines.ReadString('\n')
		line = strings.TrimRight(line, "\r\n")
		if line != "" {
			c.debug(line)
		}
		stamped := stampedLine.FindStringSubmatch(line)
		switch {
		case stamped != nil:
			emit()
			open = c.message(stamped[1])
		case open != nil && line != "" && !strings.HasPrefix(strings.TrimSpace(line), "at "):
			if len(open.diagnostics) < maxDiagnostics {
				open.diagnostics += line + "\n"
			}
		}
		if !strings.HasPrefix(strings.TrimSpace(line), "at ") {
			c.remember(line, stamped)
		}
		if err != nil {
			return
		}
	}
}

// maxDiagnostics bounds the bytes that are kept of an attempt's diagnostics.
const maxDiagnostics = 4 << 10

// message reads a line of the client's log. It returns an event if more lines belong to it.
func (c *client) message(text string) *event {
	if m := trackingURL.FindStringSubmatch(text); m != nil {
		c.events(event{tracking: m[1]})
		return nil
	}
	if m := endedTask.FindStringSubmatch(text); m != nil {
		return &event{attempt: m[1], state: m[2]}
	}
	switch {
	case strings.HasPrefix(text, "Submitted application ") || strings.HasPrefix(text, "Running job: "):
		if m := submitted.FindStringSubmatch(text); m != nil {
			c.events(event{application: "application_" + m[1]})
		}
	case strings.HasPrefix(text, "Application state is completed."):
		c.events(event{unknown: true})
	}
	return nil
}

// remember keeps a line for error messages.
func (c *client) remember(line string, stamped []string) {
	text := line
	if stamped != nil {
		text = stamped[1]
	}
	if text == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, start := range reasons {
		if strings.HasPrefix(text, start) && len(text) > len(start) {
			c.said = strings.TrimPrefix(text, start)
		}
	}
	if c.last = append(c.last, text); len(c.last) > keptLines {
		c.last = c.last[1:]
	}
}
