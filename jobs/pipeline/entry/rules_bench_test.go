package entry

import (
	"strings"
	"testing"

	"bulkload/cell"
	"bulkload/ingest"
	"bulkload/internal/digest"
	"bulkload/internal/test/testvalues"
	"bulkload/jobs/spec/jobfile"
)

// ruleBenchColumns and ruleBenchFields are a record of 18 columns, as the check table has them.
const ruleBenchColumns = "id, check_id, rule_no, rule_type, rule_desc, hit_flag, deleted, score, created_at, updated_at, operator, city, result, amount, ext_info, version, comments, remark"

var ruleBenchFields = []string{"59C100A2B3C4D501ECE053C5013807B6", "A208849559", "230", "ABCD", "规则02", "Y", "0", "360", "2014-04-17 18:08:21.0", "2021-12-05 14:05:48.0",
	"sys", "北京", "PASS", "55616.77", "", "V2", "复核 pending", "remark"}

// ruleBenches are rules from none to all.
var ruleBenches = []struct{ name, rules string }{
	{"none", ""},
	{"constant", "columns_map: {src: {constant: oracle}}"},
	{"checked", "columns_map: {score: {type: int32}, amount: {type: decimal}, created_at: {type: timestamp}, hit_flag: {type: boolean}}"},
	{"binary", "columns_map: {score: {type: int32, store: binary}, amount: {type: decimal, store: binary}, created_at: {type: timestamp, zone: Asia/Shanghai, store: binary}, hit_flag: {type: boolean, store: binary}}"},
	{"timestamp", "timestamp: column:updated_at\ncolumns_map: {updated_at: {type: timestamp, zone: Asia/Shanghai}}"},
	{"filter", "filter: result in ('PASS', 'REVIEW') and score > 100"},
	{"all", "timestamp: column:updated_at\nfilter: result in ('PASS', 'REVIEW') and score > 100\ncolumns_map: {updated_at: {type: timestamp, zone: Asia/Shanghai}, score: {type: int32, store: binary}, " +
		"amount: {type: decimal, store: binary}, created_at: {type: timestamp, zone: Asia/Shanghai, store: binary}, hit_flag: {type: boolean, store: binary}, src: {constant: oracle}}"},
}

// ruleBench returns what the sort does with a record: its key, the digest of its cells, the packed values.
func ruleBench(t testing.TB, rules string) (one func() error) {
	text := "table: t\nfamily: f\ninput: {path: in, columns: [" + ruleBenchColumns + "]}\nrowkey: salt(check_id, 10) + md5(check_id) + id\nregions: {from: splits, splits: ['5']}\nhfile: {}\noutput: out\n"
	if !strings.HasPrefix(rules, "timestamp") {
		text += "timestamp: 1000\n"
	}
	j, err := jobfile.Parse("job.yaml", strings.NewReader(text+rules), jobfile.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	layout, err := NewLayout(j)
	if err != nil {
		t.Fatal(err)
	}
	record := &ingest.Record{Fields: testvalues.Of(ruleBenchFields...)}
	key, sum := NewKey(j), digest.Sum{}
	buffer := make([]byte, 0, 4096)
	return func() error {
		if err := key.Build(buffer, record); err != nil {
			return err
		}
		entry, cells := layout.PackAndDigest(key.Key, digest.NewRow(key.Row, cell.Put), key.Named(), key.Values, key.Timestamp)
		sum.AddRow(cells, key.Timestamp)
		buffer = entry[:0]
		return nil
	}
}

func TestRulesAllocateNothing(t *testing.T) {
	for _, b := range ruleBenches {
		one := ruleBench(t, b.rules)
		if n := testing.AllocsPerRun(200, func() {
			if err := one(); err != nil {
				t.Fatal(err)
			}
		}); n > 0 {
			t.Errorf("%s: %v allocations a record", b.name, n)
		}
	}
}

// BenchmarkRules is a record's way into the sort, without reading and sorting.
func BenchmarkRules(b *testing.B) {
	size := 0
	for _, f := range ruleBenchFields {
		size += len(f) + 1
	}
	for _, c := range ruleBenches {
		b.Run(c.name, func(b *testing.B) {
			one := ruleBench(b, c.rules)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if err := one(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
