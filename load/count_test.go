package load

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bulkload/internal/hbase"
	"bulkload/internal/test/hbasetest"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"
)

// operations counts what asking for files costs.
type operations struct {
	mu     sync.Mutex
	gets   int
	multis map[string]int // of each server
	scans  int64          // of all the table's regions in hbase:meta
}

// count counts what do asks for.
func (l *lab) count(do func()) *operations {
	o := &operations{multis: map[string]int{}}
	l.onProbeCall = func(server string, regions []hbase.RegionGets) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.multis[server]++
		for _, r := range regions {
			o.gets += len(r.Gets)
		}
	}
	before := l.reader.metaScans.Load()
	do()
	o.scans = l.reader.metaScans.Load() - before
	l.onProbeCall = nil
	return o
}

// want checks what n files in n regions may cost: gets for each file, calls of each server, and scans of hbase:meta.
func (o *operations) want(t *testing.T, what string, n, getsAFile, multis int, scans int64) {
	t.Helper()
	if o.gets > getsAFile*n || o.scans > scans {
		t.Errorf("%s of %d files: %d gets and %d scans of hbase:meta, want %d and %d", what, n, o.gets, o.scans, getsAFile*n, scans)
	}
	for server, calls := range o.multis {
		if calls > multis {
			t.Errorf("%s of %d files: %d calls of %s, want %d", what, n, calls, server, multis)
		}
	}
}

// TestCostOfProbes: a load asks for the known cells of each file before the first request and at its end, two here,
// which their regions answer in one call of each server. How often the table's regions are read does not depend on
// their number.
func TestCostOfProbes(t *testing.T) {
	l := newLab(t)
	for _, n := range []int{8, 16} {
		var splits []string
		var files []HFile
		for i := range n {
			row := fmt.Sprintf("%02d", i)
			if i > 0 {
				splits = append(splits, row)
			}
			files = append(files, l.write(fmt.Sprintf("%d-%02d", n, i), "f", row+"a", row+"b"))
		}
		name := l.newTable(splits...)
		again := make([]HFile, n) // the same rows with the same cells in other files
		for i, f := range files {
			again[i] = l.write(fmt.Sprintf("again-%d-%02d", n, i), "f", fmt.Sprintf("%02da", i), fmt.Sprintf("%02db", i))
			again[i].Probes = f.Probes
		}
		l.count(func() { l.mustLoad(name, files) }).want(t, "the load", n, 2, 1, 2)
		table, err := l.Table(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		probe := func() {
			answered := 0
			findings, err := l.ProbeTable(t.Context(), table, files, func(files int) { answered += files })
			if answered != n {
				t.Errorf("%d of %d files were counted as answered", answered, n)
			}
			for _, f := range findings {
				if f.Serving != Served {
					t.Error(f.String())
				}
			}
			if err != nil {
				t.Error(err)
			}
		}
		l.count(probe).want(t, "the probe", n, 2, 1, 1)
		l.count(func() { l.mustLoad(name, again) }).want(t, "the load of known rows", n, 2, 2, 3)
	}
}

func (l *lab) mustLoad(table string, files []HFile) {
	l.Helper()
	report, err := l.LoadFrom(l.Context(), l.fs, table, files, Hooks{})
	if err != nil || report.Files != len(files) {
		l.Fatal(report, err)
	}
}

// TestCallsAtATime: the probes of many files are no more calls at a time than the site files allow.
func TestCallsAtATime(t *testing.T) {
	t.Parallel()
	const most, calls = 2, 12
	var now, peak, all atomic.Int32
	server := hbasetest.Serve(t, func(hbasetest.Request) hbasetest.Answer {
		n := now.Add(1)
		defer now.Add(-1)
		for before := peak.Load(); n > before && !peak.CompareAndSwap(before, n); before = peak.Load() {
		}
		all.Add(1)
		time.Sleep(5 * time.Millisecond) // so that others would come meanwhile
		return hbasetest.Answer{Param: marshal(t, &pb.MultiResponse{RegionActionResult: []*pb.RegionActionResult{
			{Exception: &pb.NameBytesPair{Name: proto.String("org.apache.hadoop.hbase.NotServingRegionException")}}}})}
	})
	c := unconnected(t, "hbase.loadincremental.threads.max", fmt.Sprint(most))
	p := &prober{cluster: c, batchSize: 1, regions: []Region{{Name: []byte("t,,1.x."), Server: server.Addr}}, open: make([]int, calls)}
	var left []*pendingProbe
	for i := range calls {
		left = append(left, &pendingProbe{Probe: &Probe{Row: []byte("a")}, family: "f", file: i})
	}
	if answered, err := p.round(t.Context(), left); len(answered) > 0 || !isTransient(err) {
		t.Errorf("%d answers, %v", len(answered), err)
	}
	if all.Load() != calls || peak.Load() > most {
		t.Errorf("%d calls, %d at a time", all.Load(), peak.Load())
	}
}
