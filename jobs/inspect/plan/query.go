package plan

import (
	"slices"
	"strings"
	"unicode/utf8"

	"bulkload/internal/printable"
	"bulkload/jobs/spec/jobfile"
	"bulkload/keys"
)

// keyPath says how a query finds its rows.
type keyPath struct {
	query  *keys.KeyQuery // nil: no prefix is determined
	why    error          // why there is no query
	spans  []span         // positions in a key of the bytes that the query determines; nil: not fixed
	prefix *keys.Expr     // the prefix as an expression, if it is not fixed
}

// span is a byte range of a key.
type span struct{ from, to int }

// pathOf finds the leading part of the key that query columns determine.
func pathOf(j *jobfile.Job, columns []string) keyPath {
	var p keyPath
	if p.query, p.why = j.RowKey.Query(columns); p.why != nil {
		return p
	}
	at := 0
	known := columnsOf(j, columns)
	for _, part := range j.RowKey.Parts() {
		determined := !part.Record &&
			!slices.ContainsFunc(part.Columns, func(c int) bool { return !slices.Contains(known, c) })
		if !determined && part.Values == 0 {
			break
		}
		if !part.Width.Fixed() {
			p.spans = nil
			p.prefix, _ = j.RowKey.Prefix(columns) // nil after a salt that the query does not determine
			break
		}
		if determined {
			p.spans = append(p.spans, span{at, at + part.Width.Max})
		}
		at += part.Width.Max
	}
	return p
}

// printableText returns text as it is, and other bytes as HBase's shell prints them.
func printableText(b []byte) string {
	if utf8.Valid(b) && strings.IndexFunc(string(b), func(r rune) bool { return r < ' ' || r == 0x7f }) < 0 {
		return string(b)
	}
	return printable.Bytes(b)
}
