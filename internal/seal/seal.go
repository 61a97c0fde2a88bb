// Package seal writes JSON documents that contain a checksum of their content, so that changed ones are detected.
//
// The checksum is the last field of the object:
//
//	"checksum": "<64 hex digits>"
//
// It is the SHA-256 of the document without that field and without white space between the values. So indentation does
// not change it, but the order of the fields, a value, or another spelling of a value does.
package seal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
)

// The reasons for refusing a document.
var (
	// ErrMalformed means that it is not a JSON object, or does not have the expected form.
	ErrMalformed = errors.New("malformed")
	// ErrUnsealed is an ErrMalformed: the object does not end with a checksum.
	ErrUnsealed = fmt.Errorf("%w: it does not end with its checksum", ErrMalformed)
	// ErrMismatch means that the checksum was computed from other content.
	ErrMismatch = errors.New("its checksum does not match its content")
)

const field = `"checksum":"`

// Marshal writes a value, which must be a JSON object without a field "checksum", indented and sealed.
func Marshal(v any) ([]byte, error) {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return nil, err
	}
	return Seal(text)
}

// Seal adds the checksum to a JSON object. The rest of the text is unchanged.
func Seal(text []byte) ([]byte, error) {
	content, err := compact(text)
	if err != nil {
		return nil, err
	}
	body := bytes.TrimRight(text, " \t\r\n")
	body = bytes.TrimRight(body[:len(body)-1], " \t\r\n") // without the closing brace
	sealed := make([]byte, 0, len(body)+len(field)+2*sha256.Size+16)
	sealed = append(sealed, body...)
	if len(content) > len("{}") {
		sealed = append(sealed, ',')
	}
	return fmt.Appendf(sealed, "\n  \"checksum\": %q\n}", sum(content)), nil
}

// Unmarshal reads a sealed document into v. The error is one of this package's; v is untouched unless the checksum
// matches.
func Unmarshal(data []byte, v any) error {
	content, err := open(data)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(content, v); err != nil {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return nil
}

// Schema is the number in the field "schema" of a JSON object, which need not have a checksum; 0 if there is no such
// field. It names the format of a document that can't be read.
func Schema(text []byte) int {
	var d struct {
		Schema int `json:"schema"`
	}
	if json.Unmarshal(text, &d) != nil {
		return 0
	}
	return d.Schema
}

// open checks a sealed document and returns its content.
func open(data []byte) ([]byte, error) {
	text, err := compact(data)
	if err != nil {
		return nil, err
	}
	at := bytes.LastIndex(text, []byte(field)) // a quote inside a string would be escaped
	if at <= 0 {
		return nil, ErrUnsealed
	}
	value, last := bytes.CutSuffix(text[at+len(field):], []byte(`"}`))
	before := text[at-1]
	if !last || bytes.IndexByte(value, '"') >= 0 || before != ',' && before != '{' {
		return nil, ErrUnsealed // the field belongs to an inner object, or more fields follow
	}
	content := append(bytes.Clone(bytes.TrimSuffix(text[:at], []byte{','})), '}')
	if want := sum(content); want != string(value) {
		return nil, fmt.Errorf("%w: it says %.80q, the content has %s", ErrMismatch, value, want)
	}
	return content, nil
}

// compact is a JSON object without the white space between its values.
func compact(text []byte) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(len(text))
	if err := json.Compact(&b, text); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if b.Bytes()[0] != '{' {
		return nil, fmt.Errorf("%w: it is not a JSON object", ErrMalformed)
	}
	return b.Bytes(), nil
}

func sum(content []byte) string {
	s := sha256.Sum256(content)
	return hex.EncodeToString(s[:])
}
