package jobfile

import (
	"fmt"
	"strings"
	"testing"

	"bulkload/ingest/compressed"
	"bulkload/ingest/delimited"
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
	for name, c := range map[string]struct{ line, want string }{
		"octal without its backslash":     {"  record_delimiter: '020'", `input.record_delimiter: delimiter "020" means these characters literally; write \x10 (octal 020, from Sqoop's \020) or \x20`},
		"caret notation":                  {"  field_delimiter: ^A", `write \x01 (control-A)`},
		"hex without its backslash":       {"  field_delimiter: x10", `write \x10`},
		"an escape of two characters":     {"  escaped_by: '||'", `input.escaped_by: "||" is not one character of ASCII`},
		"an escape beyond ASCII":          {"  escaped_by: §", "is not one character of ASCII"},
		"an unknown notation":             {`  escaped_by: '\q'`, `\q is not a notation`},
		"both enclosures":                 {`  {enclosed_by: '"', optionally_enclosed_by: '"'}`, "input.enclosed_by: is given beside optionally_enclosed_by"},
		"the escape is the enclosure":     {`  {escaped_by: '"', enclosed_by: '"'}`, "where a quote inside a value is doubled, the export is CSV: use format: csv"},
		"the escape is a delimiter":       {`  escaped_by: '\x01'`, `the escape character \x01 is in a delimiter, too`},
		"an unknown codec":                {"  compression: gz", `input.compression: "gz" is none of auto, none, gzip`},
		"Sqoop's argument":                {`  null: '\\N'`, `Sqoop's --null-string '\\N' writes one: write '\N'`},
		"an empty list of nulls":          {`  null: []`, "input.null: is an empty list"},
		"null_string alone":               {`  null_string: '\N'`, "input.null_string: is given without null_non_string, for which Sqoop writes the text null"},
		"null_non_string alone":           {`  null_non_string: '\N'`, "input.null_non_string: is given without null_string"},
		"null beside null_string":         {`  {null: a, null_string: b}`, "input.null_string: can't be combined with null"},
		"Sqoop's argument for one of two": {`  {null_string: '\\N', null_non_string: null}`, `null_string: \\N has two backslashes`},
	} {
		t.Run(name, func(t *testing.T) {
			at := 9
			if strings.HasPrefix(c.line, "  field_delimiter") {
				at = 7
			} else if strings.HasPrefix(c.line, "  record_delimiter") {
				at = 8
			}
			_, err := readJob(t, jobWith(inlined(map[int]string{at: c.line})), nil)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "job.yaml:") {
				t.Errorf("%v\nwant %s", err, c.want)
			}
		})
	}
}
