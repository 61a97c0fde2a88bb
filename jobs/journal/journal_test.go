package journal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// FuzzJournal holds that a journal's lines are those that were appended, or an error, whatever is done to the file.
func FuzzJournal(f *testing.F) {
	f.Add([]byte("a text"), 3, byte(1))
	f.Add([]byte("\n"), 500, byte(0))
	name := filepath.Join(f.TempDir(), "journal")
	f.Fuzz(func(t *testing.T, text []byte, at int, flip byte) {
		_ = os.Remove(name)
		j, err := Create(name)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			if err := j.Append(fmt.Sprint(i, string(text))); err != nil {
				t.Fatal(err)
			}
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		whole := bytes.Clone(content)
		content[uint(at)%uint(len(content))] ^= flip
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
		j, lines, err := Open(name)
		if err != nil {
			return
		}
		defer j.Close()
		for i, line := range lines {
			if want := bytes.Split(whole, []byte{'\n'})[i][prefix:]; !bytes.Equal(line, want) {
				t.Fatalf("line %d is %q, was %q", i, line, want)
			}
		}
	})
}

// TestJournalGoesOn: lines behind the last whole one, and those that are cut, are gone, and the next ones take their place;
// a bad line before whole ones is damage.
func TestJournalGoesOn(t *testing.T) {
	name := filepath.Join(t.TempDir(), "journal")
	j, err := Create(name)
	if err != nil {
		t.Fatal(err)
	}
	add := func(values ...string) {
		t.Helper()
		for _, v := range values {
			if err := j.Append(v); err != nil {
				t.Fatal(err)
			}
		}
	}
	again := func() [][]byte {
		t.Helper()
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		var lines [][]byte
		if j, lines, err = Open(name); err != nil {
			t.Fatal(err)
		}
		return lines
	}
	add("a", "b", "c")
	if _, err := j.file.WriteString("00000000 half"); err != nil {
		t.Fatal(err)
	}
	lines := again()
	if got := bytes.Join(lines, nil); string(got) != `"a""b""c"` {
		t.Fatalf("%s", got)
	}
	if err := j.Cut(lines[:1]); err != nil {
		t.Fatal(err)
	}
	add("d")
	if got := bytes.Join(again(), nil); string(got) != `"a""d"` {
		t.Errorf("%s", got)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	content[prefix+1] = 'x'
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Open(name); !errors.Is(err, ErrDamaged) {
		t.Errorf("a changed line: %v", err)
	}
	if _, err := Create(name); !errors.Is(err, os.ErrExist) {
		t.Errorf("create what is there: %v", err)
	}
}
