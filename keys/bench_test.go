package keys

import (
	"bulkload/internal/test/testvalues"
	"fmt"
	"testing"

	"bulkload/values"
)

// benchRecords are check rows: perCheck rows of one check_id one after another.
func benchRecords(n, perCheck int) (records [][]values.Value) {
	for i := range n {
		records = append(records, testvalues.Of(fmt.Sprintf("59C1B6E4F7D501ECE053C501%08X", uint32(i)*2654435761), fmt.Sprintf("A%09d", 208848994+i/perCheck), "17",
			"13800138000", "2019-01-31 12:34:56.0", "42"))
	}
	return records
}

func BenchmarkAppend(b *testing.B) {
	for _, text := range []string{
		"salt(check_id, 10) + md5(check_id) + id", "salt(check_id, 10)", "md5(check_id)", "md5(upper(check_id) + phone)", "random_salt(10)",
		"desc(rule_no) + date(ctime, '0102') + reverse(phone, 12)", "millis(ctime)", "millis(ctime, 'Asia/Shanghai')",
	} {
		b.Run(text, func(b *testing.B) {
			e := parse(b, text)
			records := benchRecords(1024, 4)
			dst := make([]byte, 0, 256)
			b.ReportAllocs()
			b.SetBytes(int64(len(mustAppend(b, e, dst, records[0]))))
			for i := 0; b.Loop(); i++ {
				mustAppend(b, e, dst, records[i%len(records)])
			}
		})
	}
}

func mustAppend(b *testing.B, e *Expr, dst []byte, fields []values.Value) []byte {
	key, err := e.Append(dst, fields)
	if err != nil {
		b.Fatal(err)
	}
	return key
}

func BenchmarkEvaluator(b *testing.B) {
	for _, perCheck := range []int{1, 4} {
		b.Run(fmt.Sprintf("%d rows a check", perCheck), func(b *testing.B) {
			e := parse(b, "salt(check_id, 10) + md5(check_id) + id").Evaluator()
			records := benchRecords(1024, perCheck)
			dst := make([]byte, 0, 256)
			b.ReportAllocs()
			b.SetBytes(65)
			for i := 0; b.Loop(); i++ {
				if _, err := e.Append(dst, records[i%len(records)]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
