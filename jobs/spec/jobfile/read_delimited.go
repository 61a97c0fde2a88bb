package jobfile

import (
	"path"

	"bulkload/ingest"
	"bulkload/ingest/compressed"
	"bulkload/ingest/delimited"
	"bulkload/jobs/spec/yamldoc"
	"bulkload/values"

	"go.yaml.in/yaml/v3"
)

func readDelimited(s *yamldoc.Section, columns []string) ingest.Format {
	form := &delimited.Form{Columns: columns, FieldDelimiter: delimiterOf(s, "field_delimiter", "\x01"),
		RecordDelimiter: delimiterOf(s, "record_delimiter", "\n"), Charset: charsetOf(s), Compression: compressionOf(s)}
	form.Escape = markOf(s, "escaped_by")
	form.Enclosure = markOf(s, "optionally_enclosed_by")
	if s.Has("enclosed_by") {
		if s.Has("optionally_enclosed_by") {
			s.Fail("enclosed_by", "is given beside optionally_enclosed_by; an export uses only one of them")
		}
		form.Enclosure = markOf(s, "enclosed_by")
		form.EncloseAll = form.Enclosure != 0
	}
	readNull(s, form)
	return form
}

func delimiterOf(s *yamldoc.Section, key, def string) []byte {
	if !s.Has(key) {
		return []byte(def)
	}
	text, ok := s.Scalar(key, s.Values[key])
	if !ok {
		return []byte(def)
	}
	d, err := ingest.ParseDelimiter(text)
	if err != nil {
		s.Fail(key, "%v", err)
		return []byte(def)
	}
	return d
}

// markOf reads an escape character or an enclosure; 0 if it is missing, or \0 as in Sqoop's arguments.
func markOf(s *yamldoc.Section, key string) byte {
	if !s.Has(key) {
		return 0
	}
	text, ok := s.Scalar(key, s.Values[key])
	if !ok {
		return 0
	}
	if text == `\` {
		return '\\'
	}
	mark, err := ingest.ParseDelimiter(text)
	switch {
	case err != nil:
		s.Fail(key, "%v", err)
	case len(mark) != 1 || mark[0] >= 0x80:
		s.Fail(key, "%q is not one character of ASCII", text)
	default:
		return mark[0]
	}
	return 0
}

// namesRejects reports whether the input is the rejects of another run.
func namesRejects(s *yamldoc.Section) bool {
	return path.Base(s.Undated("path")) == ingest.RejectsFile
}

// compressionOf reads the files' compression; by default it is detected for each file. Rejects are plain text, whatever
// the compression of their source files was.
func compressionOf(s *yamldoc.Section) compressed.Codec {
	codec, _ := compressed.Named(s.OneOf("compression", compressed.Names()...))
	if namesRejects(s) {
		return compressed.None
	}
	return codec
}

// readNull reads null: the text of a null in all columns, or a list of such texts.
func readNull(s *yamldoc.Section, form *delimited.Form) {
	texts := nullTexts(s, "null")
	if len(texts) == 1 {
		form.Null = texts[0]
	} else if texts != nil {
		form.ColumnNulls = make([][][]byte, len(form.Columns))
		for i := range form.ColumnNulls {
			form.ColumnNulls[i] = texts
		}
	}
	if form.Escape == 0 && !isList(s, "null") {
		refuseDoubled(s, "null", texts)
	}
}

// readTypedNulls reads null_string and null_non_string, named after Sqoop's arguments. A column is not a string if it
// has a type other than text.
func readTypedNulls(j *Job, s *yamldoc.Section, nonString func(column string) bool) {
	form, ok := j.Input.Form.(*delimited.Form)
	if !ok || !s.Has("null_string") && !s.Has("null_non_string") {
		return
	}
	for _, pair := range [][2]string{{"null_string", "null_non_string"}, {"null_non_string", "null_string"}} {
		switch {
		case s.Has("null"):
			s.Fail(pair[0], "can't be combined with null, which sets both; use null, or null_string and null_non_string")
			return
		case !s.Has(pair[1]):
			s.Fail(pair[0], "is given without %s, for which Sqoop writes the text null by default; give both, or only null if "+
				"they are the same", pair[1])
			return
		}
	}
	strings, others := nullTexts(s, "null_string"), nullTexts(s, "null_non_string")
	if form.Escape == 0 && !isList(s, "null_string") {
		refuseDoubled(s, "null_string", strings)
	}
	if form.Escape == 0 && !isList(s, "null_non_string") {
		refuseDoubled(s, "null_non_string", others)
	}
	form.ColumnNulls = make([][][]byte, len(form.Columns))
	for i, name := range form.Columns {
		form.ColumnNulls[i] = strings
		if nonString(name) {
			form.ColumnNulls[i] = others
		}
	}
}

// nonStrings returns a function that reports whether columns_map, at the top or in an output, gives a column a type
// other than text.
func nonStrings(top *yamldoc.Section) func(column string) bool {
	maps := []*yaml.Node{top.Values["columns_map"]}
	if outputs, ok := top.Values["outputs"]; ok {
		for _, output := range yamldoc.Resolve(outputs).Content {
			maps = append(maps, valueOf(output, "columns_map"))
		}
	}
	return func(column string) bool {
		for _, m := range maps {
			if n := valueOf(valueOf(m, column), "type"); n != nil && n.Value != values.KindText.String() {
				return true
			}
		}
		return false
	}
}

// valueOf returns a mapping's value for a key; nil if the key is missing or the node is not a mapping.
func valueOf(mapping *yaml.Node, key string) *yaml.Node {
	if mapping == nil || yamldoc.Resolve(mapping).Kind != yaml.MappingNode {
		return nil
	}
	content := yamldoc.Resolve(mapping).Content
	for i := 0; i+1 < len(content); i += 2 {
		if content[i].Value == key {
			return yamldoc.Resolve(content[i+1])
		}
	}
	return nil
}

// nullTexts reads a text or a list of texts; nil if the key is missing.
func nullTexts(s *yamldoc.Section, key string) [][]byte {
	switch {
	case !s.Has(key):
		return nil
	case !isList(s, key):
		return [][]byte{nullText(s, key, s.Values[key])}
	}
	var texts [][]byte
	for _, n := range yamldoc.Resolve(s.Values[key]).Content {
		texts = append(texts, nullText(s, key, n))
	}
	if len(texts) == 0 {
		s.Fail(key, "is an empty list; leave the key out if no text means null")
	}
	return texts
}

// nullText reads one text of a null. The word null without quotes is YAML's null, but here it means the word itself.
func nullText(s *yamldoc.Section, key string, n *yaml.Node) []byte {
	if n = yamldoc.Resolve(n); n.Tag == "!!null" && n.Value != "" {
		return []byte(n.Value)
	}
	text, _ := s.Scalar(key, n)
	return []byte(text)
}

// isList reports whether a key's value is a list.
func isList(s *yamldoc.Section, key string) bool {
	n, ok := s.Values[key]
	return ok && yamldoc.Resolve(n).Kind == yaml.SequenceNode
}

// refuseDoubled refuses a text with two backslashes. Sqoop's argument needs two because it passes through Java source,
// but the files have one.
func refuseDoubled(s *yamldoc.Section, key string, texts [][]byte) {
	for _, text := range texts {
		if string(text) == `\\N` {
			s.Fail(key,
				`\\N has two backslashes; Sqoop's --null-string '\\N' writes one: `+
					`write '\N', or ['\\N'] where the files really have two`)
		}
	}
}
