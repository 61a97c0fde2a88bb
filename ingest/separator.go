package ingest

import (
	"bytes"
	"path"
	"slices"
)

// RejectSeparator follows, as a record, each reject of a form with escapes, enclosures or quotes. It ends the one
// before it even where that ends with an escape, or in an enclosed value. Elsewhere in a reject the byte is written twice,
// so that nothing in a reject is taken for a separator. It has that meaning in the files of rejects alone.
const RejectSeparator = 0x1e

var (
	oneSeparator  = []byte{RejectSeparator}
	twoSeparators = []byte{RejectSeparator, RejectSeparator}
)

// IsRejects says whether a file is one of rejects, by its name: no other file has separators.
func IsRejects(name string) bool { return path.Base(name) == RejectsFile }

// RejectEnd is what ends a reject: a delimiter, the separator and a delimiter.
func RejectEnd(delimiter []byte) []byte { return slices.Concat(delimiter, oneSeparator, delimiter) }

// isSeparated says whether a delimiter of rejects has the separator in it.
func isSeparated(delimiter []byte) bool {
	before, behind, found := bytes.Cut(delimiter, oneSeparator)
	return found && len(before) > 0 && bytes.Equal(before, behind)
}

// stuff is a reject as it is written before a separator.
func stuff(raw []byte) []byte {
	if bytes.IndexByte(raw, RejectSeparator) < 0 {
		return raw
	}
	return bytes.ReplaceAll(raw, oneSeparator, twoSeparators)
}

// Unstuff is the reject that was written as text before a separator: text itself where it holds none, else a copy.
func Unstuff(text []byte) []byte {
	if !bytes.Contains(text, twoSeparators) {
		return text
	}
	return bytes.ReplaceAll(text, twoSeparators, oneSeparator)
}
