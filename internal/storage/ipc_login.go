package storage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net"
	"strings"

	"bulkload/internal/errcode"
	"bulkload/internal/kerberos"
	"bulkload/internal/sasl"
)

// loginError is a login refused by a server or by us, so that another try would have the same result.
type loginError struct {
	server string // name and address of the server
	err    error
}

func (e *loginError) Error() string { return "log in to " + e.server + ": " + e.err.Error() }
func (e *loginError) Unwrap() error { return e.err }

// ErrorCode is the code of the cause, if it has one.
func (e *loginError) ErrorCode() errcode.Code {
	return cmp.Or(errcode.Outermost(e.err), errcode.KerberosService)
}

// logIn authenticates on a new, unused connection. It returns the layer that protects the connection from then on; nil
// for none.
func (s *security) logIn(ctx context.Context, c net.Conn, address string) (sasl.Layer, error) {
	layer, err := s.greet(ctx, c, address)
	if err != nil && !passes(err) {
		err = &loginError{"NameNode " + address, err}
	}
	return layer, err
}

// passes reports whether another try may help, because a NameNode or a KDC does not answer, or a NameNode can't log us
// in now.
func passes(err error) bool {
	var ticket *kerberos.Error
	if errors.As(err, &ticket) { // it may also be about a file, whose errors look like those of a network
		return errors.Is(err, kerberos.ErrNoKDC) || errors.Is(err, context.DeadlineExceeded)
	}
	var remote *remoteError
	if errors.As(err, &remote) {
		return remote.later()
	}
	var network net.Error
	return errors.As(err, &network) || isCut(err)
}

func (s *security) greet(ctx context.Context, c net.Conn, address string) (sasl.Layer, error) {
	if _, err := c.Write([]byte(saslGreeting)); err != nil {
		return nil, err
	}
	client := clientID()
	first, err := exchange(c, client, message(nil).number(2, saslNegotiate))
	if err != nil {
		return nil, err
	}
	if first.state != saslNegotiate {
		return nil, s.noSimple() // a server without security answers "success" at once
	}
	way, err := s.choose(ctx, first.offers, c, address)
	if err != nil {
		return nil, err
	}
	layer, err := converse(c, client, way.client, way.offer)
	var remote *remoteError
	if errors.As(err, &remote) && !remote.later() {
		return nil, errcode.KerberosService.Errorf("the server refuses %s (%w): %s", way.proof, remote, way.cure)
	}
	return layer, err
}

// loginWay is an offer of the server with the credentials that we use for it.
type loginWay struct {
	client sasl.Client
	offer  saslOffer
	proof  string // the ticket or the token
	cure   string // what to do if the server refuses it
}

// noSimple refuses to continue without authentication, whatever the site files allow, because the server may be a
// stranger.
func (s *security) noSimple() error {
	why := ""
	if s.fallback {
		why = " (ipc.client.fallback-to-simple-auth-allowed is true, which this program does not follow)"
	}
	return errcode.SiteProperty.Errorf("it uses no authentication, but the site files say kerberos%s; if the cluster "+
		"has none, set hadoop.security.authentication to simple", why)
}

// choose returns the first of the server's offers for which there is a token or a ticket.
func (s *security) choose(ctx context.Context, offers []saslOffer, c net.Conn, address string) (loginWay, error) {
	var methods []string
	for _, o := range offers {
		switch {
		case o.method == "TOKEN" && o.mechanism == "DIGEST-MD5":
			if t, ok := s.tokenFor(address, c.RemoteAddr()); ok {
				return s.byToken(t, o), nil
			}
		case o.method == "KERBEROS" && o.mechanism == "GSSAPI" && s.login != nil:
			return s.byTicket(ctx, o, c, address)
		case o.method == "SIMPLE":
			return loginWay{}, s.noSimple()
		}
		methods = append(methods, o.method)
	}
	if len(s.tokens) > 0 {
		return loginWay{}, errcode.KerberosToken.Errorf("no token for it: it offers %s; the tokens are for %s",
			strings.Join(methods, " and "), s.services())
	}
	return loginWay{}, errcode.KerberosNoLogin.Errorf(
		"it offers %s, and there is neither a Kerberos login nor a delegation token; log in (kinit), "+
			"or name a file of tokens in HADOOP_TOKEN_FILE_LOCATION", strings.Join(methods, " and "))
}

func (s *security) byToken(t Token, o saslOffer) loginWay {
	d := t.digest()
	d.Service, d.Host, d.Preferred = o.protocol, o.server, s.rpc
	return loginWay{sasl.DigestMD5(d), o, "the " + t.String(),
		"it has ended or was cancelled; get a new one, or log in with a keytab"}
}

func (s *security) byTicket(ctx context.Context, o saslOffer, c net.Conn, address string) (loginWay, error) {
	service, err := s.nameNodeService(ctx, o, c, address)
	if err != nil {
		return loginWay{}, err
	}
	ticket, err := s.login.Ticket(ctx, service)
	if err != nil {
		return loginWay{}, err
	}
	if s.pattern != nil && !s.pattern.MatchString(ticket.Service()) {
		return loginWay{}, errcode.SiteProperty.Errorf(
			"it says that it is %s, which dfs.namenode.kerberos.principal.pattern does not match", ticket.Service())
	}
	return loginWay{sasl.GSSAPI(ticket, s.rpc), o,
		fmt.Sprintf("%s's ticket for %s", s.login.Principal(), ticket.Service()),
		"it is another service, its keytab lacks the key or has an older one (kvno), or its clock is wrong; its log " +
			"says which"}, nil
}

// nameNodeService returns the NameNode's principal from the site files. The NameNode must claim the same one
// (SaslRpcClient.getServerPrincipal). _HOST stands for the host of the address, or a name of its IP.
func (s *security) nameNodeService(ctx context.Context, o saslOffer, c net.Conn, address string) (string, error) {
	said := o.protocol + "/" + o.server
	if s.pattern != nil {
		return said, nil
	}
	if s.principal == "" {
		return "",
			errcode.SiteMissing.New("dfs.namenode.kerberos.principal is not set; copy it from the cluster's hdfs-site.xml")
	}
	var first string
	for host := range hostNames(ctx, c, address) {
		service, err := kerberos.ServicePrincipal(s.principal, host)
		if err != nil {
			return "", fmt.Errorf("dfs.namenode.kerberos.principal: %w", err)
		}
		if name, _, _ := strings.Cut(service, "@"); strings.EqualFold(name, said) {
			return service, nil
		}
		if first == "" {
			first = service
		}
	}
	if err := ctx.Err(); err != nil { // the lookup may have ended early
		return "", err
	}
	return "", errcode.SiteProperty.Errorf(
		"it says that it is %s, but by dfs.namenode.kerberos.principal (%s) it must be %s; copy the property from the "+
			"cluster's hdfs-site.xml", said, s.principal, first)
}

// hostNames returns the address's host, and then the names of its IP, which it looks up only if the caller continues.
func hostNames(ctx context.Context, c net.Conn, address string) iter.Seq[string] {
	return func(yield func(string) bool) {
		host, _, _ := net.SplitHostPort(address)
		remote, ok := c.RemoteAddr().(*net.TCPAddr)
		if !yield(host) || !ok {
			return
		}
		found, _ := net.DefaultResolver.LookupAddr(ctx, remote.IP.String()) // not every IP has a name
		for _, name := range found {
			if !yield(strings.TrimSuffix(name, ".")) {
				return
			}
		}
	}
}

// converse runs the exchange to its end.
func converse(c net.Conn, client []byte, way sasl.Client, offer saslOffer) (sasl.Layer, error) {
	token, err := way.Start()
	if err != nil {
		return nil, err
	}
	done := false
	if offer.challenge != nil {
		if token, done, err = way.Next(offer.challenge); err != nil {
			return nil, err
		}
	}
	out := message(nil).number(2, saslInitiate).bytes(3, token).bytes(4, offer.choice())
	for range maxRounds {
		in, err := exchange(c, client, out)
		if err != nil {
			return nil, err
		}
		if in.state != saslChallenge && in.state != saslSuccess {
			return nil, fmt.Errorf("SASL message of state %d where a challenge or the end is due", in.state)
		}
		if in.token != nil || in.state == saslChallenge {
			if token, done, err = way.Next(in.token); err != nil {
				return nil, err
			}
		}
		if in.state == saslSuccess {
			if !done {
				return nil, errors.New("the server ends the exchange before it has proved who it is")
			}
			return way.Layer(), nil
		}
		out = message(nil).number(2, saslResponse).bytes(3, token)
	}
	return nil, fmt.Errorf("no end of the exchange after %d rounds", maxRounds)
}

// maxRounds is more than any mechanism needs.
const maxRounds = 10
