package hbase

import (
	"testing"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"
)

// TestServerLoad: HBase 2's RegionLoad has fields that gohbase's pb does not know.
func TestServerLoad(t *testing.T) {
	var m message
	m.uint(1, 77)
	region := func(name string, files, mb, memstore uint64) {
		m.message(5, func(m *message) {
			m.known(1, regionSpecifier([]byte(name)))
			m.uint(2, 1)
			m.uint(3, files)
			m.uint(4, 99)
			m.uint(5, mb)
			m.uint(6, memstore)
			m.uint(27, 3)
			m.uint(28, 12345)
		})
	}
	region("t,,1.a.", 3, 40, 5)
	region("t,5,1.b.", 0, 0, 0)
	var load pb.ServerLoad
	if err := proto.Unmarshal(m.bytes, &load); err != nil {
		t.Fatal(err)
	}
	loads := appendLoads(nil, &load)
	if len(loads) != 2 {
		t.Fatalf("%+v", loads)
	}
	if l := loads[0]; string(l.Region) != "t,,1.a." || l.StoreFiles != 3 || l.FileMB != 40 || l.MemstoreMB != 5 {
		t.Errorf("%+v", l)
	}
	if l := loads[1]; string(l.Region) != "t,5,1.b." || l.StoreFiles != 0 {
		t.Errorf("%+v", l)
	}
	for cut := range m.bytes {
		if proto.Unmarshal(m.bytes[:cut], &load) == nil {
			appendLoads(nil, &load) // must not panic
		}
	}
}
