package storage

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/sasl"
)

// Token is a delegation token, whose holder may act as its owner on one service. It is never printed, because Password
// is a secret.
type Token struct {
	Identifier []byte
	Password   []byte
	Kind       string // HDFS_DELEGATION_TOKEN for HDFS
	Service    string // "ip:port" of a NameNode, or "ha-hdfs:" and the name service

	given bool // it is the user's own, so we must not cancel it
}

// String names the token without its secret.
func (t Token) String() string { return t.Kind + " for " + t.Service }

// GoString is String.
func (t Token) GoString() string { return t.String() }

// digest is the login with the token (SaslRpcServer.encodeIdentifier and encodePassword).
func (t Token) digest() sasl.Digest {
	encode := base64.StdEncoding.EncodeToString
	return sasl.Digest{User: encode(t.Identifier), Password: encode(t.Password)}
}

const (
	hdfsTokenKind = "HDFS_DELEGATION_TOKEN"
	tokenFileName = "HADOOP_TOKEN_FILE_LOCATION"
)

// TokenDetails is the content of a delegation token's identifier.
type TokenDetails struct {
	Owner, Renewer string
	Issued, Max    time.Time // Max: the latest end, however often the token is renewed
}

// Details reads the identifier of an HDFS token (AbstractDelegationTokenIdentifier.readFields).
func (t Token) Details() (TokenDetails, error) {
	r := writable{b: t.Identifier}
	var d TokenDetails
	if version := r.bytes(1); len(version) == 1 && version[0] != 0 {
		return d, fmt.Errorf("the identifier of the %v is of version %d, want 0", t, version[0])
	}
	d.Owner, d.Renewer = r.text(), r.text()
	r.text() // the user who acts for the owner
	d.Issued, d.Max = time.UnixMilli(r.number()), time.UnixMilli(r.number())
	if r.err != nil {
		return TokenDetails{}, fmt.Errorf("the identifier of the %v: %w", t, r.err)
	}
	return d, nil
}

// TokensOfEnvironment reads the file named by HADOOP_TOKEN_FILE_LOCATION, if that is set. YARN and Oozie give their
// programs such a file.
func TokensOfEnvironment() ([]Token, error) {
	name := os.Getenv(tokenFileName)
	if name == "" {
		return nil, nil
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, errcode.KerberosToken.Errorf("read the file of tokens that %s names: %w", tokenFileName, err)
	}
	tokens, err := parseTokenFile(b)
	if err != nil {
		return nil, errcode.KerberosToken.Errorf("read the file of tokens that %s names: %w", tokenFileName,
			&fs.PathError{Op: "read", Path: name, Err: err})
	}
	return tokens, nil
}

// parseTokenFile reads a token file (org.apache.hadoop.security.Credentials), which is "HDTS", a byte for its format,
// and then
//
//	0 (writable): vint count, each: text alias, token | vint count of secrets, each: text alias, vint length, bytes
//	1 (protobuf): varint length, CredentialsProto
//
// Here a writable token is vint length, identifier | vint length, password | text kind | text service. The secrets are
// not used.
func parseTokenFile(b []byte) ([]Token, error) {
	format, ok := strings.CutPrefix(string(b[:min(len(b), 5)]), "HDTS")
	switch {
	case !ok || format == "":
		return nil, errors.New("it is not a token file: it does not begin with HDTS and a format")
	case format[0] == 0:
		return writableTokens(b[5:])
	case format[0] == 1:
		return protobufTokens(b[5:])
	}
	return nil, fmt.Errorf("its format is %d, known are 0 and 1", format[0])
}

func writableTokens(b []byte) ([]Token, error) {
	r := writable{b: b}
	var tokens []Token
	for n := r.count(); n > 0 && r.err == nil; n-- {
		r.text() // alias
		tokens = append(tokens, Token{Identifier: r.field(), Password: r.field(), Kind: r.text(),
			Service: r.text(), given: true})
	}
	return tokens, r.err
}

func protobufTokens(b []byte) ([]Token, error) {
	storage, _, err := delimited(b)
	if err != nil {
		return nil, err
	}
	var tokens []Token
	err = eachField(storage, func(f field) error {
		if f.key() != bytesField(1) { // CredentialsKVProto
			return nil
		}
		return eachField(f.bytes, func(f field) error {
			if f.key() != bytesField(2) {
				return nil
			}
			t, err := parseToken(f.bytes)
			t.given = true
			tokens = append(tokens, t)
			return err
		})
	})
	return tokens, err
}

// parseToken reads a TokenProto.
func parseToken(b []byte) (Token, error) {
	var t Token
	err := eachField(b, func(f field) error {
		switch f.key() {
		case bytesField(1):
			t.Identifier = append([]byte(nil), f.bytes...)
		case bytesField(2):
			t.Password = append([]byte(nil), f.bytes...)
		case bytesField(3):
			t.Kind = string(f.bytes)
		case bytesField(4):
			t.Service = string(f.bytes)
		}
		return nil
	})
	return t, err
}

// message is the token as a TokenProto.
func (t Token) message() message {
	return message(nil).bytes(1, t.Identifier).bytes(2, t.Password).text(3, t.Kind).text(4, t.Service)
}

// writable reads the output of Java's Writables. After an error it returns zeros.
type writable struct {
	b   []byte
	err error
}

var errShort = errors.New("it ends too early")

func (w *writable) bytes(n int) []byte {
	if w.err == nil && (n < 0 || n > len(w.b)) {
		w.err = errShort
	}
	if w.err != nil {
		return nil
	}
	v := w.b[:n]
	w.b = w.b[n:]
	return v
}

// number reads a WritableUtils.writeVLong: one byte from -112 to 127, or a byte for sign and length and then the bytes.
func (w *writable) number() int64 {
	first := w.bytes(1)
	if w.err != nil {
		return 0
	}
	lead := int8(first[0])
	if lead >= -112 {
		return int64(lead)
	}
	size, negative := int(-112-int(lead)), false
	if lead < -120 {
		size, negative = int(-120-int(lead)), true
	}
	var whole [8]byte
	copy(whole[8-size:], w.bytes(size))
	v := int64(binary.BigEndian.Uint64(whole[:]))
	if negative {
		v = ^v
	}
	return v
}

// count reads a number of elements that have at least one byte each.
func (w *writable) count() int {
	n := w.number()
	if w.err == nil && (n < 0 || n > int64(len(w.b))) {
		w.err = errShort
	}
	if w.err != nil {
		return 0
	}
	return int(n)
}

func (w *writable) field() []byte { return append([]byte(nil), w.bytes(w.count())...) }
func (w *writable) text() string  { return string(w.bytes(w.count())) }
