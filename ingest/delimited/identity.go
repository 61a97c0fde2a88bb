package delimited

import "encoding/json"

// Identity is the form as a run's identity has it; see Form. The names are frozen: they are those that the first version's
// code had for its types and fields.
func (d *Form) Identity() (string, error) {
	text, err := json.Marshal(struct {
		Columns         []string   `json:"Columns"`
		FieldDelimiter  []byte     `json:"FieldDelimiter"`
		RecordDelimiter []byte     `json:"RecordDelimiter"`
		Null            []byte     `json:"Null"` // null where it is nil
		ColumnNulls     [][][]byte `json:"ColumnNulls,omitempty"`
		Escape          byte       `json:"Escape,omitempty"`
		Enclosure       byte       `json:"Enclosure,omitempty"`
		EncloseAll      bool       `json:"EncloseAll,omitempty"`
		Strict          bool       `json:"Strict,omitempty"`
		Compression     string     `json:"Compression,omitempty"`
		Charset         string     `json:"Charset,omitempty"`
	}{d.Columns, d.FieldDelimiter, d.RecordDelimiter, d.Null, d.ColumnNulls, d.Escape, d.Enclosure, d.EncloseAll, d.Strict,
		d.Compression.Identity(), d.Charset.Identity()})
	return "*ingest.Delimited " + string(text), err
}
