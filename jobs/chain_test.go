package jobs

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bulkload/internal/test/livetest"
	"bulkload/internal/test/testcluster"
	"bulkload/internal/test/testfs"
	"bulkload/internal/test/testrand"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/run"
)

// The test below is HBase's IntegrationTestBulkLoad: each load adds a link to every chain. A load that is lost, or done
// in part, breaks chains.

const chainJob = `table: %[1]s
family: f
input: {path: 'in/${date}', format: delimited, columns: [id, chain, next, position], field_delimiter: '|'}
timestamp: ${date}
rowkey: id
query: [id]
regions: {from: table}
output: %[2]s/${date}
load: true
`

// chains are linked lists in a table: link i of chain c is a row with the row of link i-1.
type chains struct {
	*livetest.Live
	number int
	seed   uint64
	random *rand.Rand // decides what happens and when
}

// row is the row of a link: any of the table's, as likely as any other.
func (c *chains) row(chain, link int) string {
	if link < 0 {
		return ""
	}
	return fmt.Sprintf("%016x", rand.New(rand.NewPCG(c.seed+uint64(chain), uint64(link))).Uint64())
}

func dateOfLink(link int) string {
	return time.Date(2026, 1, 1+link, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
}

// export writes the input with a link of each chain.
func (c *chains) export(t *testing.T, link int) {
	t.Helper()
	var text strings.Builder
	for chain := range c.number {
		fmt.Fprintf(&text, "%s|%d|%s|%d\n", c.row(chain, link), chain, c.row(chain, link-1), link)
	}
	folder := filepath.Join(c.Folder, "in", dateOfLink(link))
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "part-m-00000"), []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// harm is something that happens once in a load, when a point is reached.
type harm struct {
	name string
	at   options.Point
	do   func(*testing.T, *chains, string) // with some row; beside the load
}

// deaths are what happens to a process of the cluster in each load. One at a time: without a server no load can go on.
var deaths = []harm{
	{name: "a server is killed", do: func(t *testing.T, c *chains, row string) { c.must(t, c.Kill(c.server(row))) }},
	{name: "a server sleeps past its session", do: func(t *testing.T, c *chains, row string) {
		server := c.server(row)
		c.must(t, c.Pause(server))
		time.Sleep((livetest.SessionMillis + 3000) * time.Millisecond)
		c.must(t, c.Resume(server))
	}},
	{name: masterKilled, do: func(t *testing.T, c *chains, _ string) { c.must(t, c.Kill("master")) }},
}

const masterKilled = "the master is killed"

// regionChanges are what happens to regions. What HBase refuses, such as the split of a region that has just split, is
// no failure.
var regionChanges = []harm{
	{name: "a region splits", do: func(t *testing.T, c *chains, row string) { c.try(t, "split", c.Table, row) }},
	{name: "regions merge", do: func(t *testing.T, c *chains, _ string) { c.merge(t) }},
	{name: "a region moves", do: func(t *testing.T, c *chains, row string) { c.try(t, "move", c.Table, row) }},
}

// must is for what can't fail, unless the server has ended by itself: one that wakes up after its session does.
func (c *chains) must(t *testing.T, err error) {
	switch {
	case errors.Is(err, testcluster.ErrNotRunning):
		t.Log(err)
	case err != nil:
		t.Error(err)
	}
}

// try runs a command of the oracle that may fail in such times.
func (c *chains) try(t *testing.T, args ...string) string {
	out, err := c.Oracle(t).Run(args...)
	if err != nil {
		t.Logf("%s: %v", strings.Join(args, " "), err)
	}
	return out
}

// server is one of the two, by a row's last digit.
func (c *chains) server(row string) string { return fmt.Sprintf("rs%d", 1+row[len(row)-1]%2) }

// merge merges the table's first two regions.
func (c *chains) merge(t *testing.T) {
	lines := strings.Split(c.try(t, "regions", c.Table), "\n")
	if len(lines) > 3 {
		c.try(t, "merge", c.Table, lines[0][:strings.IndexByte(lines[0], '\t')], lines[1][:strings.IndexByte(lines[1], '\t')])
	}
}

// points are reached by every load.
var points = []options.Point{options.Recorded, options.Staging, options.BeforeRequest, options.FilesLoaded}

// load loads a link of each chain, while a process of the cluster dies and a region changes. Every third load is killed
// first. It is run again until it is done, as a scheduler does.
func (c *chains) load(t *testing.T, link int) {
	t.Helper()
	date := dateOfLink(link)
	c.export(t, link)
	what := fmt.Sprintf("link %d", link)
	if link%3 == 2 {
		at := points[c.random.IntN(len(points))]
		killed, _ := c.Died(t, date, at, 1)
		what += fmt.Sprintf(", killed at %q: %v", at, killed)
	}
	o := c.Options()
	var happening sync.WaitGroup
	var happened [2]atomic.Bool
	planned := []harm{deaths[c.random.IntN(len(deaths))], regionChanges[c.random.IntN(len(regionChanges))]}
	if planned[0].name == masterKilled {
		planned = planned[:1] // it is the master that changes regions
	}
	var rows [2]string
	for i := range planned {
		planned[i].at = points[c.random.IntN(len(points))]
		rows[i] = fmt.Sprintf("%08x", c.random.Uint32())
		what += fmt.Sprintf(", at %q %s (%s)", planned[i].at, planned[i].name, rows[i])
	}
	o.Failpoint = func(p options.Point) {
		for i := range planned {
			if p == planned[i].at && happened[i].CompareAndSwap(false, true) {
				happening.Go(func() { planned[i].do(t, c, rows[i]) })
			}
		}
	}
	for tries := 1; ; tries++ {
		_, err := run.Job(context.Background(), nil, c.Job(t, date), o)
		happening.Wait()
		t.Logf("%s, try %d: %v", what, tries, err)
		if err == nil {
			break
		}
		if kind := failure.KindOf(err); kind != failure.Later || tries == 5 {
			t.Fatalf("%s: not done after %d tries: kind %d, %v", what, tries, kind, err)
		}
		if err := c.Revive(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Revive(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// walk follows every chain in the table from its last link to its first, and wants no other rows.
func (c *chains) walk(t *testing.T, links int) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "scanned")
	c.Ask(t, "scan", c.Table, "-o", out)
	cells := map[string]map[string]string{}
	lines := testfs.Lines(t, out)
	for _, line := range lines {
		field := strings.Split(line, "\t")
		row, err1 := hex.DecodeString(field[0])
		qualifier, err2 := hex.DecodeString(field[2])
		value, err3 := hex.DecodeString(field[5])
		if err1 != nil || err2 != nil || err3 != nil {
			t.Fatal(line)
		}
		if cells[string(row)] == nil {
			cells[string(row)] = map[string]string{}
		}
		cells[string(row)][string(qualifier)] = string(value)
	}
	if len(cells) != links*c.number || len(lines) != 4*len(cells) {
		t.Errorf("the table has %d rows and %d cells, want %d rows of 4", len(cells), len(lines), links*c.number)
	}
	for chain := range c.number {
		row, found := c.row(chain, links-1), 0
		for ; row != "" && found <= links; found++ {
			link := cells[row]
			if link["id"] != row || link["chain"] != fmt.Sprint(chain) || link["position"] != fmt.Sprint(links-1-found) {
				t.Fatalf("chain %d is broken at its row %s, %d links from its end: %q", chain, row, found, link)
			}
			row = link["next"]
		}
		if found != links {
			t.Errorf("chain %d has %d links, want %d", chain, found, links)
		}
	}
}

// TestChainsOfLoads: a few loads, or with BULKLOAD_MOMENTS as many as that says, each add a link to every chain.
// Meanwhile servers are killed or sleep, the master is killed, regions split, merge and move, and our process is
// killed. BULKLOAD_SEED repeats what happened and when.
func TestChainsOfLoads(t *testing.T) {
	l := livetest.NewFragile(t)
	random := testrand.New(t)
	c := &chains{Live: l, number: 500, seed: random.Uint64(), random: random}
	c.Table = "chains"
	c.Retarget(t)
	if err := os.WriteFile(filepath.Join(c.Folder, "check.yaml"), fmt.Appendf(nil, chainJob, c.Table, c.Out), 0o600); err != nil {
		t.Fatal(err)
	}
	c.Ask(t, "create", c.Table, "f", "2,4,6,8,a,c,e", "COMPRESSION=SNAPPY", "DATA_BLOCK_ENCODING=FAST_DIFF")
	links := livetest.Moments(t, 3)
	for link := range links {
		c.load(t, link)
	}
	c.walk(t, links)
	// The counts and the ledger agree with the table: every load has nothing left to do.
	for link := range links {
		if s, err := run.Job(context.Background(), nil, c.Job(t, dateOfLink(link)), c.Options()); err != nil || s.Status != failure.StatusNothing || s.Counts.Written != int64(c.number) {
			t.Errorf("link %d again: %s, %v, %v", link, s.Status, s.Counts, err)
		}
	}
}
