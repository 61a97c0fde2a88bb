package csv

import "encoding/json"

// Identity is the form as a run's identity has it; see ingest.Form. The names are frozen: they are those that the first
// version's code had for its types and fields.
func (f *Form) Identity() (string, error) {
	text, err := json.Marshal(struct {
		Columns     []string `json:"Columns"`
		NoHeading   bool     `json:"NoHeading"`
		Delimiter   byte     `json:"Delimiter"`
		Quote       byte     `json:"Quote"`
		Null        []byte   `json:"Null"` // null where it is nil
		Nulls       [][]byte `json:"Nulls,omitempty"`
		QuotedEmpty string   `json:"QuotedEmpty"`
		SkipNoise   bool     `json:"SkipNoise"`
		SkipErrors  bool     `json:"SkipErrors"`
		Charset     string   `json:"Charset,omitempty"`
		Compression string   `json:"Compression,omitempty"`
	}{f.Columns, f.NoHeading, f.Delimiter, f.Quote, f.Null, f.Nulls, f.QuotedEmpty, f.SkipNoise, f.SkipErrors,
		f.Charset.Identity(), f.Compression.Identity()})
	return "*csv.Form " + string(text), err
}
