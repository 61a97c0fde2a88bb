package ingest

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
	"unicode/utf8"
)

// FuzzValidUTF8 compares it with the standard library.
func FuzzValidUTF8(f *testing.F) {
	for _, s := range []string{"", "ascii only, long enough", "中文中文中文", "a中bc文defg1234567\x80", "12345678\xe0\x80\x80abc",
		"\xed\xa0\x80 surrogate", "\xf0\x9f\x98\x80 four and more", "é two bytes ééé", "1234567中", "12345中文", "中\xe4\xb8", "中文ab\xe4", "€1234중12345", "à ไทย देव 한국 1234567"} {
		f.Add([]byte(s), 0)
		f.Add(bytes.Repeat([]byte(s), 5), 7)
	}
	f.Fuzz(func(t *testing.T, text []byte, ascii int) {
		text = append(bytes.Repeat([]byte{'x'}, ascii&15), text...)
		if got, want := ValidUTF8(text), utf8.Valid(text); got != want {
			t.Errorf("%v for % x", got, text)
		}
	})
}

// TestEveryRuneIsValid: each character alone, with others about it, and cut.
func TestEveryRuneIsValid(t *testing.T) {
	for r := rune(0); r <= utf8.MaxRune; r++ {
		char := utf8.AppendRune(nil, r)
		text := slices.Concat([]byte("1234"), char, []byte("5678中"))
		if got, want := ValidUTF8(text), utf8.Valid(text); got != want {
			t.Fatalf("%U: %v", r, got)
		}
		cut := slices.Concat([]byte("1234"), char[:len(char)-1], []byte("56789"))
		if got, want := ValidUTF8(cut), utf8.Valid(cut); got != want {
			t.Fatalf("%U cut: %v", r, got)
		}
	}
	// All of two bytes, and some of three that begin so, at each place in two words and across their ends.
	for first := range 256 {
		for second := range 256 {
			for _, third := range []byte{0, 0x7f, 0x80, 0xbf, 0xc0, 0xff} {
				for at := range 16 {
					text := []byte("abcdefghijklmnopqrstuvw") // two words, and a rest that is shorter
					text[at], text[at+1], text[at+2] = byte(first), byte(second), third
					if got, want := ValidUTF8(text), utf8.Valid(text); got != want {
						t.Fatalf("% x: %v", text, got)
					}
				}
			}
		}
	}
}

// BenchmarkValidUTF8 checks many texts, because the branch predictor would learn a single one by heart.
func BenchmarkValidUTF8(b *testing.B) {
	words := []string{"通过", "资料齐全", "risk", "manual", "approved", "征信", "rejected", "limit", "补充材料", "2024-01-01 10:00:00", "金额,", "u41193"}
	r := rand.New(rand.NewPCG(1, 2))
	texts := make([][]byte, 1<<10)
	for i := range texts {
		for range 30 {
			texts[i] = append(append(texts[i], words[r.IntN(len(words))]...), ' ')
		}
	}
	for _, c := range []struct {
		name  string
		valid func([]byte) bool
	}{{"ours", ValidUTF8}, {"library", utf8.Valid}} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(bytes.Join(texts, nil)) / len(texts)))
			for i := 0; b.Loop(); i++ {
				if !c.valid(texts[i%len(texts)]) {
					b.Fatal("invalid")
				}
			}
		})
	}
}
