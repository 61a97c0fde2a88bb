package hfilewriter

import (
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"bulkload/cell"
	"bulkload/values"
)

// tableRow is one row of a table whose columns are fixed.
type tableRow struct {
	row    []byte
	values []values.Value // null: no cell
}

var checkWords = strings.Fields("approved 同意 rejected 退回 补充材料 overdue 金额 limit 客户 risk 规则 score 复核 manual 通过 pending 资料齐全 income 征信 blacklist")

// checkQualifiers are 18 qualifiers in HBase's order, as long as the check table's.
var checkQualifiers = func() [][]byte {
	names := strings.Fields("id check_id rule_no rule_type rule_desc hit_flag status score create_time update_time operator city result amount ext_info version remark memo")
	slices.Sort(names)
	q := make([][]byte, len(names))
	for i, n := range names {
		q[i] = []byte(n)
	}
	return q
}()

// checkRows makes n rows like the check table's, in order.
func checkRows(n int, seed uint64) []tableRow {
	r := rand.New(rand.NewPCG(seed, 2))
	pick := func(v ...string) string { return v[r.IntN(len(v))] }
	text := func(n int) string {
		var b strings.Builder
		for b.Len() < n {
			b.WriteString(pick(checkWords...) + pick(" ", " ", " ", ", ", "\n"))
		}
		return b.String()
	}
	date := func() string {
		return fmt.Sprintf("20%02d-%02d-%02d %02d:%02d:%02d.0", 10+r.IntN(9), 1+r.IntN(12), 1+r.IntN(28), r.IntN(24), r.IntN(60), r.IntN(60))
	}
	rows := make([]tableRow, 0, n)
	guid := r.Uint32()
	for len(rows) < n {
		key := fmt.Sprintf("A%09d", r.IntN(1_000_000_000))
		sum := md5.Sum([]byte(key))
		for range 1 + r.IntN(12) {
			guid++
			id := fmt.Sprintf("59C1%08X01ECE053C5013807B6BE", guid)
			v := map[string]string{"id": id, "check_id": key, "rule_no": fmt.Sprintf("%04d", r.IntN(400)), "rule_type": pick("ABCD", "CDBA", "CDBB", "XHIT"),
				"rule_desc": fmt.Sprintf("规则%02d", r.IntN(100)), "hit_flag": pick("Y", "N", ""), "status": pick("0", "1"), "score": fmt.Sprint(r.IntN(1000)),
				"create_time": date(), "update_time": date(), "operator": pick("sys", "batch", fmt.Sprint("u", r.IntN(500))), "city": pick("北京", "上海", "深圳", "成都"),
				"result": pick("PASS", "REJECT", "REVIEW"), "amount": fmt.Sprintf("%d.%02d", r.IntN(100000), r.IntN(100)), "version": pick("V1", "V2", "V3"), "remark": text(r.IntN(24)), "memo": pick("", "remark")}
			row := tableRow{row: []byte(fmt.Sprint(r.IntN(10)) + hex.EncodeToString(sum[:]) + id)}
			for _, q := range checkQualifiers {
				row.values = append(row.values, values.ValueOf([]byte(v[string(q)])))
			}
			rows = append(rows, row)
		}
	}
	rows = rows[:n]
	slices.SortFunc(rows, func(a, b tableRow) int { return slices.Compare(a.row, b.row) })
	return packed(rows)
}

// packed lays the rows' bytes one after another, as a merge delivers them.
func packed(rows []tableRow) []tableRow {
	var room []byte
	for _, r := range rows {
		room = append(room, r.row...)
		for _, v := range r.values {
			room = append(room, v.Bytes()...)
		}
	}
	take := func(n int) []byte {
		b := room[:n:n]
		room = room[n:]
		return b
	}
	slots := make([]values.Value, 0, len(rows)*len(checkQualifiers))
	for i, r := range rows {
		rows[i].row = take(len(r.row))
		first := len(slots)
		for _, v := range r.values {
			slots = append(slots, values.ValueOf(take(v.Len())))
		}
		rows[i].values = slots[first:]
	}
	return rows
}

// cellsOf are the rows' Puts in order.
func cellsOf(rows []tableRow, family string, qualifiers [][]byte, timestamp int64) []cell.Cell {
	var cells []cell.Cell
	for _, r := range rows {
		for i, v := range r.values {
			if !v.Null() {
				cells = append(cells, cell.Cell{Row: r.row, Family: []byte(family), Qualifier: qualifiers[i], Timestamp: timestamp, Type: cell.Put, Value: v.Bytes()})
			}
		}
	}
	return cells
}
