package kdc

import (
	"errors"
	"net"
	"testing"

	"bulkload/internal/test/testcluster/apt"
)

// Use returns a realm for one test, which runs until the test ends. On a machine without a KDC the test is skipped,
// with a loud message, or fails if CI=true. o.Dir and o.Port may be omitted.
func Use(t testing.TB, o Options) *KDC {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	if o.Port == 0 {
		o.Port = freePort(t)
	}
	k, err := New(t.Context(), o)
	if errors.Is(err, ErrMissing) {
		apt.Without(t, err.Error())
	}
	if err == nil {
		err = k.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = k.Stop() })
	return k
}

func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}

// Principal makes a principal and its keytab, or fails the test.
func (k *KDC) Principal(t testing.TB, name, flags string, principals ...string) (keytab string) {
	t.Helper()
	file, err := k.Keytab(t.Context(), name, flags, principals...)
	if err != nil {
		t.Fatal(err)
	}
	return file
}
