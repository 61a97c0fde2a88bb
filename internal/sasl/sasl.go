// Package sasl has the client side of the two SASL mechanisms of HBase, HDFS's NameNode and its DataNodes: GSSAPI with
// a Kerberos ticket (RFC 4752, RFC 4121) and DIGEST-MD5 with a token (RFC 2831).
//
// A mechanism is a Client, which is independent of the network: each server frames its tokens differently. After the
// exchange, Layer protects the connection; Stream applies it to a connection.
package sasl

import (
	"strings"

	"bulkload/internal/errcode"
)

// Client is the client's side of one exchange with one server. It is used for one connection, by one goroutine.
type Client interface {
	// Start returns the first token to send; nil if the server begins.
	Start() ([]byte, error)
	// Next returns the answer to the server's token. If done is true, the exchange ends for the client once response,
	// if it is not nil, is sent.
	Next(challenge []byte) (response []byte, done bool, err error)
	// Layer is the protection of the connection after Next has returned done; nil for authentication alone.
	Layer() Layer
}

// Layer protects the bytes of a connection after the exchange. Wrap and Unwrap may run at the same time, but neither
// may run twice at once, because tokens are numbered.
type Layer interface {
	// Wrap appends the token that holds plain to dst.
	Wrap(dst, plain []byte) ([]byte, error)
	// Unwrap checks a token and returns its content. The result may be a part of token, whose bytes it may overwrite.
	Unwrap(token []byte) ([]byte, error)
}

// Protection is how a connection protects its bytes. A sum of them is a server's offer. The values are those of RFC
// 4752, 3.1.
type Protection uint8

// The protections, weakest first.
const (
	Authentication Protection = 1 << iota // who the two are; the rest is in clear
	Integrity                             // and no byte can be changed on the way
	Privacy                               // and nobody can read them
)

// names are Hadoop's names and those of SASL, which DIGEST-MD5 sends and some site files use.
var names = map[string]Protection{
	"authentication": Authentication, "integrity": Integrity, "privacy": Privacy,
	"auth": Authentication, "auth-int": Integrity, "auth-conf": Privacy,
}

// ParseProtections reads the value of hadoop.rpc.protection, hbase.rpc.protection or dfs.data.transfer.protection: a
// comma-separated list, the preferred one first. An empty text is authentication, the default of the first two.
func ParseProtections(text string) ([]Protection, error) {
	if strings.TrimSpace(text) == "" {
		return []Protection{Authentication}, nil
	}
	var list []Protection
	for word := range strings.SplitSeq(text, ",") {
		p, ok := names[strings.ToLower(strings.TrimSpace(word))]
		if !ok {
			return nil, errcode.SiteProperty.Errorf("unknown protection %q; known are authentication, integrity and privacy",
				strings.TrimSpace(word))
		}
		list = append(list, p)
	}
	return list, nil
}

// Choose returns the first of the preferred protections that the server offers.
func Choose(preferred []Protection, offered Protection) (Protection, error) {
	for _, p := range preferred {
		if offered&p != 0 {
			return p, nil
		}
	}
	return 0, errcode.SiteProperty.Errorf("the server offers %v, the site files ask for %v", offered, join(preferred))
}

// Token returns the name of one protection in DIGEST-MD5's qop: auth, auth-int, auth-conf.
func (p Protection) Token() string {
	switch p {
	case Integrity:
		return "auth-int"
	case Privacy:
		return "auth-conf"
	}
	return "auth"
}

// String returns Hadoop's names, separated by commas.
func (p Protection) String() string {
	var words []string
	for i, word := range []string{"authentication", "integrity", "privacy"} {
		if p&(1<<i) != 0 {
			words = append(words, word)
		}
	}
	if words == nil {
		return "no known protection"
	}
	return strings.Join(words, ",")
}

func join(list []Protection) string {
	var all Protection
	for _, p := range list {
		all |= p
	}
	return all.String()
}
