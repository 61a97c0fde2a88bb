package sasl

import (
	"bytes"
	"io"
	"testing"
)

// echoed is a layer whose tokens are the bytes themselves.
type echoed struct{}

func (echoed) Wrap(dst, plain []byte) ([]byte, error) { return append(dst, plain...), nil }
func (echoed) Unwrap(token []byte) ([]byte, error)    { return token, nil }

// FuzzStream reads tokens after their lengths: no more bytes come out than went in, and what was written is read.
func FuzzStream(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x02ab\x00\x00\x00\x00\x00\x00\x00\x01c"))
	f.Add([]byte("\x04\x00\x00\x00abc"))
	f.Add([]byte("\x7f\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, in []byte) {
		out, _ := io.ReadAll(Stream(&duplex{in: bytes.NewReader(in)}, echoed{}))
		if len(out) > len(in) {
			t.Fatalf("%d bytes out of %d", len(out), len(in))
		}
		d := &duplex{}
		if _, err := Stream(d, echoed{}).Write(in); err != nil {
			t.Fatal(err)
		}
		back, err := io.ReadAll(Stream(&duplex{in: &d.out}, echoed{}))
		if err != nil || !bytes.Equal(back, in) {
			t.Fatalf("%q comes back as %q, %v", in, back, err)
		}
	})
}

// duplex is a connection with both directions in memory.
type duplex struct {
	in  io.Reader
	out bytes.Buffer
}

func (d *duplex) Read(p []byte) (int, error)  { return d.in.Read(p) }
func (d *duplex) Write(p []byte) (int, error) { return d.out.Write(p) }
