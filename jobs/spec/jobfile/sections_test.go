package jobfile

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/errcode"
	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/testfs"
)

// TestReadOutputsErrors: a mistake in the keys that outputs share is reported once, and one of an output at its own
// line.
func TestReadOutputsErrors(t *testing.T) {
	at := func(line int, code errcode.Code, names ...string) mistake {
		return inFile(fmt.Sprintf("orders.yaml:%d", line), code, names...)
	}
	const last = "- table: ns:orders\n  rowkey: reverse(order_id, 12)\n  query: [order_id]\n  cells: [seller, buyer, ts]\n" +
		"  regions: {from: splits, splits: ['5']}\n  output: out/index\n"
	for name, c := range map[string]struct {
		old, new string
		want     mistake
	}{
		"shared mistake reported once": {"compression: snappy", "compression: snap", at(7, errcode.JobValue, "hfile.compression: ", `"snap"`)},
		"own mistake":                  {"reverse(order_id, 12)", "revers(order_id, 12)", at(20, errcode.JobRowkey, "rowkey: ", "reverse?")},
		"key of an output":             {"  cells: [seller, buyer, ts]", "  cels: [seller]", at(22, errcode.JobKey, "outputs[2].cels", "cells?")},
		"input below":                  {"  cells: [seller, buyer, ts]", "  input: {}", at(22, errcode.JobKey, "outputs[2].input")},
		"missing":                      {"  output: out/index", "", at(19, errcode.JobKey, "output")},
		"one table for two": {"- table: ns:by_buyer\n", "- table: ns:by_seller\n  duplicates: {live: error}\n  load: true\n",
			at(14, errcode.JobValue, "outputs[1].table: ", "ns:by_seller")},
		"one directory for two":  {"out/index", "out/buyer", at(24, errcode.JobValue, "outputs[2].output: ", "out/buyer")},
		"a directory in another": {"out/index", "out/../out/buyer/f", at(24, errcode.JobValue, "outputs[2].output: ", "out/buyer/f")},
		"unknown cell":           {"cells: [seller,", "cells: [sellr,", at(22, errcode.JobValue, "cells: ", "sellr", "seller?")},
		"cell that is skipped": {"cells: [seller, buyer, ts]", "columns_map: {ts: {skip: true}}\n  cells: [ts]",
			at(23, errcode.JobValue, "cells: ", "columns_map", "ts")},
		"nothing but a name":        {last, "- ns:orders\n", at(19, errcode.JobValue, `outputs[2] is "ns:orders"`)},
		"load to a local directory": {"  output: out/index", "  output: out/index\n  load: true", at(25, errcode.JobValue, "load: true", "out/index")},
	} {
		t.Run(name, func(t *testing.T) {
			dir := testfs.Tree(t, map[string]string{"orders.yaml": strings.Replace(jobdir.OrdersJob, c.old, c.new, 1)})
			_, err := Read(filepath.Join(dir, "orders.yaml"), ReadOptions{Date: jobdir.Date})
			if n := c.want.times(err); n != 1 {
				t.Errorf("reported %d times: %v; the error is\n%v", n, c.want, err)
			}
		})
	}
}

func TestReadQueriesErrors(t *testing.T) {
	for text, want := range map[string]mistake{
		"queries: 5\n": atLine(11, errcode.JobValue, "queries: ", `"5"`, "list"),
		"queries: [{columns: [usr], per_day: 1}]\n":  atLine(11, errcode.JobValue, "usr", "user?"),
		"queries: [{columns: [user]}]\n":             atLine(11, errcode.JobKey, "queries[0].per_day"),
		"queries: [{columns: [user], per_day: 0}]\n": atLine(11, errcode.JobValue, "queries[0].per_day: ", `"0"`),
		"queries: [{column: [user], per_day: 1}]\n":  atLine(11, errcode.JobKey, "queries[0].column", "columns?"),
	} {
		job := fmt.Sprintf(jobdir.NumbersJob, "user")
		at := strings.Index(job, "queries:")
		end := at + strings.IndexByte(job[at:], '\n') + 1
		if _, err := Read(jobdir.Write(t, job[:at]+text+job[end:]), ReadOptions{Date: jobdir.Date}); !want.saidBy(err) {
			t.Errorf("%s: %v, want %v", text, err, want)
		}
	}
}

func TestReadWideErrors(t *testing.T) {
	for name, c := range map[string]struct {
		job  string
		want mistake
	}{
		"unknown key":    {"rowkey: user\nwide: {qualifer: follower}", atLine(14, errcode.JobKey, "wide.qualifer", "qualifier?")},
		"no qualifier":   {"rowkey: user\nwide: {value: since}", atLine(14, errcode.JobKey, "wide.qualifier")},
		"unknown column": {"rowkey: user\nwide: {qualifier: folower}", atLine(14, errcode.JobRowkey, "wide.qualifier: ", `"folower"`)},
		"unknown value":  {"rowkey: user\nwide: {qualifier: follower, value: sins}", atLine(14, errcode.JobValue, "wide.value: ", "sins")},
		"cells that would mix": {"rowkey: user\nwide: {qualifier: follower}",
			atLine(14, errcode.JobRowkey, "wide.qualifier: ", "follower", "family f", "columns user and follower")},
		"two cells in one": {"rowkey: user\nwide: {qualifier: \"pad(follower, 6, '0')\"}\ncolumns_map: {note: {to: since}}",
			atLine(15, errcode.JobValue, "since and note", "f:since")},
		"a text for a mapping":  {"rowkey: user\nwide: follower", atLine(14, errcode.JobValue, `wide is "follower"`)},
		"cells without a value": {"rowkey: user\nwide: {qualifier: follower}\ncells: []", atLine(1, errcode.JobValue, "columns_map")},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Read(jobdir.Write(t, jobdir.WideHead+c.job+"\n"), ReadOptions{}); !c.want.saidBy(err) {
				t.Errorf("error is\n%v\nwant %v", err, c.want)
			}
		})
	}
}
