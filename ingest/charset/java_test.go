package charset

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/test/testcluster"
)

// TestJava: for every charset, every code of one, two and (GB18030, UTF-8) four bytes, and random texts, Java's decoder
// returns what ours returns, and finds no character where ours finds none.
func TestJava(t *testing.T) {
	var texts [][][]byte
	for _, name := range Names() {
		texts = append(texts, codes(name))
	}
	decoded := javaDecodes(t, Names(), texts)
	for i, name := range Names() {
		c, err := Named(name)
		if err != nil {
			t.Fatal(err)
		}
		var wrong int
		for j, text := range texts[i] {
			got, valid := c.Append(nil, text)
			ok := valid == len(text)
			if want := decoded[i][j]; ok != (want != nil) || ok && !bytes.Equal(got, want) {
				if wrong++; wrong < 10 {
					t.Errorf("%s % x: Java gives %q (text: %v), we %q (text: %v, %d bytes)", name, text, want, want != nil, got, ok, valid)
				}
			}
		}
		if wrong > 0 {
			t.Errorf("%s: %d of %d texts differ", name, wrong, len(texts[i]))
		}
	}
}

// codes are the texts to try in a charset.
func codes(name string) [][]byte {
	var texts [][]byte
	for a := range 256 {
		texts = append(texts, []byte{byte(a)})
		for b := range seconds(name) {
			texts = append(texts, []byte{byte(a), byte(b)})
		}
	}
	if name == "gb18030" {
		for n := range 126 * 10 * 126 * 10 {
			texts = append(texts, []byte{byte(0x81 + n/12600), byte(0x30 + n/1260%10), byte(0x81 + n/10%126), byte(0x30 + n%10)})
		}
	}
	if name == "utf-8" || name == "cesu-8" {
		for r := rune(0); r < 0x110000; r++ {
			texts = append(texts, three(r), []byte(string(r)))
			if r > 0x10000 {
				r += 16 // not all: these follow from a formula
			}
		}
	}
	return append(texts, random(5000)...)
}

// seconds is the number of second bytes to try: none if a byte is a character.
func seconds(name string) int {
	for _, single := range []string{"iso-", "windows-12", "koi", "us-"} {
		if strings.HasPrefix(name, single) {
			return 0
		}
	}
	return 256
}

// three writes a character as CESU-8 does, and surrogates too, which are no text when alone.
func three(r rune) []byte {
	if r > 0xffff {
		r -= 0x10000
		return append(three(0xd800+r>>10), three(0xdc00+r&0x3ff)...)
	}
	return []byte{0xe0 | byte(r>>12), 0x80 | byte(r>>6)&0x3f, 0x80 | byte(r)&0x3f}
}

// random makes texts of ASCII, digits that may belong to GB18030 codes, lead bytes and arbitrary bytes.
func random(n int) [][]byte {
	rng := rand.New(rand.NewPCG(1, 2))
	texts := make([][]byte, n)
	for i := range texts {
		text := make([]byte, rng.IntN(24))
		for j := range text {
			switch rng.IntN(4) {
			case 0:
				text[j] = byte(rng.IntN(0x80))
			case 1:
				text[j] = byte(0x81 + rng.IntN(0x7e))
			case 2:
				text[j] = byte('0' + rng.IntN(10))
			default:
				text[j] = byte(rng.IntN(256))
			}
		}
		texts[i] = text
	}
	return texts
}

// javaDecodes returns the texts of each charset as UTF-8, nil for an invalid one.
func javaDecodes(t *testing.T, names []string, texts [][][]byte) [][][]byte {
	t.Helper()
	var in bytes.Buffer
	for i, name := range names {
		in.WriteByte(byte(len(javaName(name))))
		in.WriteString(javaName(name))
		in.Write(binary.BigEndian.AppendUint32(nil, uint32(len(texts[i]))))
		for _, text := range texts[i] {
			in.WriteByte(byte(len(text)))
			in.Write(text)
		}
	}
	cmd := exec.Command("java", "-Xmx256m", "-XX:+UseSerialGC", "-cp", compiled(t, "testdata/Decode.java"), "Decode")
	cmd.Stdin = &in
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	decoded := make([][][]byte, len(names))
	for i := range names {
		decoded[i] = make([][]byte, len(texts[i]))
		for j := range decoded[i] {
			n := int(binary.BigEndian.Uint16(out))
			out = out[2:]
			if n != 0xffff {
				decoded[i][j], out = out[:n:n], out[n:]
			}
		}
	}
	return decoded
}

func javaName(name string) string {
	if name == "windows-949" || name == "windows-950" {
		return "x-" + name
	}
	return name
}

// TestTablesAreJavas: the tables are what their generator writes.
func TestTablesAreJavas(t *testing.T) {
	classes, dir := compiled(t, "testdata/Tables.java"), t.TempDir()
	if out, err := exec.Command("java", "-cp", classes, "Tables", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	made, err := filepath.Glob(filepath.Join(dir, "*.gz"))
	if err != nil || len(made) != len(known)-2 { // UTF-8 and CESU-8 have none
		t.Fatalf("%d tables, want %d (%v)", len(made), len(known)-2, err)
	}
	for _, name := range made {
		ours, err := tableFiles.ReadFile("tables/" + filepath.Base(name))
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(unpacked(t, ours), unpacked(t, theirs)) {
			t.Errorf("%s differs: go generate ./ingest/charset with Java 17", filepath.Base(name))
		}
	}
}

func unpacked(t *testing.T, file []byte) []byte {
	t.Helper()
	in, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// compiled returns the folder of a Java program's classes.
func compiled(t *testing.T, program string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a JVM")
	}
	if err := testcluster.JDK(); err != nil {
		testcluster.Without(t, err.Error())
	}
	dir := t.TempDir()
	if out, err := exec.Command("javac", "-encoding", "UTF-8", "-d", dir, program).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}
