package jobfile

import (
	"reflect"
	"testing"

	"bulkload/ingest"
	"bulkload/ingest/csv"
	"bulkload/internal/errcode"
	"bulkload/internal/test/jobdir"
)

// csvJob is a job over CSV with some more keys of input.
func csvJob(keys string) string {
	return "table: t\nfamily: f\ntimestamp: 2026-11-20\ninput: {path: in, format: csv, columns: [id, note]" + keys + "}\n" +
		"rowkey: id\nregions: {from: splits, splits: []}\nhfile: {}\noutput: out\n"
}

func TestReadCSV(t *testing.T) {
	plain := csv.Form{Columns: []string{"id", "note"}, Delimiter: ',', Quote: '"', QuotedEmpty: "value"}
	for keys, change := range map[string]func(*csv.Form){
		"":                                      func(*csv.Form) {},
		", header: true, charset: AL32UTF8":     func(*csv.Form) {},
		", header: false":                       func(f *csv.Form) { f.NoHeading = true },
		`, field_delimiter: '\t'`:               func(f *csv.Form) { f.Delimiter = '\t' },
		", quote: none":                         func(f *csv.Form) { f.Quote = 0 },
		`, quote: "'"`:                          func(f *csv.Form) { f.Quote = '\'' },
		`, null: 'NULL', quoted_empty: "null"`:  func(f *csv.Form) { f.Null, f.QuotedEmpty = []byte("NULL"), "null" },
		", null: null, quoted_empty: null":      func(f *csv.Form) { f.Null, f.QuotedEmpty = []byte("null"), "null" },
		", null: [N/A, '-', null]":              func(f *csv.Form) { f.Nulls = [][]byte{[]byte("N/A"), []byte("-"), []byte("null")} },
		", skip_noise: true, skip_errors: true": func(f *csv.Form) { f.SkipNoise, f.SkipErrors = true, true },
	} {
		j, err := Read(jobdir.Write(t, csvJob(keys)), ReadOptions{})
		if err != nil {
			t.Errorf("%s: %v", keys, err)
			continue
		}
		want := plain
		change(&want)
		if !reflect.DeepEqual(j.Input.Form, ingest.Format(&want)) {
			t.Errorf("%s: %+v, want %+v", keys, j.Input.Form, want)
		}
	}
}

func TestReadCSVRefuses(t *testing.T) {
	for keys, want := range map[string]mistake{
		", field_delimiter: '||'":    atLine(4, errcode.JobValue, "input.field_delimiter: ||", "2 bytes"),
		", field_delimiter: '\\xa7'": atLine(4, errcode.JobValue, "'§'", "field delimiter"),
		", quote: ab":                atLine(4, errcode.JobValue, `input.quote: "ab"`, "none"),
		", quote: ','":               atLine(4, errcode.JobValue, "','", "both"),
		", header: maybe":            atLine(4, errcode.JobValue, "input.header"),
		", record_delimiter: '\\n'":  atLine(4, errcode.JobKey, "input.record_delimiter"),
		", quoted_empty: ":           atLine(4, errcode.JobValue, "input.quoted_empty"),
		", null: []":                 atLine(4, errcode.JobValue, "input.null"),
		", quoted_empty: nothing":    atLine(4, errcode.JobValue, `"nothing"`, "value, null"),
		", charset: gbk, quote: '|'": atLine(4, errcode.JobValue, "'|'", "gbk"),
		", charset: latin1":          atLine(4, errcode.JobValue, `"latin1"`, "utf-8, cesu-8,"),
		", compression: rar":         atLine(4, errcode.JobValue, `input.compression: "rar"`, "gzip, bzip2"),
		", null_string: x":           atLine(4, errcode.JobKey, "input.null_string"),
		", null_non_string: 'x'":     atLine(4, errcode.JobKey, "input.null_non_string"),
	} {
		if _, err := Read(jobdir.Write(t, csvJob(keys)), ReadOptions{}); !want.saidBy(err) {
			t.Errorf("%s: %v, want %v", keys, err, want)
		}
	}
}
