package ingest

import (
	"bytes"
	"path"
	"slices"
)

// RejectSeparator follows, as a record, each reject of a form with escapes, enclosures or quotes. It ends the reject
// before it even if that ends with an escape or in an enclosed value. Elsewhere in a reject the byte is written twice,
// so that nothing in a reject looks like a separator. It has this meaning in files of rejects only.
const RejectSeparator = 0x1e

var (
	oneSeparator  = []byte{RejectSeparator}
	twoSeparators = []byte{RejectSeparator, RejectSeparator}
)

// IsRejects reports whether a file is one of rejects, by its name: no other file has separators.
func IsRejects(name string) bool { return path.Base(name) == RejectsFile }

// RejectEnd is the end of a reject: a delimiter, the separator and a delimiter.
func RejectEnd(delimiter []byte) []byte { return slices.Concat(delimiter, oneSeparator, delimiter) }

// isSeparated reports whether a delimiter of rejects contains the separator.
func isSeparated(delimiter []byte) bool {
	before, behind, found := bytes.Cut(delimiter, oneSeparator)
	return found && len(before) > 0 && bytes.Equal(before, behind)
}

// stuff returns a reject as it is written before a separator.
func stuff(raw []byte) []byte {
	if bytes.IndexByte(raw, RejectSeparator) < 0 {
		return raw
	}
	return bytes.ReplaceAll(raw, oneSeparator, twoSeparators)
}

// Unstuff returns the reject that was written as text before a separator. That is text itself if it contains no
// separator, and a copy otherwise.
func Unstuff(text []byte) []byte {
	if !bytes.Contains(text, twoSeparators) {
		return text
	}
	return bytes.ReplaceAll(text, twoSeparators, oneSeparator)
}
