package sasl

import (
	"bytes"
	"crypto/hmac"
	"crypto/md5"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// Digest says who logs in with DIGEST-MD5, and to which service. It is never printed, because Password is a secret.
type Digest struct {
	User      string // of a token: its identifier in base64
	Password  string // of a token: its password in base64
	Service   string // the first part of the digest-uri
	Host      string // its second part
	Preferred []Protection
	Cipher    string // of privacy: "rc4" or "3des"; "": rc4 if it is offered, else 3des
}

// String never shows the password.
func (d Digest) String() string { return "digest for " + d.Service + "/" + d.Host }

// GoString is String.
func (d Digest) GoString() string { return d.String() }

// DigestMD5 is the exchange with a shared secret (RFC 2831), as used by Hadoop's NameNode (TOKEN) and DataNodes: the
// server begins, the client answers, and the server proves that it also knows the secret. Authentication, integrity and
// privacy with rc4 or 3des are supported.
func DigestMD5(d Digest) Client {
	return &digest{Digest: d, nonceOf: randomNonce}
}

type digest struct {
	Digest
	nonceOf   func() string
	challenge challenge
	cnonce    string
	chosen    Protection
	step      int // number of the server's tokens that were accepted
	layer     Layer
}

func randomNonce() string {
	var b [24]byte
	_, _ = rand.Read(b[:]) // never fails
	return base64.StdEncoding.EncodeToString(b[:])
}

// Start returns nil: the server begins.
func (d *digest) Start() ([]byte, error) { return nil, nil }

// Next answers the server's challenge, and then checks its proof.
func (d *digest) Next(token []byte) ([]byte, bool, error) {
	var answer []byte
	var err error
	switch d.step {
	case 0:
		answer, err = d.answer(token)
	case 1:
		err = d.prove(token)
	default:
		err = errors.New("a token after the exchange has ended")
	}
	if err != nil {
		return nil, false, fmt.Errorf("DIGEST-MD5: %w", err)
	}
	d.step++
	return answer, d.step == 2, nil
}

// Layer returns the protection that was agreed on.
func (d *digest) Layer() Layer { return d.layer }

// The values of fields that never vary here, because each nonce is used for one request.
const (
	nonceCount = "00000001"
	noBody     = ":00000000000000000000000000000000" // in place of a body's hash if there is protection
)

func (d *digest) answer(token []byte) ([]byte, error) {
	c, err := parseChallenge(token)
	if err != nil {
		return nil, err
	}
	if d.chosen, err = Choose(d.Preferred, c.offered); err != nil {
		return nil, err
	}
	if d.chosen == Privacy {
		if c.cipher, err = chooseCipher(d.Cipher, c.ciphers); err != nil {
			return nil, err
		}
	}
	d.challenge, d.cnonce = c, d.nonceOf()
	var b strings.Builder
	b.WriteString("charset=utf-8,username=" + quote(d.User) + ",realm=" + quote(c.realm) + ",nonce=" + quote(c.nonce))
	b.WriteString(",nc=" + nonceCount + ",cnonce=" + quote(d.cnonce) + ",digest-uri=" + quote(d.uri()))
	b.WriteString(",maxbuf=65536,response=" + d.proof("AUTHENTICATE") + ",qop=" + d.chosen.Token())
	if c.cipher != "" {
		b.WriteString(",cipher=" + quote(c.cipher))
	}
	return []byte(b.String()), nil
}

func (d *digest) uri() string { return d.Service + "/" + d.Host }

// prove checks that the server also knows the secret.
func (d *digest) prove(token []byte) error {
	list, err := parseDirectives(token)
	if err != nil {
		return err
	}
	want := d.proof("")
	for _, v := range list {
		if v.name != "rspauth" {
			continue
		}
		if !hmac.Equal([]byte(v.value), []byte(want)) {
			return errors.New("the server does not know the secret: its rspauth is wrong")
		}
		d.layer, err = d.protect()
		return err
	}
	return errors.New("the server does not prove that it knows the secret: no rspauth in its last token")
}

// proof is the response of RFC 2831, 2.1.2.1; with method "" it is the server's, 2.1.3.
func (d *digest) proof(method string) string {
	a2 := method + ":" + d.uri()
	if d.chosen != Authentication {
		a2 += noBody
	}
	hash := d.sessionKey()
	text := strings.Join([]string{hex.EncodeToString(hash[:]), d.challenge.nonce, nonceCount, d.cnonce,
		d.chosen.Token(), hexMD5(a2)}, ":")
	return hexMD5(text)
}

// sessionKey is H(A1) of RFC 2831.
func (d *digest) sessionKey() [md5.Size]byte {
	secret := md5.Sum([]byte(d.User + ":" + d.challenge.realm + ":" + d.Password))
	return md5.Sum(append(secret[:], ":"+d.challenge.nonce+":"+d.cnonce...))
}

func hexMD5(s string) string {
	sum := md5.Sum([]byte(s))
	return hex.EncodeToString(sum[:])
}

func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// challenge is a server's first token.
type challenge struct {
	realm, nonce string
	offered      Protection
	ciphers      []string
	cipher       string // the chosen one
}

// parseChallenge reads a digest-challenge (RFC 2831, 2.1.1).
func parseChallenge(token []byte) (challenge, error) {
	list, err := parseDirectives(token)
	if err != nil {
		return challenge{}, err
	}
	c := challenge{offered: Authentication}
	seen := map[string]bool{}
	for _, v := range list {
		if seen[v.name] && v.name != "realm" {
			return challenge{}, fmt.Errorf("the challenge has %s twice", v.name)
		}
		if err := c.set(v, seen[v.name]); err != nil {
			return challenge{}, err
		}
		seen[v.name] = true
	}
	switch {
	case c.nonce == "":
		return challenge{}, errors.New("the challenge has no nonce")
	case !seen["algorithm"]:
		return challenge{}, errors.New("the challenge names no algorithm, want md5-sess")
	}
	return c, nil
}

// set reads a directive. The first of several realms is used; unknown directives are skipped.
func (c *challenge) set(v directive, repeatable bool) error {
	switch v.name {
	case "realm":
		if !repeatable {
			c.realm = v.value
		}
	case "nonce":
		c.nonce = v.value
	case "qop":
		c.offered = 0
		for _, word := range words(v.value) {
			c.offered |= names[word] // any other protection is ignored
		}
	case "cipher":
		c.ciphers = words(v.value)
	case "algorithm":
		if v.value != "md5-sess" {
			return fmt.Errorf("the challenge wants the algorithm %.20q, want md5-sess", v.value)
		}
	case "charset":
		if v.value != "utf-8" {
			return fmt.Errorf("the challenge is in the charset %.20q, want utf-8", v.value)
		}
	}
	return nil
}

func words(list string) []string {
	return strings.FieldsFunc(strings.ToLower(list), func(r rune) bool { return r == ',' || r == ' ' || r == '\t' })
}

// directive is name=value or name="value".
type directive struct{ name, value string }

// maxChallenge bounds a server's token, in bytes (RFC 2831 says 2048).
const maxChallenge = 8 << 10

var errDirective = errors.New("malformed: want name=value or name=\"value\" with commas between them")

// parseDirectives reads a list of directives (RFC 2831, 7.1), in which elements may be empty. It returns names in lower
// case.
func parseDirectives(b []byte) ([]directive, error) {
	if len(b) > maxChallenge {
		return nil, fmt.Errorf("a token of %d bytes, more than the %d that are accepted", len(b), maxChallenge)
	}
	var list []directive
	for {
		b = bytes.TrimLeft(b, ", \t\r\n")
		if len(b) == 0 {
			return list, nil
		}
		name, rest, ok := bytes.Cut(b, []byte("="))
		name = bytes.TrimRight(name, " \t\r\n")
		if !ok || !isToken(name) {
			return nil, errDirective
		}
		value, after, err := directiveValue(bytes.TrimLeft(rest, " \t\r\n"))
		if err != nil {
			return nil, err
		}
		list = append(list, directive{strings.ToLower(string(name)), value})
		if b = bytes.TrimLeft(after, " \t\r\n"); len(b) > 0 && b[0] != ',' {
			return nil, errDirective
		}
	}
}

// directiveValue reads a token, or a quoted string in which a backslash escapes the next byte.
func directiveValue(b []byte) (value string, rest []byte, err error) {
	if len(b) == 0 || b[0] != '"' {
		end := bytes.IndexAny(b, ", \t\r\n")
		if end < 0 {
			end = len(b)
		}
		if !isToken(b[:end]) {
			return "", nil, errDirective
		}
		return string(b[:end]), b[end:], nil
	}
	var plain []byte
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '"':
			return string(plain), b[i+1:], nil
		case '\\':
			if i++; i == len(b) {
				return "", nil, errDirective
			}
		}
		plain = append(plain, b[i])
	}
	return "", nil, errDirective
}

// isToken reports whether b is a token. It also accepts "=" and "/", because base64 without quotes contains them.
func isToken(b []byte) bool {
	for _, c := range b {
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`()<>@,;:\"[]?{}`, c) >= 0 {
			return false
		}
	}
	return len(b) > 0
}
