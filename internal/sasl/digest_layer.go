package sasl

import (
	"crypto/cipher"
	"crypto/des"
	"crypto/hmac"
	"crypto/md5"
	"crypto/rc4"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"slices"
	"strings"

	"bulkload/internal/errcode"
	"bulkload/internal/poison"
)

// A token of DIGEST-MD5 (RFC 2831, 2.3 and 2.4); privacy encrypts everything before the type:
//
//	plain | padding, with a block cipher | 10 bytes of HMAC-MD5 over number and plain | int16 type 1 | int32 number
const (
	macSize     = 10
	trailerSize = 6
	tokenType   = 1
)

// ciphers are the ciphers that this client supports, the preferred one first.
var ciphers = []string{"rc4", "3des"}

// chooseCipher returns the wanted cipher, or the best one, that a server offers and the client supports.
func chooseCipher(want string, offered []string) (string, error) {
	for _, name := range ciphers {
		if slices.Contains(offered, name) && (want == "" || strings.EqualFold(want, name)) {
			return name, nil
		}
	}
	if want != "" {
		return "", errcode.SiteProperty.Errorf(
			"no cipher for privacy: the cluster's is %.20q (dfs.encrypt.data.transfer.algorithm), the server offers %.80q, "+
				"this client has rc4 and 3des", want, strings.Join(offered, ","))
	}
	return "", errcode.SiteProperty.Errorf("no cipher for privacy: the server offers %.80q, this client has rc4 and 3des",
		strings.Join(offered, ","))
}

// digestLayer protects the two directions, each with its own key and number.
type digestLayer struct{ out, in digestWay }

// Private reports whether a layer of DIGEST-MD5 encrypts.
func Private(l Layer) bool {
	d, ok := l.(*digestLayer)
	return ok && d.out.cipher != nil
}

type digestWay struct {
	mac    hash.Hash
	sum    [md5.Size]byte
	number uint32
	cipher func(dst, src []byte) // nil: integrity only
	block  int                   // 1: no padding
}

// protect makes the layer; nil for authentication alone.
func (d *digest) protect() (Layer, error) {
	if d.chosen == Authentication {
		return nil, nil
	}
	key := d.sessionKey()
	derive := func(constant string) []byte {
		sum := md5.Sum(append(key[:], constant...))
		return sum[:]
	}
	l := &digestLayer{
		out: digestWay{block: 1, mac: hmac.New(md5.New,
			derive("Digest session key to client-to-server signing key magic constant"))},
		in: digestWay{block: 1, mac: hmac.New(md5.New,
			derive("Digest session key to server-to-client signing key magic constant"))},
	}
	if d.chosen != Privacy {
		return l, nil
	}
	err := l.out.encipher(d.challenge.cipher, derive("Digest H(A1) to client-to-server sealing key magic constant"),
		cipher.NewCBCEncrypter)
	if err == nil {
		err = l.in.encipher(d.challenge.cipher, derive("Digest H(A1) to server-to-client sealing key magic constant"),
			cipher.NewCBCDecrypter)
	}
	return l, err
}

// encipher sets the cipher, whose state continues from token to token.
func (w *digestWay) encipher(name string, key []byte, mode func(cipher.Block, []byte) cipher.BlockMode) error {
	if name == "rc4" {
		c, err := rc4.NewCipher(key)
		if err == nil {
			w.cipher = c.XORKeyStream
		}
		return err
	}
	block, err := des.NewTripleDESCipher(twoKeys(key))
	if err != nil {
		return err
	}
	w.block, w.cipher = des.BlockSize, mode(block, key[8:]).CryptBlocks
	return nil
}

// twoKeys makes a key for 3des from the first 14 bytes: each byte has 7 bits of them above a parity bit, which is
// ignored; the first key is used again as the third (RFC 2831, 2.4).
func twoKeys(key []byte) []byte {
	var triple []byte
	for _, part := range [][]byte{key[:7], key[7:14], key[:7]} {
		var bits uint64
		for _, b := range part {
			bits = bits<<8 | uint64(b)
		}
		for i := 7; i >= 0; i-- {
			triple = append(triple, byte(bits>>(7*i))<<1)
		}
	}
	return triple
}

// seal returns the first bytes of the MAC over the number and plain. The result is valid until the next call.
func (w *digestWay) seal(plain []byte) []byte {
	poison.Bytes(w.sum[:])
	w.mac.Reset()
	var number [4]byte
	binary.BigEndian.PutUint32(number[:], w.number)
	w.mac.Write(number[:]) // never fails
	w.mac.Write(plain)
	return w.mac.Sum(w.sum[:0])[:macSize]
}

// Wrap appends the token for plain.
func (l *digestLayer) Wrap(dst, plain []byte) ([]byte, error) {
	w := &l.out
	start := len(dst)
	dst = append(dst, plain...)
	if w.block > 1 {
		padding := w.block - (len(plain)+macSize)%w.block
		for range padding {
			dst = append(dst, byte(padding))
		}
	}
	dst = append(dst, w.seal(plain)...)
	if w.cipher != nil {
		w.cipher(dst[start:], dst[start:])
	}
	dst = binary.BigEndian.AppendUint16(dst, tokenType)
	dst = binary.BigEndian.AppendUint32(dst, w.number)
	w.number++
	return dst, nil
}

// Unwrap checks a token; the result is its content, in the same memory.
func (l *digestLayer) Unwrap(token []byte) ([]byte, error) {
	w := &l.in
	n := len(token) - trailerSize
	if n < macSize || n%w.block != 0 {
		return nil, fmt.Errorf("a token of %d bytes is no token of DIGEST-MD5", len(token))
	}
	if kind, number := binary.BigEndian.Uint16(token[n:]), binary.BigEndian.Uint32(token[n+2:]); kind != tokenType ||
		number != w.number {
		return nil,
			fmt.Errorf("token number %d of type %d, want number %d of type %d: a token was lost, repeated or changed on the way",
				number, kind, w.number, tokenType)
	}
	body := token[:n]
	if w.cipher != nil {
		w.cipher(body, body)
	}
	plain := body[:n-macSize]
	if w.block > 1 {
		// The MAC covers the padding, so the value of its bytes can't change the outcome.
		plain = plain[:len(plain)-min(int(body[n-macSize-1]), len(plain))]
	}
	if !hmac.Equal(w.seal(plain), body[n-macSize:]) {
		return nil, errors.New("the checksum of a token is wrong: it was changed on the way")
	}
	w.number++
	return plain, nil
}
