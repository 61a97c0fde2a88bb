package hbase

import (
	"bytes"
	"testing"
)

// TestServerLoad reads a ServerLoad of two regions, with fields that nobody asks for between.
func TestServerLoad(t *testing.T) {
	var m message
	m.uint(1, 77)
	region := func(name string, files, mb, memstore uint64) {
		m.message(5, func(m *message) {
			m.message(1, func(m *message) {
				m.uint(1, 1)
				m.string(2, name)
			})
			m.uint(2, 1)
			m.uint(3, files)
			m.uint(4, 99)
			m.uint(5, mb)
			m.uint(6, memstore)
			m.uint(8, 12345)
		})
	}
	region("t,,1.a.", 3, 40, 5)
	region("t,5,1.b.", 0, 0, 0)
	loads, err := appendServerLoad(nil, m.bytes)
	if err != nil || len(loads) != 2 {
		t.Fatalf("%+v, %v", loads, err)
	}
	if l := loads[0]; !bytes.Equal(l.Region, []byte("t,,1.a.")) || l.StoreFiles != 3 || l.FileMB != 40 || l.MemstoreMB != 5 {
		t.Errorf("%+v", l)
	}
	if l := loads[1]; !bytes.Equal(l.Region, []byte("t,5,1.b.")) || l.StoreFiles != 0 {
		t.Errorf("%+v", l)
	}
	for cut := range m.bytes {
		_, _ = appendServerLoad(nil, m.bytes[:cut]) // an error or not, but no panic
	}
}
