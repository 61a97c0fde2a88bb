package csv

import (
	"strings"
	"testing"

	"bulkload/ingest"
	"bulkload/internal/test/testfs"
)

// TestNoAllocations: in a steady state a record costs no allocation, whatever is in it.
func TestNoAllocations(t *testing.T) {
	plain := form("a", "b", "c")
	gbk := with(plain, func(f *Form) { f.Charset = named(t, "gbk") })
	for _, c := range []struct {
		name, line string
		form       *Form
	}{
		{"plain", "1,x,\n", plain},
		{"quotes", "\"1\",\"say \"\"x\"\"\",\"line\nbreak\"\n", plain},
		{"gbk", "\xd6\xd0,\"\xd6\xd0\"\"\",x\n", gbk},
		{"gbk and bars", "\xd6\xd0|\"\x81\x7c\"\"\"|x\n", with(gbk, func(f *Form) { f.Delimiter = '|' })},
	} {
		content := strings.ReplaceAll("A,B,C\n", ",", string(c.form.Delimiter)) + strings.Repeat(c.line, 4*chunkSize/len(c.line))
		in, err := c.form.Open(testfs.Memory{Content: []byte(content)}, ingest.Split{File: ingest.SourceFile{Path: "/memory", Size: int64(len(content))}})
		if err != nil {
			t.Fatal(err)
		}
		n := testing.AllocsPerRun(100, func() {
			for range 1000 {
				if _, err := in.Next(); err != nil {
					t.Fatal(err)
				}
			}
		})
		if n > 0 {
			t.Errorf("%s: %v allocations in 1000 records", c.name, n)
		}
		in.Close()
	}
}
