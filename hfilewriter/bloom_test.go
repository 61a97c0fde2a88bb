package hfilewriter

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"bulkload/cell"
	"bulkload/internal/test/testwords"
)

// Keys hashed in parallel have the hashes that they have alone, whatever their lengths.
func TestHashesSideBySide(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 1))
	var mixes [][murmurWidth]uint32
	for range 2000 {
		length := r.IntN(70)
		var batch [][]byte
		var want [2][murmurWidth]int32
		for i := range r.IntN(murmurWidth + 1) {
			key := make([]byte, length+r.IntN(40)/39)
			for j := range key {
				key[j] = byte(r.Uint32())
			}
			want[0][i] = murmur(key, 0)
			want[1][i] = murmur(key, want[0][i])
			batch = append(batch, key)
		}
		var got [2][murmurWidth]int32
		got[0], got[1] = murmurs(batch, &mixes)
		if got != want {
			t.Fatalf("%d keys of about %d bytes: %v, want %v", len(batch), length, got, want)
		}
	}
}

// TestDenyingBloomIsFound: Verify finds a filter that lacks one row, wherever that row is in the file.
func TestDenyingBloomIsFound(t *testing.T) {
	for _, kind := range []Bloom{BloomRow, BloomRowCol, BloomRowPrefix} {
		for _, rows := range []int{2, 3, 4, 5, 6, 250} {
			for lost := range rows {
				// Chunks of 128 bytes hold about 35 keys, at an error rate that leaves no chance to one of them.
				file, row := writeUntold(t, Settings{Compression: CompressNone, Encoding: EncodeNone, Bloom: kind, BloomPrefix: 6, BloomBlockSize: 128, BloomErrorRate: 1e-6, BlockSize: 512}, rows, lost)
				_, err := open(t, file).Verify(nil)
				if !errors.Is(err, ErrCorrupt) || !testwords.Names(err, "filter denies ", row) {
					t.Errorf("%v, %d rows, row %d lost: %v", kind, rows, lost, err)
				}
			}
		}
	}
}

// writeUntold writes a file of rows, one of which is not added to the filter.
func writeUntold(t *testing.T, s Settings, rows, lost int) (file []byte, row string) {
	var out bytes.Buffer
	w, err := NewWriter(&out, s, Provenance{Created: 1, Loaded: 2, Task: "test"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		c := cell.Cell{Row: fmt.Appendf(nil, "%06d", i*7), Family: []byte("f"), Qualifier: []byte("q"), Timestamp: 5, Type: cell.Put, Value: []byte("v")}
		w.settings.Bloom = s.Bloom
		if i == lost {
			row, w.settings.Bloom = string(c.Row), BloomNone
		}
		if err := w.Append(&c); err != nil {
			t.Fatal(err)
		}
	}
	w.settings.Bloom = s.Bloom
	if _, err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), row
}

// TestChunksOutOfOrderAreFound: HBase looks for a row's chunk by bisection.
func TestChunksOutOfOrderAreFound(t *testing.T) {
	s := Settings{Compression: CompressNone, Encoding: EncodeNone, Bloom: BloomRow, BloomBlockSize: 128, BlockSize: 512}
	var cells []cell.Cell
	for i := range 600 {
		cells = append(cells, cell.Cell{Row: fmt.Appendf(nil, "%06d", i), Family: []byte("f"), Qualifier: []byte("q"), Timestamp: 5, Type: cell.Put})
	}
	file := writeCells(t, s, cells)
	r := open(t, file)
	if len(r.bloom.chunks) < 4 {
		t.Fatalf("%d chunks", len(r.bloom.chunks))
	}
	r.bloom.chunks[2].key = []byte("z")
	if _, err := r.Verify(nil); !errors.Is(err, ErrCorrupt) {
		t.Errorf("chunks out of order: %v", err)
	}
}

// TestHashesOfFilters: a filter of another hash denies nothing, and is not checked. HBase opens no file with an unknown
// one.
func TestHashesOfFilters(t *testing.T) {
	w := newBloomWriter(&Settings{BloomBlockSize: 128, BloomErrorRate: 0.01, BloomMaxFold: 7}, BloomRow)
	meta := w.appendMeta(nil)
	const at = 4 + 8 + 4 // version, bytes, number of hashes
	for hash, want := range map[uint32]error{0: nil, 1: nil, 2: nil, 3: ErrCorrupt, math.MaxUint32: ErrCorrupt} {
		binary.BigEndian.PutUint32(meta[at:], hash)
		if m, err := parseBloomMeta(meta); !errors.Is(err, want) || err == nil && m.hashType != int(hash) {
			t.Errorf("hash %d: %+v, %v", hash, m, err)
		}
	}
	s := Settings{Compression: CompressNone, Encoding: EncodeNone, Bloom: BloomRow}
	r := open(t, writeCells(t, s, []cell.Cell{{Row: []byte("here"), Family: []byte("f"), Timestamp: 5, Type: cell.Put}}))
	for hash, denies := range map[int]bool{0: false, bloomMurmur: true, 2: false} {
		r.bloom.hashType = hash
		if may, err := r.MayContainRow([]byte("not here")); may == denies || err != nil {
			t.Errorf("hash %d: may contain: %v, %v", hash, may, err)
		}
		_, err := r.Verify(nil)
		if (err == nil) != denies || err != nil &&
			(!errors.Is(err, ErrUnsupported) || !testwords.Names(err, bloomHashes[hash])) {
			t.Errorf("hash %d: verify: %v", hash, err)
		}
	}
}
