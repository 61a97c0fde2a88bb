package draft

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"bulkload/internal/test/testvalues"
	"bulkload/jobs/spec/jobfile"
	"bulkload/keys"
)

// tableOf makes a table whose keys are an expression of the columns id, user, at and amount.
func tableOf(t *testing.T, expression string, rows int, splits ...string) *Table {
	t.Helper()
	names := []string{"amount", "at", "id", "user"}
	var columns []keys.Column
	for _, name := range names {
		columns = append(columns, keys.Column{Name: name})
	}
	expr, err := keys.Parse(expression, columns)
	if err != nil {
		t.Fatal(err)
	}
	table := &Table{Name: "ns:t", Output: "hdfs:///out/${date}", Families: []TableFamily{{"f", "SNAPPY"}, {"g", "NONE"}}, Sampled: 2}
	for _, s := range splits {
		table.Splits = append(table.Splits, []byte(s))
	}
	for i := range rows {
		texts := []string{fmt.Sprintf("%d.5", i), fmt.Sprintf("2026-11-20 10:%02d:00", i), fmt.Sprint(1000 + 7*i), fmt.Sprintf("u%d", i/3)}
		row := TableRow{}
		if row.Key, err = expr.Append(nil, testvalues.Of(texts...)); err != nil {
			t.Fatal(err)
		}
		for k, text := range texts {
			row.Cells = append(row.Cells, TableCell{"f", []byte(names[k]), []byte(text)})
		}
		table.Rows = append(table.Rows, row)
	}
	return table
}

func readDraft(t *testing.T, table *Table) (*jobfile.Job, string) {
	t.Helper()
	text := table.YAML()
	j, err := jobfile.Parse("job.yaml", bytes.NewReader(text), jobfile.ReadOptions{Date: time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)})
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return j, string(text)
}

// TestFindKey: the key of a table is found again from its rows.
func TestFindKey(t *testing.T) {
	t.Parallel()
	for want, splits := range map[string][]string{
		"salt(user, 4) + md5(user) + id":                          {"1", "2", "3"},
		"salt(user, 12) + user + '-' + id":                        {"01", "02", "03", "04", "05", "06", "07", "08", "09", "10", "11"},
		"short_salt(user, 12) + user + '-' + id":                  {"1", "10", "11", "2", "3", "4", "5", "6", "7", "8", "9"},
		"salt(user, 3) + id":                                      {"1", "1A30", "2", "2A1", "2A15"},
		"short_salt(user, 11) + id":                               {"1", "10", "10A7", "2", "3", "4", "5", "6", "7", "8", "9"},
		"md5(user, 4) + user + '|' + id":                          nil,
		"reverse(id)":                                             {"3", "5"},
		"pad(user, 6) + desc(millis(at, 'Asia/Shanghai')) + id":   nil,
		"md5_bytes(user) + int64(id)":                             {"\x80"},
		"id":                                                      {"1", "2"},
		"salt(id, 2) + reverse(id, 12) + '-' + pad(user, 8)":      {"1"},
		"user + '_' + desc(seconds(at, 'UTC'), 9999999999) + '_'": nil,
	} {
		j, text := readDraft(t, tableOf(t, want, 20, splits...))
		if j.RowKey.String() != want || strings.Contains(text, "CHANGE THIS. No row key") {
			t.Errorf("key %s, want %s", j.RowKey, want)
		}
	}
	for what, table := range map[string]*Table{
		"unknown function": tableOf(t, "upper(user) + id", 20),
		"too few rows":     tableOf(t, "id", 2),
		"no row":           tableOf(t, "id", 0),
	} {
		if _, text := readDraft(t, table); !strings.Contains(text, "# CHANGE THIS. No row key was found") {
			t.Errorf("%s:\n%s", what, text)
		}
	}
	if j, text := readDraft(t, tableOf(t, "salt(user, 3) + upper(user)", 9, "1", "2")); j.RowKey.String() != "salt(amount, 3) + amount" || !strings.Contains(text, "begin like salts of 3 values") {
		t.Error(text)
	}
}

// TestSaltsOf: the salts at which regions begin are recognized, whether they have leading zeros or not.
func TestSaltsOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		splits string
		want   salting
	}{
		{"", salting{}}, {"a b", salting{}}, {"3 5", salting{}}, {"1", salting{n: 2}}, {"1 2 3", salting{n: 4}}, {"1 15 2 2x", salting{n: 3}}, {"01 02 03", salting{}},
		{"01 02 03 04 05 06 07 08 09 10", salting{n: 11}}, {"01 015 02 03 04 05 06 07 08 09 10", salting{n: 11}}, {"1 10 2 3 4 5 6 7 8 9", salting{n: 11, short: true}},
	} {
		var splits [][]byte
		for s := range strings.FieldsSeq(c.splits) {
			splits = append(splits, []byte(s))
		}
		if got := saltsOf(splits); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.splits, got, c.want)
		}
	}
}

// TestTableColumns: places, types and names of columns.
func TestTableColumns(t *testing.T) {
	t.Parallel()
	table := tableOf(t, "id", 5)
	for i := range table.Rows {
		row := &table.Rows[i]
		add := func(family, qualifier string, value []byte) {
			row.Cells = append(row.Cells, TableCell{family, []byte(qualifier), value})
		}
		add("f", "zero", binary.BigEndian.AppendUint64(nil, uint64(i)))
		add("f", "zwhen", binary.BigEndian.AppendUint64(nil, uint64(1_795_132_800_000+i)))
		add("f", "zx", binary.BigEndian.AppendUint64(nil, uint64(1_000_000_000_042+i)))
		add("f", "zyes", []byte{byte(-(i % 2))})
		add("g", "user", []byte("x"))
		add("g", "a b, {c}", []byte{1, 2, byte(0xf0 + i)})
		add("g", "", []byte("e"))
		add("g", "\xff", nil)
		add("g", "${date}", nil)
	}
	table.Rows[0].Cells = table.Rows[0].Cells[:12]
	j, text := readDraft(t, table)
	var got []string
	for _, c := range j.Columns {
		got = append(got, fmt.Sprintf("%s=%s:%s %s %v", c.Name, c.Family, c.Qualifier, c.Type.Kind, c.Binary))
	}
	want := "amount=f:amount unknown false; at=f:at unknown false; id=f:id unknown false; user=f:user unknown false; zero=f:zero int64 true; zwhen=f:zwhen timestamp true; zx=f:zx int64 true; " +
		"zyes=f:zyes boolean true; g_=g: unknown false; a b, {c}=g:a b, {c} unknown false; g_user=g:user unknown false"
	if strings.Join(got, "; ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, "; "), want)
	}
	for _, want := range []string{"table ns:t, which has 1 region.\n", "# Family g: NONE\n", "f:amount: 5 rows, 3 bytes, text of type decimal\n", "f:zero: 5 rows, 8 bytes, binary: int64, float64 or a timestamp\n",
		"g:a b, {c}: 5 rows, 3 bytes, bytes that are not text\n", "zone: UTC, store: binary}   # CHECK THIS. The zone", "there are 13 columns, of which this file has 11"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}

// FuzzTable: whatever a table holds, its draft is a job file without a mistake.
func FuzzTable(f *testing.F) {
	f.Add([]byte("k\x00f\x00q\x00v\x01k2\x00f\x00q\x00w\x01k3\x00f\x00q2\x00w"), []byte("1\x002"))
	f.Add([]byte("k\x00f\x00A{\x00v"), []byte("0"))
	f.Add([]byte("k\x00f\x00'`: {#\x00v\x01k\x00g\x00null\x00\xff"), []byte(""))
	f.Fuzz(func(t *testing.T, content, splits []byte) {
		table := &Table{Name: "ns:t", Output: "hdfs:///out/${date}", Families: []TableFamily{{"f", ""}, {"g", ""}}}
		for _, cell := range bytes.Split(content, []byte{1}) {
			parts := append(bytes.SplitN(cell, []byte{0}, 4), nil, nil, nil)
			family := "f"
			if string(parts[1]) != "f" {
				family = "g"
			}
			if n := len(table.Rows); n == 0 || !bytes.Equal(table.Rows[n-1].Key, parts[0]) {
				table.Rows = append(table.Rows, TableRow{Key: parts[0]})
			}
			row := &table.Rows[len(table.Rows)-1]
			row.Cells = append(row.Cells, TableCell{family, parts[2], parts[3]})
		}
		for _, s := range bytes.Split(splits, []byte{0}) {
			if len(s) > 0 {
				table.Splits = append(table.Splits, s)
			}
		}
		if len(content) < 1000 {
			readDraft(t, table)
		}
	})
}
