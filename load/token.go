package load

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/hbase"
	"bulkload/internal/storage"
)

// delegation is the token with which region servers move the files in our name. Without it they would use their own
// name, and a file that they may read but do not own would be lost. So no request is sent without it.
//
// It serves several requests at once.
type delegation struct {
	fs   storage.Delegator
	user string // who may renew the token: this user

	mu     sync.Mutex
	token  *storage.Token
	old    []storage.Token // replaced by a new one, and possibly still in use
	change time.Time       // when to exchange the token
	end    time.Time       // when it expires
}

// newDelegation returns nil if neither HBase nor HDFS has Kerberos, because then there are no tokens.
func newDelegation(c *Cluster, fs storage.FS) (*delegation, error) {
	delegator, ok := storage.DelegatorOf(fs)
	switch {
	case ok && delegator.Delegates():
		return &delegation{fs: delegator, user: c.user}, nil
	case c.secured:
		return nil, errcode.KerberosToken.Errorf(
			"%w: HBase uses Kerberos, and the file system of the files issues no delegation tokens; "+
				"set hadoop.security.authentication to kerberos, as it is on the cluster", ErrRefused)
	}
	return nil, nil
}

// forRequest returns the token for a request that is sent now, with more than half of its life left. If the exchange
// fails, the old one is used until it expires, and the exchange is tried again every minute.
func (d *delegation) forRequest(ctx context.Context) (*hbase.DelegationToken, error) {
	if d == nil {
		return nil, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.token == nil || !time.Now().Before(d.change) {
		err := d.fetch(ctx)
		if err != nil && (d.token == nil || !time.Now().Before(d.end)) {
			return nil, err
		}
		if err != nil {
			d.change = time.Now().Add(exchangePause)
		}
	}
	t := d.token
	return &hbase.DelegationToken{Identifier: t.Identifier, Password: t.Password, Kind: t.Kind, Service: t.Service}, nil
}

// fetch gets a new token to replace one whose life is half over.
func (d *delegation) fetch(ctx context.Context) error {
	begun := time.Now()
	t, err := d.fs.DelegationToken(ctx, d.user)
	if err != nil {
		return fmt.Errorf("files are handed over by a delegation token only: %w", err)
	}
	if d.token != nil && !bytes.Equal(d.token.Identifier, t.Identifier) {
		d.old = append(d.old, *d.token)
	}
	life := d.life(ctx, t, begun)
	d.token, d.change, d.end = &t, begun.Add(life/2), begun.Add(life)
	return nil
}

const (
	exchangePause = time.Minute // between tries to exchange a token
	unknownLife   = 10 * time.Minute
)

// life is how long a token is valid, as the NameNode says when it is renewed. The NameNode tells only the renewer;
// otherwise nothing is assumed, and the token is exchanged every few minutes.
func (d *delegation) life(ctx context.Context, t storage.Token, begun time.Time) time.Duration {
	until, err := d.fs.RenewToken(ctx, t)
	if err != nil {
		return unknownLife
	}
	return max(until.Sub(begun), 0)
}

// cancel cancels the tokens, so that nobody can use them any more.
//
// It must not be called while a file is in doubt (cancelToken): a server that is still moving files would fail halfway.
func (d *delegation) cancel(ctx context.Context) error {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.token == nil {
		return nil
	}
	all := append(d.old, *d.token)
	d.old, d.token = nil, nil
	var failed error
	for _, t := range all {
		if err := d.fs.CancelToken(ctx, t); err != nil {
			failed = err
		}
	}
	return failed
}
