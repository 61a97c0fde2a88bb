package hbase

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"strings"

	"bulkload/internal/errcode"
	"bulkload/internal/kerberos"
	"bulkload/internal/sasl"
)

// authKerberos is the kind of authentication in the preamble (AuthMethod.KERBEROS, 81).
const authKerberos = "\x51"

// switchToSimple is the length with which a server without Kerberos answers (SaslUtil.SWITCH_TO_SIMPLE_AUTH, -88).
const switchToSimple = 0xffffffff - 87

// maxSASLToken bounds a token of the exchange, in bytes; real ones have some hundreds.
const maxSASLToken = 1 << 20

// Kerberos proves our identity to each server of a cluster, for Options.Handshake.
type Kerberos struct {
	Login *kerberos.Login
	// Principals are the services' names, with _HOST for a server's own host: hbase.master.kerberos.principal and
	// hbase.regionserver.kerberos.principal.
	Principals map[Service]string
	// Protections are hbase.rpc.protection, the preferred one first.
	Protections []sasl.Protection
}

// Handshake is the handshake with one server.
func (k *Kerberos) Handshake(addr string, service Service) Handshake {
	return func(ctx context.Context, connection io.ReadWriter) (io.ReadWriter, error) {
		principal, err := kerberos.ServicePrincipal(k.Principals[service], addr)
		if err != nil {
			return nil, err
		}
		ticket, err := k.Login.Ticket(ctx, principal)
		if err != nil {
			return nil, err
		}
		client := sasl.GSSAPI(ticket, k.Protections)
		if err := authenticate(connection, client, principal); err != nil {
			return nil, err
		}
		return sasl.Stream(connection, client.Layer()), nil
	}
}

// authenticate sends the preamble and exchanges tokens, each preceded by its length in 4 bytes
// (HBaseSaslRpcClient.saslConnect). The server does not answer the last token; if it refuses it, the first call fails.
func authenticate(connection io.ReadWriter, client sasl.Client, principal string) error {
	token, err := client.Start()
	if err != nil {
		return err
	}
	begin := []byte(preamble + authKerberos)
	for done := false; ; {
		if token != nil {
			out := binary.BigEndian.AppendUint32(begin, uint32(len(token)))
			if _, err := connection.Write(append(out, token...)); err != nil {
				return err
			}
			begin = nil
		}
		if done {
			return nil
		}
		challenge, err := readChallenge(connection, principal)
		if err != nil {
			return err
		}
		if token, done, err = client.Next(challenge); err != nil {
			return &AuthError{principal, err}
		}
	}
}

// readChallenge reads a status in 4 bytes, and a token with its length or, if the status is 1, the reason for a
// refusal.
func readChallenge(r io.Reader, principal string) ([]byte, error) {
	var word [4]byte
	if _, err := io.ReadFull(r, word[:]); err != nil {
		return nil, fmt.Errorf("the server ended the connection while authenticating: %w; its log says why", err)
	}
	if status := binary.BigEndian.Uint32(word[:]); status != 0 {
		return nil, readRefusal(r, principal)
	}
	if _, err := io.ReadFull(r, word[:]); err != nil {
		return nil, fmt.Errorf("connection lost while authenticating: %w", err)
	}
	size := binary.BigEndian.Uint32(word[:])
	if size == switchToSimple {
		return nil, &AuthError{principal,
			errcode.SiteProperty.New("the server does not use Kerberos, though hbase.security.authentication is kerberos; " +
				"nothing is sent to it, since it can't prove who it is")}
	}
	return readPart(r, size)
}

func readPart(r io.Reader, size uint32) ([]byte, error) {
	if size > maxSASLToken {
		return nil, fmt.Errorf("%d bytes while authenticating, more than the %d that are accepted: is this an HBase server?",
			size, maxSASLToken)
	}
	var b bytes.Buffer
	if _, err := io.CopyN(&b, r, int64(size)); err != nil {
		return nil, fmt.Errorf("connection lost while authenticating: %w", err)
	}
	return b.Bytes(), nil
}

// readRefusal reads an exception's class and message, each preceded by its length.
func readRefusal(r io.Reader, principal string) error {
	var parts [2]string
	for i := range parts {
		var word [4]byte
		if _, err := io.ReadFull(r, word[:]); err != nil {
			return &AuthError{principal,
				errcode.KerberosService.New("the server refuses the ticket and does not say why; its log does")}
		}
		part, err := readPart(r, binary.BigEndian.Uint32(word[:]))
		if err != nil {
			return err
		}
		parts[i] = strings.ToValidUTF8(string(part), "?")
	}
	class := parts[0][strings.LastIndexByte(parts[0], '.')+1:]
	return &AuthError{principal, errcode.KerberosService.Errorf("the server refuses the ticket (%s: %s): it is "+
		"another service, its keytab lacks the key or has an older one (kvno), or its clock is wrong; its log says which",
		class, parts[1])}
}

// AuthError says why authentication between a server and us failed. Trying again does not help.
type AuthError struct {
	Service string // the principal of the server
	Err     error
}

func (e *AuthError) Error() string { return "authenticate with " + e.Service + ": " + e.Err.Error() }

// Unwrap is the cause.
func (e *AuthError) Unwrap() error { return e.Err }
