package parquet

import (
	"bytes"
	"encoding/binary"
	"testing"

	"bulkload/ingest"
	"bulkload/internal/errcode"
	"bulkload/internal/test/testwords"

	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/schema"
)

// annotated is a file with the columns id and odd. In the footer the second one has the given annotations instead of
// its real ones.
func annotated(t *testing.T, physical parquet.Type, length int, fields ...elementField) []byte {
	t.Helper()
	id := &written{name: "id", physical: parquet.Types.Int64, values: []any{int64(7)}}
	odd := &written{name: "odd", physical: physical, length: length}
	switch physical {
	case parquet.Types.Int32:
		odd.values = []any{int32(5)}
	case parquet.Types.Int64:
		odd.values = []any{int64(5)}
	case parquet.Types.ByteArray:
		odd.values = []any{parquet.ByteArray("5")}
	default:
		odd.values = []any{parquet.FixedLenByteArray(bytes.Repeat([]byte("5"), length))}
	}
	content := writeFile(t, []*written{id, odd}, []int{1})
	start := len(content) - 8 - int(binary.LittleEndian.Uint32(content[len(content)-8:]))
	raw := content[start : len(content)-8]
	c := compact{bytes: raw}
	var footer []byte
	err := c.fields(func(id int16, kind byte) error {
		if id != fieldSchema {
			return c.skip(kind)
		}
		at := c.at
		elements, err := readElements(&c)
		if err != nil {
			return err
		}
		footer = listHead(bytes.Clone(raw[:at]), len(elements))
		for i, e := range elements {
			footer = e.append(footer, true)
			if i == 2 {
				footer = footer[:len(footer)-1]
				for _, f := range fields {
					footer = append(binary.AppendVarint(append(footer, f.kind), int64(f.id)), f.value...)
				}
				footer = append(footer, 0)
			}
		}
		footer = append(footer, raw[c.at:]...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	content = append(bytes.Clone(content[:start]), footer...)
	content = binary.LittleEndian.AppendUint32(content, uint32(len(footer)))
	return append(content, magic...)
}

// TestOddAnnotations: if a column's annotation is unknown or contradicts its type, the other columns can still be read,
// and the column itself is refused by its name.
func TestOddAnnotations(t *testing.T) {
	i32 := func(id int16, n int64) elementField {
		return elementField{id, typeI32, binary.AppendVarint(nil, n)}
	}
	logical := func(union int16, fields ...byte) elementField {
		value := binary.AppendVarint([]byte{typeStruct}, int64(union))
		return elementField{elementLogical, typeStruct, append(append(value, fields...), 0, 0)}
	}
	for name, c := range map[string]struct {
		physical parquet.Type
		length   int
		fields   []elementField
		readable bool
	}{
		"none":                      {parquet.Types.Int32, 0, nil, true},
		"a date":                    {parquet.Types.Int32, 0, []elementField{logical(6)}, true},
		"one of a later version":    {parquet.Types.ByteArray, 0, []elementField{logical(16)}, false},
		"one of a version far away": {parquet.Types.Int64, 0, []elementField{logical(90)}, false},
		"a timestamp in 32 bits":    {parquet.Types.Int32, 0, []elementField{logical(8, 0x11, 0x1c, 0x1c, 0, 0)}, false},
		"a timestamp of no unit":    {parquet.Types.Int64, 0, []elementField{logical(8, 0x11, 0x1c, 0)}, false},
		"a decimal of scale -1":     {parquet.Types.Int32, 0, []elementField{logical(5, 0x15, 1, 0x15, 18)}, false},
		"a scale over the precision": {parquet.Types.Int32, 0, []elementField{i32(elementConverted, 5), i32(elementScale, 9), i32(elementPrecision, 2)},
			false},
		"an old decimal":         {parquet.Types.Int32, 0, []elementField{i32(elementConverted, 5), i32(elementScale, 2), i32(elementPrecision, 9)}, true},
		"a text in a number":     {parquet.Types.Int64, 0, []elementField{i32(elementConverted, 0)}, false},
		"a UUID of 4 bytes":      {parquet.Types.FixedLenByteArray, 4, []elementField{logical(14)}, false},
		"a converted type of 99": {parquet.Types.Int32, 0, []elementField{i32(elementConverted, 99)}, false},
	} {
		content := annotated(t, c.physical, c.length, c.fields...)
		got := ""
		rows, err := readBytes(&FlatForm{Columns: []string{"id"}}, content, func(rec *ingest.Record) { got = string(rec.Fields[0].Bytes()) })
		if rows != 1 || got != "7" || err != nil {
			t.Errorf("%s: the other column: %d rows, %q, %v", name, rows, got, err)
		}
		_, err = readBytes(&FlatForm{Columns: []string{"odd", "id"}}, content, func(*ingest.Record) {})
		if c.readable != (err == nil) || err != nil &&
			(errcode.Outermost(err) != errcode.ParquetUnsupported || !testwords.Names(err, "/it: column odd: ")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestOddGroups: columns beside a structure with an annotation, such as VARIANT, can still be read.
func TestOddGroups(t *testing.T) {
	leaf := func(name string) schema.Node { return required(name, parquet.Types.ByteArray, nil) }
	variant := schema.MustGroup(schema.NewGroupNode("v", parquet.Repetitions.Optional, schema.FieldList{leaf("metadata"), leaf("value")}, -1))
	root := schema.MustGroup(schema.NewGroupNode("schema", parquet.Repetitions.Required, schema.FieldList{leaf("id"), variant}, -1))
	if got := leavesOf(schema.NewSchema(root)); got.exact["v"] != nested || got.exact["id"] != 0 {
		t.Errorf("%+v", got)
	}
	group := element{children: true, fields: []elementField{{elementName, typeBinary, []byte{1, 'v'}}, {3, typeI32, []byte{2}}, {elementChildren, typeI32, []byte{2}},
		{elementLogical, typeStruct, []byte{0x0c, 32, 0, 0}}}}
	one := element{fields: []elementField{{1, typeI32, []byte{12}}, {3, typeI32, []byte{0}}, {elementName, typeBinary, []byte{1, 'x'}}}}
	top := element{fields: []elementField{{elementName, typeBinary, []byte{1, 'm'}}, {elementChildren, typeI32, []byte{4}}}}
	raw := listHead([]byte{typeI32, 2 * fieldVersion, 2, typeList, 2 * fieldSchema}, 4)
	for _, e := range []element{top, one, group, one} {
		raw = e.append(raw, true)
	}
	raw = append(raw, typeI64, 2*fieldRows, 0, typeList, 2*fieldGroups, typeStruct, 0)
	if _, err := parseMeta(raw); err == nil {
		t.Error("v15 reads it: this test shows nothing")
	}
	meta, odd, err := readMeta(raw)
	if err != nil || meta.Schema.NumColumns() != 2 || odd[0] || odd[1] {
		t.Errorf("%v, %v", odd, err)
	}
	for at := range raw { // further damage causes no panic
		for _, b := range []byte{0, 0xff, raw[at] ^ 1} {
			damaged := bytes.Clone(raw)
			damaged[at] = b
			if checkFooter(damaged) == nil {
				_, _, _ = readMeta(damaged)
			}
			if _, _, err := readMeta(raw[:at]); err == nil {
				t.Fatalf("cut to %d bytes: no error", at)
			}
		}
	}
}
