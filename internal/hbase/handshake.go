package hbase

import (
	"context"
	"io"
)

// preamble is the start of a connection: magic, version 0, then one byte for the kind of authentication
// (org.apache.hadoop.hbase.security.AuthMethod).
const (
	preamble   = "HBas\x00"
	authSimple = "\x50"
)

// Handshake prepares a new connection for its connection header. It sends the preamble, proves our identity, and
// returns the stream for everything that follows – the connection itself, or a layer that wraps every write. With
// GSSAPI it is made for one server, whose host name is in the service's principal. A deadline of ctx is already set on
// the connection.
type Handshake func(ctx context.Context, connection io.ReadWriter) (io.ReadWriter, error)

// Simple is the Handshake of clusters without authentication.
func Simple(_ context.Context, connection io.ReadWriter) (io.ReadWriter, error) {
	_, err := io.WriteString(connection, preamble+authSimple)
	return connection, err
}
