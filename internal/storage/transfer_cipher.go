package storage

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/poison"
	"bulkload/internal/sasl"
)

// aesOption is AES/CTR/NoPadding (CipherSuiteProto).
const aesOption = 2

// cipherOption is a CipherOptionProto: "in" is towards the DataNode.
type cipherOption struct {
	suite                      uint64
	inKey, inIV, outKey, outIV []byte
}

func parseCipher(b []byte) (*cipherOption, error) {
	var o cipherOption
	err := eachField(b, func(f field) error {
		switch f.key() {
		case varintField(1):
			o.suite = f.number
		case bytesField(2):
			o.inKey = f.bytes
		case bytesField(3):
			o.inIV = f.bytes
		case bytesField(4):
			o.outKey = f.bytes
		case bytesField(5):
			o.outIV = f.bytes
		}
		return nil
	})
	return &o, err
}

// protect returns the protection of a connection after both sides are authenticated: the layer of the exchange or, with
// privacy, the cipher whose keys were sent under that layer.
func (t *transfers) protect(c net.Conn, way sasl.Client, option *cipherOption) (io.ReadWriter, error) {
	layer := way.Layer()
	if !sasl.Private(layer) {
		return sasl.Stream(c, layer), nil
	}
	switch {
	case option == nil && t.names.aes:
		return nil, errcode.SecurityUnsupported.Errorf(
			"it does not have %s, which %s asks for; set that on the DataNodes too, or take it out of the site files, "+
				"and rc4 is used", aesSuite, cipherSuitesProperty)
	case option == nil:
		return sasl.Stream(c, layer), nil
	case !t.names.aes || option.suite != aesOption:
		return nil, malformedf("cipher %d, which was not asked for", option.suite)
	}
	in, err := layer.Unwrap(option.inKey)
	if err != nil {
		return nil, fmt.Errorf("the key of the cipher: %w", err)
	}
	out, err := layer.Unwrap(option.outKey)
	if err != nil {
		return nil, fmt.Errorf("the key of the cipher: %w", err)
	}
	return newAESStream(c, in, option.inIV, out, option.outIV)
}

// aesStream encrypts a whole connection in counter mode.
type aesStream struct {
	conn     net.Conn
	to, from cipher.Stream
	buf      []byte
}

func newAESStream(c net.Conn, toKey, toIV, fromKey, fromIV []byte) (*aesStream, error) {
	to, err := counterMode(toKey, toIV)
	if err != nil {
		return nil, err
	}
	from, err := counterMode(fromKey, fromIV)
	return &aesStream{conn: c, to: to, from: from}, err
}

func counterMode(key, iv []byte) (cipher.Stream, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, errors.New("a key of AES of a wrong length")
	}
	if len(iv) != aes.BlockSize {
		return nil, fmt.Errorf("%d bytes begin the counter of AES, want %d", len(iv), aes.BlockSize)
	}
	return cipher.NewCTR(block, iv), nil
}

func (s *aesStream) Write(p []byte) (int, error) {
	s.buf = append(s.buf[:0], p...)
	s.to.XORKeyStream(s.buf, s.buf)
	n, err := s.conn.Write(s.buf)
	poison.Bytes(s.buf)
	return n, err
}

func (s *aesStream) Read(p []byte) (int, error) {
	n, err := s.conn.Read(p)
	s.from.XORKeyStream(p[:n], p[:n])
	return n, err
}

// encryptionKey is a DataEncryptionKeyProto, which the NameNode shares with the DataNodes. It is never printed.
type encryptionKey struct {
	id         int32
	pool       string
	nonce, key []byte
	expires    time.Time
	algorithm  string // rc4 or 3des; "": either
}

// digest is the login with the key (SaslDataTransferClient.getUserNameFromEncryptionKey).
func (k *encryptionKey) digest() sasl.Digest {
	return sasl.Digest{
		User:      strconv.Itoa(int(k.id)) + " " + k.pool + " " + base64.StdEncoding.EncodeToString(k.nonce),
		Password:  base64.StdEncoding.EncodeToString(k.key),
		Preferred: []sasl.Protection{sasl.Privacy},
		Cipher:    k.algorithm,
	}
}

// String never shows the key.
func (k *encryptionKey) String() string   { return "data encryption key " + strconv.Itoa(int(k.id)) }
func (k *encryptionKey) GoString() string { return k.String() }

func parseEncryptionKey(b []byte) (*encryptionKey, error) {
	k := &encryptionKey{}
	found := false
	err := eachField(b, func(f field) error {
		if f.key() != bytesField(1) {
			return nil
		}
		found = true
		return eachField(f.bytes, func(f field) error {
			k.set(f)
			return nil
		})
	})
	if err == nil && !found {
		err = errcode.SecurityUnsupported.New("the NameNode issues no data encryption key, though its defaults say that " +
			"connections are encrypted; " +
			"dfs.block.access.token.enable must be true")
	}
	return k, err
}

func (k *encryptionKey) set(f field) {
	switch f.key() {
	case varintField(1):
		k.id = int32(f.number)
	case bytesField(2):
		k.pool = string(f.bytes)
	case bytesField(3):
		k.nonce = f.bytes
	case bytesField(4):
		k.key = f.bytes
	case varintField(5):
		k.expires = time.UnixMilli(int64(f.number))
	case bytesField(6):
		k.algorithm = string(f.bytes)
	}
}

// keyring keeps the key until it expires.
type keyring struct {
	mu  sync.Mutex
	key *encryptionKey
}

func (r *keyring) get(ctx context.Context, n *rpcClient, now time.Time) (*encryptionKey, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.key != nil && now.Before(r.key.expires) {
		return r.key, nil
	}
	r.key = nil
	a, err := n.call(ctx, "getDataEncryptionKey", nil)
	if err != nil {
		return nil, err
	}
	key, err := parseEncryptionKey(a.body)
	if err != nil {
		return nil, err
	}
	r.key = key
	return key, nil
}

// drop forgets a key that a DataNode does not know.
func (r *keyring) drop(k *encryptionKey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.key == k {
		r.key = nil
	}
}
