package csv

import (
	"bytes"

	"bulkload/ingest"
	"bulkload/ingest/charset"
	"bulkload/values"
)

// values fills in the columns of the record in r.rec. If a value is not valid in the charset, it returns the column and
// the position in the value; otherwise -1.
func (r *reader) values() (column, at int) {
	raw := r.rec.Raw
	r.decoded = r.decoded[:0]
	var check bool
	if r.form.Charset.IsUTF8() {
		check = !ingest.ValidUTF8(raw)
	} else {
		check = !charset.IsASCII(raw)
	}
	for i, place := range r.indexes {
		v := r.spans[place]
		value := raw[v.start:v.end:v.end]
		if v.quoted {
			value = r.unquote(value, v.doubled)
		}
		if check && !charset.IsASCII(value) {
			var bad int
			if value, bad = r.decode(value); bad >= 0 {
				return i, bad
			}
		}
		r.rec.Fields[i] = values.ValueOf(value)
		if r.isNull(value, v.quoted) {
			r.rec.Fields[i] = values.Value{}
		}
	}
	return -1, 0
}

func (r *reader) isNull(value []byte, quoted bool) bool {
	if quoted {
		return len(value) == 0 && r.form.QuotedEmpty == "null"
	}
	if len(value) == 0 || r.form.Null != nil && bytes.Equal(value, r.form.Null) {
		return true
	}
	for _, null := range r.form.Nulls {
		if bytes.Equal(value, null) {
			return true
		}
	}
	return false
}

// unquote returns the text between the quotes, with doubled quotes made single.
func (r *reader) unquote(value []byte, doubled bool) []byte {
	value = value[1 : len(value)-1]
	if !doubled {
		return value
	}
	start := len(r.decoded)
	for {
		i := bytes.IndexByte(value, r.form.Quote)
		if i < 0 {
			break
		}
		r.decoded = append(r.decoded, value[:i+1]...)
		value = value[i+2:]
	}
	r.decoded = append(r.decoded, value...)
	return r.decoded[start:len(r.decoded):len(r.decoded)]
}

// decode returns a value in UTF-8; bad is the position at which it is not valid in the charset, or -1.
func (r *reader) decode(value []byte) (text []byte, bad int) {
	start := len(r.decoded)
	out, valid := r.form.Charset.Append(r.decoded, value)
	if valid < len(value) {
		return value, valid
	}
	if r.form.Charset.IsUTF8() {
		return value, -1
	}
	r.decoded = out
	return out[start:len(out):len(out)], -1
}
