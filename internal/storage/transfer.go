package storage

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/sasl"
)

// A protected connection to a DataNode begins with an exchange of DIGEST-MD5
// (org.apache.hadoop.hdfs.protocol.datatransfer.sasl.SaslDataTransferClient):
//
//	client: DEADBEEF | message     server: message with the challenge
//	client: message with the answer, and the ciphers to choose from
//	server: message with the proof, and the cipher with its keys
//
// Each message is a DataTransferEncryptorMessageProto after its varint length. The secret is that of the first
// operation's block token or, if the cluster encrypts (dfs.encrypt.data.transfer), a key from the NameNode. After the
// exchange come tokens, each after its length, or a stream of AES.

// saslMagic begins a connection with an exchange before the first operation.
var saslMagic = []byte{0xde, 0xad, 0xbe, 0xef}

// transferConn is a connection to a DataNode. It waits for the first operation, which has
// the block token, and then authenticates.
type transferConn struct {
	net.Conn
	open  func(c net.Conn, operation []byte) (io.ReadWriter, error)
	first []byte // the part of the operation that was written

	mu     sync.Mutex // an idle writer's heartbeat may coincide with its last packet
	stream io.ReadWriter
}

func (c *transferConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stream != nil {
		return c.stream.Write(p)
	}
	c.first = append(c.first, p...)
	operation, err := wholeOperation(c.first)
	if err != nil {
		return 0, err
	}
	if operation == nil {
		return len(p), nil
	}
	stream, err := c.open(c.Conn, operation)
	if err != nil {
		c.Conn.Close() // err is the one to report
		return 0, err
	}
	c.stream = stream
	if _, err := c.stream.Write(c.first); err != nil {
		return 0, err
	}
	c.first = nil
	return len(p), nil
}

func (c *transferConn) Read(p []byte) (int, error) {
	if c.stream == nil { // the library writes first
		return 0, errors.New("read from a DataNode before an operation was written")
	}
	return c.stream.Read(p)
}

// waitLonger gives each later read that much more time.
func (c *transferConn) waitLonger(d time.Duration) { waitLonger(c.Conn, d) }

// waitLonger gives each later read of a connection that much more time, if it has timeouts.
func waitLonger(c net.Conn, d time.Duration) {
	if t, is := c.(patientConn); is {
		t.waitLonger(d)
	}
}

// wholeOperation returns the message of the operation at the start of b; nil if it is incomplete.
func wholeOperation(b []byte) ([]byte, error) {
	if len(b) <= operationLead {
		return nil, nil
	}
	length, n := binary.Uvarint(b[operationLead:])
	switch {
	case n < 0 || length > maxOperation:
		return nil, malformedf("an operation of more than %d bytes", maxOperation)
	case n == 0 || length > uint64(len(b)-operationLead-n):
		return nil, nil
	}
	return b[operationLead+n:][:length], nil
}

// blockToken returns the token of an operation on a block: each begins with a ClientOperationHeaderProto{1
// BaseHeaderProto{2 token}}, or with a BaseHeaderProto itself.
func blockToken(operation []byte) (Token, error) {
	var t Token
	err := eachField(operation, func(f field) error {
		if f.key() != bytesField(1) {
			return nil
		}
		return eachField(f.bytes, func(client field) error {
			if client.key() != bytesField(1) {
				return nil
			}
			return eachField(client.bytes, func(base field) (err error) {
				if base.key() == bytesField(2) {
					t, err = parseToken(base.bytes)
				}
				return err
			})
		})
	})
	if err == nil && len(t.Identifier) == 0 {
		err = errcode.KerberosToken.New("the NameNode gave no token for the block: on a cluster with Kerberos " +
			"dfs.block.access.token.enable must be true")
	}
	return t, err
}

// transfers opens connections to the DataNodes of a file system.
type transfers struct {
	names *rpcClient
	dial  dialFunc
	key   keyring
}

// connect is the dialer of our reader, and below excludedNodes that of the library's writer.
func (t *transfers) connect(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := t.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	encrypts, err := t.protected(c.RemoteAddr())
	if err != nil {
		c.Close()
		return nil, err
	}
	switch {
	case encrypts:
		again := func() (net.Conn, error) { return t.dial(ctx, network, address) }
		conn := &transferConn{Conn: c}
		conn.open = func(c net.Conn, _ []byte) (io.ReadWriter, error) { return t.encrypt(ctx, conn, again) }
		return conn, nil
	case t.names.kerberos && t.names.transfer != nil && !privileged(c.RemoteAddr()):
		return &transferConn{Conn: c, open: t.authenticate}, nil
	case t.names.kerberos && t.names.transfer == nil && !privileged(c.RemoteAddr()):
		return &unprotectedConn{Conn: c, again: func() (net.Conn, error) { return t.dial(ctx, network, address) },
			round: t.round}, nil
	}
	return c, nil
}

// unprotectedConn is a connection for which the site files ask for no exchange. A DataNode that wants one closes it
// without an answer, and so does one that has just ended. So the DataNode is asked whether it wants one.
type unprotectedConn struct {
	net.Conn
	again func() (net.Conn, error)
	round func(net.Conn, message) (transferReply, error)
	heard bool
}

func (c *unprotectedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n == 0 && !c.heard && isCut(err) && c.wantsExchange() {
		err = errcode.SiteProperty.Errorf("DataNode %v protects its connections, and %s is not set in the site files that "+
			"this program reads (%w); copy the property from the cluster's hdfs-site.xml", c.RemoteAddr(), transferProperty, err)
	}
	c.heard = true
	return n, err
}

// wantsExchange reports whether the DataNode begins an exchange on another connection, which needs no token.
func (c *unprotectedConn) wantsExchange() bool {
	other, err := c.again()
	if err != nil {
		return false
	}
	defer other.Close()
	if _, err := other.Write(append([]byte(nil), saslMagic...)); err != nil {
		return false
	}
	challenge, err := c.round(other, transferMessage(nil))
	return err == nil && len(challenge.payload) > 0
}

// waitLonger gives each later read that much more time.
func (c *unprotectedConn) waitLonger(d time.Duration) { waitLonger(c.Conn, d) }

// protected reports whether connections are encrypted with the NameNode's key. If not, a connection to a DataNode on a
// port that only root may open is trusted without an exchange (SaslDataTransferClient.send); it is refused if the site
// files ask for more.
func (t *transfers) protected(remote net.Addr) (encrypts bool, err error) {
	n := t.names
	if n.encrypted() {
		return true, nil
	}
	if n.kerberos && n.transfer != nil && privileged(remote) && n.transfer[0] != sasl.Authentication {
		return false, errcode.SecurityUnsupported.Errorf(
			"%s is %v, and DataNode %v has a port below 1024, where HDFS does not protect data transfer; "+
				"let the DataNodes listen on another port, or take the property out of the site files",
			transferProperty, n.transfer[0], remote)
	}
	return false, nil
}

func privileged(remote net.Addr) bool {
	tcp, ok := remote.(*net.TCPAddr)
	return ok && tcp.Port < 1024
}

// authenticate runs the exchange with a block token.
func (t *transfers) authenticate(c net.Conn, operation []byte) (io.ReadWriter, error) {
	token, err := blockToken(operation)
	if err != nil {
		return nil, err
	}
	d := token.digest()
	d.Preferred = t.names.transfer
	return t.agree(c, d)
}

// encrypt runs the exchange with the NameNode's key, and repeats it with a new key if the DataNode no longer knows the
// first one.
func (t *transfers) encrypt(ctx context.Context, conn *transferConn,
	again func() (net.Conn, error)) (io.ReadWriter, error) {
	for first := true; ; first = false {
		key, err := t.key.get(ctx, t.names, time.Now())
		if err != nil {
			return nil, err
		}
		stream, err := t.agree(conn.Conn, key.digest())
		if !errors.Is(err, errUnknownKey) || !first {
			return stream, err
		}
		t.key.drop(key)
		other, err := again()
		if err != nil {
			return nil, err // the connection is closed by the caller
		}
		conn.Conn.Close()
		conn.Conn = other
	}
}

// agree runs the exchange, and returns the stream that protects the connection from then on.
func (t *transfers) agree(c net.Conn, d sasl.Digest) (io.ReadWriter, error) {
	d.Service, d.Host = "hdfs", "0" // the values of SaslParticipant
	stream, err := t.exchange(c, d)
	if err != nil {
		return nil, fmt.Errorf("log in to DataNode %v (%v): %w", c.RemoteAddr(), d, err)
	}
	return stream, nil
}

// errUnknownKey is a DataNode's answer to an expired key.
var errUnknownKey = errors.New("the DataNode does not know the encryption key")

func (t *transfers) exchange(c net.Conn, d sasl.Digest) (io.ReadWriter, error) {
	way := sasl.DigestMD5(d)
	if _, err := c.Write(append([]byte(nil), saslMagic...)); err != nil {
		return nil, err
	}
	first, err := t.round(c, transferMessage(nil))
	if err != nil {
		return nil, err
	}
	token, _, err := way.Next(first.payload)
	if err != nil {
		return nil, err
	}
	out := transferMessage(token)
	if t.names.aes && slices.Contains(d.Preferred, sasl.Privacy) {
		out = out.bytes(4, message(nil).number(1, aesOption))
	}
	second, err := t.round(c, out)
	if err != nil {
		return nil, err
	}
	if _, _, err := way.Next(second.payload); err != nil {
		return nil, err
	}
	return t.protect(c, way, second.cipher)
}

// transferMessage is a DataTransferEncryptorMessageProto with success.
func transferMessage(payload []byte) message { return message(nil).number(1, 0).bytes(2, payload) }

// round sends a message and reads the answer.
func (t *transfers) round(c net.Conn, m message) (transferReply, error) {
	if _, err := c.Write(append(binary.AppendUvarint(nil, uint64(len(m))), m...)); err != nil {
		return transferReply{}, err
	}
	b, err := readDelimited(c, maxMessage)
	if err != nil {
		return transferReply{}, noEOF(err)
	}
	return parseTransfer(b)
}

// readDelimited reads a message preceded by its length, and not a byte more.
func readDelimited(r io.Reader, limit uint64) ([]byte, error) {
	var length uint64
	var b [1]byte
	for shift := 0; ; shift += 7 {
		if _, err := io.ReadFull(r, b[:]); err != nil {
			return nil, err
		}
		length |= uint64(b[0]&0x7f) << shift
		if b[0] < 0x80 {
			break
		}
		if shift > 21 {
			return nil, malformedf("a message of more than %d bytes", limit)
		}
	}
	if length > limit {
		return nil, malformedf("a message of more than %d bytes", limit)
	}
	m := make([]byte, length)
	_, err := io.ReadFull(r, m)
	return m, noEOF(err)
}

// transferReply is a DataNode's DataTransferEncryptorMessageProto.
type transferReply struct {
	payload []byte
	cipher  *cipherOption
}

func parseTransfer(b []byte) (transferReply, error) {
	var r transferReply
	var status uint64
	var text string
	err := eachField(b, func(f field) (err error) {
		switch f.key() {
		case varintField(1):
			status = f.number
		case bytesField(2):
			r.payload = f.bytes
		case bytesField(3):
			text = string(f.bytes)
		case bytesField(4):
			if r.cipher == nil {
				r.cipher, err = parseCipher(f.bytes)
			}
		}
		return err
	})
	switch {
	case err != nil:
		return transferReply{}, err
	case status == 1:
		return transferReply{}, fmt.Errorf("%w: %s", errUnknownKey, text)
	case status != 0:
		return transferReply{}, fmt.Errorf("it refuses: %s", text)
	}
	return r, nil
}
