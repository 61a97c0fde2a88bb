package sample

import (
	"fmt"
	"strconv"
	"strings"
)

var (
	ruleTypes = []string{"ABCD", "CDBA", "CDBB", "XHIT"}
	cities    = []string{"北京", "上海", "深圳", "成都", "杭州", "西安"}
	results   = []string{"PASS", "REJECT", "REVIEW"}
	nodes     = []string{"01", "02", "LOAN", "卡"}
	verdicts  = []string{"agree", "同意", "reject", "退回"}
	words     = strings.Fields("approved 同意 rejected 退回 补充材料 overdue 金额 limit 客户 risk 规则 score 复核 manual 通过 pending " +
		"资料齐全 income 征信 blacklist")
)

func (r *rows) check() {
	rule := r.IntN(400)
	r.id()
	r.text(r.key)
	r.text(pad(rule, 4))
	r.text(r.pick(ruleTypes))
	r.text("规则" + pad(rule%100, 2))
	r.text(r.pick([]string{"Y", "N", ""}))
	r.text(strconv.Itoa(r.IntN(2)))
	r.text(strconv.Itoa(r.IntN(1000)))
	r.text(r.timestamp())
	r.text(r.timestamp())
	r.text(r.operator())
	r.text(r.pick(cities))
	r.text(r.pick(results))
	r.text(fmt.Sprintf("%d.%02d", r.IntN(100_000), r.IntN(100)))
	r.text(r.options.Null)
	r.text("V" + strconv.Itoa(1+r.IntN(3)))
	r.text(r.prose(r.IntN(24)))
	r.text(r.pick([]string{"", "", "remark", "备注\n见附件"}))
	r.end()
}

func (r *rows) opinion() {
	r.id()
	r.text(r.key)
	r.text(r.pick(nodes))
	r.text(r.pick(verdicts))
	r.text(r.prose(60 + r.IntN(400)))
	r.text(r.timestamp())
	r.text("u" + strconv.Itoa(r.IntN(5000)))
	r.text(r.pick([]string{"1", "2", "3", ""}))
	r.end()
}

// id begins a row.
func (r *rows) id() { r.row = r.guids.append(r.row) }

// text adds a column to the current row.
func (r *rows) text(s string) {
	r.row = append(r.row, r.options.FieldDelimiter...)
	r.row = append(r.row, s...)
}

func (r *rows) end() { r.row = append(r.row, r.options.RecordDelimiter...) }

func (r *rows) pick(from []string) string { return from[r.IntN(len(from))] }

// timestamp is an Oracle DATE as written by Sqoop (java.sql.Timestamp.toString).
func (r *rows) timestamp() string {
	return fmt.Sprintf("20%02d-%02d-%02d %02d:%02d:%02d.0", 10+r.IntN(17), 1+r.IntN(12), 1+r.IntN(28), r.IntN(24), r.IntN(60), r.IntN(60))
}

func (r *rows) operator() string {
	switch r.IntN(3) {
	case 0:
		return "sys"
	case 1:
		return "batch"
	}
	return "u" + strconv.Itoa(r.IntN(500))
}

// prose is text of at least n bytes, with occasional line breaks.
func (r *rows) prose(n int) string {
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(r.pick(words))
		switch r.IntN(12) {
		case 0:
			b.WriteByte('\n')
		case 1:
			b.WriteString(", ")
		default:
			b.WriteByte(' ')
		}
	}
	return b.String()
}
