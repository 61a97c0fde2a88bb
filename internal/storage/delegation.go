package storage

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Delegator is a file system that lets another program act in our name, with a token. HDFS is one.
type Delegator interface {
	// Delegates reports whether the cluster has such tokens; without Kerberos nobody needs them.
	Delegates() bool
	// DelegationToken returns a new token, whose service is the name by which every client finds it. renewer is the
	// short name of the user who may renew it. If we ourselves authenticate with a token, it returns that one, because
	// HDFS then issues no other.
	DelegationToken(ctx context.Context, renewer string) (Token, error)
	// RenewToken extends a token's lifetime, for the user who is its renewer, and returns its new end.
	RenewToken(ctx context.Context, t Token) (time.Time, error)
	// CancelToken ends a token. It does nothing to a token that the user gave us.
	CancelToken(ctx context.Context, t Token) error
}

// DelegatorOf finds the Delegator of a file system, looking through wrappers with Unwrap.
func DelegatorOf(fsys FS) (Delegator, bool) { return extension[Delegator](fsys) }

var _ Delegator = (*hdfsFS)(nil)

func (h *hdfsFS) Delegates() bool { return h.names.kerberos }

func (h *hdfsFS) DelegationToken(ctx context.Context, renewer string) (Token, error) {
	if !h.names.kerberos {
		return Token{}, fmt.Errorf("get a delegation token of %s: without Kerberos, HDFS issues none", h.uri)
	}
	if h.names.login == nil {
		return h.names.tokens[0], nil
	}
	a, err := h.names.call(ctx, "getDelegationToken", message(nil).text(1, renewer))
	if err != nil {
		return Token{}, fmt.Errorf("get a delegation token of %s: %w", h.uri, err)
	}
	t, err := parseTokenAnswer(a.body)
	if err != nil {
		return Token{}, fmt.Errorf("get a delegation token of %s: %w", h.uri, err)
	}
	t.Service = h.names.tokenService(a.address, a.remote)
	return t, nil
}

// parseTokenAnswer reads a GetDelegationTokenResponseProto.
func parseTokenAnswer(b []byte) (Token, error) {
	var t Token
	err := eachField(b, func(f field) (err error) {
		if f.key() == bytesField(1) {
			t, err = parseToken(f.bytes)
		}
		return err
	})
	if err == nil && (len(t.Identifier) == 0 || len(t.Password) == 0) {
		err = errors.New("the NameNode issued none")
	}
	return t, err
}

func (h *hdfsFS) RenewToken(ctx context.Context, t Token) (time.Time, error) {
	a, err := h.names.call(ctx, "renewDelegationToken", message(nil).bytes(1, t.message()))
	var until time.Time
	if err == nil {
		err = eachField(a.body, func(f field) error {
			if f.key() == varintField(1) {
				until = time.UnixMilli(int64(f.number))
			}
			return nil
		})
	}
	if err == nil && until.IsZero() {
		err = malformedf("it does not say until when")
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("renew the %v: %w", t, err)
	}
	return until, nil
}

func (h *hdfsFS) CancelToken(ctx context.Context, t Token) error {
	if t.given {
		return nil
	}
	if _, err := h.names.call(ctx, "cancelDelegationToken", message(nil).bytes(1, t.message())); err != nil {
		return fmt.Errorf("cancel the %v: %w", t, err)
	}
	return nil
}
