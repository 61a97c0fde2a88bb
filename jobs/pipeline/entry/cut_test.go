package entry

import (
	"errors"
	"strings"
	"testing"

	"bulkload/ingest"
	"bulkload/internal/errcode"
	"bulkload/internal/test/testvalues"
	"bulkload/jobs/spec/jobfile"
)

// TestCutValues: what SQL*Plus writes for a number that does not fit its column is a reject, unless the column is
// declared text; so is, in a key, a number that has lost digits.
func TestCutValues(t *testing.T) {
	const hashes, exponent = "only #, which SQL*Plus", "a number with an exponent"
	for _, c := range []struct{ rules, id, a, want string }{
		{"", "1", "2", ""}, {"", "1", "##########", hashes}, {"", "##", "x", hashes}, {"", "1", "#", ""}, {"", "1", "##x", ""}, {"", "1", "x##", ""}, {"", "#1", "", ""},
		{"columns_map: {a: {type: text}}", "1", "##########", ""}, {"columns_map: {a: {type: bytes}}", "1", "##", ""}, {"columns_map: {a: {type: int64}}", "1", "####", hashes},
		{"columns_map: {a: {type: timestamp}}", "1", "########", hashes}, {"columns_map: {a: {skip: true}}", "1", "###", hashes}, {"filter: a = 'x'", "1", "####", hashes},
		{"", "7.0000E+11", "2", exponent}, {"", "-7E+11", "2", exponent}, {"", "1.25E+125", "2", exponent}, {"", "7", "7.0000E+11", ""},
		{"", "7.0E11", "2", ""}, {"", "12AE+5", "2", ""}, {"", "E+5", "2", ""}, {"", "7.0000E-11", "2", ""}, {"", "7.0E+1x", "2", ""},
		{"columns_map: {id: {type: text}}", "7.0000E+11", "2", ""}, {"columns_map: {id: {type: decimal}}", "7.0000E+11", "2", exponent},
		{"columns_map: {id: {type: float64}}", "7.0000E+11", "2", ""},
		{"wide: {qualifier: a, value: a}", "7", "7.0000E+11", exponent},
	} {
		for _, format := range []string{"delimited", "csv", "parquet"} {
			text := "table: t\nfamily: f\ntimestamp: 1000\ninput: {path: in, format: " + format + ", columns: [id, a]}\nrowkey: id\nregions: {from: splits, splits: ['5']}\nhfile: {}\noutput: out\n" + c.rules
			j, err := jobfile.Parse("job.yaml", strings.NewReader(text), jobfile.ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			key := NewKey(j)
			err = key.Build(nil, &ingest.Record{Fields: testvalues.Of(c.id, c.a)})
			if errors.Is(err, ErrFiltered) {
				err = nil
			}
			bad := new(ingest.BadRecord)
			found := errors.As(err, &bad) && bad.Code == errcode.RejectSQLPlus
			switch {
			case format == "parquet" && found, format != "parquet" && found != (c.want != ""), found && (!strings.HasPrefix(bad.Reason, c.want) || bad.Column == ""):
				t.Errorf("%s, %q: %q, %q: %v, want %q", format, c.rules, c.id, c.a, err, c.want)
			}
		}
	}
}
