package hbase

import (
	"context"
	"io"
)

// preamble is what a connection begins with: magic, version 0, then one byte for the kind of authentication
// (org.apache.hadoop.hbase.security.AuthMethod).
const (
	preamble   = "HBas\x00"
	authSimple = "\x50"
)

// Handshake makes a fresh connection ready for its connection header: it sends the preamble, proves who we are, and
// gives the stream that all that follows goes over – the connection itself, or a layer that wraps every write. With
// GSSAPI it is made for the server it connects to, whose host name is in the service's principal. A deadline of ctx
// is already set on the connection.
type Handshake func(ctx context.Context, connection io.ReadWriter) (io.ReadWriter, error)

// Simple is the Handshake of clusters that take our word for who we are.
func Simple(_ context.Context, connection io.ReadWriter) (io.ReadWriter, error) {
	_, err := io.WriteString(connection, preamble+authSimple)
	return connection, err
}
