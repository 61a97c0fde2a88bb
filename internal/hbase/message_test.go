package hbase

import (
	"context"
	"encoding/hex"
	"errors"
	"reflect"
	"strings"
	"testing"

	"bulkload/internal/test/hbasetest"
	"bulkload/internal/test/testwords"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"
)

// The messages built by hand are checked by gohbase's generated messages, which come from HBase's own .proto files.

func TestBulkLoadRequest(t *testing.T) {
	var m message
	r := &BulkLoadHFileRequest{
		Region: []byte("t,,1.x."), Bulk: "hdfs://n/s",
		Files: []FamilyPath{{Family: "f", Path: "hdfs://n/a"}, {Family: "g", Path: "hdfs://n/b"}},
		Token: &DelegationToken{Identifier: []byte("i"), Password: []byte("p"), Kind: "k", Service: "s"},
	}
	r.build(&m)
	var got pb.BulkLoadHFileRequest
	if err := proto.Unmarshal(m.bytes, &got); err != nil {
		t.Fatal(err)
	}
	if got.Region.GetType() != pb.RegionSpecifier_REGION_NAME || string(got.Region.Value) != "t,,1.x." || !got.GetAssignSeqNum() {
		t.Errorf("got %v", &got)
	}
	if len(got.FamilyPath) != 2 || string(got.FamilyPath[1].Family) != "g" || got.FamilyPath[1].GetPath() != "hdfs://n/b" {
		t.Errorf("files %v", got.FamilyPath)
	}
	// 4 fs_token and 5 bulk_token are newer than gohbase's file.
	want := "220c" + "0a0169" + "120170" + "1a016b" + "220173" + "2a0a" + hex.EncodeToString([]byte("hdfs://n/s"))
	if unknown := hex.EncodeToString(got.ProtoReflect().GetUnknown()); unknown != want {
		t.Errorf("fields 4 and 5: %s, want %s", unknown, want)
	}
}

func TestCreateTableRequest(t *testing.T) {
	var got pb.CreateTableRequest
	server := hbasetest.Serve(t, func(r hbasetest.Request) hbasetest.Answer {
		if err := proto.Unmarshal(r.Param, &got); err != nil || r.Method != "CreateTable" {
			t.Errorf("%s: %v", r.Method, err)
		}
		answer, _ := proto.Marshal(&pb.CreateTableResponse{ProcId: proto.Uint64(42)})
		return hbasetest.Answer{Param: answer}
	})
	schema := &TableSchema{
		Name:     TableName{"ns", "t"},
		Families: []FamilySchema{{Name: "f", Attributes: map[string]string{"TTL": "5", "COMPRESSION": "SNAPPY"}}, {Name: "g"}},
	}
	id, err := dial(t, server.Addr, Options{}).CreateTable(context.Background(), schema, [][]byte{{1}, {2, 0}}, Nonce{3, 4})
	if err != nil || id != 42 {
		t.Errorf("got %d, %v", id, err)
	}
	want := &pb.CreateTableRequest{
		TableSchema: &pb.TableSchema{
			TableName: &pb.TableName{Namespace: []byte("ns"), Qualifier: []byte("t")},
			ColumnFamilies: []*pb.ColumnFamilySchema{
				{Name: []byte("f"), Attributes: []*pb.BytesBytesPair{{First: []byte("COMPRESSION"), Second: []byte("SNAPPY")}, {First: []byte("TTL"), Second: []byte("5")}}},
				{Name: []byte("g")},
			},
		},
		SplitKeys: [][]byte{{1}, {2, 0}}, NonceGroup: proto.Uint64(3), Nonce: proto.Uint64(4),
	}
	if !proto.Equal(&got, want) {
		t.Errorf("got %v\nwant %v", &got, want)
	}
}

func TestTableDescriptor(t *testing.T) {
	answer, err := proto.Marshal(&pb.GetTableDescriptorsResponse{TableSchema: []*pb.TableSchema{{
		TableName:  &pb.TableName{Namespace: []byte("ns"), Qualifier: []byte("t")},
		Attributes: []*pb.BytesBytesPair{{First: []byte("A"), Second: []byte("1")}},
		ColumnFamilies: []*pb.ColumnFamilySchema{{
			Name:          []byte("f"),
			Attributes:    []*pb.BytesBytesPair{{First: []byte("BLOCKSIZE"), Second: []byte("1024")}},
			Configuration: []*pb.NameStringPair{{Name: proto.String("c"), Value: proto.String("d")}},
		}},
		Configuration: []*pb.NameStringPair{{Name: proto.String("x"), Value: proto.String("y")}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	server := hbasetest.Serve(t, func(r hbasetest.Request) hbasetest.Answer { return hbasetest.Answer{Param: answer} })
	c := dial(t, server.Addr, Options{})
	got, err := c.TableDescriptor(context.Background(), TableName{"ns", "t"})
	want := &TableSchema{
		Name: TableName{"ns", "t"}, Attributes: map[string]string{"A": "1", "x": "y"},
		Families: []FamilySchema{{Name: "f", Attributes: map[string]string{"BLOCKSIZE": "1024", "c": "d"}}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v\nwant %+v", got, err, want)
	}
	if other, err := c.TableDescriptor(context.Background(), TableName{"ns", "u"}); other != nil || err != nil {
		t.Errorf("of another table: %+v, %v", other, err)
	}
}

func TestProcedureResult(t *testing.T) {
	result := &pb.GetProcedureResultResponse{}
	server := hbasetest.Serve(t, func(r hbasetest.Request) hbasetest.Answer {
		answer, _ := proto.Marshal(result)
		return hbasetest.Answer{Param: answer}
	})
	c := dial(t, server.Addr, Options{})
	state := func(s pb.GetProcedureResultResponse_State) *pb.GetProcedureResultResponse_State { return &s }
	for _, test := range []struct {
		result *pb.GetProcedureResultResponse
		done   bool
		is     func(error) bool
		names  string
	}{
		{&pb.GetProcedureResultResponse{State: state(pb.GetProcedureResultResponse_RUNNING)}, false, nil, ""},
		{&pb.GetProcedureResultResponse{State: state(pb.GetProcedureResultResponse_FINISHED)}, true, nil, ""},
		{&pb.GetProcedureResultResponse{State: state(pb.GetProcedureResultResponse_NOT_FOUND)}, false,
			func(err error) bool { return errors.Is(err, errNoProcedure) }, "procedure 9"},
		{&pb.GetProcedureResultResponse{
			State: state(pb.GetProcedureResultResponse_FINISHED),
			Exception: &pb.ForeignExceptionMessage{GenericException: &pb.GenericExceptionMessage{
				ClassName: proto.String("org.apache.hadoop.hbase.TableExistsException"), Message: proto.String("ns:t"),
			}},
		}, true, func(err error) bool { return IsRemote(err, "TableExistsException") }, "ns:t"},
	} {
		result = test.result
		done, err := c.ProcedureDone(context.Background(), 9)
		good := err == nil && test.is == nil || err != nil && test.is != nil && test.is(err) &&
			testwords.Names(err, server.Addr, "getProcedureResult", test.names)
		if done != test.done || !good {
			t.Errorf("%v: got %v, %v, want %v, %s", test.result, done, err, test.done, test.names)
		}
	}
}

func TestRegionInfo(t *testing.T) {
	b, err := proto.Marshal(&pb.RegionInfo{
		RegionId: proto.Uint64(5), TableName: &pb.TableName{Namespace: []byte("n"), Qualifier: []byte("q")},
		StartKey: []byte{0}, EndKey: []byte{0xff}, Offline: proto.Bool(true), Split: proto.Bool(true), ReplicaId: proto.Int32(1),
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseRegionInfo(append([]byte("PBUF"), b...))
	want := &RegionInfo{ID: 5, Table: TableName{"n", "q"}, Start: []byte{0}, End: []byte{0xff}, Offline: true, Split: true, Replica: 1}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := ParseRegionInfo(b); err == nil {
		t.Error("no PBUF, no error")
	}
}

func TestTableState(t *testing.T) {
	for b, want := range map[string]TableState{"\x08\x00": Enabled, "\x08\x01": Disabled, "\x08\x02": Disabling, "\x08\x03": Enabling} {
		if got, err := ParseTableState([]byte(b)); got != want || err != nil {
			t.Errorf("%x: %v, %v", b, got, err)
		}
	}
	if _, err := ParseTableState(nil); err == nil {
		t.Error("an empty state is no error")
	}
}

func TestServerZNode(t *testing.T) {
	pbMaster, err := proto.Marshal(&pb.Master{Master: &pb.ServerName{HostName: proto.String("m1"), Port: proto.Uint32(16000), StartCode: proto.Uint64(1)}})
	if err != nil {
		t.Fatal(err)
	}
	znode := "\xff\x00\x00\x00\x03id1PBUF" + string(pbMaster)
	if got, err := ParseServerZNode([]byte(znode)); got != "m1:16000" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	for _, bad := range []string{"", "\xff", "x" + znode, znode[:10], "\xff\xff\xff\xff\xffPBUF", "\xff\x00\x00\x00\x00PBUF", "\xff\x00\x00\x00\x00PBUF\x0a\x03\x0a\x01h"} {
		if got, err := ParseServerZNode([]byte(bad)); err == nil {
			t.Errorf("%q gives %q", bad, got)
		}
	}
}

func TestTableNames(t *testing.T) {
	for name, want := range map[string]TableName{"t": {"default", "t"}, "default:t": {"default", "t"}, "ns:a.b-c_1": {"ns", "a.b-c_1"}} {
		got, err := ParseTableName(name)
		if got != want || err != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	for _, bad := range []string{"", ":", "a:", ":a", ".a", "-a", "a b", "a:b:c", "a,b", "ü", "n-s:t"} {
		if got, err := ParseTableName(bad); err == nil {
			t.Errorf("%q is %v", bad, got)
		}
	}
	if s := (TableName{"default", "t"}).String() + (TableName{"n", "t"}).String(); s != "tn:t" {
		t.Errorf("got %s", s)
	}
}

func TestReplicaNames(t *testing.T) {
	const region = "n:t,5,1700000000000.0123456789abcdef0123456789abcdef."
	name, err := ReplicaName([]byte(region), 10)
	if err != nil || !strings.HasPrefix(string(name), "n:t,5,1700000000000_000A.") || len(name) != len(region)+len("_000A") {
		t.Errorf("%q, %v", name, err)
	}
	for _, bad := range []string{"", "t,,1", ".0123456789abcdef0123456789abcdef", "0123456789abcdef0123456789abcdef."} {
		if name, err := ReplicaName([]byte(bad), 1); err == nil {
			t.Errorf("%q: %q", bad, name)
		}
	}
}

// FuzzMessages: no bytes make a parser panic, and a table's schema is written as it was read.
func FuzzMessages(f *testing.F) {
	f.Add([]byte("PBUF\x08\x05\x12\x06\x0a\x01n\x12\x01q\x1a\x01a\x22\x01b"))
	f.Add([]byte("\xff\x00\x00\x00\x03id1PBUF\x0a\x07\x0a\x02m1\x10\x80\x7d"))
	f.Add([]byte("\x0a\x06\x0a\x01n\x12\x01q\x12\x06\x0a\x01n\x12\x01q\x1a\x0b\x0a\x01n\x12\x06\x0a\x01n\x12\x01q"))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = ParseRegionInfo(b)
		_, _ = ParseServerZNode(b)
		_, _ = ParseTableState(b)
		_, _ = ReplicaName(b, 1)
		var m pb.TableSchema
		if proto.Unmarshal(b, &m) != nil {
			return
		}
		schema := tableSchema(&m)
		if again := tableSchema(schema.message()); !reflect.DeepEqual(again, schema) {
			t.Errorf("%+v became %+v", schema, again)
		}
	})
}

// FuzzAnswers: no bytes of an answer cause a panic.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte("\x0a\x04hdfs\x10\x01\x1d\x00\x00\x00\x00"))
	f.Add([]byte("\x0a\x02m1\x12\x0b\x0a\x01a\x12\x06a: why"))
	f.Fuzz(func(t *testing.T, b []byte) {
		total := 0
		err := fields(b, func(f field) { total += len(f.bytes) })
		if err == nil && total > len(b) {
			t.Errorf("%d bytes out of %d", total, len(b))
		}
		var refused pb.ForeignExceptionMessage
		if proto.Unmarshal(b, &refused) == nil {
			_ = foreignException(&refused).Error()
		}
		var exception pb.ExceptionResponse
		if proto.Unmarshal(b, &exception) == nil {
			_ = remoteError(&exception).Error()
		}
		var load pb.ServerLoad
		if proto.Unmarshal(b, &load) == nil && len(appendLoads(nil, &load)) > len(b) {
			t.Error("more regions than bytes")
		}
		var server pb.ServerName
		if proto.Unmarshal(b, &server) == nil {
			_, _ = serverName(&server)
		}
	})
}
