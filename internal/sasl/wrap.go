package sasl

import (
	"crypto/hmac"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/types"
)

// A wrap token (RFC 4121, 4.2.6.2) is a header of 16 bytes – 05 04, flags, FF, the size of the extra bytes (EC), how
// far the rest is rotated to the right (RRC), the sequence number – followed by the bytes with their checksum or, if
// sealed, by the encrypted bytes and header.
const (
	headerSize = 16

	fromAcceptor   = 1 << 0
	isSealed       = 1 << 1
	acceptorSubkey = 1 << 2
)

// wrapper makes the client's tokens and reads the server's.
type wrapper struct {
	out, in  *sealer
	private  bool // seal what is sent, and require received tokens to be sealed
	sent     uint64
	received uint64 // the next number that the server uses
	seen     bool   // received is known: the server chooses its first number
}

func newWrapper(key types.EncryptionKey) (*wrapper, error) {
	out, err := newSealer(key, keyusage.GSSAPI_INITIATOR_SEAL)
	if err != nil {
		return nil, err
	}
	in, err := newSealer(key, keyusage.GSSAPI_ACCEPTOR_SEAL)
	return &wrapper{out: out, in: in}, err
}

func header(flags byte, extra int, sequence uint64) []byte {
	h := make([]byte, headerSize)
	h[0], h[1], h[2], h[3] = 5, 4, flags, 0xff
	binary.BigEndian.PutUint16(h[4:], uint16(extra))
	binary.BigEndian.PutUint64(h[8:], sequence)
	return h
}

// Wrap implements Layer.
func (w *wrapper) Wrap(dst, plain []byte) ([]byte, error) {
	sequence := w.sent
	w.sent++
	if !w.private {
		sum := w.out.mac(w.out.signed, plain, header(0, 0, sequence))
		dst = slices.Grow(dst, headerSize+len(plain)+len(sum))
		dst = append(dst, header(0, len(sum), sequence)...)
		return append(append(dst, plain...), sum...), nil
	}
	h := header(isSealed, 0, sequence)
	dst = slices.Grow(dst, 2*headerSize+len(plain)+w.out.overhead())
	dst = append(dst, h...)
	from := len(dst)
	dst = append(append(append(dst, zeroBlock[:]...), plain...), h...)
	return w.out.seal(dst, from), nil
}

// Unwrap implements Layer.
func (w *wrapper) Unwrap(token []byte) ([]byte, error) {
	plain, err := w.unwrap(token)
	if err != nil {
		return nil, fmt.Errorf("unwrap what the server sent: %w", err)
	}
	return plain, nil
}

func (w *wrapper) unwrap(token []byte) ([]byte, error) {
	if err := w.checkHeader(token); err != nil {
		return nil, err
	}
	head, body := token[:headerSize], token[headerSize:]
	extra, rotated := int(binary.BigEndian.Uint16(head[4:])), int(binary.BigEndian.Uint16(head[6:]))
	if rotated > 0 && len(body) > 0 {
		rotateLeft(body, rotated%len(body))
	}
	open := w.open
	if head[2]&isSealed == 0 {
		open = w.verify
	}
	plain, err := open(head, body, extra)
	if err != nil {
		return nil, err
	}
	return plain, w.count(binary.BigEndian.Uint64(head[8:]))
}

func (w *wrapper) checkHeader(token []byte) error {
	switch {
	case len(token) < headerSize || token[0] != 5 || token[1] != 4 || token[3] != 0xff:
		return fmt.Errorf("%d bytes that are no wrap token of RFC 4121", len(token))
	case token[2]&fromAcceptor == 0:
		return errors.New("a token of the client's own came back")
	case token[2]&acceptorSubkey != 0:
		return errors.New("the token is protected by a key that was not agreed on")
	case w.private && token[2]&isSealed == 0:
		return errors.New("the token is not encrypted, though privacy was agreed on")
	}
	return nil
}

// open decrypts a sealed token: the bytes, extra bytes without meaning, and the header without rotation.
func (w *wrapper) open(head, body []byte, extra int) ([]byte, error) {
	message, err := w.in.open(body)
	if err != nil {
		return nil, err
	}
	n := len(message) - headerSize - extra
	if n < 0 {
		return nil, fmt.Errorf("sealed message of %d bytes, %d of them extra", len(message), extra)
	}
	inner := message[len(message)-headerSize:]
	inner[6], inner[7] = head[6], head[7] // the rotation is added after sealing
	if !hmac.Equal(inner, head) {
		return nil, errors.New("the header was changed on the way")
	}
	return message[:n], nil
}

func (w *wrapper) verify(head, body []byte, extra int) ([]byte, error) {
	if extra != w.in.macSize || extra > len(body) {
		return nil, fmt.Errorf("checksum of %d bytes in %d; want one of %d", extra, len(body), w.in.macSize)
	}
	plain, sum := body[:len(body)-extra], body[len(body)-extra:]
	if !hmac.Equal(sum, w.in.mac(w.in.signed, plain, header(head[2], 0, binary.BigEndian.Uint64(head[8:])))) {
		return nil, errSum
	}
	return plain, nil
}

// count checks that no token is missing, repeated or late.
func (w *wrapper) count(sequence uint64) error {
	if w.seen && sequence != w.received {
		return fmt.Errorf("token number %d came in place of %d: something was repeated or lost on the way",
			sequence, w.received)
	}
	w.seen, w.received = true, sequence+1
	return nil
}

// rotateLeft moves the first n bytes to the end.
func rotateLeft(b []byte, n int) {
	slices.Reverse(b[:n])
	slices.Reverse(b[n:])
	slices.Reverse(b)
}
