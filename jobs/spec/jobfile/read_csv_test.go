package jobfile

import (
	"reflect"
	"strings"
	"testing"

	"bulkload/ingest"
	"bulkload/ingest/csv"
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
		j, err := Read(writeJob(t, csvJob(keys)), ReadOptions{})
		if err != nil {
			t.Errorf("%s: %v", keys, err)
			continue
		}
		want := plain
		change(&want)
		if !reflect.DeepEqual(j.Input.Form, ingest.Form(&want)) {
			t.Errorf("%s: %+v, want %+v", keys, j.Input.Form, want)
		}
	}
}

func TestReadCSVRefuses(t *testing.T) {
	for keys, want := range map[string]string{
		", field_delimiter: '||'":                "|| has 2 bytes; in CSV it is one ASCII character",
		", field_delimiter: '\\xa7'":             "can't be the field delimiter",
		", quote: ab":                            `input.quote: "ab" is neither one ASCII character nor none`,
		", quote: ','":                           "can't be both the field delimiter and the quote",
		", header: maybe":                        "input.header",
		", record_delimiter: '\\n'":              "record_delimiter",
		", quoted_empty: ":                       "input.quoted_empty is empty",
		", null: []":                             "input.null: is an empty list",
		", quoted_empty: nothing":                `"nothing" is none of value, null`,
		", charset: gbk, quote: '|'":             "can't be the quote in gbk",
		", charset: latin1":                      `charset "latin1" is not known; there are utf-8, cesu-8,`,
		", compression: rar":                     "input.compression",
		", null_string: x, null_non_string: 'x'": "null_string",
	} {
		_, err := Read(writeJob(t, csvJob(keys)), ReadOptions{})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), ":4") {
			t.Errorf("%s: %v, want %q", keys, err, want)
		}
	}
}
