package compressed

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/golang/snappy"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// zstdWindow is the largest window of a zstd file, as in the zstd command: zstd --long uses it, and all other options
// use less.
const zstdWindow = 128 << 20

// open returns the text of a file of size bytes, and a function that releases the reader's memory.
func (c Codec) open(in *bufio.Reader, size int64) (text io.Reader, release func(), err error) {
	release = func() {}
	switch c {
	case None:
		text = in
	case Gzip:
		text, err = openGzip(in)
	case Bzip2:
		text = &bzip2Reader{in: bitReader{in: in}}
	case Zstd:
		return openZstd(in)
	case Deflate:
		text, err = openDeflate(in)
	case HadoopSnappy:
		text = newBlocks(in, size, snappyBlock)
	case HadoopLZ4:
		text = newBlocks(in, size, lz4Block)
	case SnappyFrames:
		text = openSnappyFrames(in)
	case LZ4Frames:
		text = lz4.NewReader(&lz4Source{in: in})
	default:
		err = fmt.Errorf("%s is not a codec", c)
	}
	return text, release, err
}

// gzipMembers reads the members of a gzip file. Zeros may follow the last one, because tapes and block devices pad
// their blocks with them; gzip and Java ignore them.
type gzipMembers struct {
	text *gzip.Reader
	in   *bufio.Reader
}

func openGzip(in *bufio.Reader) (io.Reader, error) {
	text, err := gzip.NewReader(in)
	if err != nil {
		return nil, err
	}
	text.Multistream(false)
	return &gzipMembers{text, in}, nil
}

func (g *gzipMembers) Read(p []byte) (int, error) {
	for {
		n, err := g.text.Read(p)
		if errors.Is(err, io.EOF) {
			err = g.next()
		}
		if n > 0 || err != nil || len(p) == 0 {
			return n, err
		}
	}
}

// next advances to the next member; io.EOF if there is none.
func (g *gzipMembers) next() error {
	for zeros := 0; ; zeros++ {
		switch head, err := g.in.Peek(1); {
		case err != nil:
			return err
		case head[0] == 0:
			if _, err := g.in.Discard(1); err != nil {
				return err
			}
		case zeros > 0:
			return errors.New("there is more after the zeros that follow the end of the stream")
		default:
			if err := g.text.Reset(g.in); err != nil {
				return err
			}
			g.text.Multistream(false)
			return nil
		}
	}
}

func openZstd(in io.Reader) (io.Reader, func(), error) {
	d, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(zstdWindow),
		zstd.WithDecoderMaxMemory(1<<63)) // limits the whole text, of which only a window is held
	if err != nil {
		return nil, func() {}, err
	}
	return d, d.Close, nil
}

// openDeflate requires the file to end with the stream.
func openDeflate(in *bufio.Reader) (io.Reader, error) {
	z, err := zlib.NewReader(in)
	if err != nil {
		return nil, err
	}
	return &endsFile{text: z, in: in}, nil
}

// endsFile reads a text after which the file must end.
type endsFile struct {
	text io.Reader
	in   *bufio.Reader
}

func (e *endsFile) Read(p []byte) (int, error) {
	n, err := e.text.Read(p)
	if errors.Is(err, io.EOF) {
		if _, more := e.in.Peek(1); more == nil {
			return n, errors.New("there is more after the end of the stream")
		}
	}
	return n, err
}

// snappyFrames reads snappy's frame format. It recognises truncated files, which the library reports as corrupt.
type snappyFrames struct {
	text io.Reader
	in   io.Reader
	end  bool // the end of the file was reached
}

func openSnappyFrames(in io.Reader) io.Reader {
	s := &snappyFrames{in: in}
	s.text = snappy.NewReader(readerFunc(s.readFile))
	return s
}

// readerFunc makes a function an io.Reader.
type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func (s *snappyFrames) readFile(p []byte) (int, error) {
	n, err := s.in.Read(p)
	s.end = s.end || errors.Is(err, io.EOF)
	return n, err
}

func (s *snappyFrames) Read(p []byte) (int, error) {
	n, err := s.text.Read(p)
	if s.end && errors.Is(err, snappy.ErrCorrupt) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// lz4Source is the file that the lz4 library reads. The library recurses for each magic number of a legacy frame that
// follows another one, so millions of such empty frames, which no tool writes, would end the process.
type lz4Source struct {
	in    io.Reader
	empty int // consecutive legacy frames without a block
}

func (s *lz4Source) Read(p []byte) (int, error) {
	n, err := io.ReadFull(s.in, p)
	if string(p[:n]) != lz4LegacyMagic {
		s.empty = 0
	} else if s.empty++; s.empty > 1000 {
		return 0, errors.New("more than 1000 empty legacy frames, one after another")
	}
	return n, err
}
