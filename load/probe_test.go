package load

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bulkload/cell"
	"bulkload/internal/errcode"
	"bulkload/internal/hbase"
	"bulkload/internal/test/hbasetest"
	"bulkload/internal/test/testwords"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"
)

// probeOf is the probe of a file's first row.
func (l *lab) probeOf(table string, f HFile) ProbeResult {
	l.Helper()
	findings, err := l.Probe(l.Context(), table, []HFile{f})
	if err != nil {
		l.Fatal(err)
	}
	return findings[0]
}

func (l *lab) wantServing(what, table string, f HFile, want Serving, why string) {
	l.Helper()
	if got := l.probeOf(table, f); got.Serving != want || !strings.Contains(got.Why, why) || (got.Why == "") != (want == Served) {
		l.Errorf("%s: %d, %q, want %d with %q", what, got.Serving, got.Why, want, why)
	}
}

// shell runs commands of HBase's own client, through the oracle.
func (l *lab) oracle(args ...string) {
	l.Helper()
	if _, err := l.real.Oracle(l.TB).Run(args...); err != nil {
		l.Fatal(err)
	}
}

// TestProbe: the open region shows whether it serves a file, and where it does not, why, as far as HBase still knows.
func TestProbe(t *testing.T) {
	l := newLab(t)
	table := l.newTable("m")
	f, other := l.write("1", "f", "a", "b", "c"), l.write("2", "f", "x", "y")
	l.wantServing("before the load", table, f, Missing, "cause unknown")
	if _, _, err := l.load(table, f, other); err != nil {
		t.Fatal(err)
	}
	l.wantServing("loaded", table, f, Served, "")
	l.wantServing("loaded into the second region", table, other, Served, "")
	changed := f
	changed.Probes = append([]Probe(nil), f.Probes...)
	changed.Probes[1].Value = SumValue([]byte("another"))
	l.wantServing("another value", table, changed, Missing, "another value")
	wrongFamily := f
	wrongFamily.Family = "g"
	l.wantServing("another family", table, wrongFamily, Missing, "cause unknown")
	if _, err := l.Probe(t.Context(), table, []HFile{{URI: "none"}}); err == nil {
		t.Error("a file without probes was judged")
	}
	if _, err := l.Probe(t.Context(), "nowhere", []HFile{f}); !errors.Is(err, ErrNotFound) {
		t.Errorf("no table: %v", err)
	}
	described, err := l.Table(t.Context(), table)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.CheckRead(t.Context(), described, []string{"f"}); err != nil {
		t.Error(err)
	}
}

// TestProbeNamesWhatHides: a delete marker, newer versions and a TTL are distinguished from a file that is missing.
func TestProbeNamesWhatHides(t *testing.T) {
	p := &prober{now: 5_000_000, families: []Family{{Name: "f", Attributes: map[string]string{"VERSIONS": "2", "TTL": "3000"}},
		{Name: "g", Attributes: map[string]string{"VERSIONS": "1", "TTL": "FOREVER"}}, {Name: "h"},
		{Name: "k", Attributes: map[string]string{"VERSIONS": "2", "TTL": "3000", "MIN_VERSIONS": "1"}}}}
	q, v := []byte("q"), []byte("v")
	put := func(ts int64, value string) cell.Cell {
		return cell.Cell{Qualifier: q, Timestamp: ts, Type: cell.Put, Value: []byte(value)}
	}
	marker := func(ts int64, typ cell.KeyType, qualifier string) cell.Cell {
		return cell.Cell{Qualifier: []byte(qualifier), Timestamp: ts, Type: typ}
	}
	type cells = []cell.Cell
	for i, c := range []struct {
		family  string
		ts      int64
		cell    cells
		newer   cells
		family0 cells
		want    Serving
		why     string
	}{
		{"f", 4_000_000, cells{put(4_000_000, "v")}, nil, nil, Served, ""},
		{"f", 4_000_000, nil, nil, nil, Missing, "cause unknown"},
		{"f", 4_000_000, cells{put(4_000_000, "w")}, nil, nil, Missing, "another value"},
		{"f", 4_000_000, nil, cells{put(4_000_001, "v")}, nil, Missing, "cause unknown"},
		{"f", 4_000_000, nil, cells{put(4_000_002, "v"), put(4_000_001, "v")}, nil, Superseded, "2 newer versions"},
		{"f", 4_000_000, cells{put(4_000_000, "v")}, cells{put(4_000_002, "v"), put(4_000_001, "v")}, nil, Served, ""},
		{"g", 4_000_000, nil, cells{put(4_000_001, "v")}, nil, Superseded, "the family keeps 1"},
		{"h", 4_000_000, nil, cells{put(4_000_001, "v")}, nil, Superseded, "the family keeps 1"},
		// the newer version is deleted
		{"g", 100, nil, cells{put(200, "v"), marker(200, 8, "q")}, nil, Missing, "cause unknown"},
		{"g", 100, nil, cells{put(200, "v")}, cells{marker(200, 10, "")}, Missing, "cause unknown"},
		{"g", 100, nil, cells{put(200, "v"), put(150, "v"), marker(150, 8, "q")}, nil, Superseded, "1 newer version"},
		{"f", 1_999_999, cells{put(1_999_999, "v")}, nil, nil, Expired, "TTL of 3000 s"},
		{"f", 2_000_001, cells{put(2_000_001, "v")}, nil, nil, Served, ""},
		{"k", 1_999_999, cells{put(1_999_999, "v")}, nil, nil, Served, ""},
		{"k", 1_999_999, cells{put(1_999_999, "v")}, cells{put(2_000_001, "v")}, nil, Expired, "TTL of 3000 s"},
		{"g", 1, cells{put(1, "v")}, nil, nil, Served, ""},
		{"g", 100, cells{put(100, "v"), marker(100, 8, "q")}, nil, nil, Deleted, "marker of timestamp 100"},
		{"g", 100, cells{put(100, "v")}, cells{marker(200, 8, "q")}, nil, Served, ""}, // of another version
		{"g", 100, cells{put(100, "v")}, cells{marker(200, 12, "q")}, nil, Deleted, "marker of timestamp 200"},
		{"g", 100, cells{put(100, "v")}, nil, cells{marker(200, 14, "")}, Deleted, "marker of timestamp 200"},
		{"g", 100, nil, nil, cells{marker(100, 14, "")}, Deleted, "marker of timestamp 100"},
		{"g", 100, cells{put(100, "v")}, nil, cells{marker(200, 10, "")}, Served, ""},
		{"g", 100, cells{put(100, "v")}, nil, cells{marker(200, 12, "")}, Served, ""}, // of the column without a name
	} {
		b := &Probe{Row: []byte("r"), Qualifier: q, Timestamp: c.ts, Type: byte(cell.Put), Value: SumValue(v)}
		got, why := p.cell(c.family, b, []hbase.GetAnswer{{Cells: c.cell}, {Cells: c.newer}, {Cells: c.family0}})
		if got != c.want || !strings.Contains(why, c.why) {
			t.Errorf("case %d: %d, %q, want %d with %q", i, got, why, c.want, c.why)
		}
		// One read for all of them gives the same.
		quick := &pendingProbe{Probe: b, family: c.family}
		decided, err := p.decide(quick, []hbase.GetAnswer{{Cells: slices.Concat(c.family0, c.newer, c.cell)}})
		if !decided || err != nil || quick.serving != got || quick.why != why {
			t.Errorf("case %d, one read: %v, %d, %q, %v", i, decided, quick.serving, quick.why, err)
		}
	}
}

// TestOneReadMayNotBeEnough: where the answer to the one read is full and the cell is not in it, nothing is decided.
func TestOneReadMayNotBeEnough(t *testing.T) {
	p := &prober{families: []Family{{Name: "f"}}}
	at := func(ts int64) cell.Cell {
		return cell.Cell{Qualifier: []byte("q"), Timestamp: ts, Type: cell.Put, Value: []byte("v")}
	}
	var newer []cell.Cell
	for i := range quickLimit {
		newer = append(newer, at(int64(200-i)))
	}
	for i, c := range []struct {
		cells   []cell.Cell
		decided bool
		want    Serving
	}{
		{newer, false, 0},
		{newer[1:], true, Superseded},
		{append(slices.Clone(newer[1:]), at(100)), true, Served},
	} {
		q := &pendingProbe{Probe: &Probe{Row: []byte("r"), Qualifier: []byte("q"), Timestamp: 100, Type: byte(cell.Put), Value: SumValue([]byte("v"))}, family: "f"}
		if decided, err := p.decide(q, []hbase.GetAnswer{{Cells: c.cells}}); decided != c.decided || err != nil || decided && q.serving != c.want {
			t.Errorf("case %d: %v, %d, %v", i, decided, q.serving, err)
		}
	}
}

// TestProbeAmongManyVersions: the cell is found among other columns, and below more newer versions than one read
// returns.
func TestProbeAmongManyVersions(t *testing.T) {
	l := newLab(t)
	table := l.newTable()
	var cells strings.Builder
	for _, column := range []string{"p", "q", "r"} {
		for ts := 1000 + 2*quickLimit; ts >= 1000; ts-- {
			fmt.Fprintf(&cells, "%x\tf\t%x\t%d\tPut\t%x\n", "a", column, ts, fmt.Sprint(column, ts))
		}
	}
	f := l.writeCells("1", "f", cells.String(), "a", "a")
	f.Probes = []Probe{{Row: []byte("a"), Qualifier: []byte("q"), Timestamp: 1000, Type: byte(cell.Put), Value: SumValue([]byte("q1000"))}}
	l.wantServing("before the load", table, f, Missing, "cause unknown")
	if _, _, err := l.load(table, f); err != nil {
		t.Fatal(err)
	}
	if o := l.count(func() { l.wantServing("loaded", table, f, Served, "") }); o.gets != 1+getsPerProbe {
		t.Errorf("%d gets", o.gets)
	}
	f.Probes[0].Timestamp, f.Probes[0].Value = 1010, SumValue([]byte("q1010"))
	if o := l.count(func() { l.wantServing("a newer version", table, f, Served, "") }); o.gets != 1 {
		t.Errorf("%d gets", o.gets)
	}
	f.Probes[0].Timestamp = 999
	l.wantServing("an older version", table, f, Superseded, "newer versions")
	l.oracle("delete", table, "a")
	f.Probes[0].Timestamp = 1000
	l.wantServing("deleted", table, f, Deleted, "row a")
}

// TestProbeSeesWhatIsHidden: on a real table, what a reader does not see any more is found with its reason.
func TestProbeSeesWhatIsHidden(t *testing.T) {
	l := newLab(t)
	table := l.newTable()
	f := l.write("1", "f", "a", "b")
	if _, _, err := l.load(table, f); err != nil {
		t.Fatal(err)
	}
	l.oracle("delete", table, "b")
	l.wantServing("a row deleted", table, f, Deleted, "row b")
	short := l.real.UniqueTable(t)
	if _, err := l.Create(t.Context(), short, []Family{{Name: "f", Attributes: map[string]string{"TTL": "100"}}}, nil); err != nil {
		t.Fatal(err)
	}
	old := l.write("2", "f", "a", "b")
	if _, _, err := l.load(short, old); err != nil {
		t.Fatal(err)
	}
	l.wantServing("a TTL", short, old, Expired, "TTL of 100 s")
}

// TestProbeOfManyFiles: the answers come in the order of the files, over many calls.
func TestProbeOfManyFiles(t *testing.T) {
	l := newLab(t)
	table := l.newTable("3", "6", "9")
	var rows []string
	for i := range 900 {
		rows = append(rows, fmt.Sprintf("%d%03d", i%10, i))
	}
	var sorted []string
	for d := range 10 {
		for i := d; i < 900; i += 10 {
			sorted = append(sorted, rows[i])
		}
	}
	var loads []HFile
	for i, r := range [][2]string{{"0", "3"}, {"3", "6"}, {"6", "9"}, {"9", "z"}} {
		var part []string
		for _, row := range sorted {
			if row >= r[0] && row < r[1] {
				part = append(part, row)
			}
		}
		loads = append(loads, l.write(fmt.Sprint(i), "f", part...))
	}
	if _, _, err := l.load(table, loads...); err != nil {
		t.Fatal(err)
	}
	var files []HFile
	for i, row := range rows {
		of := 0
		for row >= "369z"[of:of+1] {
			of++
		}
		p := Probe{Row: []byte(row), Qualifier: []byte("q"), Timestamp: 1000, Type: byte(cell.Put), Value: SumValue([]byte(row + " of " + fmt.Sprint(of)))}
		if i%7 == 0 {
			p.Timestamp++
		}
		files = append(files, HFile{Family: "f", URI: row, Probes: []Probe{p}})
	}
	findings, err := l.Probe(t.Context(), table, files)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range findings {
		if want := i%7 != 0; f.URI != rows[i] || (f.Serving == Served) != want {
			t.Errorf("file %d: %s %d (%s)", i, f.URI, f.Serving, f.Why)
		}
	}
}

// TestProbesAnsweredTwice: an answer that is discarded and asked for again does not make its file complete, while
// another probe of the file has no answer.
func TestProbesAnsweredTwice(t *testing.T) {
	var counted []int
	p := &prober{open: []int{2, 1}, watch: func(files int) { counted = append(counted, files) }}
	first, second, other := &pendingProbe{file: 0}, &pendingProbe{file: 0}, &pendingProbe{file: 1}
	for _, round := range [][]*pendingProbe{{first}, {first}, {first, second, other}, {second, other}} {
		p.count(round)
	}
	if !slices.Equal(counted, []int{2}) || p.open[0] != 0 || p.open[1] != 0 {
		t.Errorf("files complete: %v; probes without an answer: %v", counted, p.open)
	}
}

// TestCheckRead: a user who may not read a family is refused before anything is written, whether a read or the
// AccessController says so. Without an AccessController everybody may read; if the region has moved, it is not known.
func TestCheckRead(t *testing.T) {
	const denied, moved, none = "org.apache.hadoop.hbase.security.AccessDeniedException", "org.apache.hadoop.hbase.NotServingRegionException", "org.apache.hadoop.hbase.exceptions.UnknownProtocolException"
	for name, test := range map[string]struct {
		read, rights string // the exceptions
		want         error
	}{
		"read":                 {"", "", nil},
		"no AccessController":  {"", none, nil},
		"a read is refused":    {denied, "", ErrRefused},
		"cells would be hid":   {"", denied, ErrRefused},
		"the region has moved": {moved, "", ErrUnchecked},
		"it moves meanwhile":   {"", moved, ErrUnchecked},
	} {
		t.Run(name, func(t *testing.T) {
			server := hbasetest.Serve(t, func(r hbasetest.Request) hbasetest.Answer {
				if r.Method == "ExecService" {
					return hbasetest.Answer{Exception: test.rights, Stack: test.rights + ": because"}
				}
				result := &pb.RegionActionResult{ResultOrException: []*pb.ResultOrException{{Index: proto.Uint32(0), Result: &pb.Result{}}}}
				if test.read != "" {
					result = &pb.RegionActionResult{Exception: &pb.NameBytesPair{Name: proto.String(test.read), Value: []byte(test.read + ": because")}}
				}
				param, err := proto.Marshal(&pb.MultiResponse{RegionActionResult: []*pb.RegionActionResult{result}})
				if err != nil || r.Method != "Multi" {
					t.Error(r.Method, err)
				}
				return hbasetest.Answer{Param: param}
			})
			c := unconnected(t)
			err := c.CheckRead(t.Context(), &Table{Name: "t", Families: []Family{{Name: "f"}}, Regions: []Region{{Name: []byte("t,,1.x."), Server: server.Addr}}}, []string{"f"})
			if !errors.Is(err, test.want) || test.want == nil && err != nil {
				t.Errorf("%v, want %v", err, test.want)
			}
			if errors.Is(err, ErrRefused) && (errcode.Outermost(err) != errcode.HBasePermission ||
				!testwords.Names(err, "family f of table t", "grant 'tina', 'R', 't'")) {
				t.Error(err)
			}
		})
	}
}

// checked is a cluster with a table of one region. multi answers its n-th read; the first look-ups name a dead server.
func checked(t *testing.T, multi func(n int) hbasetest.Answer, dead int) *Cluster {
	t.Helper()
	c := unconnected(t)
	c.reader = newReader(c.servers, c.limits)
	s := &script{T: t}
	down := closedPort(t)
	var mu sync.Mutex
	looks, asked := 0, 0
	handle := func(r hbasetest.Request) hbasetest.Answer {
		mu.Lock()
		defer mu.Unlock()
		switch r.Method {
		case "Get": // table:state
			state := &cell.Cell{Row: []byte("t"), Family: []byte("table"), Qualifier: []byte("state"), Type: cell.Put, Value: []byte{8, 0}}
			return hbasetest.Answer{Param: marshal(t, &pb.GetResponse{Result: &pb.Result{AssociatedCellCount: proto.Int32(1)}}), Cells: hbasetest.AppendCell(nil, state)}
		case "GetTableDescriptors":
			name := &pb.TableName{Namespace: []byte("default"), Qualifier: []byte("t")}
			return hbasetest.Answer{Param: marshal(t, &pb.GetTableDescriptorsResponse{TableSchema: []*pb.TableSchema{
				{TableName: name, ColumnFamilies: []*pb.ColumnFamilySchema{{Name: []byte("f")}}}}})}
		case "Scan":
			a := s.meta()
			if looks++; looks <= dead {
				a = (&script{T: t, server: &hbasetest.Server{Addr: down}}).meta()
			}
			return a
		case "Multi":
			asked++
			return multi(asked)
		case "ExecService":
			return hbasetest.Answer{}
		}
		t.Error(r.Method)
		return hbasetest.Answer{}
	}
	s.server = hbasetest.Serve(t, handle)
	c.reader.locations.add(metaTable, &Region{Name: metaRegion(metaTable), Server: s.server.Addr})
	c.servers.finder = metaAt{addr: s.server.Addr}
	if _, err := c.servers.connect(t.Context(), server{s.server.Addr, hbase.MasterService}); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestEnsureReadIsPatient: a run that has sorted for hours waits for a region server's death, and asks again after an
// exception that may pass, as its look-ups do. What HBase forbids, or says for good, ends it at once.
func TestEnsureReadIsPatient(t *testing.T) {
	const denied, forbids, passing, moved = "org.apache.hadoop.hbase.security.AccessDeniedException", "org.apache.hadoop.hbase.DoNotRetryIOException", "java.io.IOException", "org.apache.hadoop.hbase.NotServingRegionException"
	for name, test := range map[string]struct {
		exception string
		times     int // the exception
		dead      int // look-ups that name a dead server
		outage    time.Duration
		want      error
	}{
		"allowed":                        {},
		"a dead server":                  {dead: 2},
		"a dead server, for good":        {dead: math.MaxInt, outage: 300 * time.Millisecond, want: ErrUnavailable},
		"an exception that passes":       {exception: passing, times: 2},
		"a region that moves":            {exception: moved, times: 2},
		"refused":                        {exception: denied, times: math.MaxInt, want: ErrRefused},
		"an exception that does not end": {exception: forbids, times: math.MaxInt, want: ErrRefused},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := checked(t, func(n int) hbasetest.Answer {
				result := &pb.RegionActionResult{ResultOrException: []*pb.ResultOrException{{Index: proto.Uint32(0), Result: &pb.Result{}}}}
				if n <= test.times {
					result = &pb.RegionActionResult{Exception: &pb.NameBytesPair{Name: proto.String(test.exception), Value: []byte(test.exception + ": because")}}
				}
				return hbasetest.Answer{Param: marshal(t, &pb.MultiResponse{RegionActionResult: []*pb.RegionActionResult{result}})}
			}, test.dead)
			if test.outage > 0 {
				c.limits.outage, c.limits.idle = test.outage, test.outage
			}
			err := c.EnsureRead(t.Context(), "t", []string{"f"})
			if !errors.Is(err, test.want) || test.want == nil && err != nil {
				t.Errorf("%v, want %v", err, test.want)
			}
		})
	}
}
