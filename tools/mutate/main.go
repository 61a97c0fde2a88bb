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
command is one call of go test for one package, of which only those tests are run that run the mutant's line in their own process. A
mutant whose line no test runs is not reached. The files of the package do not change. The exit code is 1 if less than -least percent of
the mutants that are reached are killed. -seed draws the same mutants again. -p tries so many at a time.
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

// tests are the commands that should notice a mutant, each with the tests that it runs.
type tests struct {
	temp, dir string
	commands  []string
	known     [][]test
}

// test is a test with what it did without a mutant.
type test struct {
	name  string
	took  time.Duration
	lines map[string]map[int]bool // that it runs, by the file's name
}

// each runs the tests of a test binary one by one, so many at a time, with a profile and a file with its seconds for each.
const each = `#!/usr/bin/env bash
binary=$1 pattern=.
shift
for flag; do case $flag in -test.run=*) pattern=${flag#*=} ;; esac; done
one() {
  begun=$(date +%s%N)
  "$@" -test.run="^$name\$" -test.coverprofile="$PROFILES/$name" || exit 1
  echo $(($(date +%s%N) - begun)) >"$PROFILES/$name.ns"
}
names=$("$binary" -test.list "$pattern" | grep -E '^(Test|Fuzz)')
for name in $names; do
  while [ "$(jobs -rp | wc -l)" -ge "$AT_ONCE" ]; do wait -n || exit 1; done
  one "$binary" "$@" &
done
while [ -n "$(jobs -rp)" ]; do wait -n || exit 1; done
for name in $names; do [ -e "$PROFILES/$name.ns" ] || exit 1; done
`

// newTests runs the tests of the commands without a mutant, so many at a time. They must pass.
func newTests(ctx context.Context, temp, dir string, commands []string, parallel int) (*tests, error) {
	t := &tests{temp: temp, dir: dir, commands: commands}
	list := exec.CommandContext(ctx, "go", "list", "-f", "{{.ImportPath}}", ".")
	list.Dir = dir
	pkg, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list in %s: %w", dir, err)
	}
	script := filepath.Join(temp, "each")
	if err := os.WriteFile(script, []byte(each), 0o700); err != nil {
		return nil, err
	}
	for i, command := range commands {
		profiles, files := filepath.Join(temp, strconv.Itoa(i)), filepath.Join(temp, strconv.Itoa(i), "files")
		if err := os.MkdirAll(files, 0o700); err != nil {
			return nil, err
		}
		output, err := run(ctx, time.Hour, command, "-exec="+script+" -cover -coverpkg="+strings.TrimSpace(string(pkg)),
			"PROFILES="+profiles, "AT_ONCE="+strconv.Itoa(3*parallel), // most wait for a cluster
			"TMPDIR="+files)
		if err != nil {
			return nil, fmt.Errorf("%s fails without a mutant: %w\n%s", command, err, output)
		}
		known, err := testsOf(profiles)
		if err != nil {
			return nil, err
		}
		t.known = append(t.known, known)
	}
	return t, nil
}

// testsOf are the tests whose profiles are in a folder.
func testsOf(profiles string) (all []test, err error) {
	times, err := filepath.Glob(filepath.Join(profiles, "*.ns"))
	if err != nil {
		return nil, err
	}
	for _, name := range times {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		took, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		if err != nil {
			return nil, err
		}
		profile := strings.TrimSuffix(name, ".ns")
		lines, err := linesOf(profile)
		if err != nil {
			return nil, err
		}
		all = append(all, test{filepath.Base(profile), time.Duration(took), lines})
	}
	return all, nil
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

// reaches reports whether one of the tests runs the mutant's line.
func (t *tests) reaches(m *mutant) bool {
	return slices.ContainsFunc(slices.Concat(t.known...), func(t test) bool { return m.isIn(t.lines) })
}

var errNotCompiled = errors.New("the mutant is not compiled")

// try runs the tests that reach a mutant with it, until one fails, and returns its command. Of each command those tests come first
// that take little time.
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
	defer func() { // servers that a test started are not of its process group
		_ = exec.Command("pkill", "-9", "-f", temp).Run()
		err = errors.Join(err, os.RemoveAll(temp))
	}()
	for i, command := range t.commands {
		for _, slow := range []bool{false, true} {
			var names []string
			limit := 3 * time.Minute // the machine may be busier now
			for _, test := range t.known[i] {
				if m.isIn(test.lines) && (test.took > 3*time.Second) == slow {
					names = append(names, test.name)
					limit += 2 * test.took
				}
			}
			if names == nil {
				continue
			}
			output, err := run(ctx, limit, fmt.Sprintf("%s -run '^(%s)$'", command, strings.Join(names, "|")), "-overlay="+overlay,
				"TMPDIR="+temp)
			switch {
			case ctx.Err() != nil:
				return "", ctx.Err()
			case bytes.Contains(output, []byte("[build failed]")):
				return "", errNotCompiled
			case err != nil:
				return command, nil
			}
		}
	}
	return "", nil
}

// run runs a shell command with flags for go, in its own process group, which ends with it.
func run(ctx context.Context, limit time.Duration, command, flags string, env ...string) (output []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", command)
	cmd.Env = append(append(os.Environ(), env...), "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" "+flags))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	return cmd.CombinedOutput()
}
