package jobs

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bulkload/internal/test/livetest"
	"bulkload/internal/test/runtest"
	"bulkload/internal/test/testcluster"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/inspect/verify"
)

// clientOperation is one read or write of HBase's own clients.
type clientOperation struct {
	begun time.Time
	kind  string
	took  time.Duration
	error string // its class; "" if it succeeded
}

// clients are clients of HBase that read and write the table of a test.
type clients struct {
	stop   string // the file whose existence ends them
	answer chan string
	phases []clientPhase
}

// clientPhase is what happens while the clients work. It ends where the next one begins.
type clientPhase struct {
	name  string
	begun time.Time
}

// startClients returns when all of them have begun.
func startClients(t *testing.T, l *livetest.Live, number int) *clients {
	t.Helper()
	c := &clients{stop: filepath.Join(t.TempDir(), "stop"), answer: make(chan string, 1)}
	ready := filepath.Join(t.TempDir(), "ready")
	go func() {
		out, err := l.Oracle(t).Run("clients", l.Table, "f", fmt.Sprint(number), ready, c.stop)
		if err != nil {
			t.Error(err)
		}
		c.answer <- out
	}()
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if _, err := os.Stat(ready); err == nil {
			return c
		}
		if time.Now().After(end) {
			t.Fatal("the clients have not begun within a minute")
		}
	}
}

// phase begins the next phase.
func (c *clients) phase(name string) {
	c.phases = append(c.phases, clientPhase{name: name, begun: time.Now()})
}

// end stops the clients and returns what they did.
func (c *clients) end(t *testing.T) (all []clientOperation) {
	t.Helper()
	if err := os.WriteFile(c.stop, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSuffix(<-c.answer, "\n"), "\n") {
		field := strings.Split(line, "\t")
		if len(field) != 4 {
			t.Fatalf("the clients said %q", line)
		}
		begun, err1 := strconv.ParseInt(field[0], 10, 64)
		micros, err2 := strconv.ParseInt(field[2], 10, 64)
		if err1 != nil || err2 != nil {
			t.Fatalf("the clients said %q", line)
		}
		all = append(all, clientOperation{begun: time.UnixMilli(begun), kind: field[1], took: time.Duration(micros) * time.Microsecond, error: field[3]})
	}
	return all
}

// of are the operations that began in a phase.
func (c *clients) of(all []clientOperation, phase int) (some []clientOperation) {
	for _, o := range all {
		if !o.begun.Before(c.phases[phase].begun) && (phase+1 == len(c.phases) || o.begun.Before(c.phases[phase+1].begun)) {
			some = append(some, o)
		}
	}
	return some
}

// errorsOf counts the errors by their class.
func errorsOf(some []clientOperation) map[string]int {
	counts := map[string]int{}
	for _, o := range some {
		if o.error != "" {
			counts[o.error]++
		}
	}
	return counts
}

// latencies shows the median, the 99th percentile and the longest time of writes and of reads.
func latencies(some []clientOperation) string {
	var text []string
	for _, write := range []bool{true, false} {
		took := []time.Duration{}
		for _, o := range some {
			if (o.kind == "write") == write {
				took = append(took, o.took)
			}
		}
		slices.SortFunc(took, cmp.Compare[time.Duration])
		at := func(share float64) string {
			if len(took) == 0 {
				return "-"
			}
			return fmt.Sprintf("%.1f", took[int(share*float64(len(took)-1))].Seconds()*1000)
		}
		name := map[bool]string{true: "writes", false: "reads"}[write]
		text = append(text, fmt.Sprintf("%d %s: median %s, 99th percentile %s, longest %s ms", len(took), name, at(0.5), at(0.99), at(1)))
	}
	return strings.Join(text, "; ")
}

// TestClientsDuringALoad: 20 clients of HBase read and write a table while two regions split, and again while a load
// runs through two splits. The load gives the clients no error that the splits alone did not, and no wrong answer, and
// loads every row. BULKLOAD_ROWS=1000000 gives the figures of docs/performance.md.
func TestClientsDuringALoad(t *testing.T) {
	testcluster.OnlyIn(t, "chaos", "clients")
	rows, quiet := 100_000, 5*time.Second
	if n, err := strconv.Atoi(os.Getenv("BULKLOAD_ROWS")); err == nil {
		rows, quiet = n, 20*time.Second
	}
	l := livetest.New(t)
	l.Table10(t)
	l.Night(t, livetest.Night20, rows, 63)
	l.Night(t, livetest.Night21, rows, 64)
	runtest.Must(t, l.Job(t, livetest.Night20), l.Options()) // a region without rows would split at no cost

	c := startClients(t, l, 20)
	c.phase("before")
	time.Sleep(quiet)
	c.phase("two splits without a load")
	l.Ask(t, "split", l.Table, "15")
	l.Ask(t, "split", l.Table, "25")
	time.Sleep(quiet)
	c.phase("quiet again")
	time.Sleep(quiet)
	c.phase("files are written")
	o := l.Options()
	var staged, taken atomic.Int64
	o.Failpoint = func(p options.Point) {
		if p == options.Staging && staged.Add(1) == 1 {
			c.phase("files are loaded, through two splits")
			l.Ask(t, "split", l.Table, "85")
		}
		if p == options.FilesLoaded && taken.Add(1) == 1 {
			l.Ask(t, "split", l.Table, "95")
		}
	}
	s := runtest.Must(t, l.Job(t, livetest.Night21), o)
	c.phase("after")
	time.Sleep(quiet)
	all := c.end(t)

	if s.Status != failure.StatusDone || s.Counts.Written != int64(rows) || s.Load.Files < 12 {
		t.Errorf("%s: %v, %+v: the files were not cut", s.Status, s.Counts, s.Load)
	}
	c.report(t, all)
	for _, date := range []string{livetest.Night20, livetest.Night21} {
		if r, err := verify.Job(context.Background(), l.Job(t, date), l.Options(), false); err != nil {
			t.Errorf("%s: %+v, %v", date, r, err)
		}
	}
	l.WantNothing(t, "again", livetest.Night21)
}

// splitsAlone is the phase whose errors are HBase's own: none, unless the machine is overloaded.
const splitsAlone = 1

// report logs each phase, and fails if another phase has errors of a class that the splits alone did not give.
func (c *clients) report(t *testing.T, all []clientOperation) {
	t.Helper()
	without := errorsOf(c.of(all, splitsAlone))
	for i, phase := range c.phases {
		some := c.of(all, i)
		found := errorsOf(some)
		t.Logf("%s, for %.1f s: %s; errors %v", phase.name, c.until(i, all).Sub(phase.begun).Seconds(), latencies(some), found)
		if len(some) == 0 {
			t.Errorf("%s: the clients did nothing", phase.name)
		}
		for class, n := range found {
			if without[class] == 0 || class == "WrongAnswer" {
				t.Errorf("%s: %d of %d operations failed with %s", phase.name, n, len(some), class)
			}
		}
	}
}

// until is when a phase ended.
func (c *clients) until(phase int, all []clientOperation) time.Time {
	if phase+1 < len(c.phases) {
		return c.phases[phase+1].begun
	}
	return slices.MaxFunc(all, func(a, b clientOperation) int { return a.begun.Compare(b.begun) }).begun
}
