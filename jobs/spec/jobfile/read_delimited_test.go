package jobfile

import (
	"fmt"
	"strings"
	"testing"

	"bulkload/ingest/compressed"
	"bulkload/ingest/delimited"
	"bulkload/internal/errcode"
)

// nullsOf writes the texts of a null, a column each.
func nullsOf(d *delimited.Form) string {
	if d.ColumnNulls == nil {
		return fmt.Sprintf("%q", d.Null)
	}
	return fmt.Sprintf("%q", d.ColumnNulls)
}

func TestReadDelimited(t *testing.T) {
	for name, c := range map[string]struct {
		lines map[int]string
		check func(d *delimited.Form) bool
	}{
		"a lone backslash":           {map[int]string{9: `  escaped_by: \`}, func(d *delimited.Form) bool { return d.Escape == '\\' }},
		"two backslashes":            {map[int]string{9: `  escaped_by: '\\'`}, func(d *delimited.Form) bool { return d.Escape == '\\' }},
		"an escape by its number":    {map[int]string{9: `  escaped_by: '\x5c'`}, func(d *delimited.Form) bool { return d.Escape == '\\' }},
		"no escape, as Sqoop says":   {map[int]string{9: `  escaped_by: '\0'`}, func(d *delimited.Form) bool { return d.Escape == 0 }},
		"every value enclosed":       {map[int]string{9: `  enclosed_by: '"'`}, func(d *delimited.Form) bool { return d.Enclosure == '"' && d.EncloseAll }},
		"no enclosure":               {map[int]string{9: `  enclosed_by: '\0'`}, func(d *delimited.Form) bool { return d.Enclosure == 0 && !d.EncloseAll }},
		"some values enclosed":       {map[int]string{9: `  optionally_enclosed_by: '\"'`}, func(d *delimited.Form) bool { return d.Enclosure == '"' && !d.EncloseAll }},
		"compression by content":     {nil, func(d *delimited.Form) bool { return d.Compression == compressed.Auto }},
		"compression as it is named": {map[int]string{9: "  compression: snappy"}, func(d *delimited.Form) bool { return d.Compression == compressed.HadoopSnappy }},
		"one null for all":           {map[int]string{9: `  null: '\N'`}, func(d *delimited.Form) bool { return nullsOf(d) == `"\\N"` }},
		"the word null":              {map[int]string{9: `  null: null`}, func(d *delimited.Form) bool { return nullsOf(d) == `"null"` }},
		"several nulls": {map[int]string{9: `  null: ['\N', 'NULL']`}, func(d *delimited.Form) bool {
			return nullsOf(d) == `[["\\N" "NULL"] ["\\N" "NULL"] ["\\N" "NULL"]]`
		}},
		"two backslashes that are meant": {map[int]string{9: `  null: ['\\N']`}, func(d *delimited.Form) bool { return nullsOf(d) == `"\\\\N"` }},
		"two backslashes and an escape":  {map[int]string{9: `  {null: '\\N', escaped_by: '\'}`}, func(d *delimited.Form) bool { return nullsOf(d) == `"\\\\N"` }},
		"nulls of strings, without types": {map[int]string{9: `  {null_string: '\N', null_non_string: 'null'}`}, func(d *delimited.Form) bool {
			return nullsOf(d) == `[["\\N"] ["\\N"] ["\\N"]]`
		}},
		"nulls by the type": {map[int]string{9: `  {null_string: '\N', null_non_string: ['null','']}`, 17: "columns_map: {id: {type: int64}, note: {type: text}}"},
			func(d *delimited.Form) bool { return nullsOf(d) == `[["null" ""] ["\\N"] ["\\N"]]` }},
	} {
		t.Run(name, func(t *testing.T) {
			j, err := readJob(t, jobWith(inlined(c.lines)), nil)
			if err != nil {
				t.Fatal(err)
			}
			if d := delimitedOf(j); !c.check(d) {
				t.Errorf("read as %+v, nulls %s", d, nullsOf(d))
			}
		})
	}
}

// inlined turns {a: b, c: d} into a line each.
func inlined(lines map[int]string) map[int]string {
	out := map[int]string{}
	for at, line := range lines {
		if body, ok := strings.CutPrefix(line, "  {"); ok {
			line = "  " + strings.ReplaceAll(strings.TrimSuffix(body, "}"), ", ", "\n  ")
		}
		out[at] = line
	}
	return out
}

func TestReadDelimitedRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		line string
		want mistake
	}{
		"octal without its backslash": {"  record_delimiter: '020'",
			atLine(8, errcode.JobValue, `"020"`, `\x10 (octal 020`, `\x20`)},
		"caret notation": {"  field_delimiter: ^A",
			atLine(7, errcode.JobValue, `"^A"`, `\x01 (control-A)`)},
		"hex without its backslash": {"  field_delimiter: x10", atLine(7, errcode.JobValue, `"x10"`, `\x10`)},
		"an escape of two characters": {"  escaped_by: '||'",
			atLine(9, errcode.JobValue, `input.escaped_by: "||"`, "ASCII")},
		"an escape beyond ASCII": {"  escaped_by: §", atLine(9, errcode.JobValue, `"§"`, "ASCII")},
		"an unknown notation": {`  escaped_by: '\q'`,
			atLine(9, errcode.JobValue, `\q is`, `\x01, \001`)},
		"both enclosures": {`  {enclosed_by: '"', optionally_enclosed_by: '"'}`,
			atLine(9, errcode.JobValue, "input.enclosed_by: ", "optionally_enclosed_by")},
		"the escape is the enclosure": {`  {escaped_by: '"', enclosed_by: '"'}`,
			atLine(5, errcode.JobValue, `" is`, "escape", "enclosure", "format: csv")},
		"the escape is a delimiter": {`  escaped_by: '\x01'`,
			atLine(5, errcode.JobValue, "escape", `\x01`, "delimiter")},
		"an unknown codec": {"  compression: gz",
			atLine(9, errcode.JobValue, `input.compression: "gz"`, "auto, none, gzip")},
		"Sqoop's argument":       {`  null: '\\N'`, atLine(9, errcode.JobValue, `input.null: \\N`, `'\N'`)},
		"an empty list of nulls": {`  null: []`, atLine(9, errcode.JobValue, "input.null: ", "empty")},
		"null_string alone": {`  null_string: '\N'`,
			atLine(9, errcode.JobValue, "input.null_string: ", "null_non_string")},
		"null_non_string alone": {`  null_non_string: '\N'`,
			atLine(9, errcode.JobValue, "input.null_non_string: ", "without null_string")},
		"null beside null_string": {`  {null: a, null_string: b}`,
			atLine(10, errcode.JobValue, "input.null_string: ", "null, which")},
		"Sqoop's argument for one of two": {`  {null_string: '\\N', null_non_string: null}`,
			atLine(9, errcode.JobValue, `input.null_string: \\N`, `'\N'`)},
	} {
		t.Run(name, func(t *testing.T) {
			line := 9
			if strings.HasPrefix(c.line, "  field_delimiter") {
				line = 7
			} else if strings.HasPrefix(c.line, "  record_delimiter") {
				line = 8
			}
			if _, err := readJob(t, jobWith(inlined(map[int]string{line: c.line})), nil); !c.want.saidBy(err) {
				t.Errorf("%v\nwant %v", err, c.want)
			}
		})
	}
}
