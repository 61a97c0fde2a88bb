package delimited

import "encoding/json"

// Identity is the form's part of a run's identity; see ingest.Format. The names are frozen: those of the first
// version's types and fields.
func (d *Form) Identity() (string, error) {
	text, err := json.Marshal(struct {
		Columns         []string   `json:"Columns"`
		FieldDelimiter  []byte     `json:"FieldDelimiter"`
		RecordDelimiter []byte     `json:"RecordDelimiter"`
		Null            []byte     `json:"Null"` // null if it is nil
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
