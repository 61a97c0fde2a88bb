package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/apache/arrow/go/v15/parquet/metadata"
)

// The fields of FileMetaData and of SchemaElement (parquet.thrift) that this file needs.
const (
	fieldVersion     = 1
	fieldSchema      = 2
	fieldRows        = 3
	fieldGroups      = 4
	elementName      = 4
	elementChildren  = 5
	elementConverted = 6
	elementScale     = 7
	elementPrecision = 8
	elementLogical   = 10
)

// readMeta reads a footer. v15 refuses a whole footer if any column has an annotation that it does not know, such as
// VARIANT, or one that contradicts the column's type. Only the columns to be read matter, so the footer is then read
// without such annotations; odd holds the numbers of the columns that had one.
func readMeta(raw []byte) (meta *metadata.FileMetaData, odd map[int]bool, err error) {
	if meta, err = parseMeta(raw); err == nil {
		return meta, nil, nil
	}
	cleaned, odd, clean := withoutOdd(raw)
	if clean != nil {
		return nil, nil, err
	}
	if meta, clean = parseMeta(cleaned); clean != nil {
		return nil, nil, err
	}
	return meta, odd, nil
}

// parseMeta parses a footer with v15.
func parseMeta(raw []byte) (meta *metadata.FileMetaData, err error) {
	defer func() {
		if p := recover(); p != nil {
			meta, err = nil, fmt.Errorf("its footer is damaged, or has types that this program does not know (%v)", p)
		}
	}()
	if meta, err = metadata.NewFileMetaData(raw, nil); err != nil {
		return nil, fmt.Errorf("its footer is damaged: %w", err)
	}
	if meta.Schema == nil { // v15 drops the error
		return nil, errors.New("its footer is damaged, or has types that this program does not know")
	}
	return meta, nil
}

// element is an element of a schema: its fields, each with its number and its bytes.
type element struct {
	fields   []elementField
	children bool // it is a group
}

type elementField struct {
	id    int16
	kind  byte
	value []byte
}

func (f *elementField) annotates() bool {
	switch f.id {
	case elementConverted, elementScale, elementPrecision, elementLogical:
		return true
	}
	return false
}

// append appends the element, with or without the annotations of its type. Each field's number is written in full.
func (e *element) append(dst []byte, annotated bool) []byte {
	for _, f := range e.fields {
		if annotated || !f.annotates() {
			dst = append(dst, f.kind)
			dst = binary.AppendVarint(dst, int64(f.id))
			dst = append(dst, f.value...)
		}
	}
	return append(dst, 0)
}

// withoutOdd returns a footer without the annotations of groups, whose columns can't be read anyway, and without those
// of columns that v15 refuses on their own; odd holds the numbers of these columns.
func withoutOdd(raw []byte) (cleaned []byte, odd map[int]bool, err error) {
	c := compact{bytes: raw}
	odd = map[int]bool{}
	err = c.fields(func(id int16, kind byte) error {
		if id != fieldSchema || cleaned != nil {
			return c.skip(kind)
		}
		start := c.at
		elements, err := readElements(&c)
		if err != nil {
			return err
		}
		cleaned = listHead(raw[:start:start], len(elements))
		leaf := 0
		for i, e := range elements {
			keep := i == 0 || !e.children && readableByArrow(&e)
			cleaned = e.append(cleaned, keep)
			if i > 0 && !e.children {
				odd[leaf] = !keep
				leaf++
			}
		}
		cleaned = append(cleaned, raw[c.at:]...)
		return nil
	})
	return cleaned, odd, err
}

// listHead appends the head of a list of n structures.
func listHead(dst []byte, n int) []byte {
	return binary.AppendUvarint(append(dst, 0xf0|typeStruct), uint64(n))
}

// readElements reads a schema's list.
func readElements(c *compact) ([]element, error) {
	n, kind, err := c.list()
	if err != nil || kind != typeStruct {
		return nil, errors.Join(err, errThrift)
	}
	elements := make([]element, 0, min(n, maxElements))
	for range n {
		var e element
		err := c.fields(func(id int16, kind byte) error {
			start := c.at
			if err := c.skip(kind); err != nil {
				return err
			}
			e.fields = append(e.fields, elementField{id, kind, c.bytes[start:c.at]})
			e.children = e.children || id == elementChildren && c.bytes[start] != 0
			return nil
		})
		if err != nil {
			return nil, err
		}
		elements = append(elements, e)
	}
	return elements, nil
}

// readableByArrow reports whether v15 reads a file whose only column is e.
func readableByArrow(e *element) bool {
	root := element{fields: []elementField{{elementName, typeBinary, []byte{1, 'm'}},
		{elementChildren, typeI32, []byte{2}}}}
	raw := []byte{typeI32, 2 * fieldVersion, 2, typeList, 2 * fieldSchema}
	raw = e.append(root.append(listHead(raw, 2), true), true)
	raw = append(raw, typeI64, 2*fieldRows, 0, typeList, 2*fieldGroups, typeStruct, 0)
	_, err := parseMeta(raw)
	return err == nil
}
