package storage

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"

	"bulkload/internal/test/testwords"
)

func TestCheckedConn(t *testing.T) {
	block := noise(100_000)
	a := answering{checksumCRC32C, 512, 65536, 1000}
	r := &replicas{}
	c, err := r.checked(dataNode(a.answer(block)))(t.Context(), "tcp", "dn:1")
	check(t, err)
	_, err = c.Write(readOperation(a.request(block)))
	check(t, err)
	got, err := io.ReadAll(c)
	check(t, err)
	if !bytes.Equal(dataOf(got), block[a.first():]) {
		t.Errorf("%d bytes of data", len(dataOf(got)))
	}
}

// TestCheckedConnOtherOperations: another operation passes unchanged, and so does every answer to it.
func TestCheckedConnOtherOperations(t *testing.T) {
	for _, op := range [][]byte{{0, transferVersion, 80, 1, 2, 3}, {0, transferVersion, 85, 9}, append(slices.Clone(saslMagic), 0, 0)} {
		near, far := net.Pipe()
		var notes []string
		r := &replicas{log: noting(func(s string) { notes = append(notes, s) })}
		c, err := r.checked(func(context.Context, string, string) (net.Conn, error) { return near, nil })(t.Context(), "tcp", "dn:1")
		check(t, err)
		received := make([]byte, len(op))
		answer := noise(10_000)
		go func() {
			_, _ = io.ReadFull(far, received)
			_, _ = far.Write(answer)
			_ = far.Close()
		}()
		for i := range op { // in pieces of one byte
			_, err = c.Write(op[i : i+1])
			check(t, err)
		}
		got, err := io.ReadAll(c)
		check(t, err)
		if !bytes.Equal(got, answer) || !bytes.Equal(received, op) {
			t.Errorf("%v: received %v, and %d bytes back", op, received, len(got))
		}
		if len(notes) != 0 {
			t.Errorf("%v: notes %q", op, notes)
		}
	}
}

// TestCheckedConnIncomplete: the answer to an incomplete request can't be checked, so it is not read.
func TestCheckedConnIncomplete(t *testing.T) {
	whole := readOperation(readRequest{blockID{"BP-1", 7}, 0, 10})
	for _, op := range [][]byte{nil, whole[:2], whole[:len(whole)-1], append(slices.Clone(whole), 0)} {
		c, err := (&replicas{}).checked(dataNode([]byte("anything")))(t.Context(), "tcp", "dn:1")
		check(t, err)
		if op != nil {
			_, err = c.Write(op)
			check(t, err)
		}
		if n, err := c.Read(make([]byte, 10)); err == nil || n > 0 {
			t.Errorf("%v: %d bytes, %v", op, n, err)
		}
	}
}

// TestReplicas: the last error has the answers of all DataNodes, and distinguishes damage from temporary failures.
func TestReplicas(t *testing.T) {
	block := noise(3000)
	a := answers[0]
	damaged := a.answer(block)
	damaged[len(damaged)-200] ^= 1 // of the last chunk
	refused := func(context.Context, string, string) (net.Conn, error) { return nil, syscall.ECONNREFUSED }
	var notes []string
	r := &replicas{log: noting(func(s string) { notes = append(notes, s) })}
	ask := func(dial dialFunc, address string) *blockError {
		c, err := r.checked(dial)(t.Context(), "tcp", address)
		check(t, err)
		if _, err = c.Write(readOperation(a.request(block))); err == nil {
			_, err = io.ReadAll(c)
		}
		var blocked *blockError
		if !errors.As(err, &blocked) {
			t.Fatalf("%s: %v", address, err)
		}
		return blocked
	}
	if err := ask(dataNode(damaged), "dn:1"); !err.damaged() {
		t.Errorf("one damaged replica: %v", err)
	}
	err := ask(refused, "dn:2")
	if err.damaged() || !errors.Is(err, syscall.ECONNREFUSED) ||
		!testwords.Names(err, "blk_7", "BP-1", "dn:1: CRC32C", "2560 to 2999", "dn:2: "+syscall.ECONNREFUSED.Error()) {
		t.Errorf("%v", err)
	}
	if err := ask(dataNode(damaged), "dn:2"); !err.damaged() || len(err.failures) != 2 {
		t.Errorf("a DataNode's second answer takes the place of its first: %v", err)
	}
	if err := ask(dataNode(damaged[:500]), "dn:1"); err.damaged() || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%v", err)
	}
	if len(notes) != 2 || !strings.Contains(notes[0], "blk_7 (BP-1) on DataNode dn:1 is damaged") {
		t.Errorf("notes: %q", notes)
	}
}

func TestNotesAreBounded(t *testing.T) {
	said := 0
	r := &replicas{log: noting(func(string) { said++ })}
	for i := range 3 * maxFailed {
		request := readRequest{block: blockID{"BP-1", uint64(i)}}
		for range 2 {
			r.failedAt("dn:1", request, &damagedError{kind: checksumCRC32})
		}
	}
	if said != maxNoted+1 || len(r.failed) > maxFailed {
		t.Errorf("%d notes, %d requests kept", said, len(r.failed))
	}
}
