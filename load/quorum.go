package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"bulkload/internal/errcode"
)

// Network is a way to reach a cluster other than the site files' addresses and TCP.
type Network interface {
	finder
	// Dial makes a connection to a server ("host:port").
	Dial(ctx context.Context, addr string) (net.Conn, error)
}

// finder finds the servers from which all others are found.
type finder interface {
	// Master is the address of the active master.
	Master(ctx context.Context) (addr string, err error)
	// Meta is the address of the region server that holds hbase:meta.
	Meta(ctx context.Context) (addr string, err error)
	// TableState is HBase 1's record of a table's state, and when it was written, in epoch milliseconds. HBase 2 has it in
	// hbase:meta. nil: there is no such table.
	TableState(ctx context.Context, table string) (record []byte, written int64, err error)
}

// quorum is servers of which each can answer the same questions.
type quorum struct {
	property string   // of the site files that has them
	servers  []string // host:port
	named    string   // the servers of the site files, for answeredQuorums

	last atomic.Int32 // the server that answered last
}

// answeredQuorums has the quorums from which a server has answered this process. They are global, because a process may
// connect to its cluster several times, each time with a quorum of its own.
var answeredQuorums sync.Map

// fill reads the servers of a property, "host:port,host"; port is that of servers without one.
func (q *quorum) fill(property, servers, port string) {
	q.property = property
	for _, host := range strings.Split(servers, ",") {
		host = strings.TrimSpace(host)
		if host == "" {
			continue
		}
		if _, _, err := net.SplitHostPort(host); err != nil {
			host = net.JoinHostPort(host, port)
		}
		q.servers = append(q.servers, host)
	}
	q.named = q.String()
}

// String lists the servers.
func (q *quorum) String() string { return strings.Join(q.servers, ",") }

const (
	// quorumTimeout is how long all servers together may take to answer.
	quorumTimeout = 20 * time.Second
	// nextServerDelay is how long to wait for one server before asking the next one in parallel.
	nextServerDelay = time.Second
)

// first returns the answer of the first server that gives one. Its errors are ErrUnavailable, or ErrRefused if a server
// refuses our login, or if no server has answered this process yet and no name server knows any of them. what says for
// errors what is asked for.
//
// The servers are asked one after another, beginning with the one that answered last. The next one is asked at once
// after a failure, and after a second of silence. So other servers replace those that are down, or whose names can't be
// resolved.
func first[T any](ctx context.Context, q *quorum, what string,
	ask func(ctx context.Context, addr string) (T, error)) (found T, err error) {
	type answer struct {
		server int
		found  T
		err    error
	}
	ctx, cancel := context.WithTimeout(ctx, quorumTimeout)
	defer cancel()
	asked, failed := make(faults, len(q.servers)), 0
	for i, addr := range q.servers {
		asked[i].addr = addr
	}
	answers := make(chan answer, len(q.servers))
	last, begun := int(q.last.Load()), 0
	for {
		if begun < len(q.servers) {
			server := (last + begun) % len(q.servers)
			begun++
			go func() {
				found, err := ask(ctx, q.servers[server])
				answers <- answer{server, found, err}
			}()
		}
		var late <-chan time.Time
		if begun < len(q.servers) {
			late = time.After(nextServerDelay)
		}
		select {
		case a := <-answers:
			if a.err == nil {
				q.last.Store(int32(a.server))
				answeredQuorums.Store(q.named, true)
				return a.found, nil
			}
			asked[a.server].err = a.err
			if failed++; failed == len(q.servers) {
				return found, q.unavailable(what, asked)
			}
		case <-late:
		case <-ctx.Done():
			asked.fillTimeouts(ctx.Err())
			return found, q.unavailable(what, asked)
		}
	}
}

// fault says why a server did not answer.
type fault struct {
	addr string
	err  error
}

type faults []fault

// fillTimeouts sets the error of the servers that have not answered.
func (f faults) fillTimeouts(err error) {
	for i := range f {
		if f[i].err == nil {
			f[i].err = fmt.Errorf("no answer: %w", err)
		}
	}
}

func (f faults) Error() string {
	texts := make([]string, len(f))
	for i, s := range f {
		texts[i] = fmt.Sprintf("%s: %v", s.addr, s.err)
	}
	return strings.Join(texts, "; ")
}

// Unwrap returns the causes.
func (f faults) Unwrap() []error {
	errs := make([]error, len(f))
	for i, s := range f {
		errs[i] = s.err
	}
	return errs
}

// unknown reports whether no name server knows any of the servers.
func (f faults) unknown() bool {
	for _, s := range f {
		var dns *net.DNSError
		if !errors.As(s.err, &dns) || !dns.IsNotFound {
			return false
		}
	}
	return true
}

// unavailable is the error for a question that no server answers.
//
// Unknown names are an error of the site files only as long as none of the servers has ever answered. Later the name
// service is at fault, for example while it reloads or all pods of a headless service restart, and waiting helps.
func (q *quorum) unavailable(what string, all faults) error {
	if _, answered := answeredQuorums.Load(q.named); !answered && all.unknown() {
		return errcode.Address.Errorf("%w: %s names no known host: %w", ErrRefused, q.property, all)
	}
	if isLogin(all) || errors.Is(all, ErrRefused) { // of any of them: the others' failures pass, this one does not
		return fmt.Errorf("%w: no server of %s returns %s: %w", ErrRefused, q.property, what, all)
	}
	return errcode.HBaseDown.Errorf("%w: no server of %s returns %s: %w", ErrUnavailable, q.property, what, all)
}
