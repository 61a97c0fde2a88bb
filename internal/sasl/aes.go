package sasl

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"errors"
	"fmt"
	"hash"

	"bulkload/internal/errcode"
	"bulkload/internal/poison"

	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/crypto/common"
	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
	"github.com/jcmturner/gokrb5/v8/types"
)

// sealer encrypts and checks with one session key for one key usage: AES in CBC mode with ciphertext stealing and a
// HMAC, according to RFC 3962 (SHA-1) and RFC 8009 (SHA-2). gokrb5 is used only to derive the keys, because it would
// derive them again for each message, and copy the bytes several times. sealer is not safe for concurrent use.
type sealer struct {
	block    cipher.Block
	sealed   hash.Hash // with the key for encrypted messages
	signed   hash.Hash // with the key for messages that are only signed
	macSize  int
	macLater bool // RFC 8009: the HMAC covers the ciphertext
	sum      []byte
}

type suite struct {
	hash     func() hash.Hash
	macSize  int
	macLater bool
}

// suites are the encryption types whose messages have the form of RFC 4121. Older ones, such as RC4, have their own
// messages (RFC 4757), which current servers don't use.
var suites = map[int32]suite{
	etypeID.AES128_CTS_HMAC_SHA1_96:    {sha1.New, 12, false},
	etypeID.AES256_CTS_HMAC_SHA1_96:    {sha1.New, 12, false},
	etypeID.AES128_CTS_HMAC_SHA256_128: {sha256.New, 16, true},
	etypeID.AES256_CTS_HMAC_SHA384_192: {sha512.New384, 24, true},
}

func newSealer(key types.EncryptionKey, usage uint32) (*sealer, error) {
	s, ok := suites[key.KeyType]
	if !ok {
		return nil, errcode.KerberosPrincipal.Errorf("session key of encryption type %d; only AES keys are supported: give "+
			"the service an AES key at the KDC", key.KeyType)
	}
	etype, err := crypto.GetEtype(key.KeyType)
	if err != nil {
		return nil, err
	}
	var keys [3][]byte
	for i, label := range [][]byte{common.GetUsageKe(usage), common.GetUsageKi(usage), common.GetUsageKc(usage)} {
		if keys[i], err = etype.DeriveKey(key.KeyValue, label); err != nil {
			return nil, errors.New("can't derive keys from the session key")
		}
	}
	block, err := aes.NewCipher(keys[0])
	if err != nil {
		return nil, errors.New("the session key has a wrong size")
	}
	return &sealer{block, hmac.New(s.hash, keys[1]), hmac.New(s.hash, keys[2]), s.macSize, s.macLater, nil}, nil
}

// mac is the HMAC of consecutive parts, cut to its size. It is valid until the next call.
func (s *sealer) mac(h hash.Hash, parts ...[]byte) []byte {
	poison.Bytes(s.sum)
	h.Reset()
	for _, p := range parts {
		h.Write(p)
	}
	s.sum = h.Sum(s.sum[:0])
	return s.sum[:s.macSize]
}

// overhead is the number of bytes by which sealing lengthens a message.
func (s *sealer) overhead() int { return aes.BlockSize + s.macSize }

var zeroBlock [aes.BlockSize]byte

// seal encrypts the bytes of b after from, where a block is left free for the confounder, and appends the HMAC.
func (s *sealer) seal(b []byte, from int) []byte {
	message := b[from:]
	rand.Read(message[:aes.BlockSize])
	if s.macLater {
		s.encrypt(message)
		return append(b, s.mac(s.sealed, zeroBlock[:], message)...)
	}
	sum := s.mac(s.sealed, message)
	s.encrypt(message)
	return append(b, sum...)
}

var errSum = errors.New("checksum is wrong: bytes were changed on the way, or the keys differ")

// open checks and decrypts a sealed message in place.
func (s *sealer) open(b []byte) ([]byte, error) {
	n := len(b) - s.macSize
	if n <= aes.BlockSize {
		return nil, fmt.Errorf("sealed message of %d bytes", len(b))
	}
	message, sum := b[:n], b[n:]
	if s.macLater {
		if !hmac.Equal(sum, s.mac(s.sealed, zeroBlock[:], message)) {
			return nil, errSum
		}
		s.decrypt(message)
		return message[aes.BlockSize:], nil
	}
	s.decrypt(message)
	if !hmac.Equal(sum, s.mac(s.sealed, message)) {
		return nil, errSum
	}
	return message[aes.BlockSize:], nil
}

// encrypt is CBC with ciphertext stealing over more than one block (CBC-CS3): the last two blocks are swapped, and the
// new last one is cut to the length of the message's end.
func (s *sealer) encrypt(b []byte) {
	whole := (len(b) - 1) / aes.BlockSize * aes.BlockSize
	cipher.NewCBCEncrypter(s.block, zeroBlock[:]).CryptBlocks(b[:whole], b[:whole])
	before := b[whole-aes.BlockSize : whole]
	var last [aes.BlockSize]byte
	copy(last[:], b[whole:])
	for i := range last {
		last[i] ^= before[i]
	}
	s.block.Encrypt(last[:], last[:])
	copy(b[whole:], before)
	copy(before, last[:])
}

func (s *sealer) decrypt(b []byte) {
	whole := (len(b) - 1) / aes.BlockSize * aes.BlockSize
	before, tail := b[whole-aes.BlockSize:whole], b[whole:]
	var last [aes.BlockSize]byte
	s.block.Decrypt(last[:], before)
	copy(before, tail)
	copy(before[len(tail):], last[len(tail):])
	for i := range tail {
		tail[i] ^= last[i]
	}
	cipher.NewCBCDecrypter(s.block, zeroBlock[:]).CryptBlocks(b[:whole], b[:whole])
}
