package csv

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"bulkload/internal/test/testcluster"
	"bulkload/internal/test/testvalues"

	"bulkload/values"
)

// python runs a script of testdata on a value, by JSON.
func python(t *testing.T, script string, in any, args ...string) []byte {
	t.Helper()
	name, err := exec.LookPath("python3")
	if err != nil {
		testcluster.Without(t, "needs python3, whose csv module is the second opinion")
	}
	text, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(name, append([]string{filepath.Join("testdata", script)}, args...)...)
	cmd.Stdin = bytes.NewReader(text)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	return out
}

// oddRows are rows of odd values; some fit any charset, some only those of Chinese.
func oddRows(n int) [][]string {
	rng := rand.New(rand.NewPCG(3, 4))
	odd := []string{"", "\"", "\"\"", ",", "|", "a|b", ";", "\t", "\n", "x\r\ny", "\n\n", " ", "a \"b\" c", "\"a", "a\"", "1", "-1.5",
		"ORA-00942: no such table", "SQL> x", "5 rows selected.", "ß", "€", "中文", "亅", "昞\\", "A,B,C", "\\", "'", "\\N", "long " + strings.Repeat("x\"", 50)}
	rows := [][]string{{"A", "B", "C"}}
	for range n {
		row := make([]string, 3)
		for i := range row {
			row[i] = odd[rng.IntN(len(odd))]
			if rng.IntN(4) == 0 {
				row[i] += odd[rng.IntN(len(odd))]
			}
		}
		row[0] = strings.TrimPrefix(row[0], "SQL>") // a prompt, in a value that is not quoted
		rows = append(rows, row)
	}
	return rows
}

// TestPythonWrites: what Python's csv module writes, in all its ways and five charsets, is read as the rows it was
// given.
func TestPythonWrites(t *testing.T) {
	dir := t.TempDir()
	rows := oddRows(300)
	python(t, "write.py", rows, dir)
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(names) != 3*2*4*5 {
		t.Fatalf("%d files (%v)", len(names), err)
	}
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		how := strings.Split(filepath.Base(name), "_")
		charset := strings.NewReplacer("utf-8-sig", "utf-8", "cp1252", "windows-1252").Replace(how[3])
		f := form("A", "B", "C")
		f.Delimiter = strings.NewReplacer("tab", "\t", "bar", "|").Replace(how[2])[0]
		f.Charset = named(t, charset)
		all, err := read(t, f, string(content))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got, want := rowsOf(all), expected(rows[1:], how[0], charset); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %d rows, want %d\n%s", name, len(got), len(want), difference(got, want))
		}
	}
}

// expected are the rows that a charset has all characters of, as they come out.
func expected(rows [][]string, quoting, charset string) []string {
	var out []string
	for _, row := range rows {
		text := strings.Join(row, "")
		if charset == "windows-1252" && strings.ContainsAny(text, "中亅昞") || charset == "gbk" && strings.ContainsAny(text, "ß€") {
			continue
		}
		fields := testvalues.Of(row...)
		for i, value := range row {
			if value == "" && quoting == "minimal" {
				fields[i] = values.Value{}
			}
		}
		out = append(out, joined(fields))
	}
	return out
}

func rowsOf(all []got) []string {
	var out []string
	for _, g := range all {
		out = append(out, g.fields+g.reason)
	}
	return out
}

func difference(got, want []string) string {
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return fmt.Sprintf("row %d is %q, want %q", i, got[i], want[i])
		}
	}
	return ""
}

// TestPythonReads: of random texts, those that Python's csv module takes for rows of two values, with no quote where we
// want none, give the same values.
func TestPythonReads(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	pieces := []string{"\"", "\"", "\"\"", ",", ",", "\n", "\n", "a", "b c", "1", " ", "\",\"", "\"\n"}
	var contents []string
	for i := range 20000 {
		var b strings.Builder
		for range rng.IntN(12) {
			b.WriteString(pieces[rng.IntN(len(pieces))])
		}
		content := b.String()
		if i%2 == 0 {
			content = strings.ReplaceAll(content, "\n", "\r\n")
		}
		contents = append(contents, content)
	}
	var answers [][][]string
	if err := json.Unmarshal(python(t, "read.py", contents), &answers); err != nil {
		t.Fatal(err)
	}
	f := with(form("A", "B"), func(f *Form) { f.NoHeading, f.QuotedEmpty = true, "null" })
	var compared, strays int
	for i, content := range contents {
		all, err := read(t, f, content)
		if err != nil {
			t.Fatalf("%q: %v", content, err)
		}
		good := answers[i] != nil
		for _, g := range all {
			good = good && !strings.Contains(g.reason, "quote") && g.reason == ""
		}
		if !good {
			strays++
			if answers[i] != nil && twoEach(answers[i]) && !strings.Contains(content, "\"") {
				t.Errorf("%q: Python has %q, we %q", content, answers[i], texts(all))
			}
			continue
		}
		compared++
		if got, want := rowsOf(all), pythonRows(answers[i]); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %q, Python has %q", content, got, want)
		}
	}
	if compared < 1000 {
		t.Errorf("only %d texts compared, %d were no rows of two", compared, strays)
	}
}

func twoEach(rows [][]string) bool {
	for _, row := range rows {
		if len(row) != 2 && len(row) != 0 {
			return false
		}
	}
	return true
}

// pythonRows are Python's rows as ours are joined; it gives an empty line as a row without values.
func pythonRows(rows [][]string) []string {
	var out []string
	for _, row := range rows {
		if len(row) == 0 {
			continue
		}
		fields := testvalues.Of(row...)
		for i, value := range row {
			if value == "" {
				fields[i] = values.Value{}
			}
		}
		out = append(out, joined(fields))
	}
	return out
}
