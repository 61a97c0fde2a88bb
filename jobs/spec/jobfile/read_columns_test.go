package jobfile

import (
	"encoding/hex"
	"testing"

	"bulkload/internal/errcode"
	"bulkload/values"
)

func TestReadColumnRules(t *testing.T) {
	cases := map[string]struct {
		lines map[int]string
		check func(*Job) bool
	}{
		"types": {map[int]string{17: "columns_map: {id: {type: int64, store: binary}, note: {type: decimal, null: empty}}"}, func(j *Job) bool {
			return j.Columns[0].Type.Kind == values.KindInt64 && j.Columns[0].Binary && j.Columns[2].Type.Kind == values.KindDecimal && !j.Columns[2].Binary && j.Columns[2].Null == NullEmpty
		}},
		"what is the default may be said": {map[int]string{17: "columns_map: {note: {type: timestamp, format: datetime, store: text, null: omit}}"}, func(j *Job) bool {
			return j.Columns[2] == Column{Name: "note", Family: "f", Qualifier: "note", Type: values.Type{Kind: values.KindTimestamp}}
		}},
		"moment in a zone": {map[int]string{17: "columns_map: {note: {type: timestamp, zone: Asia/Shanghai, store: binary}}"}, func(j *Job) bool {
			return j.Columns[2].Type == values.Type{Kind: values.KindTimestamp, Zone: "Asia/Shanghai"} && j.Columns[2].Binary
		}},
		"constants": {map[int]string{17: "columns_map: {src: {constant: oracle}, day: {constant: '${date}', to: 'g:d', type: date, zone: UTC, store: binary}}"}, func(j *Job) bool {
			return len(j.Constants) == 2 && j.Constants[0].Family == "g" && hex.EncodeToString(j.Constants[0].Value) == "000001a1f640bc00" &&
				j.Constants[1].Qualifier == "src" && string(j.Constants[1].Value) == "oracle" && len(j.CellColumns()) == 5
		}},
		"all columns skipped but a constant": {map[int]string{17: "columns_map: {id: {skip: true}, check_id: {skip: true}, note: {skip: true}, src: {constant: ''}}"}, func(j *Job) bool {
			return len(j.CellColumns()) == 1 && j.Constants[0].Value != nil
		}},
		"cells with a constant": {map[int]string{17: "columns_map: {src: {constant: x}, gone: {constant: y}}\ncells: [id, src]"}, func(j *Job) bool {
			return len(j.CellColumns()) == 2 && j.Constants[0].Name == "src"
		}},
		"timestamps from a clock":   {map[int]string{3: "timestamp: column:note", 17: "columns_map: {note: {type: timestamp, zone: UTC}}"}, func(j *Job) bool { return j.Moments == "note" && j.Timestamp == 0 }},
		"timestamps from a long":    {map[int]string{3: "timestamp: column:note", 17: "columns_map: {note: {type: int64}}"}, func(j *Job) bool { return j.Moments == "note" }},
		"timestamps from seconds":   {map[int]string{3: "timestamp: column:note", 17: "columns_map: {note: {type: timestamp, format: seconds}}"}, func(j *Job) bool { return j.Moments == "note" }},
		"timestamps from a day":     {map[int]string{3: "timestamp: column:note", 17: "columns_map: {note: {type: date, zone: UTC}}"}, func(j *Job) bool { return j.Moments == "note" }},
		"filter":                    {map[int]string{17: "filter: note = 'x' and id > 3"}, func(j *Job) bool { return j.Filter.String() == "note = 'x' and id > 3" }},
		"filter with a variable":    {map[int]string{17: "filter: note >= '${date}'\ncolumns_map: {note: {type: date}}"}, func(j *Job) bool { return j.Filter.String() == "note >= '2026-11-20'" }},
		"kind goes to the key, too": {map[int]string{10: "rowkey: int64(id)", 11: "query: [id]", 14: `  splits: ['\x01']`, 17: "columns_map: {id: {type: int64}}"}, func(j *Job) bool { return j.RowKey.Width().Max == 8 }},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			j, err := readJob(t, jobWith(c.lines), nil)
			if err != nil {
				t.Fatal(err)
			}
			if !c.check(j) {
				t.Errorf("read as %+v", j)
			}
		})
	}
}

func TestReadColumnRuleErrors(t *testing.T) {
	rule := func(text string) map[int]string { return map[int]string{17: "columns_map: {" + text + "}"} }
	for name, c := range map[string]struct {
		lines map[int]string
		want  mistake
	}{
		"unknown type": {rule("id: {type: varchar}"),
			atLine(17, errcode.JobValue, `columns_map.id.type: "varchar"`, "text, int16")},
		"unknown stored form": {rule("id: {type: int64, store: java}"),
			atLine(17, errcode.JobValue, `columns_map.id.store: "java"`, "text, binary")},
		"binary of no type": {rule("id: {store: binary}"),
			atLine(17, errcode.JobValue, "columns_map.id.store: ", "type")},
		"binary clock of no zone": {rule("id: {type: timestamp, store: binary}"),
			atLine(17, errcode.JobValue, "columns_map.id.store: ", "zone: UTC")},
		"unknown null policy": {rule("id: {null: skip}"),
			atLine(17, errcode.JobValue, `columns_map.id.null: "skip"`, "omit, empty, error")},
		"zone of a number": {rule("id: {type: int64, zone: UTC}"),
			atLine(17, errcode.JobValue, "columns_map.id.zone: ", "date and timestamp")},
		"format of a text": {rule("id: {format: millis}"),
			atLine(17, errcode.JobValue, "columns_map.id.format: ", "date and timestamp")},
		"unknown format": {rule("id: {type: timestamp, format: ms}"),
			atLine(17, errcode.JobValue, `columns_map.id.format: "ms"`, "datetime, millis, seconds")},
		"zone of milliseconds": {rule("id: {type: timestamp, format: millis, zone: Asia/Shanghai}"),
			atLine(17, errcode.JobValue, "columns_map.id.zone: ", "datetime")},
		"unknown zone": {rule("id: {type: timestamp, zone: Asia/Beijing}"),
			atLine(17, errcode.JobValue, `columns_map.id.zone: "Asia/Beijing"`)},
		"constant of an input name": {rule("id: {constant: x}"),
			atLine(17, errcode.JobValue, "columns_map.id.constant: id")},
		"constant that is skipped": {rule("src: {constant: x, skip: true}"),
			atLine(17, errcode.JobKey, "columns_map.src.skip")},
		"constant not of its type": {rule("src: {constant: x, type: int32}"),
			atLine(17, errcode.JobValue, `columns_map.src.constant: "x"`)},
		"no column and no constant": {rule("src: {to: x}"), atLine(17, errcode.JobValue, "columns_map: ", "src")},
		"constant in a column's way": {rule("src: {constant: x, to: id}"),
			atLine(17, errcode.JobValue, "columns_map: ", "id and src", "f:id")},
		"timestamp of no column": {map[int]string{3: "timestamp: column:nite"},
			atLine(3, errcode.JobValue, "timestamp: ", "nite", "note?")},
		"timestamp of a text": {map[int]string{3: "timestamp: column:note",
			17: "columns_map: {note: {type: text}}"}, atLine(3, errcode.JobValue, "note", "type: timestamp")},
		"timestamp without a zone": {map[int]string{3: "timestamp: column:note",
			17: "columns_map: {note: {type: timestamp}}"}, atLine(3, errcode.JobValue, "note", "zone: UTC")},
		"empty filter": {map[int]string{17: "filter: ''"}, atLine(17, errcode.JobValue, "filter: ")},
		"wrong filter": {map[int]string{17: "filter: nite = 1"},
			atLine(17, errcode.JobFilter, "character 1: ", "nite", "note?")},
		"filter against a type": {map[int]string{17: "filter: id > 3\ncolumns_map: {id: {type: text}}"},
			atLine(17, errcode.JobFilter, "character 6: ", "id is text")},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := readJob(t, jobWith(c.lines), nil); !c.want.saidBy(err) {
				t.Errorf("error is\n  %v\nwant %v", err, c.want)
			}
		})
	}
}

// TestEveryRuleIsAnotherRun: what decides on a cell is in the job's hash, and what is the default is not.
func TestEveryRuleIsAnotherRun(t *testing.T) {
	hash := func(text string) string {
		j, err := readJob(t, jobWith(map[int]string{17: text}), nil)
		if err != nil {
			t.Fatal(err)
		}
		return j.hash
	}
	plain := hash("load: false")
	if same := hash("columns_map: {note: {null: omit, store: text}}"); same != plain {
		t.Error("the defaults make another run")
	}
	seen := map[string]string{plain: "nothing"}
	for _, text := range []string{
		"columns_map: {note: {null: empty}}", "columns_map: {note: {null: error}}", "columns_map: {note: {type: int64}}", "columns_map: {note: {type: int64, store: binary}}",
		"columns_map: {note: {type: int32, store: binary}}", "columns_map: {note: {type: date, zone: UTC, store: binary}}", "columns_map: {note: {type: date, zone: Asia/Shanghai, store: binary}}",
		"columns_map: {note: {type: date, format: millis}}", "columns_map: {src: {constant: x}}", "columns_map: {src: {constant: y}}", "columns_map: {src: {constant: x, to: z}}",
		"filter: note = 'x'", "filter: note = 'y'",
	} {
		h := hash(text)
		if other, taken := seen[h]; taken {
			t.Errorf("%s and %s are the same run", text, other)
		}
		seen[h] = text
	}
}
