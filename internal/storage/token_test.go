package storage

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/test/testwords"
)

// tokenVector is a vector that Hadoop's own classes wrote (testdata/TokenVectors.java).
type tokenVector struct {
	Writable, Protobuf []byte
	Tokens             []Token
}

func tokenVectors(t testing.TB) tokenVector {
	t.Helper()
	b, err := os.ReadFile("testdata/tokens.json")
	if err != nil {
		t.Fatal(err)
	}
	var v tokenVector
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	for i := range v.Tokens {
		v.Tokens[i].given = true
	}
	return v
}

func sameTokens(a, b []Token) bool {
	return slices.EqualFunc(a, b, func(a, b Token) bool {
		return bytes.Equal(a.Identifier, b.Identifier) && bytes.Equal(a.Password, b.Password) && a.Kind == b.Kind && a.Service == b.Service && a.given == b.given
	})
}

func TestTokenFiles(t *testing.T) {
	v := tokenVectors(t)
	for name, file := range map[string][]byte{"writable": v.Writable, "protobuf": v.Protobuf} {
		tokens, err := parseTokenFile(file)
		check(t, err)
		if !sameTokens(tokens, v.Tokens) {
			t.Errorf("%s: %v; want %v", name, tokens, v.Tokens)
		}
		for n := range len(file) - 1 { // a file without its last secrets may still be valid: they are not read
			if tokens, err := parseTokenFile(file[:n]); err == nil && !sameTokens(tokens, v.Tokens) {
				t.Errorf("%s cut to %d bytes: %v", name, n, tokens)
			}
		}
	}
	d, err := v.Tokens[1].Details()
	check(t, err)
	want := TokenDetails{"loader@LAB.TEST", "hbase", time.UnixMilli(1600000000000), time.UnixMilli(1600604800000)}
	if d != want {
		t.Errorf("%+v; want %+v", d, want)
	}
}

func TestTokensOfEnvironment(t *testing.T) {
	v := tokenVectors(t)
	name := filepath.Join(t.TempDir(), "tokens")
	t.Setenv(tokenFileName, name)
	_, err := TokensOfEnvironment()
	if errcode.Outermost(err) != errcode.KerberosToken || !testwords.Names(err, tokenFileName, name) {
		t.Errorf("without the file: %v", err)
	}
	for _, bad := range []string{"", "HDTS", "HDTS\x02", "PK\x03\x04", "HDTS\x00\x7f", "HDTS\x00\x8f", "HDTS\x01\x05a"} {
		check(t, os.WriteFile(name, []byte(bad), 0o600))
		tokens, err := TokensOfEnvironment()
		if errcode.Outermost(err) != errcode.KerberosToken || !testwords.Names(err, name) {
			t.Errorf("%q: %v, %v", bad, tokens, err)
		}
	}
	check(t, os.WriteFile(name, v.Writable, 0o600))
	tokens, err := TokensOfEnvironment()
	check(t, err)
	if !sameTokens(tokens, v.Tokens) {
		t.Errorf("%v", tokens)
	}
	t.Setenv(tokenFileName, "")
	if tokens, err := TokensOfEnvironment(); err != nil || tokens != nil {
		t.Errorf("%v, %v", tokens, err)
	}
}

// TestSecretsAreNotPrinted: no text shows a secret.
func TestSecretsAreNotPrinted(t *testing.T) {
	secret := []byte("topsecret")
	for _, v := range []any{Token{Password: secret}, &Token{Password: secret}, &encryptionKey{key: secret}, (&encryptionKey{key: secret}).digest()} {
		for _, form := range []string{"%v", "%+v", "%#v", "%s"} {
			text := fmt.Sprintf(form, v)
			for _, s := range []string{"topsecret", base64.StdEncoding.EncodeToString(secret), fmt.Sprint(secret), fmt.Sprintf("%x", secret)} {
				if strings.Contains(text, s) {
					t.Errorf("%s of %T: %s", form, v, text)
				}
			}
		}
	}
}

// TestWritableNumbers: numbers as WritableUtils.writeVLong writes them.
func TestWritableNumbers(t *testing.T) {
	for want, b := range map[int64]string{0: "\x00", 127: "\x7f", -112: "\x90", 128: "\x8f\x80", -113: "\x87\x70", 300: "\x8e\x01\x2c",
		1 << 62: "\x88\x40\x00\x00\x00\x00\x00\x00\x00", -1 << 63: "\x80\x7f\xff\xff\xff\xff\xff\xff\xff"} {
		r := writable{b: []byte(b)}
		if got := r.number(); got != want || r.err != nil || len(r.b) != 0 {
			t.Errorf("%x is %d, %v; want %d", b, got, r.err, want)
		}
	}
}

func FuzzTokenFile(f *testing.F) {
	v := tokenVectors(f)
	f.Add(v.Writable)
	f.Add(v.Protobuf)
	f.Fuzz(func(t *testing.T, b []byte) {
		tokens, err := parseTokenFile(b)
		if err != nil {
			return
		}
		for _, token := range tokens {
			_, _ = token.Details()
			back, err := parseToken(token.message())
			back.given = true
			if err != nil || !sameTokens([]Token{back}, []Token{token}) {
				t.Fatalf("%v comes back as %v, %v", token, back, err)
			}
		}
	})
}
