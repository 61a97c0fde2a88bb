package csv

import "encoding/json"

// Identity is the form's part of a run's identity; see ingest.Format. The names are frozen: those of the first
// version's types and fields.
func (f *Form) Identity() (string, error) {
	text, err := json.Marshal(struct {
		Columns     []string `json:"Columns"`
		NoHeading   bool     `json:"NoHeading"`
		Delimiter   byte     `json:"Delimiter"`
		Quote       byte     `json:"Quote"`
		Null        []byte   `json:"Null"` // null if it is nil
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
