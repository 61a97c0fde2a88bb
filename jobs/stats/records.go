package stats

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// SampleRecord is a record of the input as plan shows it. Long values and wide records are cut.
type SampleRecord struct {
	At         string    `json:"at"` // its position
	Fields     []Field   `json:"fields"`
	MoreFields int       `json:"fields_left_out,omitempty"`
	Row        string    `json:"row,omitempty"`       // the row key as HBase's shell writes it, or its beginning
	RowBytes   int       `json:"row_bytes,omitempty"` // of the whole row key
	Key        []KeyPart `json:"key,omitempty"`       // the row key taken apart
	Qualifier  string    `json:"qualifier,omitempty"` // prefix of its cells' qualifiers, in a wide table
	Timestamp  int64     `json:"timestamp,omitempty"` // epoch milliseconds
	Refused    string    `json:"refused,omitempty"`   // why the record becomes no row; empty if it becomes one
}

// RejectedRecord is a record that can't be used.
type RejectedRecord struct {
	At     string `json:"at"` // its position
	Column string `json:"column,omitempty"`
	Reason string `json:"reason"`
	Text   string `json:"text"`          // its beginning, as it is in the input
	Cut    bool   `json:"cut,omitempty"` // it is longer than shown
}

// Why returns the reason, with the column if one is at fault.
func (r *RejectedRecord) Why() string {
	if r.Column == "" || strings.Contains(r.Reason, r.Column) {
		return r.Reason
	}
	return "column " + r.Column + ": " + r.Reason
}

// Quoted returns at most width characters of the record's beginning in quotes, with line breaks and other control
// characters as escapes.
func (r *RejectedRecord) Quoted(width int) string {
	text := []rune(r.Text)
	if len(text) > width {
		return strconv.Quote(string(text[:width])) + "…"
	}
	if r.Cut {
		return strconv.Quote(r.Text) + "…"
	}
	return strconv.Quote(r.Text)
}

// Field is a value of a record, or a constant, and the cell that it becomes.
type Field struct {
	Name   string  `json:"name"`
	Value  *string `json:"value"`            // as it was read; nil for a null and for a constant
	Cell   string  `json:"cell,omitempty"`   // family:qualifier; empty: no cell
	Stored *string `json:"stored,omitempty"` // the cell's value, if it differs from Value
	Cut    bool    `json:"cut,omitempty"`    // the value is longer than shown
}

// KeyPart is a part of a row key: a term of its expression, and the bytes that a record has there, as HBase's shell
// writes them.
type KeyPart struct {
	Part  string `json:"part"`
	Value string `json:"value"`
}

// RecordTable shows records side by side: a line for each column, and a line for each part of the row key.
type RecordTable struct {
	Records []string // the place of each: the file's name, and the byte or row
	Lines   []RecordLine
	Rows    []string // the row key of each, or why it has none
	More    int      // fields left out
}

// RecordLine is a line of a RecordTable.
type RecordLine struct {
	Name   string
	Cell   string // family:qualifier; "row key" for a part of the key, whose expression is in Name
	Key    bool   // it is a part of the row key
	Values []string
}

// NewRecordTable makes the table of a report's records, with fields columns at most, and values of width characters at
// most.
func NewRecordTable(r *InputReport, fields, width int) *RecordTable {
	if len(r.Records) == 0 {
		return nil
	}
	t := &RecordTable{}
	for i := range r.Records {
		record := &r.Records[i]
		t.Records = append(t.Records, record.At[strings.LastIndexByte(record.At, '/')+1:])
		row := fmt.Sprintf("%s (%s)", record.Row, plural(record.RowBytes, "byte"))
		if record.Refused != "" {
			row = "none: " + record.Refused
		}
		t.Rows = append(t.Rows, row)
	}
	first := r.Records[0].Fields
	shown := min(len(first), fields)
	t.More = len(first) - shown + r.Records[0].MoreFields
	for i := range first[:shown] {
		t.addField(r.Records, i, width)
	}
	t.addKey(r.Records, width)
	return t
}

func (t *RecordTable) addField(records []SampleRecord, i, width int) {
	line := RecordLine{Name: records[0].Fields[i].Name}
	for _, r := range records {
		f := &r.Fields[i]
		if line.Cell == "" && f.Cell != "" {
			line.Cell = f.Cell
			if family, qualifier, ok := strings.Cut(f.Cell, ":"); ok && r.Qualifier != "" {
				line.Cell = family + ":…" + strings.TrimPrefix(qualifier, r.Qualifier)
			}
		}
		line.Values = append(line.Values, f.text(width))
	}
	t.Lines = append(t.Lines, line)
}

// text returns the field's value, followed by the cell's value if it differs.
func (f *Field) text(width int) string {
	switch {
	case f.Value == nil && f.Stored == nil:
		return "null"
	case f.Value == nil:
		return cutText(*f.Stored, width, f.Cut)
	case f.Stored == nil:
		return cutText(*f.Value, width, f.Cut)
	}
	return cutText(*f.Value, width, f.Cut) + " → " + cutText(*f.Stored, width, f.Cut)
}

func (t *RecordTable) addKey(records []SampleRecord, width int) {
	var parts []KeyPart
	named := false
	for _, r := range records {
		if len(r.Key) > 0 {
			parts = r.Key
		}
		named = named || r.Qualifier != ""
	}
	for i, p := range parts {
		line := RecordLine{Name: p.Part, Cell: "row key", Key: true}
		for _, r := range records {
			value := ""
			if i < len(r.Key) {
				value = cutText(r.Key[i].Value, width, false)
			}
			line.Values = append(line.Values, value)
		}
		t.Lines = append(t.Lines, line)
	}
	if !named {
		return
	}
	line := RecordLine{Name: "wide.qualifier", Cell: "qualifier", Key: true}
	for _, r := range records {
		line.Values = append(line.Values, cutText(r.Qualifier, width, false))
	}
	t.Lines = append(t.Lines, line)
}

// cutText returns the first width characters of a text. longer says that the text was cut before.
func cutText(text string, width int, longer bool) string {
	if utf8.RuneCountInString(text) > width {
		return string([]rune(text)[:width-1]) + "…"
	}
	if longer {
		return text + "…"
	}
	return text
}
