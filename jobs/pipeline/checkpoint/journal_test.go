package checkpoint

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
		j, err := CreateJournal(name)
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
		j, lines, err := OpenJournal(name)
		if err != nil {
			return
		}
		defer j.Close()
		for i, line := range lines {
			if want := bytes.Split(whole, []byte{'\n'})[i][sumLen+2:]; !bytes.Equal(line, want) {
				t.Fatalf("line %d is %q, was %q", i, line, want)
			}
		}
	})
}

// TestJournalGoesOn: lines after the last whole one, and those that are cut, are gone, and the next ones take their
// place; a bad line before whole ones is damage.
func TestJournalGoesOn(t *testing.T) {
	name := filepath.Join(t.TempDir(), "journal")
	j, err := CreateJournal(name)
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
		if j, lines, err = OpenJournal(name); err != nil {
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
	for _, next := range []string{"", "e"} { // the second time, lines follow where half a line was, without a cut
		if got := bytes.Join(again(), nil); string(got) != `"a""d"` {
			t.Errorf("%s", got)
		}
		if next == "" {
			if _, err := j.file.WriteString("00000000 half"); err != nil {
				t.Fatal(err)
			}
			continue
		}
		add(next)
	}
	if got := bytes.Join(again(), nil); string(got) != `"a""d""e"` {
		t.Errorf("%s", got)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	content[sumLen+3] = 'x'
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := OpenJournal(name); !errors.Is(err, ErrDamaged) {
		t.Errorf("a changed line: %v", err)
	}
	if _, err := CreateJournal(name); !errors.Is(err, os.ErrExist) {
		t.Errorf("create a journal that exists: %v", err)
	}
}

// TestLinesHaveTheirPlaces: lines that are exchanged, missing, there twice or another journal's are found, the first
// and the last one too. Only a journal that ends early is one that was killed.
func TestLinesHaveTheirPlaces(t *testing.T) {
	name := filepath.Join(t.TempDir(), "journal")
	written := func(of string) [][]byte {
		_ = os.Remove(name)
		j, err := CreateJournal(name)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 4 {
			if err := j.Append(fmt.Sprint(of, i)); err != nil {
				t.Fatal(err)
			}
		}
		content, err := os.ReadFile(name)
		if err := errors.Join(err, j.Close()); err != nil {
			t.Fatal(err)
		}
		return bytes.SplitAfter(bytes.TrimSuffix(content, []byte("\n")), []byte("\n"))
	}
	lines := written("a")
	lines[3] = append(lines[3], '\n')
	try := func(order ...int) ([][]byte, error) {
		var content []byte
		for _, i := range order {
			content = append(content, lines[i]...)
		}
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
		j, texts, err := OpenJournal(name)
		if err == nil {
			err = j.Close()
		}
		return texts, err
	}
	for _, order := range [][]int{{1, 0, 2, 3}, {0, 2, 1, 3}, {0, 1, 3, 2}, {1, 2, 3}, {0, 2, 3}, {0, 1, 3}, {3}, {0, 0, 1, 2, 3}, {0, 1, 1, 2, 3}, {0, 1, 2, 3, 3}, {0, 1, 2, 3, 0}} {
		if texts, err := try(order...); !errors.Is(err, ErrDamaged) {
			t.Errorf("lines %v: %s, %v", order, texts, err)
		}
	}
	for n := range 5 {
		if texts, err := try([]int{0, 1, 2, 3}[:n]...); err != nil || len(texts) != n {
			t.Errorf("the first %d lines: %s, %v", n, texts, err)
		}
	}
}

// TestGoingOnCounts: what is appended after a journal was opened again, or cut, has the numbers that follow.
func TestGoingOnCounts(t *testing.T) {
	name := filepath.Join(t.TempDir(), "journal")
	j, err := CreateJournal(name)
	for i := range 12 {
		if err := errors.Join(err, j.Append(i)); err != nil {
			t.Fatal(err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		var lines [][]byte
		if j, lines, err = OpenJournal(name); err != nil || len(lines) != i+1 {
			t.Fatalf("%d lines, want %d: %v", len(lines), i+1, err)
		}
		if i == 10 {
			if err := errors.Join(j.Cut(lines[:9]), j.Append("nine"), j.Append("ten")); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestEveryByteOfAJournalCounts: a changed byte gives no other line, and is an error unless it could be one that was
// being written.
func TestEveryByteOfAJournalCounts(t *testing.T) {
	name := filepath.Join(t.TempDir(), "journal")
	j, err := CreateJournal(name)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`"a"`, `"bc"`, `"d"`}
	for _, text := range []string{"a", "bc", "d"} {
		if err := j.Append(text); err != nil {
			t.Fatal(err)
		}
	}
	content, err := os.ReadFile(name)
	if err := errors.Join(err, j.Close()); err != nil {
		t.Fatal(err)
	}
	// which begins the last line, or joins it to the one before
	last := bytes.LastIndexByte(content[:len(content)-1], '\n')
	for at := range content {
		for bit := range 8 {
			changed := bytes.Clone(content)
			changed[at] ^= 1 << bit
			if err := os.WriteFile(name, changed, 0o600); err != nil {
				t.Fatal(err)
			}
			j, lines, err := OpenJournal(name)
			if err == nil {
				err = j.Close()
			}
			if err == nil && at < last || err != nil && !errors.Is(err, ErrDamaged) || len(lines) > 2 {
				t.Fatalf("byte %d, bit %d: %q, %v", at, bit, lines, err)
			}
			for i, text := range lines {
				if string(text) != want[i] {
					t.Errorf("byte %d, bit %d: line %d is %s", at, bit, i, text)
				}
			}
		}
	}
}

// TestJournalBeyondTheLimit: lines that Open does not read are gone, as after a kill before them, and the next ones
// follow the last whole line.
func TestJournalBeyondTheLimit(t *testing.T) {
	name := filepath.Join(t.TempDir(), "journal")
	j, err := CreateJournal(name)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 9 {
		if err := j.Append(i); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	defer func(was int64) { limit = was }(limit)
	line := int64(len(formatLine(1, []byte("0"))))
	for _, c := range []struct{ limit, lines int64 }{{8*line + 1, 8}, {8 * line, 8}, {8*line - 1, 7}} {
		limit = c.limit
		j, lines, err := OpenJournal(name)
		if err != nil || int64(len(lines)) != c.lines {
			t.Fatalf("%d bytes: %q, %v", c.limit, lines, err)
		}
		if info, err := os.Stat(name); err != nil || info.Size() != c.lines*line {
			t.Errorf("%d bytes: %v, %v", c.limit, info.Size(), err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
	limit = 1 << 20
	if j, _, err = OpenJournal(name); err != nil {
		t.Fatal(err)
	}
	if err := j.Append("next"); err != nil {
		t.Error(err)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
	if j, lines, err := OpenJournal(name); err != nil || len(lines) != 8 || string(lines[7]) != `"next"` {
		t.Errorf("%q, %v", lines, err)
	} else if err := j.Close(); err != nil {
		t.Error(err)
	}
}
