package delimited

import (
	"bytes"
	"errors"
	"io"
	"math"

	"bulkload/ingest/compressed"
)

// decompress switches the reader, which has read the start of a file, to the decompressed text if the file is
// compressed. Only splits of a whole file are checked: compressed files are never cut.
func (r *Reader) decompress() error {
	if r.split.End != r.split.File.Size || r.fill == 0 {
		return nil
	}
	codec := r.form.Compression
	if codec == compressed.Auto {
		var err error
		if codec, err = compressed.Detect(r.split.File.Path, r.buf[:r.fill]); err != nil {
			return err
		}
	}
	if codec == compressed.None {
		return nil
	}
	text, err := compressed.NewReader(r.wholeFile(), r.split.File.Path, r.split.File.Size, codec)
	if err != nil {
		return err
	}
	r.text, r.buf, r.fill = text, make([]byte, chunkSize), 0
	r.eof, r.end = false, math.MaxInt64
	return r.more()
}

// wholeFile reads the file from its start, beginning with the bytes already in the buffer.
func (r *Reader) wholeFile() io.ReadCloser {
	read := int64(r.fill)
	rest := io.NewSectionReader(r.file, read, r.split.File.Size-read)
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(r.buf[:r.fill]), rest), r.file}
}

// moreText fills the buffer with the text of a compressed file.
func (r *Reader) moreText() error {
	n, err := io.ReadFull(r.text, r.buf[r.fill:])
	r.fill += n
	if errors.Is(err, io.EOF) || err == io.ErrUnexpectedEOF {
		r.eof, err = true, nil
	}
	return err
}
