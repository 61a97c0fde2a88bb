package hfilewriter

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"bulkload/cell"
)

// readAll opens and verifies whatever it is given. What it must not do is panic, hang or take much memory.
func readAll(file []byte) error {
	r, err := Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return err
	}
	_, err = r.Verify(nil)
	r.UseCores(make(Cores, 2))
	if _, helped := r.Verify(nil); fmt.Sprint(helped) != fmt.Sprint(err) {
		return fmt.Errorf("with another core %v, without it %v", helped, err)
	}
	if err != nil {
		return err
	}
	s := r.Seek([]byte("r"))
	for s.Next() {
	}
	_, err = r.MayContainRow([]byte("r"))
	return errors.Join(s.Err(), err)
}

func TestEveryFlippedByteIsFound(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for _, s := range []Settings{
		{Compression: CompressSnappy, Encoding: EncodeFastDiff, Bloom: BloomRow, BlockSize: 512},
		smallIndex(Settings{Compression: CompressNone, Encoding: EncodeDiff, Bloom: BloomRowCol, BlockSize: 512}),
	} {
		file := writeCells(t, s, randomCells(r, 150))
		step := 1
		if testing.Short() {
			step = 7
		}
		for at := 0; at < len(file)-trailerLen; at += step {
			damaged := bytes.Clone(file)
			damaged[at] ^= 1 << (at % 8)
			if err := readAll(damaged); err == nil {
				t.Fatalf("byte %d of %d flipped, and nothing found", at, len(file))
			} else if !errors.Is(err, ErrCorrupt) {
				t.Fatalf("byte %d of %d flipped: %v is not marked as corruption", at, len(file), err)
			}
		}
	}
}

func TestEveryCutIsFound(t *testing.T) {
	file := writeCells(t, Settings{Compression: CompressSnappy, Encoding: EncodeFastDiff, Bloom: BloomRow, BlockSize: 512}, randomCells(rand.New(rand.NewPCG(6, 6)), 100))
	for n := range len(file) {
		if err := readAll(file[:n]); err == nil {
			t.Fatalf("cut to %d of %d bytes, and nothing found", n, len(file))
		}
		if n > 0 && n < len(file) {
			if err := readAll(file[n:]); err == nil {
				t.Fatalf("first %d of %d bytes missing, and nothing found", n, len(file))
			}
		}
	}
}

// resealed repairs the checksums after a change, so that what lies after them is tried.
func resealed(file []byte) []byte {
	for at := 0; at+headerLen < len(file)-trailerLen; {
		h, err := parseBlockHeader(file[at:], int64(len(file)-trailerLen-at))
		if err != nil {
			return file
		}
		sums := appendChecksums(bytes.Clone(file[at:at+h.onDiskData]), h.checksum, h.bytesPerChecksum)
		copy(file[at:], sums)
		at += h.onDiskSize
	}
	return file
}

func TestDamageBehindGoodChecksums(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	var files [][]byte
	everySetting(func(s Settings) { files = append(files, writeCells(t, smallIndex(s), randomCells(r, 100))) })
	for range 5_000 {
		damaged := bytes.Clone(files[r.IntN(len(files))])
		for range 1 + r.IntN(3) {
			damaged[r.IntN(len(damaged))] = byte(r.IntN(256))
		}
		_ = readAll(resealed(damaged)) // an error or, where a value was changed, none
	}
}

func FuzzReader(f *testing.F) {
	r := rand.New(rand.NewPCG(9, 9))
	everySetting(func(s Settings) {
		if s.Compression == CompressNone || s.Encoding == EncodeFastDiff {
			f.Add(writeCells(f, smallIndex(s), randomCells(r, 20)))
		}
	})
	f.Fuzz(func(_ *testing.T, file []byte) { _ = readAll(resealed(bytes.Clone(file))) })
}

// FuzzCells writes cells made of the fuzzer's bytes in each encoding and reads them back.
func FuzzCells(f *testing.F) {
	f.Add(uint8(4), []byte("a\x01b\x02c"))
	f.Fuzz(func(t *testing.T, encoding uint8, data []byte) {
		var cells []cell.Cell
		for len(data) >= 4 {
			n := min(int(data[0]&15)+1, len(data)-3)
			c := cell.Cell{Row: data[:n], Family: []byte("f"), Qualifier: data[n : n+1], Timestamp: int64(data[1]) << (data[2] & 63), Type: cell.Put, Value: data[:n-1]}
			if len(cells) > 0 && cell.Compare(&cells[len(cells)-1], &c) > 0 {
				c.Row = append(bytes.Clone(cells[len(cells)-1].Row), c.Row...)
			}
			if len(c.Row) > 1000 {
				break
			}
			cells = append(cells, c)
			data = data[n:]
		}
		if len(cells) == 0 {
			return
		}
		s := Settings{Compression: CompressNone, Encoding: []Encoding{EncodeNone, EncodePrefix, EncodeDiff, EncodeFastDiff, EncodeRowIndexV1}[encoding%5], Bloom: BloomRow, BlockSize: 200}
		in := open(t, writeCells(t, s, cells))
		if _, err := in.Verify(nil); err != nil {
			t.Fatal(err)
		}
		sameCells(t, readCells(t, in, nil), cells)
	})
}

type failingReader struct{ err error }

func (f failingReader) ReadAt([]byte, int64) (int, error) { return 0, f.err }

func TestReadErrorsAreNotCorruption(t *testing.T) {
	gone := errors.New("gone")
	if _, err := Open(failingReader{gone}, 10_000); !errors.Is(err, gone) || errors.Is(err, ErrCorrupt) {
		t.Fatalf("a failing read gives %v", err)
	}
	if _, err := Open(failingReader{io.EOF}, 10_000); !errors.Is(err, ErrCorrupt) {
		t.Fatalf("a file shorter than its stated size gives %v", err)
	}
}
