package hbase

import (
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"bulkload/internal/test/hbasetest"
	"bulkload/internal/test/testcluster"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// sentMessages are the classes of the messages that this package sends, in HBase's generated code.
var sentMessages = []string{"RPCProtos$ConnectionHeader", "RPCProtos$RequestHeader", "ClientProtos$GetRequest", "ClientProtos$ScanRequest",
	"ClientProtos$MultiRequest", "ClientProtos$BulkLoadHFileRequest", "ClientProtos$PrepareBulkLoadRequest", "ClientProtos$CleanupBulkLoadRequest",
	"ClientProtos$CoprocessorServiceRequest", "SecureBulkLoadProtos$PrepareBulkLoadRequest", "SecureBulkLoadProtos$SecureBulkLoadHFilesRequest",
	"SecureBulkLoadProtos$CleanupBulkLoadRequest", "AccessControlProtos$CheckPermissionsRequest", "MasterProtos$GetTableDescriptorsRequest",
	"MasterProtos$GetNamespaceDescriptorRequest", "MasterProtos$CreateNamespaceRequest", "MasterProtos$CreateTableRequest",
	"MasterProtos$GetClusterStatusRequest", "MasterProtos$MoveRegionRequest", "MasterProtos$GetProcedureResultRequest"}

var updateProtos = flag.Bool("update-protos", false, "write testdata/protos, with the jars of each version")

const protosFolder = "testdata/protos"

// TestProtosOfVersions: testdata/protos has the fields of these messages as each version of HBase has them.
func TestProtosOfVersions(t *testing.T) {
	testcluster.OnlyIn(t, "protos")
	for _, release := range []string{"1.2.12/2.10.2", "1.4.14/2.10.2", "1.7.2/2.10.2", "2.0.6/2.10.2", "2.1.4/2.10.2", "2.2.3/2.10.2", "2.3.6/2.10.2",
		"2.4.18", "2.5.12-hadoop3/3.3.6", "2.6.1-hadoop3/3.4.2", "3.0.0-alpha-4/3.4.2"} {
		version, _, _ := strings.Cut(release, "/")
		version = strings.TrimSuffix(version, "-hadoop3")
		got, err := testcluster.OlderJava(t, release).Run(append([]string{"protos"}, sentMessages...)...)
		if err != nil {
			t.Fatal(err)
		}
		got = strings.TrimSpace(got) + "\n"
		name := filepath.Join(protosFolder, version)
		if *updateProtos {
			if err := os.WriteFile(name, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(name); err != nil || got != string(want) {
			t.Errorf("%s has other fields than %s: %v; write it with -update-protos", version, name, err)
		}
	}
}

// knownFields are a version's fields: by message and path whether it is a message itself.
func knownFields(t *testing.T, version string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(protosFolder, version))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		known[words[0]+" "+words[1]] = words[2] == "{}"
	}
	return known
}

// skippedFields are fields that some version does not know, and skips, and why that does no harm.
var skippedFields = map[string]string{
	"RequestHeader 7":          "timeout: the server goes on with a call that nobody waits for, as HBase 1.2 does with its own clients",
	"CreateNamespaceRequest 2": "nonce_group: a repeated request finds that the namespace exists, which is no error",
	"CreateNamespaceRequest 3": "nonce: the same",
}

// TestSentFields: no request has a field that the version of HBase that it is for does not know.
func TestSentFields(t *testing.T) {
	t.Parallel()
	versions, err := os.ReadDir(protosFolder)
	if err != nil || len(versions) < 10 {
		t.Fatalf("%d versions, %v", len(versions), err)
	}
	for _, file := range versions {
		known := knownFields(t, file.Name())
		ways := []LoadWay{StagedLoad}
		if strings.HasPrefix(file.Name(), "1.") {
			ways = []LoadWay{EndpointLoad, PlainLoad}
		}
		for _, way := range ways {
			for _, sent := range sentRequests(t, way) {
				for _, unknown := range unknownFields(known, sent.message, "", sent.bytes) {
					if _, harmless := skippedFields[sent.message+" "+unknown]; harmless {
						continue
					}
					t.Errorf("%s: %s has the field %s, which it does not know", file.Name(), sent.message, unknown)
				}
			}
		}
	}
	// The comparison can fail: HBase 1 has no bulk tokens.
	old := knownFields(t, "1.4.14")
	for _, sent := range sentRequests(t, StagedLoad) {
		if unknown := unknownFields(old, sent.message, "", sent.bytes); sent.message == "BulkLoadHFileRequest" && len(unknown) == 0 {
			t.Error("HBase 2's request has no field that 1.4 does not know")
		}
	}
}

// unknownFields are the paths of a message's fields that are not known.
func unknownFields(known map[string]bool, message, path string, b []byte) (unknown []string) {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		size := protowire.ConsumeFieldValue(number, kind, b[n:])
		at := path + fmt.Sprint(number)
		nested, ok := known[message+" "+at]
		switch {
		case size < 0:
			return append(unknown, at+" (malformed)")
		case !ok:
			unknown = append(unknown, at)
		case nested:
			inner, _ := protowire.ConsumeBytes(b[n:])
			unknown = append(unknown, unknownFields(known, message, at+".", inner)...)
		}
		b = b[n+size:]
	}
	return unknown
}

// sentRequest is a message that was sent, and the name of its type.
type sentRequest struct {
	message string
	bytes   []byte
}

// sentRequests calls every method of Conn, with as many fields as it can have, and returns what was sent.
func sentRequests(t *testing.T, way LoadWay) (all []sentRequest) {
	t.Helper()
	server := hbasetest.Serve(t, func(r hbasetest.Request) hbasetest.Answer {
		all = append(all, sentRequest{strings.ToUpper(r.Method[:1]) + r.Method[1:] + "Request", r.Param}) // one call after another
		return hbasetest.Answer{Exception: "org.apache.hadoop.hbase.DoNotRetryIOException", DoNotRetry: true}
	})
	c := dial(t, server.Addr, Options{User: "tina"})
	table, region, nonce := TableName{"ns", "t"}, []byte("ns:t,,1.x."), Nonce{1, 2}
	columns := []*pb.Column{{Family: []byte("f"), Qualifier: [][]byte{[]byte("q")}}}
	token := &DelegationToken{[]byte("i"), []byte("p"), "k", "s"}
	scan := &pb.Scan{StartRow: []byte("a"), StopRow: []byte("b"), Column: columns, MaxResultSize: proto.Uint64(1), CacheBlocks: proto.Bool(false),
		Reversed: proto.Bool(true), TimeRange: &pb.TimeRange{From: proto.Uint64(0), To: proto.Uint64(1)}}
	raw := RawGet{Row: []byte("a"), Family: "f", Qualifier: []byte("q"), From: 0, To: 1, Markers: true, Limit: 1, KeysOnly: true}
	ctx := t.Context()
	calls := map[string]func(){
		"ActiveMaster": nil, // of HBase 2.5 and later only: see load.findServers
		"MetaServer":   nil,
		"Call":         nil,
		"Exchange":     nil,
		"BulkLoadHFile": func() {
			_, _ = c.BulkLoadHFile(ctx, &BulkLoadHFileRequest{way, region, []FamilyPath{{"f", "hdfs://n/f"}}, token, "hdfs://n/s"})
		},
		"CheckRead":       func() { _ = c.CheckRead(ctx, region, table, "f") },
		"CleanupBulkLoad": func() { _ = c.CleanupBulkLoad(ctx, way, "hdfs://n/s", region) },
		"ClusterStatus":   func() { _, _ = c.ClusterStatus(ctx) },
		"CreateNamespace": func() { _, _ = c.CreateNamespace(ctx, "ns", nonce) },
		"CreateTable": func() {
			schema := &TableSchema{Name: table, Families: []FamilySchema{{Name: "f", Attributes: map[string]string{"VERSIONS": "1"}}}}
			_, _ = c.CreateTable(ctx, schema, [][]byte{{1}}, nonce)
		},
		"Get":             func() { _, _ = c.Get(ctx, region, &pb.Get{Row: []byte("a"), Column: columns}) },
		"MoveRegion":      func() { _ = c.MoveRegion(ctx, "x", ServerName{"h", 1, 2}) },
		"NamespaceExists": func() { _, _ = c.NamespaceExists(ctx, "ns") },
		"PrepareBulkLoad": func() { _, _ = c.PrepareBulkLoad(ctx, way, table, region) },
		"ProcedureDone":   func() { _, _ = c.ProcedureDone(ctx, 1) },
		"TableDescriptor": func() { _, _ = c.TableDescriptor(ctx, table) },
		"MultiGet": func() {
			other := raw
			other.Markers, other.KeysOnly = false, false
			_, _ = c.MultiGet(ctx, []RegionGets{{region, []RawGet{raw, other}}})
		},
		"MultiRows": func() {
			row := RowGet{[]byte("a"), []FamilyColumns{{[]byte("f"), [][]byte{[]byte("q")}}}, 0, 1, true}
			_, _ = c.MultiRows(ctx, []RegionRows{{region, []RowGet{row}}})
		},
		"Scan": func() {
			for _, request := range []*pb.ScanRequest{OpenScanner(region, scan, 1), ScanOnce(region, scan, 1), NextOf(1, 1, 1), CloseOf(1)} {
				_, _ = c.Scan(ctx, request)
			}
		},
	}
	if way == PlainLoad { // which has no staging folder
		calls["PrepareBulkLoad"], calls["CleanupBulkLoad"] = nil, nil
	}
	for i := range reflect.TypeFor[*Conn]().NumMethod() {
		m := reflect.TypeFor[*Conn]().Method(i)
		call, ok := calls[m.Name]
		if takes := m.Type.NumIn() > 1 && m.Type.In(1).String() == "context.Context"; takes && !ok {
			t.Fatalf("what %s sends is not compared", m.Name)
		}
		if call != nil {
			call()
		}
	}
	for i, sent := range all {
		if sent.message != "ExecServiceRequest" {
			continue
		}
		all[i].message = "CoprocessorServiceRequest"
		var call pb.CoprocessorServiceRequest
		if err := proto.Unmarshal(sent.bytes, &call); err != nil {
			t.Fatal(err)
		}
		all = append(all, sentRequest{call.Call.GetMethodName() + "Request", call.Call.Request})
	}
	// The headers: a length of 4 bytes, and the message; a request's header has a length of its own.
	header, err := appendConnectionHeader(nil, ClientService, "tina")
	if err != nil {
		t.Fatal(err)
	}
	request, err := appendRequest(nil, 1, "Get", 1, []byte{1})
	if err != nil {
		t.Fatal(err)
	}
	inner, n := protowire.ConsumeBytes(request[4:])
	if n < 0 || binary.BigEndian.Uint32(header) != uint32(len(header)-4) {
		t.Fatal("the headers can't be read")
	}
	return append(all, sentRequest{"ConnectionHeader", header[4:]}, sentRequest{"RequestHeader", inner})
}
