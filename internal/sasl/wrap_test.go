package sasl

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"testing"

	"bulkload/internal/test/testwords"

	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/crypto/etype"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/types"
)

// sizes are whole blocks, parts of blocks, and none.
var sizes = []int{0, 1, 4, 15, 16, 17, 31, 32, 33, 1000, 4096, 100_001}

func randomBytes(n int) []byte {
	b := make([]byte, n)
	rand.Read(b)
	return b
}

// keySizes are the key sizes of the supported types.
var keySizes = map[int32]int{17: 16, 18: 32, 19: 16, 20: 32}

// eachType runs a test with a random key of each type, and gokrb5's implementation of the type.
func eachType(t *testing.T, test func(t *testing.T, key types.EncryptionKey, e etype.EType)) {
	for id, size := range keySizes {
		e, err := crypto.GetEtype(id)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(fmt.Sprint(id), func(t *testing.T) {
			test(t, types.EncryptionKey{KeyType: id, KeyValue: randomBytes(size)}, e)
		})
	}
}

func TestSealedMessagesAreThoseOfGokrb5(t *testing.T) {
	eachType(t, func(t *testing.T, key types.EncryptionKey, e etype.EType) {
		s, err := newSealer(key, 22)
		if err != nil {
			t.Fatal(err)
		}
		for _, size := range sizes {
			plain := randomBytes(size + 1)
			sealed := s.seal(append(make([]byte, 3+16, 200_000), plain...), 3)[3:]
			got, err := e.DecryptMessage(key.KeyValue, bytes.Clone(sealed), 22)
			if err != nil || !bytes.Equal(got, plain) {
				t.Fatalf("gokrb5 opens %d bytes: %v", len(plain), err)
			}
			_, theirs, err := e.EncryptMessage(key.KeyValue, plain, 22)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := s.open(theirs); err != nil || !bytes.Equal(got, plain) {
				t.Fatalf("opens %d bytes of gokrb5: %v", len(plain), err)
			}
			if sum, err := e.GetChecksumHash(key.KeyValue, plain, 22); err != nil || !bytes.Equal(sum, s.mac(s.signed, plain)) {
				t.Fatalf("checksum of %d bytes differs, %v", len(plain), err)
			}
		}
	})
}

// acceptor makes tokens as a server does, with gokrb5, with extra bytes and rotated.
type acceptor struct {
	key      types.EncryptionKey
	etype    etype.EType
	sequence uint64
	extra    int // of sealed tokens
	rotated  int
}

func (a *acceptor) head(flags byte, extra, rotated int) []byte {
	h := header(flags, extra, a.sequence)
	binary.BigEndian.PutUint16(h[6:], uint16(rotated))
	return h
}

func (a *acceptor) wrap(t *testing.T, plain []byte, seal bool) []byte {
	t.Helper()
	defer func() { a.sequence++ }()
	var head, body []byte
	if seal {
		inner := append(append(bytes.Clone(plain), randomBytes(a.extra)...), a.head(fromAcceptor|isSealed, a.extra, 0)...)
		_, sealed, err := a.etype.EncryptMessage(a.key.KeyValue, inner, keyusage.GSSAPI_ACCEPTOR_SEAL)
		if err != nil {
			t.Fatal(err)
		}
		head, body = a.head(fromAcceptor|isSealed, a.extra, a.rotated), sealed
	} else {
		sum, err := a.etype.GetChecksumHash(a.key.KeyValue, append(bytes.Clone(plain), a.head(fromAcceptor, 0, 0)...), keyusage.GSSAPI_ACCEPTOR_SEAL)
		if err != nil {
			t.Fatal(err)
		}
		head, body = a.head(fromAcceptor, len(sum), a.rotated), append(bytes.Clone(plain), sum...)
	}
	n := len(body) - a.rotated%len(body)
	return append(head, append(bytes.Clone(body[n:]), body[:n]...)...)
}

func TestTokensOfServersAreUnwrapped(t *testing.T) {
	eachType(t, func(t *testing.T, key types.EncryptionKey, e etype.EType) {
		for _, seal := range []bool{false, true} {
			w, err := newWrapper(key)
			if err != nil {
				t.Fatal(err)
			}
			w.private = seal
			a := &acceptor{key: key, etype: e, sequence: 1<<40 + 7}
			for i, size := range sizes {
				plain := randomBytes(size)
				a.extra, a.rotated = i%3*16, []int{0, 28, 70_00, 16}[i%4]
				got, err := w.Unwrap(a.wrap(t, plain, seal))
				if err != nil || !bytes.Equal(got, plain) {
					t.Fatalf("sealed %v, %d bytes, %d extra, rotated by %d: %v", seal, size, a.extra, a.rotated, err)
				}
			}
		}
	})
}

func TestTokensThatWereTouchedAreRefused(t *testing.T) {
	eachType(t, func(t *testing.T, key types.EncryptionKey, e etype.EType) {
		for _, seal := range []bool{false, true} {
			token := (&acceptor{key: key, etype: e}).wrap(t, []byte("some bytes of an answer"), seal)
			for i := range token {
				w, err := newWrapper(key)
				if err != nil {
					t.Fatal(err)
				}
				bad := bytes.Clone(token)
				bad[i] ^= 0x10
				if got, err := w.Unwrap(bad); err == nil {
					t.Errorf("sealed %v: byte %d changed, got %q", seal, i, got)
				}
				if _, err := w.Unwrap(bytes.Clone(token[:i])); err == nil {
					t.Errorf("sealed %v: cut to %d bytes and accepted", seal, i)
				}
			}
		}
	})
}

func TestTokensOutOfOrderAreRefused(t *testing.T) {
	key := types.EncryptionKey{KeyType: 18, KeyValue: randomBytes(32)}
	e, _ := crypto.GetEtype(18)
	for name, send := range map[string][]int{"repeated": {0, 0}, "lost": {0, 2}, "late": {1, 0}} {
		a, tokens := &acceptor{key: key, etype: e, sequence: 99}, [][]byte{}
		for range 3 {
			tokens = append(tokens, a.wrap(t, []byte("answer"), true))
		}
		w, err := newWrapper(key)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Unwrap(bytes.Clone(tokens[send[0]])); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Unwrap(bytes.Clone(tokens[send[1]])); !testwords.Names(err, "token number") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPrivacyIsNotWeakened: with privacy a token in clear is refused, though its checksum is right.
func TestPrivacyIsNotWeakened(t *testing.T) {
	key := types.EncryptionKey{KeyType: 17, KeyValue: randomBytes(16)}
	e, _ := crypto.GetEtype(17)
	w, err := newWrapper(key)
	if err != nil {
		t.Fatal(err)
	}
	w.private = true
	_, err = w.Unwrap((&acceptor{key: key, etype: e}).wrap(t, []byte("in clear"), false))
	if !testwords.Names(err, "not encrypted") {
		t.Error(err)
	}
}

func TestOldKeysAreRefused(t *testing.T) {
	if _, err := newWrapper(types.EncryptionKey{KeyType: 23, KeyValue: randomBytes(16)}); !testwords.Names(err, "AES") {
		t.Error(err)
	}
	if _, err := newWrapper(types.EncryptionKey{KeyType: 18, KeyValue: randomBytes(5)}); err == nil {
		t.Error("a key of 5 bytes was accepted")
	}
}

func FuzzUnwrap(f *testing.F) {
	key := types.EncryptionKey{KeyType: 18, KeyValue: make([]byte, 32)}
	f.Add(header(fromAcceptor|isSealed, 0, 0), int32(18))
	f.Add(append(header(fromAcceptor, 12, 1), make([]byte, 40)...), int32(17))
	f.Fuzz(func(t *testing.T, token []byte, etype int32) {
		key.KeyType, key.KeyValue = etype, make([]byte, keySizes[etype])
		w, err := newWrapper(key)
		if err != nil {
			return
		}
		plain, err := w.Unwrap(token)
		if err == nil && len(plain) > len(token) {
			t.Error("more than there was")
		}
		w.private = true
		w.Unwrap(token)
	})
}

func BenchmarkWrap(b *testing.B) {
	for _, private := range []bool{false, true} {
		for _, etype := range []int32{18, 20} {
			b.Run(fmt.Sprintf("private=%v/%d", private, etype), func(b *testing.B) {
				w, err := newWrapper(types.EncryptionKey{KeyType: etype, KeyValue: randomBytes(32)})
				if err != nil {
					b.Fatal(err)
				}
				w.private = private
				plain := randomBytes(256 << 10)
				b.SetBytes(int64(len(plain)))
				b.ReportAllocs()
				var dst []byte
				for b.Loop() {
					if dst, err = w.Wrap(dst[:0], plain); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkUnwrap copies the token first, since unwrapping changes it.
func BenchmarkUnwrap(b *testing.B) {
	for _, private := range []bool{false, true} {
		b.Run(fmt.Sprintf("private=%v", private), func(b *testing.B) {
			key := types.EncryptionKey{KeyType: 18, KeyValue: randomBytes(32)}
			w, err := newWrapper(key)
			if err != nil {
				b.Fatal(err)
			}
			e, _ := crypto.GetEtype(18)
			token := (&acceptor{key: key, etype: e}).wrap(&testing.T{}, randomBytes(256<<10), private)
			buffer := make([]byte, len(token))
			b.SetBytes(256 << 10)
			b.ReportAllocs()
			for b.Loop() {
				w.seen = false
				copy(buffer, token)
				if _, err := w.Unwrap(buffer); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
