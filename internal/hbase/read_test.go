package hbase

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"bulkload/cell"
	"bulkload/internal/test/hbasetest"
	"bulkload/internal/test/testwords"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"
)

func marshal(t testing.TB, m proto.Message) []byte {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// cellMessage is a cell in the form of servers that send no blocks.
func cellMessage(value string) *pb.Cell {
	return &pb.Cell{Row: []byte("r"), Family: []byte("f"), Qualifier: []byte("q"), Timestamp: proto.Uint64(5), CellType: pb.CellType_PUT.Enum(), Value: []byte(value)}
}

// values reads a whole answer.
func values(s *Scanned) (string, error) {
	var all []string
	var c cell.Cell
	for {
		ok, err := s.Next(&c)
		if err != nil || !ok {
			return strings.Join(all, " "), err
		}
		all = append(all, string(c.Value))
	}
}

// TestScanned: cells come in a block or as messages, with the same result.
func TestScanned(t *testing.T) {
	yes, no := proto.Bool(true), proto.Bool(false)
	for what, test := range map[string]struct {
		message *pb.ScanResponse
		block   []byte
		want    string
		more    string // More, MoreInRegion, Partial
	}{
		"block":            {&pb.ScanResponse{CellsPerResult: []uint32{2, 1}, PartialFlagPerResult: []bool{false, true}, MoreResultsInRegion: yes}, cellBlock("a", "b", "c"), "a b c", "true true true"},
		"whole rows":       {&pb.ScanResponse{CellsPerResult: []uint32{2, 1}, PartialFlagPerResult: []bool{true, false}, MoreResultsInRegion: yes}, cellBlock("a", "b", "c"), "a b c", "true true false"},
		"end of a region":  {&pb.ScanResponse{CellsPerResult: []uint32{1}, MoreResults: yes, MoreResultsInRegion: no}, cellBlock("a"), "a", "true false false"},
		"end of the scan":  {&pb.ScanResponse{MoreResults: no, MoreResultsInRegion: yes}, nil, "", "false true false"},
		"sign of life":     {&pb.ScanResponse{ScannerId: proto.Uint64(7), MoreResultsInRegion: yes, HeartbeatMessage: yes}, nil, "", "true true false"},
		"messages":         {&pb.ScanResponse{Results: []*pb.Result{{Cell: []*pb.Cell{cellMessage("a"), cellMessage("b")}}, {}, {Cell: []*pb.Cell{cellMessage("c")}, Partial: yes}}, MoreResultsInRegion: yes}, nil, "a b c", "true true true"},
		"messages, filled": {&pb.ScanResponse{Results: []*pb.Result{{Cell: []*pb.Cell{cellMessage("a")}}}, MoreResultsInRegion: no}, nil, "a", "true false false"},
	} {
		s, err := parseScan(Reply{Message: marshal(t, test.message), Cells: test.block})
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		got, err := values(s)
		if more := fmt.Sprint(s.More, s.MoreInRegion, s.Partial); got != test.want || more != test.more || err != nil || s.Scanner != test.message.GetScannerId() {
			t.Errorf("%s: got %q, %s, %v, want %q, %s", what, got, more, err, test.want, test.more)
		}
	}
}

// TestScannedRefused: an answer with a different number of cells than it says is refused.
func TestScannedRefused(t *testing.T) {
	more := proto.Bool(true)
	for what, test := range map[string]struct {
		message []byte
		block   []byte
		want    string // of the error
	}{
		"too few": {marshal(t, &pb.ScanResponse{CellsPerResult: []uint32{2}, MoreResultsInRegion: more}),
			cellBlock("a"), errFewCells.Error()},
		"too many": {marshal(t, &pb.ScanResponse{CellsPerResult: []uint32{1}, MoreResultsInRegion: more}),
			cellBlock("a", "b"), errManyCells.Error()},
		"none said":  {marshal(t, &pb.ScanResponse{MoreResultsInRegion: more}), cellBlock("a"), errManyCells.Error()},
		"cut":        {marshal(t, &pb.ScanResponse{CellsPerResult: []uint32{2}, MoreResultsInRegion: more}), cellBlock("a", "b")[:50], "byte 28"},
		"both forms": {marshal(t, &pb.ScanResponse{CellsPerResult: []uint32{1}, Results: []*pb.Result{{}}, MoreResultsInRegion: more}), cellBlock("a"), "as messages"},
		"closed":     {nil, nil, ErrScannerClosed.Error()},
		"garbage":    {[]byte("\xff\xff"), nil, "proto"},
	} {
		s, err := parseScan(Reply{Message: test.message, Cells: test.block})
		if err == nil {
			_, err = values(s)
		}
		if !testwords.Names(err, test.want) {
			t.Errorf("%s: %v, want %q", what, err, test.want)
		}
	}
}

// TestGet: a row's cells in either form, over a connection; malformed ones are marked ErrMalformed.
func TestGet(t *testing.T) {
	answers := map[string]hbasetest.Answer{
		"block":    {Param: marshal(t, &pb.GetResponse{Result: &pb.Result{AssociatedCellCount: proto.Int32(2)}}), Cells: cellBlock("a", "b")},
		"messages": {Param: marshal(t, &pb.GetResponse{Result: &pb.Result{Cell: []*pb.Cell{cellMessage("a"), cellMessage("b")}}})},
		"nothing":  {},
		"too many": {Param: marshal(t, &pb.GetResponse{Result: &pb.Result{}}), Cells: cellBlock("a")},
	}
	server := hbasetest.Serve(t, func(r hbasetest.Request) hbasetest.Answer {
		var request pb.GetRequest
		if err := proto.Unmarshal(r.Param, &request); err != nil || r.Method != "Get" || string(request.Region.Value) != "t,,1.x." {
			t.Errorf("%s, %v, %v", r.Method, &request, err)
		}
		return answers[string(request.Get.Row)]
	})
	c := dial(t, server.Addr, Options{})
	for row, want := range map[string]string{"block": "[a b]", "messages": "[a b]", "nothing": "[]", "too many": "malformed"} {
		got, err := c.Get(context.Background(), []byte("t,,1.x."), &pb.Get{Row: []byte(row)})
		var cells []string
		for _, c := range got {
			cells = append(cells, string(c.Value))
		}
		text := fmt.Sprint(cells)
		if errors.Is(err, ErrMalformed) {
			text = "malformed"
		} else if err != nil {
			t.Error(err)
		}
		if text != want {
			t.Errorf("%s: got %s, %v, want %s", row, text, err, want)
		}
	}
}

// FuzzScanned: no answer to a scan makes the reader panic or loop forever.
func FuzzScanned(f *testing.F) {
	f.Add(marshal(f, &pb.ScanResponse{CellsPerResult: []uint32{2, 1}, PartialFlagPerResult: []bool{false, true}, MoreResultsInRegion: proto.Bool(true)}), cellBlock("a", "b", "c"))
	f.Add(marshal(f, &pb.ScanResponse{Results: []*pb.Result{{Cell: []*pb.Cell{cellMessage("a")}}}, MoreResultsInRegion: proto.Bool(true)}), []byte{})
	f.Add(marshal(f, &pb.GetResponse{Result: &pb.Result{AssociatedCellCount: proto.Int32(2)}}), cellBlock("a", "b"))
	f.Fuzz(func(t *testing.T, message, cells []byte) {
		reply := Reply{Message: message, Cells: cells}
		if row, err := parseGet(reply); err == nil && len(row) > len(message)+len(cells) {
			t.Errorf("%d cells", len(row))
		}
		s, err := parseScan(reply)
		if err != nil {
			return
		}
		var c cell.Cell
		for n := 0; ; n++ {
			if ok, err := s.Next(&c); !ok || err != nil {
				return
			}
			if n > len(message)+len(cells) {
				t.Fatal("more cells than bytes")
			}
		}
	})
}
