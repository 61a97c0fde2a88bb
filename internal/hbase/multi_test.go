package hbase

import (
	"strings"
	"testing"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"
)

// twoRegions are the reads of a call: two of the first region, one of the second.
func twoRegions() []RegionGets {
	return []RegionGets{{Region: []byte("a"), Gets: make([]RawGet, 2)}, {Region: []byte("b"), Gets: make([]RawGet, 1)}}
}

func result(index uint32, value string) *pb.ResultOrException {
	return &pb.ResultOrException{Index: proto.Uint32(index), Result: &pb.Result{Cell: []*pb.Cell{{Qualifier: []byte("q"), Timestamp: proto.Uint64(5),
		CellType: pb.CellType_PUT.Enum(), Value: []byte(value)}}}}
}

func exception(class string) *pb.NameBytesPair {
	return &pb.NameBytesPair{Name: proto.String(class), Value: []byte(class + ": why\n\tat somewhere")}
}

func marshalled(t testing.TB, results ...*pb.RegionActionResult) []byte {
	t.Helper()
	b, err := proto.Marshal(&pb.MultiResponse{RegionActionResult: results})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestMultiAnswers: answers come in any order; a read or a whole region may have an exception.
func TestMultiAnswers(t *testing.T) {
	answers, err := parseMulti(marshalled(t,
		&pb.RegionActionResult{ResultOrException: []*pb.ResultOrException{result(1, "one"), {Index: proto.Uint32(0), Exception: exception("x.NotServingRegionException")}}},
		&pb.RegionActionResult{Exception: exception("x.AccessDeniedException")}), twoRegions())
	if err != nil {
		t.Fatal(err)
	}
	if a := answers[0][0]; !IsRemote(a.Err, "NotServingRegionException") || !strings.Contains(a.Err.Error(), "why") {
		t.Errorf("%+v", a)
	}
	if a := answers[0][1]; a.Err != nil || len(a.Cells) != 1 || string(a.Cells[0].Value) != "one" || a.Cells[0].Type != 4 || a.Cells[0].Timestamp != 5 {
		t.Errorf("%+v", a)
	}
	if a := answers[1][0]; !IsRemote(a.Err, "AccessDeniedException") {
		t.Errorf("%+v", a)
	}
}

// TestMultiAnswersRefused: an answer that lacks one for a read, or has two, is not believed.
func TestMultiAnswersRefused(t *testing.T) {
	whole := &pb.RegionActionResult{ResultOrException: []*pb.ResultOrException{result(0, "a")}}
	for what, message := range map[string][]byte{
		"one region":      marshalled(t, whole),
		"a read missing":  marshalled(t, whole, whole),
		"a read twice":    marshalled(t, &pb.RegionActionResult{ResultOrException: []*pb.ResultOrException{result(0, "a"), result(0, "b")}}, whole),
		"index too large": marshalled(t, &pb.RegionActionResult{ResultOrException: []*pb.ResultOrException{result(0, "a"), result(2, "b")}}, whole),
		"no result": marshalled(t, &pb.RegionActionResult{ResultOrException: []*pb.ResultOrException{result(0, "a"), {Index: proto.Uint32(1)}}},
			whole),
		"garbage": []byte("\xff\xff\xff"),
	} {
		if answers, err := parseMulti(message, twoRegions()); err == nil {
			t.Errorf("%s: %+v", what, answers)
		}
	}
}

// FuzzMultiAnswers: no answer of a server makes the parser panic, and what it accepts has an answer for each read.
func FuzzMultiAnswers(f *testing.F) {
	two := &pb.RegionActionResult{ResultOrException: []*pb.ResultOrException{result(0, "a"), result(1, "b")}}
	one := &pb.RegionActionResult{ResultOrException: []*pb.ResultOrException{result(0, "a")}}
	f.Add(marshalled(f, two, one))
	f.Add(marshalled(f, two, &pb.RegionActionResult{Exception: exception("x.E")}))
	f.Fuzz(func(t *testing.T, message []byte) {
		answers, err := parseMulti(message, twoRegions())
		if err == nil && (len(answers) != 2 || len(answers[0]) != 2 || len(answers[1]) != 1) {
			t.Errorf("%+v", answers)
		}
	})
}
