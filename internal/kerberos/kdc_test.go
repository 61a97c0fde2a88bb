package kerberos

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/iana/errorcode"
	"github.com/jcmturner/gokrb5/v8/messages"

	"bulkload/internal/errcode"
	"bulkload/internal/test/testcluster/kdc"
)

// fakeKDC answers each request by TCP with the same bytes, or not at all if reply is empty. It counts the requests.
func fakeKDC(t *testing.T, addr string, reply []byte) (string, *atomic.Int32) {
	t.Helper()
	listener, err := net.Listen("tcp", addr)
	must(t, err)
	t.Cleanup(func() { listener.Close() })
	count := new(atomic.Int32)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			count.Add(1)
			go func() {
				defer conn.Close()
				if reply != nil {
					conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(reply))), reply...))
				}
				io.Copy(io.Discard, conn)
			}()
		}
	}()
	return listener.Addr().String(), count
}

// twoKDCs is a krb5.conf with another KDC before the real one.
func twoKDCs(t *testing.T, before string, k *kdc.KDC) string {
	t.Helper()
	conf := filepath.Join(t.TempDir(), "krb5.conf")
	must(t, os.WriteFile(conf, fmt.Appendf(nil, "[libdefaults]\ndefault_realm = LAB.TEST\n[realms]\nLAB.TEST = {\nkdc = %s\nkdc = %s\n}\n",
		before, k.Addr()), 0o644))
	return conf
}

// TestTheKDCThatAnsweredIsAskedFirst: a KDC that is silent or out of service is asked once, and not again while the
// next one answers.
func TestTheKDCThatAnsweredIsAskedFirst(t *testing.T) {
	k := kdc.Use(t, kdc.Options{})
	keytab := k.Principal(t, "loader", "+requires_preauth", "loader")
	k.Principal(t, "hbase", "", "hbase/localhost", "hbase/other")
	away := messages.NewKRBError(granting("LAB.TEST"), "LAB.TEST", errorcode.KDC_ERR_SVC_UNAVAILABLE, "")
	refusal, err := away.Marshal()
	must(t, err)
	for name, reply := range map[string][]byte{"silent": nil, "out of service": refusal} {
		t.Run(name, func(t *testing.T) {
			addr, count := fakeKDC(t, "127.0.0.1:0", reply)
			l, err := Open(t.Context(), Config{Keytab: keytab, Krb5Conf: twoKDCs(t, addr, k)})
			must(t, err)
			for _, service := range []string{"hbase/localhost", "hbase/other"} {
				_, err := l.Ticket(t.Context(), service)
				must(t, err)
			}
			if n := count.Load(); n != 1 {
				t.Errorf("the first KDC was asked %d times, want once", n)
			}
			must(t, k.Stop())
			defer func() { must(t, k.Start()) }()
			_, err = l.Ticket(t.Context(), "hbase/third")
			wantError(t, err, errcode.KerberosNoKDC, addr, k.Addr())
			if n := count.Load(); n != 2 {
				t.Errorf("the first KDC was asked %d times once the other one was down, want twice", n)
			}
		})
	}
}

// TestSilentTCP: something swallows what is sent to a KDC by TCP, as a firewall does. It is asked by UDP in time.
func TestSilentTCP(t *testing.T) {
	k := kdc.Use(t, kdc.Options{})
	keytab := k.Principal(t, "loader", "+requires_preauth", "loader")
	addr, count := fakeKDC(t, "127.0.0.1:0", nil)
	datagrams, err := net.ListenPacket("udp", addr)
	must(t, err)
	t.Cleanup(func() { datagrams.Close() })
	go func() {
		for {
			request := make([]byte, 64<<10)
			n, from, err := datagrams.ReadFrom(request)
			if err != nil {
				return
			}
			if reply, err := byTCP(context.Background(), k.Addr(), request[:n]); err == nil {
				_, _ = datagrams.WriteTo(reply, from)
			}
		}
	}()
	conf := filepath.Join(t.TempDir(), "krb5.conf")
	must(t, os.WriteFile(conf, fmt.Appendf(nil, "[libdefaults]\ndefault_realm = LAB.TEST\n[realms]\nLAB.TEST = {\nkdc = %s\n}\n", addr), 0o644))
	_, err = Open(t.Context(), Config{Keytab: keytab, Krb5Conf: conf})
	must(t, err)
	if count.Load() == 0 {
		t.Error("not asked by TCP")
	}
}

// TestRenewalsThatFailAreNotRepeatedAtOnce: a ticket that is still valid but can't be renewed stays in use, and the KDC
// is not asked again for a minute.
func TestRenewalsThatFailAreNotRepeatedAtOnce(t *testing.T) {
	k := kdc.Use(t, kdc.Options{})
	keytab := k.Principal(t, "loader", "", "loader")
	k.Principal(t, "hbase", "", "hbase/localhost")
	var shift time.Duration
	l, err := open(t.Context(), Config{Keytab: keytab, Krb5Conf: k.Conf()}, func() time.Time { return time.Now().Add(shift) })
	must(t, err)
	ticket, err := l.Ticket(t.Context(), "hbase/localhost")
	must(t, err)
	must(t, k.Stop())
	_, count := fakeKDC(t, k.Addr(), []byte{})
	asked := func() int32 {
		t.Helper()
		before := count.Load()
		for range 3 {
			got, err := l.Ticket(t.Context(), "hbase/localhost")
			must(t, err)
			if got.Expiry() != ticket.Expiry() {
				t.Error("not the old ticket")
			}
		}
		return count.Load() - before
	}
	shift = 23 * time.Hour
	first := asked()
	if second := asked(); first == 0 || second != 0 {
		t.Errorf("the KDC was asked %d times and then %d times within a minute; want some and none", first, second)
	}
	shift += 2 * time.Minute
	if asked() == 0 {
		t.Error("the renewal was not tried again after a minute")
	}
}
