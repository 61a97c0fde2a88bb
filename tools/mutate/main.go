// Command mutate measures how many faults a package's tests notice: it draws mutants of the package, each with one
// wrong line, and runs tests with each of them. See usage.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

const usage = `usage: mutate [-n 40] [-seed N] [-least 85] [-p 1] DIR 'go test …'…

Draws n mutants of the package in the folder DIR, and runs the commands with each of them until one fails: the mutant is killed. Each
command is one call of go test; one that does not run the mutant's line is left out. A mutant whose line none of them runs is not reached.
The files of the package do not change. The exit code is 1 if less than -least percent of the mutants that are reached are killed. -seed
draws the same mutants again. -p tries so many at a time.
`

func main() {
	n := flag.Int("n", 40, "")
	seed := flag.Uint64("seed", rand.Uint64(), "")
	least := flag.Int("least", 85, "")
	parallel := flag.Int("p", 1, "")
	flag.Usage = func() { fmt.Fprint(os.Stderr, usage) }
	flag.Parse()
	if flag.NArg() < 2 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	enough, err := measure(ctx, os.Stdout, flag.Arg(0), flag.Args()[1:], *n, *seed, *least, *parallel)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
	}
	if err != nil || !enough {
		os.Exit(1)
	}
}

// measure prints a line for each mutant, and the sums. enough is the percentage of reached mutants that must be killed.
func measure(ctx context.Context, out io.Writer, dir string, commands []string, n int, seed uint64, least,
	parallel int) (enough bool, err error) {
	if dir, err = filepath.Abs(dir); err != nil {
		return false, err
	}
	temp, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	all, err := mutantsOf(dir, rand.New(rand.NewPCG(seed, 1)))
	if err != nil {
		return false, err
	}
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(out, format+"\n", args...) }
	say("%d lines of %s can be mutated; -seed %d", len(all), dir, seed)
	t, err := newTests(ctx, temp, dir, commands, parallel)
	if err != nil {
		return false, err
	}
	queue := make(chan *mutant, len(all))
	for _, m := range all {
		queue <- m
	}
	close(queue)
	var killed, missed int
	var survivors []string
	var mu sync.Mutex // guards the output and the sums
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(parallel, 1))
	for range n {
		group.Go(func() error {
			for m := range queue { // until one compiles
				by, err := t.try(ctx, m)
				if errors.Is(err, errNotCompiled) {
					continue
				}
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err != nil:
					return err
				case !t.reaches(m):
					missed++
					say("not reached  %v", m)
				case by == "":
					survivors = append(survivors, m.String())
					say("SURVIVED     %v", m)
				default:
					killed++
					say("killed       %v  by %s", m, by)
				}
				return nil
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return false, err
	}
	reached := killed + len(survivors)
	say("\n%d drawn, %d not reached, %d killed, %d survived: %d%% of those that are reached die\n%s",
		missed+reached, missed, killed, len(survivors), killed*100/max(reached, 1), strings.Join(survivors, "\n"))
	return killed*100 >= least*reached, nil
}

// tests are the commands that should notice a mutant.
type tests struct {
	temp, dir string
	commands  []string
	limits    []time.Duration
	covered   []map[string]map[int]bool // the lines that each command runs, by the file's name
}

// newTests runs the commands without a mutant, so many at a time. They must pass.
func newTests(ctx context.Context, temp, dir string, commands []string, parallel int) (*tests, error) {
	t := &tests{temp: temp, dir: dir, commands: commands}
	list := exec.CommandContext(ctx, "go", "list", "-f", "{{.ImportPath}}", ".")
	list.Dir = dir
	pkg, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list in %s: %w", dir, err)
	}
	t.limits, t.covered = make([]time.Duration, len(commands)), make([]map[string]map[int]bool, len(commands))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(parallel, 1))
	for i, command := range commands {
		group.Go(func() (err error) {
			profile := filepath.Join(temp, strconv.Itoa(i))
			begun := time.Now()
			if output, err := run(ctx, time.Hour, command, "-coverprofile="+profile+" -coverpkg="+
				strings.TrimSpace(string(pkg))); err != nil {
				return fmt.Errorf("%s fails without a mutant: %w\n%s", command, err, output)
			}
			t.limits[i] = time.Minute + 5*time.Since(begun) // the machine may be busier later
			t.covered[i], err = linesOf(profile)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return t, nil
}

// linesOf are the lines that were run according to a profile.
func linesOf(profile string) (map[string]map[int]bool, error) {
	f, err := os.Open(profile)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	covered := map[string]map[int]bool{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		name, place, ok := strings.Cut(lines.Text(), ".go:")
		var from, column, to, end, statements, count int
		if _, err := fmt.Sscanf(place, "%d.%d,%d.%d %d %d", &from, &column, &to, &end, &statements, &count); !ok ||
			err != nil || count == 0 {
			continue
		}
		name = filepath.Base(name + ".go")
		if covered[name] == nil {
			covered[name] = map[int]bool{}
		}
		for line := from; line <= to; line++ {
			covered[name][line] = true
		}
	}
	return covered, lines.Err()
}

// reaches reports whether one of the commands runs the mutant's line.
func (t *tests) reaches(m *mutant) bool { return slices.ContainsFunc(t.covered, m.isIn) }

var errNotCompiled = errors.New("the mutant is not compiled")

// try runs the commands that reach a mutant with it, until one fails, and returns that one.
func (t *tests) try(ctx context.Context, m *mutant) (by string, err error) {
	text, err := m.apply()
	if err != nil {
		return "", err
	}
	temp, err := os.MkdirTemp(t.temp, "mutant")
	if err != nil {
		return "", err
	}
	changed, overlay := filepath.Join(temp, "mutant.go"), filepath.Join(temp, "overlay.json")
	list, err := json.Marshal(map[string]map[string]string{"Replace": {m.file: changed}})
	if err == nil {
		err = errors.Join(os.WriteFile(changed, text, 0o600), os.WriteFile(overlay, list, 0o600))
	}
	if err != nil {
		return "", err
	}
	for i, command := range t.commands {
		if !m.isIn(t.covered[i]) {
			continue
		}
		output, err := run(ctx, t.limits[i], command, "-overlay="+overlay)
		switch {
		case ctx.Err() != nil:
			return "", ctx.Err()
		case bytes.Contains(output, []byte("[build failed]")):
			return "", errNotCompiled
		case err != nil:
			return command, nil
		}
	}
	return "", nil
}

// run runs a shell command with flags for go, in its own process group, which ends with it.
func run(ctx context.Context, limit time.Duration, command, flags string) (output []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", command)
	cmd.Env = append(os.Environ(), "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" "+flags))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	return cmd.CombinedOutput()
}
