package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bulkload/cell"
	"bulkload/internal/hbase"
	"bulkload/internal/siteconf"
	"bulkload/internal/test/hbasetest"
	"bulkload/internal/test/testrand"
	"bulkload/internal/test/testwords"
	"bulkload/internal/throttle"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"
)

// These tests use a small server for what a real one does not do on demand.

// TestAnswersOfManyScans: at the lowest rate, all scans of a machine with many cores get an answer long before the
// leases of their scanners end.
func TestAnswersOfManyScans(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(60))
	r := newReader(nil, settings{scanBytes: 2 << 20})
	r.throttle(throttle.New(t.Context(), throttle.Minimum))
	if pause := r.limits.scanBytes * uint64(Scans()) / throttle.Minimum; Scans() != 120 || pause > longestPause || r.limits.scanBytes < 64<<10 {
		t.Errorf("%d scans read %d bytes each, in %d seconds", Scans(), r.limits.scanBytes, pause)
	}
}

// script is a region server that answers the requests of scans one after another, and notes them.
type script struct {
	*testing.T
	server *hbasetest.Server

	mu      sync.Mutex
	answers []hbasetest.Answer
	asked   []string
}

const scannerID = 77

// play serves the answers, and gives a reader that knows the server for that of the only region of table t.
func play(t *testing.T, answers ...hbasetest.Answer) (*script, *reader) {
	t.Helper()
	s := &script{T: t, answers: answers}
	s.server = hbasetest.Serve(t, s.answer)
	limits, err := readSettings(new(siteconf.Conf))
	if err != nil {
		t.Fatal(err)
	}
	all := newServers(&zooKeeper{quorum: quorum{servers: []string{closedPort(t)}}, parent: "/hbase"}, hbase.Options{User: "tina"})
	t.Cleanup(all.close)
	r := newReader(all, limits)
	r.locations.add("t", &Region{Name: []byte("t,,1.x."), Server: s.server.Addr})
	r.locations.add(metaTable, &Region{Name: metaRegion(metaTable), Server: s.server.Addr})
	return s, r
}

func (s *script) answer(r hbasetest.Request) hbasetest.Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	var request pb.ScanRequest
	switch r.Method {
	case "Scan":
		if err := proto.Unmarshal(r.Param, &request); err != nil {
			s.Error(err)
		}
	case "Get":
		s.asked = append(s.asked, "get")
	default:
		s.Errorf("method %s", r.Method)
	}
	switch {
	case request.Scan != nil && bytes.Equal(request.GetRegion().GetValue(), metaRegion(metaTable)):
		s.asked = append(s.asked, fmt.Sprintf("look %q", request.Scan.StartRow))
		return s.meta()
	case request.GetCloseScanner():
		s.asked = append(s.asked, fmt.Sprint("close ", request.GetScannerId()))
		return hbasetest.Answer{Param: marshal(s.T, &pb.ScanResponse{})}
	case request.GetScan().GetReversed():
		s.asked = append(s.asked, fmt.Sprintf("open %q back to %q", request.Scan.StartRow, request.Scan.StopRow))
	case request.Scan != nil:
		s.asked = append(s.asked, fmt.Sprintf("open %q", request.Scan.StartRow))
	case r.Method == "Scan":
		s.asked = append(s.asked, fmt.Sprint("next ", request.GetNextCallSeq()))
	}
	if len(s.answers) == 0 {
		return hbasetest.Answer{Silence: true}
	}
	a := s.answers[0]
	s.answers = s.answers[1:]
	return a
}

// meta is the row of hbase:meta for the region.
func (s *script) meta() hbasetest.Answer {
	info := marshal(s.T, &pb.RegionInfo{RegionId: proto.Uint64(1), TableName: &pb.TableName{Namespace: []byte("default"), Qualifier: []byte("t")}})
	var block []byte
	for _, column := range [][2]string{{"regioninfo", "PBUF" + string(info)}, {"server", s.server.Addr}, {"state", "OPEN"}} {
		block = hbasetest.AppendCell(block, &cell.Cell{Row: []byte("t,,1.x."), Family: []byte("info"), Qualifier: []byte(column[0]), Type: cell.Put, Value: []byte(column[1])})
	}
	return hbasetest.Answer{Param: marshal(s.T, &pb.ScanResponse{CellsPerResult: []uint32{3}, MoreResultsInRegion: proto.Bool(false)}), Cells: block}
}

// log is what was asked so far; it waits until so many requests have come.
func (s *script) log(n int) string {
	s.Helper()
	for range 500 {
		s.mu.Lock()
		asked := strings.Join(s.asked, ", ")
		got := len(s.asked)
		s.mu.Unlock()
		if got >= n {
			return asked
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.Fatalf("only these requests came: %q", s.asked)
	return ""
}

func marshal(t *testing.T, m proto.Message) []byte {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// part is an answer with cells "row/qualifier"; it ends within a row where partial, and in the region's end where not
// more.
func part(t *testing.T, more, partial bool, cells ...string) hbasetest.Answer {
	t.Helper()
	answer := &pb.ScanResponse{ScannerId: proto.Uint64(scannerID), MoreResults: proto.Bool(true), MoreResultsInRegion: &more}
	if len(cells) > 0 {
		answer.CellsPerResult, answer.PartialFlagPerResult = []uint32{uint32(len(cells))}, []bool{partial}
	}
	var block []byte
	for _, c := range cells {
		row, qualifier, _ := strings.Cut(c, "/")
		block = hbasetest.AppendCell(block, &cell.Cell{Row: []byte(row), Family: []byte("f"), Qualifier: []byte(qualifier), Timestamp: 1, Type: cell.Put})
	}
	return hbasetest.Answer{Param: marshal(t, answer), Cells: block}
}

func exception(class string) hbasetest.Answer {
	return hbasetest.Answer{Exception: "org.apache.hadoop.hbase." + class, Stack: "org.apache.hadoop.hbase." + class + ": because\n\tat x"}
}

// cells scans table t.
func cells(ctx context.Context, r *reader) (string, error) { return cellsOf(ctx, r, Range{}) }

func cellsOf(ctx context.Context, r *reader, of Range) (string, error) {
	var got []string
	s := scan{Range: of, reader: r, table: "t"}
	err := s.run(ctx, func(c *cell.Cell) error {
		got = append(got, name(c))
		return nil
	})
	return strings.Join(got, " "), err
}

// TestScanGoesOn: whatever becomes of a scanner, the next one begins after the last row, or in the row that was not
// whole, whose visited cells are passed over.
func TestScanGoesOn(t *testing.T) {
	for what, test := range map[string]struct {
		answers     []hbasetest.Answer
		want, asked string
	}{
		"lease ran out": {[]hbasetest.Answer{part(t, true, false, "a/1", "a/2", "b/1"), exception("UnknownScannerException"), part(t, false, false, "c/1")},
			"a/1 a/2 b/1 c/1", `open "", next 1, open "b\x00"`},
		"within a row": {[]hbasetest.Answer{part(t, true, true, "a/1", "a/2"), exception("exceptions.ScannerResetException"), part(t, false, false, "a/1", "a/2", "a/3", "b/1")},
			"a/1 a/2 a/3 b/1", `open "", next 1, open "a"`},
		"within a row, which has another column by now": {[]hbasetest.Answer{part(t, true, true, "a/1", "a/3"), exception("exceptions.OutOfOrderScannerNextException"), part(t, false, false, "a/2", "a/3", "a/4")},
			"a/1 a/3 a/4", `open "", next 1, open "a"`},
		"within a row, which is gone by now": {[]hbasetest.Answer{part(t, true, true, "a/1", "a/2"), exception("regionserver.LeaseException"), part(t, false, false, "b/1")},
			"a/1 a/2 b/1", `open "", next 1, open "a"`},
		"twice within a row": {[]hbasetest.Answer{part(t, true, true, "a/1", "a/2"), exception("UnknownScannerException"), part(t, true, true, "a/1"), exception("UnknownScannerException"), part(t, false, false, "a/1", "a/2", "a/3")},
			"a/1 a/2 a/3", `open "", next 1, open "a", next 1, open "a"`},
		"signs of life": {[]hbasetest.Answer{part(t, true, false), part(t, true, false), part(t, true, false, "a/1"), part(t, true, false), part(t, false, false, "b/1")},
			"a/1 b/1", `open "", next 1, next 2, next 3, next 4`},
		"connection lost": {[]hbasetest.Answer{part(t, true, false, "a/1"), {Hangup: true}, part(t, false, false, "b/1")},
			"a/1 b/1", `open "", next 1, look "t,a\x00,:", open "a\x00"`},
		"region moved": {[]hbasetest.Answer{exception("NotServingRegionException"), part(t, true, false, "a/1"), exception("exceptions.RegionMovedException"), part(t, false, false, "b/1")},
			"a/1 b/1", `open "", look "t,,:", open "", next 1, look "t,a\x00,:", open "a\x00"`},
		"scanner closed without a word": {[]hbasetest.Answer{part(t, true, false, "a/1"), {Param: marshal(t, &pb.ScanResponse{})}, part(t, false, false, "b/1")},
			"a/1 b/1", `open "", next 1, open "a\x00"`},
		"busy": {[]hbasetest.Answer{exception("CallQueueTooBigException"), exception("RegionTooBusyException"), part(t, false, false, "a/1")},
			"a/1", `open "", open "", open ""`},
		"an error of HDFS that passes": {[]hbasetest.Answer{exception("io.IOException"), part(t, false, false, "a/1")}, "a/1", `open "", open ""`},
		"no cell blocks": {[]hbasetest.Answer{{Param: marshal(t, &pb.ScanResponse{MoreResultsInRegion: proto.Bool(false), Results: []*pb.Result{{Cell: []*pb.Cell{
			{Row: []byte("a"), Family: []byte("f"), Qualifier: []byte("1")}, {Row: []byte("a"), Family: []byte("f"), Qualifier: []byte("2")}}}}})}}, "a/1 a/2", `open ""`},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s, r := play(t, test.answers...)
			got, err := cells(t.Context(), r)
			if asked := s.log(0); got != test.want || err != nil || asked != test.asked {
				t.Errorf("got %q, %v, asked %s\nwant %q, asked %s", got, err, asked, test.want, test.asked)
			}
		})
	}
}

// TestScanGivesUp: what will not pass ends a scan at once; what a server keeps answering ends it after some tries.
func TestScanGivesUp(t *testing.T) {
	for class, want := range map[string]struct {
		kind  error
		asked int
	}{
		"security.AccessDeniedException":            {ErrRefused, 1},
		"DoNotRetryIOException":                     {ErrRefused, 1},
		"ipc.FatalConnectionException":              {ErrRefused, 1},
		"TableNotFoundException":                    {ErrNotFound, 1},
		"regionserver.NoSuchColumnFamilyException":  {ErrNotFound, 1},
		"UnknownScannerException":                   {ErrUnavailable, maxFailures},
		"io.hfile.AnExceptionThatNobodyKnows":       {ErrUnavailable, maxFailures},
		"exceptions.OutOfOrderScannerNextException": {ErrUnavailable, maxFailures},
	} {
		t.Run(class, func(t *testing.T) {
			t.Parallel()
			var answers []hbasetest.Answer
			for range want.asked + 1 {
				answers = append(answers, exception(class))
			}
			s, r := play(t, answers...)
			_, err := cells(t.Context(), r)
			if err = classify(t.Context(), err); !errors.Is(err, want.kind) || !testwords.Names(err, "because") {
				t.Errorf("got %v", err)
			}
			if asked := strings.Count(s.log(0), "open"); asked != want.asked {
				t.Errorf("asked %d times", asked)
			}
		})
	}
}

// TestMalformedAnswerEndsTheScan: an answer that is not HBase's is not asked for again.
func TestMalformedAnswerEndsTheScan(t *testing.T) {
	cut := part(t, true, false, "a/1", "b/1")
	cut.Cells = cut.Cells[:30]
	s, r := play(t, cut, part(t, true, false, "c/1"))
	_, err := cells(t.Context(), r)
	if !errors.Is(err, hbase.ErrMalformed) {
		t.Errorf("got %v", err)
	}
	if asked := s.log(3); asked != `open "", next 1, close 77` {
		t.Errorf("asked %s", asked)
	}
}

// TestSilentServer: each request has a time limit, and all of them together, too.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits for two timeouts")
	}
	s, r := play(t)
	r.limits.idle, r.limits.call = 10*time.Second, time.Second // on a busy machine, a connection may take most of it
	if _, err := r.get(t.Context(), "t", &pb.Get{Row: []byte("a")}); !errors.Is(err, ErrUnavailable) {
		t.Errorf("get: %v", err)
	}
	if n := strings.Count(s.log(0), "get"); n < 2 {
		t.Errorf("%d requests", n)
	}
	if _, err := cells(t.Context(), r); !errors.Is(err, ErrUnavailable) {
		t.Errorf("scan: %v", err)
	}
}

// TestScanThatHasBegunIsPatient: a server that falls silent later may have died, which takes longer.
func TestScanThatHasBegunIsPatient(t *testing.T) {
	s, r := play(t, part(t, true, false, "a/1"), hbasetest.Answer{Silence: true}, hbasetest.Answer{Silence: true}, hbasetest.Answer{Silence: true},
		part(t, false, false, "b/1"))
	r.limits.idle, r.limits.call = 2*time.Second, time.Second // on a busy machine, an answer may take long
	got, err := cells(t.Context(), r)
	if got != "a/1 b/1" || err != nil {
		t.Errorf("got %s, %v; asked %s", got, err, s.log(0))
	}
}

// TestEndOfTimeNamesTheServer: a read whose caller gives it no more time says what it was waiting for.
func TestEndOfTimeNamesTheServer(t *testing.T) {
	t.Parallel()
	_, r := play(t)
	tries := r.newTries()
	tries.pause.next = lastWait // far longer than the context
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	err := tries.wait(ctx, &hbase.ConnError{Addr: "rs1:16020", Err: errors.New("refused")})
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "rs1:16020") {
		t.Error(err)
	}
}

// TestDeadConnectionIsReplaced: a connection on which answers no longer arrive, as where a firewall has forgotten it,
// is not asked again.
func TestDeadConnectionIsReplaced(t *testing.T) {
	s, r := play(t, hbasetest.Answer{Silence: true}, part(t, true, false, "a/1"), hbasetest.Answer{Silence: true}, part(t, false, false, "b/1"))
	r.limits.idle, r.limits.call = 3*time.Second, time.Second
	if _, err := r.getOnce(t.Context(), r.newTries(), "t", &pb.Get{Row: []byte("a")}); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	got, err := cells(t.Context(), r)
	if got != "a/1 b/1" || err != nil {
		t.Errorf("got %s, %v; asked %s", got, err, s.log(0))
	}
	if n := len(s.server.Connections()); n != 3 {
		t.Errorf("%d connections", n)
	}
}

// TestOverdueCallsReplaceTheirConnection: the same holds for calls of the master, and for probes.
func TestOverdueCallsReplaceTheirConnection(t *testing.T) {
	var silent atomic.Bool
	silent.Store(true)
	server := hbasetest.Serve(t, func(r hbasetest.Request) hbasetest.Answer {
		return hbasetest.Answer{Silence: silent.Load(), Param: marshal(t, &pb.MultiResponse{RegionActionResult: []*pb.RegionActionResult{
			{Exception: &pb.NameBytesPair{Name: proto.String("org.apache.hadoop.hbase.NotServingRegionException")}}}})}
	})
	c := unconnected(t)
	c.limits.call = 3 * time.Second // on a busy machine, a connection may take most of it
	table := &Table{Name: "t", Families: []Family{{Name: "f"}}, Regions: []Region{{Name: []byte("t,,1.x."), Server: server.Addr}}}
	if err := c.CheckRead(t.Context(), table, []string{"f"}); !errors.Is(err, ErrUnavailable) {
		t.Errorf("silent: %v", err)
	}
	silent.Store(false)
	if err := c.CheckRead(t.Context(), table, []string{"f"}); !errors.Is(err, ErrUnchecked) {
		t.Errorf("again: %v", err)
	}
	if n := len(server.Connections()); n != 2 {
		t.Errorf("%d connections", n)
	}
}

// TestScanIsCancelled: a cancelled scan ends while its server is silent, and its scanner is closed when that answers.
func TestScanIsCancelled(t *testing.T) {
	late := make(chan struct{})
	limits, err := readSettings(new(siteconf.Conf))
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan uint64, 1)
	server := hbasetest.Serve(t, func(request hbasetest.Request) hbasetest.Answer {
		var m pb.ScanRequest
		if err := proto.Unmarshal(request.Param, &m); err != nil {
			t.Error(err)
		}
		if m.GetCloseScanner() {
			closed <- m.GetScannerId()
			return hbasetest.Answer{}
		}
		if m.Scan == nil {
			<-late
		}
		return part(t, true, false, "a/1")
	})
	all := newServers(nil, hbase.Options{User: "tina"})
	t.Cleanup(all.close)
	r := newReader(all, limits)
	r.locations.add("t", &Region{Name: []byte("t,,1.x."), Server: server.Addr})
	ctx, cancel := context.WithCancel(t.Context())
	s := scan{reader: r, table: "t"}
	err = s.run(ctx, func(*cell.Cell) error {
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) { // returns at all, while the server is silent
		t.Errorf("got %v", err)
	}
	close(late)
	if id := <-closed; id != scannerID {
		t.Errorf("closed %d", id)
	}
	r.close()
}

// TestVisitorEndsTheScan: an error of the scan's user is given back as it is, and the scanner is closed.
func TestVisitorEndsTheScan(t *testing.T) {
	s, r := play(t, part(t, true, false, "a/1"), part(t, true, false, "b/1"))
	enough := errors.New("enough")
	walk := scan{reader: r, table: "t"}
	err := walk.run(t.Context(), func(*cell.Cell) error { return enough })
	var visited visitError
	if !errors.As(err, &visited) || visited.error != enough {
		t.Errorf("got %v", err)
	}
	if asked := s.log(3); asked != `open "", next 1, close 77` {
		t.Errorf("asked %s", asked)
	}
}

// TestRemedies: what is done about each failure.
func TestRemedies(t *testing.T) {
	remote := func(class string, doNotRetry bool) error {
		return &hbase.RemoteError{Class: "org.apache.hadoop.hbase." + class, DoNotRetry: doNotRetry}
	}
	for _, test := range []struct {
		err  error
		want remedy
	}{
		{nil, noRetry},
		{remote("NotServingRegionException", false), relocate},
		{remote("exceptions.RegionMovedException", false), relocate},
		{remote("exceptions.RegionOpeningException", false), relocate},
		{remote("regionserver.RegionServerStoppedException", false), relocate},
		{remote("regionserver.RegionServerAbortedException", false), relocate},
		{remote("ipc.ServerNotRunningYetException", false), relocate},
		{remote("RegionTooBusyException", false), backOff},
		{remote("CallQueueTooBigException", false), backOff},
		{remote("CallDroppedException", false), backOff},
		{remote("quotas.RpcThrottlingException", false), backOff},
		{remote("ipc.ServerTooBusyException", false), backOff},
		{remote("PleaseHoldException", false), backOff},
		{remote("RetryImmediatelyException", false), backOff},
		{remote("MasterNotRunningException", false), relocate},
		{remote("exceptions.MasterStoppedException", false), relocate},
		{remote("UnknownScannerException", true), reopenScanner},
		{remote("exceptions.OutOfOrderScannerNextException", true), reopenScanner},
		{remote("exceptions.ScannerResetException", true), reopenScanner},
		{remote("regionserver.LeaseException", true), reopenScanner},
		{remote("security.AccessDeniedException", false), noRetry},
		{remote("TableNotFoundException", false), noRetry},
		{remote("TableNotEnabledException", false), noRetry},
		{remote("ipc.FatalConnectionException", false), noRetry},
		{remote("DoNotRetryIOException", false), noRetry},
		{&hbase.RemoteError{Class: "java.net.ConnectException"}, backOff},
		{&hbase.RemoteError{Class: "org.apache.hadoop.ipc.StandbyException"}, backOff},
		{&hbase.RemoteError{Class: "org.apache.hadoop.hdfs.server.namenode.SafeModeException"}, backOff},
		{&hbase.RemoteError{Class: "org.apache.hadoop.security.AccessControlException"}, noRetry},
		{remote("Anything", true), noRetry},
		{remote("Anything", false), reopenScanner},
		{&hbase.ConnError{Err: errors.New("reset")}, relocate},
		{&hbase.ConnError{Err: context.DeadlineExceeded}, relocate},
		{&hbase.ConnError{Err: fmt.Errorf("%w: of 3 bytes", hbase.ErrMalformed)}, noRetry},
		{&hbase.ConnError{Err: context.Canceled}, noRetry},
		{&hbase.ConnError{Err: hbase.ErrScannerClosed}, reopenScanner},
		{fmt.Errorf("%w: ZooKeeper", ErrUnavailable), relocate},
		{errInTransition, relocate},
		{ErrNotFound, noRetry},
	} {
		if got := remedyOf(test.err); got != test.want {
			t.Errorf("%v: %d, want %d", test.err, got, test.want)
		}
	}
}

// TestLocations: a region takes the place of all that share rows with it.
func TestLocations(t *testing.T) {
	var l locations
	region := func(start, end string) *Region { return &Region{Start: []byte(start), End: []byte(end)} }
	find := func(row string) string {
		if r := l.find("t", []byte(row), false); r != nil {
			return string(r.Start) + "-" + string(r.End)
		}
		return "none"
	}
	check := func(what string, want ...string) {
		t.Helper()
		for i, row := range []string{"", "b", "f", "m", "p", "z"} {
			if got := find(row); got != want[i] {
				t.Errorf("%s: row %q is in %s, want %s", what, row, got, want[i])
			}
		}
	}
	check("empty", "none", "none", "none", "none", "none", "none")
	whole := region("", "")
	l.add("t", whole)
	check("one", "-", "-", "-", "-", "-", "-")
	l.add("t", region("f", "m"))
	check("a part", "none", "none", "f-m", "none", "none", "none")
	l.add("t", region("", "f"))
	last := region("p", "")
	l.add("t", last)
	check("with a gap", "-f", "-f", "f-m", "none", "p-", "p-")
	l.add("t", region("b", "n"))
	check("merged", "none", "b-n", "b-n", "b-n", "p-", "p-")
	l.drop("t", region("p", ""))
	check("another of the same rows", "none", "b-n", "b-n", "b-n", "p-", "p-")
	l.drop("t", last)
	check("dropped", "none", "b-n", "b-n", "b-n", "none", "none")
	if l.find("u", []byte("c"), false) != nil {
		t.Error("found in another table")
	}
	for row, want := range map[string]string{"": "none", "b": "none", "c": "b-n", "n": "b-n", "o": "none"} {
		found := "none"
		if r := l.find("t", []byte(row), true); r != nil {
			found = string(r.Start) + "-" + string(r.End)
		}
		if found != want {
			t.Errorf("before %q is %s, want %s", row, found, want)
		}
	}
	l.add("t", region("n", "p"))
	l.add("t", last)
	if r := l.find("t", []byte("n"), true); r == nil || string(r.Start) != "b" {
		t.Errorf("before a region is %v, want the one before it", r)
	}
	if l.find("t", nil, true) != last || l.find("t", []byte("p"), true) == last || l.find("t", []byte("q"), true) != last {
		t.Error("the last region is not before the end, or is before its first row")
	}
}

// TestManyLocations: a region is remembered without comparing it with all others. With 200,000 regions, that would take
// minutes.
func TestManyLocations(t *testing.T) {
	t.Parallel()
	const n = 200_000
	key := func(i int) []byte { return fmt.Appendf(nil, "%08d", i) }
	var l locations
	all := make([]*Region, n)
	for i := range all {
		all[i] = &Region{Start: key(i), End: key(i + 1)}
		l.add("t", all[i])
	}
	for i := range all {
		if l.find("t", key(i), false) != all[i] {
			t.Fatalf("region %d is not known", i)
		}
	}
	for _, r := range slices.Backward(all) {
		l.drop("t", r)
	}
	if left := len(l.tables["t"]); left != 0 {
		t.Errorf("%d regions are left", left)
	}
}

// TestRandomLocations: after each change, the known regions are those that share no rows with a later one, in order.
func TestRandomLocations(t *testing.T) {
	t.Parallel()
	r := testrand.New(t)
	var l locations
	var want []*Region
	for range 2_000 {
		a, b := r.IntN(20), r.IntN(21)
		next := &Region{}
		if a > 0 {
			next.Start = []byte{byte(a)}
		}
		if b > a {
			next.End = []byte{byte(b)}
		}
		want = slices.DeleteFunc(want, func(o *Region) bool {
			return (len(next.End) == 0 || bytes.Compare(o.Start, next.End) < 0) && (len(o.End) == 0 || bytes.Compare(next.Start, o.End) < 0)
		})
		want = append(want, next)
		slices.SortFunc(want, func(a, b *Region) int { return bytes.Compare(a.Start, b.Start) })
		l.add("t", next)
		if gone := r.IntN(2 * len(want)); gone < len(want) {
			l.drop("t", want[gone])
			want = slices.Delete(want, gone, gone+1)
		}
		if !slices.Equal(l.tables["t"], want) {
			t.Fatalf("after %v: %v, want %v", next, l.tables["t"], want)
		}
	}
}

// TestMalformedMeta: a row of hbase:meta that can't be parsed does not look like a table that is gone, or a region.
func TestMalformedMeta(t *testing.T) {
	t.Parallel()
	block := hbasetest.AppendCell(nil, &cell.Cell{Row: []byte("t,,1.x."), Family: []byte("info"), Qualifier: []byte("regioninfo"), Type: cell.Put, Value: []byte("none")})
	answer := hbasetest.Answer{Param: marshal(t, &pb.ScanResponse{CellsPerResult: []uint32{1}, MoreResultsInRegion: proto.Bool(false)}), Cells: block}
	server := hbasetest.Serve(t, func(hbasetest.Request) hbasetest.Answer { return answer })
	limits, err := readSettings(new(siteconf.Conf))
	if err != nil {
		t.Fatal(err)
	}
	all := newServers(nil, hbase.Options{User: "tina"})
	t.Cleanup(all.close)
	r := newReader(all, limits)
	r.locations.add(metaTable, &Region{Name: metaRegion(metaTable), Server: server.Addr})
	for what, look := range map[string]func() error{
		"one region": func() error { _, err := r.locate(t.Context(), "t", []byte("a"), false); return err },
		"all regions": func() error {
			_, err := r.regions(t.Context(), hbase.TableName{Namespace: "default", Qualifier: "t"})
			return err
		},
	} {
		err := look()
		if err == nil || errors.Is(err, ErrNotFound) || remedyOf(err) != noRetry || !testwords.Names(err, "t,,1.x.") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// movingMeta finds hbase:meta first on one server, and then on another.
type movingMeta struct {
	finder
	at []string
}

func (m *movingMeta) Meta(context.Context) (string, error) {
	addr := m.at[0]
	m.at = m.at[1:]
	return addr, nil
}

// TestMetaThatMoves: a server that no longer has hbase:meta is not asked again.
func TestMetaThatMoves(t *testing.T) {
	t.Parallel()
	var asked []string
	serve := func(name, exception string) string {
		return hbasetest.Serve(t, func(hbasetest.Request) hbasetest.Answer {
			asked = append(asked, name)
			return hbasetest.Answer{Exception: "org.apache.hadoop.hbase." + exception}
		}).Addr
	}
	limits, err := readSettings(new(siteconf.Conf))
	if err != nil {
		t.Fatal(err)
	}
	all := newServers(&movingMeta{at: []string{serve("old", "NotServingRegionException"), serve("new", "TableNotFoundException")}}, hbase.Options{User: "tina"})
	t.Cleanup(all.close)
	r := newReader(all, limits)
	for range 3 {
		if _, err := r.locate(t.Context(), "t", []byte("a"), false); err == nil {
			t.Error("no error")
		}
	}
	if !slices.Equal(asked, []string{"old", "new", "new"}) {
		t.Errorf("asked %v", asked)
	}
}

// metaAt finds hbase:meta on one server.
type metaAt struct {
	finder
	addr string
}

func (m metaAt) Meta(context.Context) (string, error) { return m.addr, nil }
