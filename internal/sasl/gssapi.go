package sasl

import (
	"errors"
	"fmt"

	"bulkload/internal/kerberos"
)

// GSSAPI is the exchange with a Kerberos ticket (RFC 4752). Its first token is the request, the server answers with the
// protections that it offers, and the client chooses the first of preferred that is offered. The offer proves the
// server's identity, because only a holder of the service's key can sign it. Each connection has its own key, so the
// offer of an earlier one proves nothing.
func GSSAPI(t *kerberos.Ticket, preferred []Protection) Client {
	return &gssapi{ticket: t, preferred: preferred}
}

type gssapi struct {
	ticket    *kerberos.Ticket
	preferred []Protection
	wrapper   *wrapper
	chosen    Protection
}

// maxBuffer is the token size that the client says it accepts. HBase and Hadoop say 64 KiB, but send tokens of any
// size.
const maxBuffer = 1<<24 - 1

// Start returns the initial token of RFC 4121, 4.1. Its subkey protects both directions (RFC 4121, 2): the server makes
// no subkey, because the client does not ask for an AP-REP.
func (g *gssapi) Start() (token []byte, err error) {
	token, key, err := g.ticket.Request()
	if err != nil {
		return nil, err
	}
	if g.wrapper, err = newWrapper(key); err != nil {
		return nil, fmt.Errorf("ticket for %s: %w", g.ticket.Service(), err)
	}
	return token, nil
}

// Next answers the server's offer.
func (g *gssapi) Next(challenge []byte) ([]byte, bool, error) {
	switch {
	case g.wrapper == nil || g.chosen != 0:
		return nil, false, errors.New("GSSAPI: a token that was not asked for")
	case len(challenge) == 0: // a server without a token expects the next one from us
		return []byte{}, false, nil
	case challenge[0] == 0x60:
		return nil, false, errors.New("GSSAPI: the server answers the ticket with an error or an unexpected token")
	}
	answer, err := g.answer(challenge)
	if err != nil {
		return nil, false, fmt.Errorf("GSSAPI: %w", err)
	}
	return answer, true, nil
}

// answer reads the offer, a byte of protections and three with the buffer's size, and answers in the same form. Both
// are sent in tokens that are signed but not sealed.
func (g *gssapi) answer(challenge []byte) ([]byte, error) {
	offer, err := g.wrapper.Unwrap(challenge)
	if err != nil {
		return nil, err
	}
	if len(offer) != 4 {
		return nil, fmt.Errorf("an offer of %d bytes; want 4", len(offer))
	}
	chosen, err := Choose(g.preferred, Protection(offer[0]))
	if err != nil {
		return nil, err
	}
	size := [3]byte{maxBuffer >> 16, maxBuffer >> 8 & 0xff, maxBuffer & 0xff}
	if chosen == Authentication {
		size = [3]byte{} // nothing is wrapped
	}
	answer, err := g.wrapper.Wrap(nil, []byte{byte(chosen), size[0], size[1], size[2]})
	g.chosen, g.wrapper.private = chosen, chosen == Privacy
	return answer, err
}

// Layer returns the protection that was agreed on.
func (g *gssapi) Layer() Layer {
	if g.chosen == 0 || g.chosen == Authentication {
		return nil
	}
	return g.wrapper
}
