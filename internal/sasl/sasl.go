// Package sasl has the client side of the two SASL mechanisms that HBase, HDFS's NameNode and its DataNodes speak:
// GSSAPI with a Kerberos ticket (RFC 4752, RFC 4121) and DIGEST-MD5 with a token (RFC 2831).
//
// A mechanism is a Client, which knows no network: each server frames its tokens in its own way. When the exchange is
// done, Layer protects what follows; Stream puts it over a connection.
package sasl

import (
	"strings"

	"bulkload/internal/errcode"
)

// Client is the client's side of one exchange with one server. It serves one connection and no concurrent use.
type Client interface {
	// Start returns the first token to send; nil if the server begins.
	Start() ([]byte, error)
	// Next returns the answer to the server's token. With done the exchange is over for the client as soon as the
	// response, if it is not nil, is sent.
	Next(challenge []byte) (response []byte, done bool, err error)
	// Layer is what protects the connection once Next has said done; nil for authentication alone.
	Layer() Layer
}

// Layer protects the bytes of a connection after the exchange. Wrap and Unwrap may run at the same time as one another;
// neither may run twice at once, because tokens are numbered.
type Layer interface {
	// Wrap appends the token that holds plain to dst.
	Wrap(dst, plain []byte) ([]byte, error)
	// Unwrap checks a token and gives what it holds. The result may be a part of token, whose bytes it may overwrite.
	Unwrap(token []byte) ([]byte, error)
}

// Protection is what a connection does for the bytes on it, and as a sum what a server offers. The values are those of
// RFC 4752, 3.1.
type Protection uint8

// The protections, weakest first.
const (
	Authentication Protection = 1 << iota // who the two are; then all in clear
	Integrity                             // and no byte changes on the way
	Privacy                               // and nobody can read them
)

// names are Hadoop's words and those of SASL, which DIGEST-MD5 sends and some site files hold.
var names = map[string]Protection{
	"authentication": Authentication, "integrity": Integrity, "privacy": Privacy,
	"auth": Authentication, "auth-int": Integrity, "auth-conf": Privacy,
}

// ParseProtections reads the value of hadoop.rpc.protection, hbase.rpc.protection or dfs.data.transfer.protection: a
// comma-separated list, the one to prefer first. An empty text is authentication, the default of the first two.
func ParseProtections(text string) ([]Protection, error) {
	if strings.TrimSpace(text) == "" {
		return []Protection{Authentication}, nil
	}
	var list []Protection
	for word := range strings.SplitSeq(text, ",") {
		p, ok := names[strings.ToLower(strings.TrimSpace(word))]
		if !ok {
			return nil, errcode.SiteProperty.Errorf("unknown protection %q; known are authentication, integrity and privacy", strings.TrimSpace(word))
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
	return 0, errcode.KerberosProtection.Errorf("the server offers %v, the site files ask for %v", offered, join(preferred))
}

// Token returns the name by which DIGEST-MD5's qop speaks of one protection: auth, auth-int, auth-conf.
func (p Protection) Token() string {
	switch p {
	case Integrity:
		return "auth-int"
	case Privacy:
		return "auth-conf"
	}
	return "auth"
}

// String returns Hadoop's words, with commas between them.
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
