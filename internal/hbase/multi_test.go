package hbase

import (
	"testing"

	"bulkload/cell"
	"bulkload/internal/test/hbasetest"
	"bulkload/internal/test/testwords"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"
)

// twoRegions are the reads of a call: two of the first region, one of the second.
// twoRegions asks for two reads of one region, and one of another.
func twoRegions() *pb.MultiRequest {
	return &pb.MultiRequest{RegionAction: []*pb.RegionAction{{Action: make([]*pb.Action, 2)}, {Action: make([]*pb.Action, 1)}}}
}

func result(index uint32, value string) *pb.ResultOrException {
	return &pb.ResultOrException{Index: proto.Uint32(index), Result: &pb.Result{Cell: []*pb.Cell{{Qualifier: []byte("q"), Timestamp: proto.Uint64(5),
		CellType: pb.CellType_PUT.Enum(), Value: []byte(value)}}}}
}

func exception(class string) *pb.NameBytesPair {
	return &pb.NameBytesPair{Name: proto.String(class), Value: []byte(class + ": why\n\tat somewhere")}
}

func reply(t testing.TB, cells []byte, results ...*pb.RegionActionResult) Reply {
	t.Helper()
	b, err := proto.Marshal(&pb.MultiResponse{RegionActionResult: results})
	if err != nil {
		t.Fatal(err)
	}
	return Reply{Message: b, Cells: cells}
}

// counted is a result whose cells are in the block.
func counted(index uint32, cells int32) *pb.ResultOrException {
	return &pb.ResultOrException{Index: proto.Uint32(index), Result: &pb.Result{AssociatedCellCount: &cells}}
}

func cellBlock(values ...string) []byte {
	var b []byte
	for _, v := range values {
		b = hbasetest.AppendCell(b, &cell.Cell{Row: []byte("r"), Family: []byte("f"), Qualifier: []byte("q"), Timestamp: 5, Type: cell.DeleteFamilyVersion, Value: []byte(v)})
	}
	return b
}

// TestMultiAnswersInABlock: cells of the block belong to the results in the order of the results, whatever their index.
func TestMultiAnswersInABlock(t *testing.T) {
	answers, err := parseMulti(reply(t, cellBlock("one", "two", "three"),
		&pb.RegionActionResult{ResultOrException: []*pb.ResultOrException{counted(1, 2), counted(0, 0)}},
		&pb.RegionActionResult{ResultOrException: []*pb.ResultOrException{counted(0, 1)}}), twoRegions())
	if err != nil {
		t.Fatal(err)
	}
	if a := answers[0][1].Cells; len(a) != 2 || string(a[0].Value) != "one" || string(a[1].Value) != "two" || a[0].Type != cell.DeleteFamilyVersion {
		t.Errorf("%+v", a)
	}
	if a, b := answers[0][0].Cells, answers[1][0].Cells; len(a) != 0 || len(b) != 1 || string(b[0].Value) != "three" || string(b[0].Qualifier) != "q" {
		t.Errorf("%+v, %+v", a, b)
	}
}

// TestMultiAnswers: answers come in any order; a read or a whole region may have an exception.
func TestMultiAnswers(t *testing.T) {
	answers, err := parseMulti(reply(t, nil,
		&pb.RegionActionResult{ResultOrException: []*pb.ResultOrException{result(1, "one"), {Index: proto.Uint32(0), Exception: exception("x.NotServingRegionException")}}},
		&pb.RegionActionResult{Exception: exception("x.AccessDeniedException")}), twoRegions())
	if err != nil {
		t.Fatal(err)
	}
	if a := answers[0][0]; !IsRemote(a.Err, "NotServingRegionException") || !testwords.Names(a.Err, "why") {
		t.Errorf("%+v", a)
	}
	if a := answers[0][1]; a.Err != nil || len(a.Cells) != 1 || string(a.Cells[0].Value) != "one" || a.Cells[0].Type != 4 || a.Cells[0].Timestamp != 5 {
		t.Errorf("%+v", a)
	}
	if a := answers[1][0]; !IsRemote(a.Err, "AccessDeniedException") {
		t.Errorf("%+v", a)
	}
}

// TestMultiAnswersRefused: an answer that lacks one for a read, or has two, is refused.
func TestMultiAnswersRefused(t *testing.T) {
	whole := &pb.RegionActionResult{ResultOrException: []*pb.ResultOrException{result(0, "a")}}
	for what, message := range map[string]Reply{
		"one region":      reply(t, nil, whole),
		"a read missing":  reply(t, nil, whole, whole),
		"a read twice":    reply(t, nil, &pb.RegionActionResult{ResultOrException: []*pb.ResultOrException{result(0, "a"), result(0, "b")}}, whole),
		"index too large": reply(t, nil, &pb.RegionActionResult{ResultOrException: []*pb.ResultOrException{result(0, "a"), result(2, "b")}}, whole),
		"no result": reply(t, nil, &pb.RegionActionResult{ResultOrException: []*pb.ResultOrException{result(0, "a"), {Index: proto.Uint32(1)}}},
			whole),
		"garbage":          {Message: []byte("\xff\xff\xff")},
		"cells missing":    reply(t, cellBlock("a"), &pb.RegionActionResult{ResultOrException: []*pb.ResultOrException{counted(0, 1), counted(1, 1)}}, whole),
		"cells left over":  reply(t, cellBlock("a", "b"), &pb.RegionActionResult{ResultOrException: []*pb.ResultOrException{counted(0, 1), counted(1, 0)}}, whole),
		"negative":         reply(t, cellBlock("a"), &pb.RegionActionResult{ResultOrException: []*pb.ResultOrException{counted(0, -1), counted(1, 0)}}, whole),
		"a cell cut short": reply(t, cellBlock("a")[:9], &pb.RegionActionResult{ResultOrException: []*pb.ResultOrException{counted(0, 1), counted(1, 0)}}, whole),
	} {
		if answers, err := parseMulti(message, twoRegions()); err == nil {
			t.Errorf("%s: %+v", what, answers)
		}
	}
}

// FuzzMultiAnswers: no answer of a server makes the parser panic, and an accepted one has an answer for each read.
func FuzzMultiAnswers(f *testing.F) {
	two := &pb.RegionActionResult{ResultOrException: []*pb.ResultOrException{result(0, "a"), result(1, "b")}}
	one := &pb.RegionActionResult{ResultOrException: []*pb.ResultOrException{result(0, "a")}}
	for _, r := range []Reply{
		reply(f, nil, two, one),
		reply(f, nil, two, &pb.RegionActionResult{Exception: exception("x.E")}),
		reply(f, cellBlock("a"), &pb.RegionActionResult{ResultOrException: []*pb.ResultOrException{counted(0, 1), counted(1, 0)}}, one),
	} {
		f.Add(r.Message, r.Cells)
	}
	f.Fuzz(func(t *testing.T, message, cells []byte) {
		answers, err := parseMulti(Reply{Message: message, Cells: cells}, twoRegions())
		if err == nil && (len(answers) != 2 || len(answers[0]) != 2 || len(answers[1]) != 1) {
			t.Errorf("%+v", answers)
		}
	})
}
