package lookup_test

import (
	"context"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/errcode"
	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/runtest"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/inspect/lookup"
	"bulkload/jobs/spec/jobfile"
)

// TestGetShowsBinaryValues: as text, with the type; a query column may be stored in binary form, too.
func TestGetShowsBinaryValues(t *testing.T) {
	j := jobtest.Rules(t, "columns_map: {id: {type: int32, store: binary}, a: {type: decimal, store: binary}, b: {type: timestamp, zone: Asia/Shanghai, store: binary, null: empty}}",
		"1|1.50|2026-11-20 08:00:00\n10|2|\\N\n")
	runtest.Must(t, j, options.Options{})
	r, err := lookup.Get(context.Background(), j, options.Options{}, []string{"1"}, filepath.Join(j.Dir, j.Output))
	if err != nil || len(r.Rows) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	want := []lookup.GotCell{{Family: "f", Qualifier: "a", Timestamp: 1000, Value: "1.50", Type: "decimal", Base64: "AAAAAgCW"}, {Family: "f", Qualifier: "b", Timestamp: 1000, Value: "2026-11-20T08:00:00.000+08:00", Type: "timestamp", Base64: "AAABofZAvAA="}, {Family: "f", Qualifier: "id", Timestamp: 1000, Value: "1", Type: "int32", Base64: "AAAAAQ=="}}
	if !slices.Equal(r.Rows[0].Cells, want) {
		t.Errorf("cells %+v", r.Rows[0].Cells)
	}
	r, err = lookup.Get(context.Background(), j, options.Options{}, []string{"10"}, filepath.Join(j.Dir, j.Output))
	if err != nil || len(r.Rows) != 1 || r.Rows[0].Cells[1] != (lookup.GotCell{Family: "f", Qualifier: "b", Timestamp: 1000, Value: "", Type: "", Base64: ""}) {
		t.Errorf("%+v, %v", r, err)
	}
	_, err = lookup.Get(context.Background(), j, options.Options{}, []string{"x"}, filepath.Join(j.Dir, j.Output))
	if failure.CodeOf(err) != errcode.Command || !strings.Contains(err.Error(), "column id") {
		t.Errorf("a query of no number: %v", err)
	}
}

func TestOutputsGet(t *testing.T) {
	dir := jobdir.Orders(t, jobdir.OrdersJob, 1000)
	j := jobtest.Orders(t, dir, "out")
	runtest.Must(t, j, options.Options{})
	for _, c := range []struct {
		output string
		values []string
		from   string
		rows   int
		code   errcode.Code
	}{
		{"", []string{"000000000123"}, "index", 1, ""},
		{"ns:orders", []string{"000000000123"}, "index", 1, ""},
		{"ns:orders", []string{"000000000099"}, "index", 0, ""}, // rejected
		{"", []string{"17"}, "", -1, errcode.Command},
		{"", []string{"1", "2", "3"}, "", -1, errcode.Command},
		{"ns:none", []string{"17"}, "seller", -1, errcode.Command},
		{"ns:by_buyer", []string{"17"}, "buyer", -1, errcode.Command},
	} {
		from := c.from
		if from != "" {
			from = filepath.Join(dir, "out", from)
		}
		one, err := j, error(nil)
		if c.output != "" {
			one, err = j.Pick(c.output)
		}
		var r *lookup.GetReport
		if err == nil {
			r, err = lookup.Get(context.Background(), one, options.Options{}, c.values, from)
		}
		if got := failure.CodeOf(err); c.code != "" && got != c.code || c.code == "" && (err != nil || len(r.Rows) != c.rows) {
			t.Errorf("%+v: %+v, %s: %v", c, r, got, err)
		}
	}
	moved := filepath.Join(dir, "moved") // its manifest says what it is
	if err := os.Rename(filepath.Join(dir, "out/seller"), moved); err != nil {
		t.Fatal(err)
	}
	j, err := jobfile.Read(filepath.Join(dir, "orders.yaml"), jobfile.ReadOptions{DateOptional: true})
	if err != nil {
		t.Fatal(err)
	}
	j.Outputs[0].Output = "" // as it is where it names a date that is not given
	r, err := lookup.Get(context.Background(), j, options.Options{}, []string{"17"}, moved)
	if err != nil || len(r.Rows) < 5 || r.Table != "ns:by_seller" {
		t.Errorf("by directory: %+v, %v", r, err)
	}
}

func TestGetGivesAllRowsOfAKeyAndNoOthers(t *testing.T) {
	dir := jobdir.Check(t, jobdir.CheckJob, 4000)
	out := filepath.Join(dir, "out")
	j := jobtest.Check(t, dir, out)
	runtest.Must(t, j, options.Options{})
	want := map[string][]string{} // ids by check_id
	paths, err := filepath.Glob(filepath.Join(dir, "in/2026-11-20/*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, record := range strings.Split(strings.TrimSuffix(string(content), "\x10"), "\x10") {
			fields := strings.Split(record, "\x01")
			want[fields[1]] = append(want[fields[1]], fields[0])
		}
	}
	for key, ids := range want {
		r, err := lookup.Get(context.Background(), j, options.Options{}, []string{key}, out)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{}
		for _, row := range r.Rows {
			got[row.Row[33:]] = true
		}
		if len(r.Rows) != len(ids) || len(got) != len(ids) {
			t.Errorf("%s has %d rows, got %d", key, len(ids), len(r.Rows))
		}
		for _, id := range ids {
			if !got[id] {
				t.Errorf("%s: row %s is missing", key, id)
			}
		}
	}
	if len(want) < 300 {
		t.Errorf("only %d keys were tried", len(want))
	}
}

// TestWideGet: a query that names the qualifier's columns, too, gives only those cells.
func TestWideGet(t *testing.T) {
	dir := jobdir.Wide(t, jobdir.WideCases["text of all widths"].Job, 9000)
	out := filepath.Join(dir, "out")
	j := jobtest.Wide(t, dir, out)
	runtest.Must(t, j, options.Options{})
	followers := map[string]bool{}
	for _, line := range runtest.Cells(t, out) {
		parts := strings.Split(line, "\t")
		if parts[0] == hex.EncodeToString([]byte("65")) {
			id, _ := hex.DecodeString(parts[2])
			followers[string(id)] = true
		}
	}
	j.Query = []string{"user"}
	r, err := lookup.Get(context.Background(), j, options.Options{}, []string{"65"}, out)
	if err != nil || len(r.Rows) != 1 || r.Rows[0].Row != "65" || len(r.Rows[0].Cells) != len(followers) {
		t.Fatalf("%d followers; %d rows, %v", len(followers), len(r.Rows), err)
	}
	j.Query = []string{"user", "follower"}
	n := 0
	for id := range followers {
		if n++; n > 50 {
			break
		}
		r, err := lookup.Get(context.Background(), j, options.Options{}, []string{"65", id}, out)
		if err != nil || len(r.Rows) != 1 || len(r.Rows[0].Cells) != 1 || r.Rows[0].Cells[0].Qualifier != id {
			t.Fatalf("follower %s: %+v, %v", id, r.Rows, err)
		}
	}
	if r, err := lookup.Get(context.Background(), j, options.Options{}, []string{"65", "nobody"}, out); err != nil || len(r.Rows) != 0 {
		t.Errorf("a follower that is not there: %+v, %v", r.Rows, err)
	}
}
