package parquet

import "encoding/json"

// Identity is the form's part of a run's identity; see ingest.Format. The names are frozen: the first version's code
// used them for its types and fields.
func (f *FlatForm) Identity() (string, error) {
	text, err := json.Marshal(struct {
		Columns   []string `json:"Columns"`
		Zone      string   `json:"Zone,omitempty"`
		Int96Zone string   `json:"Int96Zone,omitempty"`
		Millis    []string `json:"Millis,omitempty"`
		KeepZeros bool     `json:"KeepZeros,omitempty"`
		Binary    string   `json:"Binary,omitempty"`
	}{f.Columns, f.Zone, f.Int96Zone, f.Millis, f.KeepZeros, string(f.Binary)})
	return "*parquet.Form " + string(text), err
}
