package storage

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"bulkload/internal/errcode"
)

// A NameNode uses Hadoop's RPC, version 9 (org.apache.hadoop.ipc.Server, RpcHeader.proto):
//
//	greeting: "hrpc" | 9 | service class 0 | 0, or DF for SASL
//	frame:    int32 length | varint length, RpcRequestHeaderProto or RpcResponseHeaderProto | varint length, message | …
//
// On a protected connection each frame, with its length, is wrapped: in a frame with an RpcSaslProto of state WRAP.
const (
	plainGreeting = "hrpc\x09\x00\x00"
	saslGreeting  = "hrpc\x09\x00\xdf"

	saslCall    = -33 // call number of SASL messages
	contextCall = -3  // call number of the connection's context

	nameNodeProtocol = "org.apache.hadoop.hdfs.protocol.ClientProtocol"

	// maxFrame bounds a NameNode's answer, in bytes (ipc.maximum.response.length).
	maxFrame = 128 << 20

	// firstFrame is how much memory a frame gets at first, in bytes; most answers need less.
	firstFrame = 4 << 10

	// maxLoginFrame bounds an answer of a server that has not yet proved its identity, in bytes; real ones have some
	// hundreds.
	maxLoginFrame = 64 << 10

	// maxOffers bounds the number of login methods that a server offers; Hadoop has three.
	maxOffers = 16
)

// message builds a protobuf message.
type message []byte

func (m message) bytes(id protowire.Number, v []byte) message {
	return protowire.AppendBytes(protowire.AppendTag(m, id, protowire.BytesType), v)
}

func (m message) text(id protowire.Number, v string) message { return m.bytes(id, []byte(v)) }

func (m message) number(id protowire.Number, v uint64) message {
	return protowire.AppendVarint(protowire.AppendTag(m, id, protowire.VarintType), v)
}

// clientID returns a name for a connection's client, as RPC requires.
func clientID() []byte {
	id := make([]byte, 16)
	_, _ = rand.Read(id) // never fails
	return id
}

// requestFrame is a frame with a header for the call and the messages after it.
func requestFrame(call int32, client []byte, messages ...message) []byte {
	header := message(nil).
		number(1, 2). // RPC_PROTOCOL_BUFFER
		number(2, 0). // RPC_FINAL_PACKET
		number(3, protowire.EncodeZigZag(int64(call))).
		bytes(4, client).
		number(5, protowire.EncodeZigZag(-1))
	frame := protowire.AppendBytes(make([]byte, 4), header)
	for _, m := range messages {
		frame = protowire.AppendBytes(frame, m)
	}
	binary.BigEndian.PutUint32(frame, uint32(len(frame)-4))
	return frame
}

// connectionContext names the user for a connection's calls.
func connectionContext(client []byte, user string) []byte {
	return requestFrame(contextCall, client, message(nil).bytes(2, message(nil).text(1, user)).text(3, nameNodeProtocol))
}

// callFrame is a call of a NameNode's method.
func callFrame(call int32, client []byte, method string, request message) []byte {
	return requestFrame(call, client, message(nil).text(1, method).text(2, nameNodeProtocol).number(3, 1), request)
}

// errHTTP is the error of a connection to a web server, such as the NameNode's own.
var errHTTP = errcode.Address.New("the server answers in HTTP, so this is not the port of a NameNode for clients; " +
	"fs.defaultFS or dfs.namenode.rpc-address must name that one")

// readFrame reads a frame into buf, and returns buf and the frame with its length. buf grows with the bytes that
// arrive, not with the claimed length.
func readFrame(r io.Reader, buf []byte) ([]byte, error) { return readFrameUpTo(r, buf, maxFrame) }

// readFrameUpTo is readFrame for frames of at most limit bytes.
func readFrameUpTo(r io.Reader, buf []byte, limit uint32) ([]byte, error) {
	buf, err := readMore(r, buf[:0], 4, firstFrame)
	if err != nil {
		return buf, err
	}
	length := binary.BigEndian.Uint32(buf)
	if string(buf) == "HTTP" {
		return buf, errHTTP
	}
	if length > limit {
		return buf, malformedf("a frame of %d bytes, more than the %d that are accepted", length, limit)
	}
	buf, err = readMore(r, buf, 4+int(length), firstFrame)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return buf, err
}

// readMore reads until buf has n bytes. buf grows to first bytes and then doubles, with the bytes that arrive, not with
// a claimed length. An end before the first byte of an empty buf is io.EOF.
func readMore(r io.Reader, buf []byte, n, first int) ([]byte, error) {
	for len(buf) < n {
		have := len(buf)
		if have == cap(buf) {
			buf = append(make([]byte, 0, max(first, 2*have)), buf...)
		}
		m, err := io.ReadFull(r, buf[have:min(n, cap(buf))])
		buf = buf[:have+m]
		if err != nil {
			if have > 0 && err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return buf, err
		}
	}
	return buf, nil
}

// response is a NameNode's answer: the message after the header, or its refusal.
type response struct {
	call    int32
	refusal *remoteError
	body    []byte // a part of the frame
}

// remoteError is an exception of a NameNode.
type remoteError struct{ class, message string }

func (e *remoteError) Error() string { return remoteText(e.class, e.message) }

// Exception and the next methods are those of hdfs.Error, the library's form of the same.
func (e *remoteError) Exception() string { return e.class }

// Message is the exception's text, with the stack trace.
func (e *remoteError) Message() string { return e.message }

// Method is empty: the error's text names it.
func (e *remoteError) Method() string { return "" }

// Desc is empty.
func (e *remoteError) Desc() string { return "" }

// classNotFound is the exception for a file that does not exist, or is a folder.
const classNotFound = "java.io.FileNotFoundException"

// denies reports whether the exception is that of a missing right. Its package differs.
func (e *remoteError) denies() bool { return strings.HasSuffix(e.class, ".AccessControlException") }

// later reports whether the NameNode says that it did nothing and may do it later, or that another one may.
func (e *remoteError) later() bool { return retryableExceptions[e.class] }

// parseReply reads a frame from a NameNode.
func parseReply(frame []byte) (response, error) {
	if len(frame) < 4 {
		return response{}, malformedf("a frame of %d bytes", len(frame))
	}
	header, rest, err := delimited(frame[4:])
	if err != nil {
		return response{}, err
	}
	var r response
	var status uint64
	var e remoteError
	err = eachField(header, func(f field) error {
		switch f.key() {
		case varintField(1):
			r.call = int32(f.number)
		case varintField(2):
			status = f.number
		case bytesField(4):
			e.class = string(f.bytes)
		case bytesField(5):
			e.message = string(f.bytes)
		}
		return nil
	})
	if err != nil {
		return response{}, err
	}
	if status != 0 {
		r.refusal = &e
		return r, nil
	}
	r.body, _, err = delimited(rest)
	return r, err
}

// delimited returns a message preceded by its length, and the bytes after it.
func delimited(b []byte) (first, rest []byte, err error) {
	v, n := protowire.ConsumeBytes(b)
	if n < 0 {
		return nil, nil, malformedf("protobuf: %v", protowire.ParseError(n))
	}
	return v, b[n:], nil
}

// The states of an RpcSaslProto.
const (
	saslSuccess   = 0
	saslNegotiate = 1
	saslInitiate  = 2
	saslChallenge = 3
	saslResponse  = 4
	saslWrap      = 5
)

// saslMessage is an RpcSaslProto.
type saslMessage struct {
	state  uint64
	token  []byte // nil: none
	offers []saslOffer
}

// saslOffer is an offered way to log in, an RpcSaslProto.SaslAuth.
type saslOffer struct {
	method, mechanism, protocol, server string
	challenge                           []byte // nil: the client begins
}

// choice is the offer as a client returns it, without the challenge.
func (o saslOffer) choice() message {
	return message(nil).text(1, o.method).text(2, o.mechanism).text(3, o.protocol).text(4, o.server)
}

func parseSasl(b []byte) (saslMessage, error) {
	m := saslMessage{state: ^uint64(0)}
	err := eachField(b, func(f field) error {
		switch f.key() {
		case varintField(2):
			m.state = f.number
		case bytesField(3):
			m.token = f.bytes
		case bytesField(4):
			if len(m.offers) == maxOffers {
				return malformedf("more than the %d ways to log in that are accepted", maxOffers)
			}
			o, err := parseOffer(f.bytes)
			m.offers = append(m.offers, o)
			return err
		}
		return nil
	})
	return m, err
}

func parseOffer(b []byte) (saslOffer, error) {
	var o saslOffer
	err := eachField(b, func(f field) error {
		switch f.key() {
		case bytesField(1):
			o.method = string(f.bytes)
		case bytesField(2):
			o.mechanism = string(f.bytes)
		case bytesField(3):
			o.protocol = string(f.bytes)
		case bytesField(4):
			o.server = string(f.bytes)
		case bytesField(5):
			o.challenge = f.bytes
		}
		return nil
	})
	return o, err
}

var errNotSasl = errors.New("the answer is not a SASL message")

// exchange sends a SASL message and reads the answer.
func exchange(c io.ReadWriter, client []byte, m message) (saslMessage, error) {
	if _, err := c.Write(requestFrame(saslCall, client, m)); err != nil {
		return saslMessage{}, err
	}
	frame, err := readFrameUpTo(c, nil, maxLoginFrame)
	if err != nil {
		return saslMessage{}, fmt.Errorf("log in: %w", noEOF(err))
	}
	r, err := parseReply(frame)
	switch {
	case err != nil:
		return saslMessage{}, err
	case r.refusal != nil:
		return saslMessage{}, r.refusal
	case r.call != saslCall:
		return saslMessage{}, errNotSasl
	}
	return parseSasl(r.body)
}

// noEOF turns io.EOF into io.ErrUnexpectedEOF, because the connection ended before an expected answer.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
