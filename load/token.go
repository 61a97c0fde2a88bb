package load

import (
	"context"
	"fmt"
	"sync"
	"time"

	"bulkload/internal/hbase"
	"bulkload/internal/storage"
)

// delegation is the token by which region servers move the files in our name. Without it they would do so in their own:
// a file that they may read and that is not theirs gets lost then. So no request is sent without it.
//
// It serves several requests at once.
type delegation struct {
	fs   storage.Delegator
	user string // who may renew the token: we

	mu     sync.Mutex
	token  *storage.Token
	old    []storage.Token // that were given up for a new one, and may still be in use
	change time.Time       // when the token is half old
}

// newDelegation gives nil where neither HBase nor HDFS has Kerberos: there are no tokens then.
func newDelegation(c *Cluster, fs storage.FS) (*delegation, error) {
	delegator, ok := storage.DelegatorOf(fs)
	switch {
	case ok && delegator.Delegates():
		return &delegation{fs: delegator, user: c.user}, nil
	case c.secured:
		return nil, fmt.Errorf("%w: HBase has Kerberos and the files' file system gives no delegation tokens; "+
			"set hadoop.security.authentication to kerberos, as it is on the cluster", ErrRefused)
	}
	return nil, nil
}

// forRequest is the token for a request that is sent now: one that is less than half old.
func (d *delegation) forRequest(ctx context.Context) (*hbase.DelegationToken, error) {
	if d == nil {
		return nil, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.token == nil || !time.Now().Before(d.change) {
		if err := d.fetch(ctx); err != nil {
			return nil, err
		}
	}
	t := d.token
	return &hbase.DelegationToken{Identifier: t.Identifier, Password: t.Password, Kind: t.Kind, Service: t.Service}, nil
}

// fetch gets a token, in place of one that is half old.
func (d *delegation) fetch(ctx context.Context) error {
	begun := time.Now()
	t, err := d.fs.DelegationToken(ctx, d.user)
	if err != nil {
		return fmt.Errorf("files are handed over by a delegation token only: %w", err)
	}
	if d.token != nil {
		d.old = append(d.old, *d.token)
	}
	d.token, d.change = &t, begun.Add(d.life(ctx, t, begun)/2)
	return nil
}

// tokenLife is HDFS's default (dfs.namenode.delegation.token.renew-interval).
const tokenLife = 24 * time.Hour

// life is how long a token serves, as the NameNode says when it is renewed. A token that was given to us is renewed by
// others.
func (d *delegation) life(ctx context.Context, t storage.Token, begun time.Time) time.Duration {
	until, err := d.fs.RenewToken(ctx, t)
	if err == nil && until.After(begun) {
		return until.Sub(begun)
	}
	return tokenLife
}

// cancel ends the tokens, so that nobody can use them any more.
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
