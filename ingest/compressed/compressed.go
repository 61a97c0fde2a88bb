// Package compressed reads the text of compressed and plain input files: gzip, bzip2, zstd, deflate, Hadoop's own
// framing of snappy and lz4, and the frame formats of both. A reader reads one file from start to end, in bounded
// memory whatever lengths the file claims. A truncated file is an error.
//
//	compressed.go  opening and reading a file
//	codec.go       the codecs, and detecting them by content and name
//	refuse.go      what is no text: encrypted files, archives, compressions that can't be read
//	streams.go     the reader for each codec
//	hadoop.go      Hadoop's block framing of snappy and lz4
package compressed

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"bulkload/internal/errcode"
	"bulkload/internal/printable"
	"bulkload/internal/storage"
)

const (
	// headSize is how much of a file is read to detect its codec.
	headSize = 512
	// readSize is how much of the compressed file is read at a time.
	readSize = 256 << 10
)

// Decompressor reads the text of one file. It is not safe for concurrent use.
type Decompressor struct {
	name  string
	codec Codec
	file  io.Closer
	in    *source
	text  io.Reader
	close func() // releases the codec's memory
	at    int64  // offset in the text
	err   error
}

// Open opens a file that had size bytes when it was listed, and must still have them. For Auto it detects the codec
// from content and name; any other codec is used as given. A file that can't be read as text gives a *RefusedError.
// Close closes the file.
func Open(fsys storage.FS, name string, size int64, as Codec) (*Decompressor, error) {
	file, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	var r *Decompressor
	if got := file.Size(); got == size {
		r, err = NewReader(file, name, size, as)
	} else {
		err = errcode.InputChanged.Errorf("read %s: it had %d bytes when it was listed and has %d now; start again when it "+
			"is complete", printable.Name(name), size, got)
	}
	if err != nil {
		file.Close() // only read
		return nil, err
	}
	return r, nil
}

// NewReader is Open for a file that is already open at its start and has size bytes. The reader's Close closes it.
func NewReader(file io.ReadCloser, name string, size int64, as Codec) (*Decompressor, error) {
	in := &source{file: file, left: size}
	buffered := bufio.NewReaderSize(in, int(min(max(size, headSize), readSize)))
	if as == Auto {
		head, err := buffered.Peek(int(min(size, headSize)))
		if err != nil {
			return nil, fmt.Errorf("read the start of %s: %w", printable.Name(name), err)
		}
		if as, err = Detect(name, head); err != nil {
			return nil, err
		}
	}
	r := &Decompressor{name: printable.Name(name), codec: as, file: file, in: in, close: func() {}}
	if size == 0 {
		r.text = in
		return r, nil
	}
	var err error
	if r.text, r.close, err = as.open(buffered, size); err != nil {
		return nil, r.failure(err)
	}
	return r, nil
}

// Read continues to read the text. An error names the file, and the positions in file and text at which reading
// stopped.
func (r *Decompressor) Read(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	n, err := r.text.Read(p)
	r.at += int64(n)
	switch {
	case err == nil:
	case errors.Is(err, io.EOF) && r.in.left == 0:
		r.err = io.EOF
	default:
		r.err = r.failure(err)
	}
	return n, r.err
}

// failure reports where and why reading stopped before the end of the text.
func (r *Decompressor) failure(err error) error {
	switch {
	case r.in.err != nil: // reading the file failed, not decoding it
		return fmt.Errorf("read %s at byte %d: %w", r.name, r.Consumed(), r.in.err)
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return errcode.InputDamaged.Errorf(
			"read %s: the %s data end too early, with byte %d of the file, byte %d of the text: "+
				"it was probably cut short, copy or export it again: %w",
			r.name, r.codec, r.Consumed(), r.at, io.ErrUnexpectedEOF)
	}
	return errcode.InputDamaged.Errorf(
		"read %s: the %s data are damaged before byte %d of the file, after byte %d of the text; "+
			"copy or export it again: %w",
		r.name, r.codec, r.Consumed(), r.at, err)
}

// Codec is the codec of the file; None for plain text.
func (r *Decompressor) Codec() Codec { return r.codec }

// Consumed is the number of bytes of the file that have been read.
func (r *Decompressor) Consumed() int64 { return r.in.read }

// Close closes the file.
func (r *Decompressor) Close() error {
	if r.err == nil {
		r.err = errClosed
	}
	r.close()
	r.close = func() {}
	return r.file.Close()
}

var errClosed = errors.New("read an input file: it is closed")

// source reads exactly as many bytes as the file had when it was listed.
type source struct {
	file io.Reader
	left int64
	read int64
	err  error // of the file
}

func (s *source) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	n, err := s.file.Read(p[:min(int64(len(p)), s.left)])
	s.left -= int64(n)
	s.read += int64(n)
	if errors.Is(err, io.EOF) {
		err = nil
		if n == 0 {
			err = io.ErrUnexpectedEOF // it is shorter than its listed size
		}
	}
	if err != nil {
		s.err = err
	}
	return n, err
}
