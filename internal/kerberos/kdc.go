package kerberos

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"bulkload/internal/errcode"

	"github.com/jcmturner/gokrb5/v8/iana/errorcode"
	"github.com/jcmturner/gokrb5/v8/messages"
)

// ErrNoKDC marks errors of KDCs that can't be reached now.
var ErrNoKDC = errcode.KerberosNoKDC.New("no answer of any KDC")

// maxReply bounds an answer of a KDC, in bytes. Tickets of Active Directory with all groups have about 60 kB.
const maxReply = 1 << 20

// kdcTimeout is the longest time for one KDC before the next is asked.
const kdcTimeout = 5 * time.Second

// ask sends a request to the realm's KDCs, one after another, beginning with the one that answered last, until one
// answers. It returns that one's address. An answer may be a messages.KRBError.
func (c *conf) ask(ctx context.Context, realm string, request []byte) (reply []byte, kdc string, err error) {
	addrs := c.kdcs(realm)
	if len(addrs) == 0 && c.byDNS() {
		addrs = lookUp(ctx, realm)
	}
	if len(addrs) == 0 {
		return nil, "", errcode.KerberosConfig.Errorf("no KDC of realm %s is known: add one to [realms] of %s", realm,
			strings.Join(c.profile.files, ", "))
	}
	addrs = first(addrs, c.answered[realm])
	var failures []string
	for i, addr := range addrs {
		reply, err := askOne(ctx, addr, timeoutShare(ctx, len(addrs)-i), request)
		if err == nil {
			refused := krbError(reply)
			if !unavailable(refused) {
				c.answered[realm] = addr
				return reply, addr, refused
			}
			err = fmt.Errorf("%s: the KDC says that it is out of service", addr)
		}
		failures = append(failures, err.Error())
		if ctx.Err() != nil {
			break
		}
	}
	return nil, strings.Join(addrs, ", "), fmt.Errorf("%w of realm %s: %s", ErrNoKDC, realm, strings.Join(failures, "; "))
}

// first moves an address, if it is in the list, to the front.
func first(addrs []string, addr string) []string {
	i := slices.Index(addrs, addr)
	if i <= 0 {
		return addrs
	}
	return append([]string{addr}, slices.Delete(slices.Clone(addrs), i, i+1)...)
}

// timeoutShare is the time for the next of the remaining KDCs, which share the time that is left.
func timeoutShare(ctx context.Context, kdcs int) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return kdcTimeout
	}
	return min(kdcTimeout, time.Until(deadline)/time.Duration(kdcs))
}

// unavailable reports whether to ask another KDC (RFC 4120, 7.5.9: KDC_ERR_SVC_UNAVAILABLE).
func unavailable(err error) bool {
	var refused messages.KRBError
	return errors.As(err, &refused) && refused.ErrorCode == errorcode.KDC_ERR_SVC_UNAVAILABLE
}

// lookUp asks DNS for a realm's KDCs (RFC 4120, 7.2.3.2).
func lookUp(ctx context.Context, realm string) []string {
	var addrs []string
	_, records, err := net.DefaultResolver.LookupSRV(ctx, "kerberos", "tcp", realm)
	if err != nil {
		return nil
	}
	for _, r := range records {
		addrs = append(addrs, net.JoinHostPort(strings.TrimSuffix(r.Target, "."), strconv.Itoa(int(r.Port))))
	}
	return addrs
}

// askOne asks a KDC by TCP, because tickets with many groups don't fit into a datagram, and by UDP if that fails. A
// firewall may silently drop packets to the TCP port, so TCP gets only a part of patience.
func askOne(ctx context.Context, addr string, patience time.Duration, request []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	first, end := context.WithTimeout(ctx, patience*3/5)
	defer end()
	reply, err := byTCP(first, addr, request)
	if err == nil || ctx.Err() != nil {
		return reply, err
	}
	if datagram, udpErr := byUDP(ctx, addr, request); udpErr == nil {
		return datagram, nil
	}
	return nil, err
}

func dial(ctx context.Context, network, addr string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	if deadline, ok := ctx.Deadline(); ok {
		conn.SetDeadline(deadline)
	}
	return conn, nil
}

func byTCP(ctx context.Context, addr string, request []byte) ([]byte, error) {
	conn, err := dial(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.SetDeadline(time.Now()) })()
	if _, err := conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(request))), request...)); err != nil {
		return nil, err
	}
	reply, err := readReply(conn)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", addr, err)
	}
	return reply, nil
}

// readReply reads an answer preceded by its length in four bytes (RFC 4120, 7.2.2).
func readReply(r io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, fmt.Errorf("no answer: %w", err)
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > maxReply {
		return nil, fmt.Errorf("an answer of %d bytes: is this a KDC?", n)
	}
	reply := make([]byte, n)
	if _, err := io.ReadFull(r, reply); err != nil {
		return nil, fmt.Errorf("half an answer: %w", err)
	}
	return reply, nil
}

func byUDP(ctx context.Context, addr string, request []byte) ([]byte, error) {
	conn, err := dial(ctx, "udp", addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.SetDeadline(time.Now()) })()
	if _, err := conn.Write(request); err != nil {
		return nil, err
	}
	reply := make([]byte, 64<<10)
	n, err := conn.Read(reply)
	return reply[:n], err
}

// krbError returns an answer that is an error as a messages.KRBError.
func krbError(reply []byte) error {
	var e messages.KRBError
	if parse(func() error { return e.Unmarshal(reply) }) == nil {
		return e
	}
	return nil
}

var errDamaged = errors.New("the answer can't be read")

// parse calls a function that reads untrusted bytes, because gokrb5 panics on some damaged ones. Its errors are not
// passed on, because some contain the bytes.
func parse(read func() error) (err error) {
	defer func() {
		if recover() != nil {
			err = errDamaged
		}
	}()
	if read() != nil {
		return errDamaged
	}
	return nil
}
