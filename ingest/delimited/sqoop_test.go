package delimited

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"bulkload/ingest"
	"bulkload/internal/test/testcluster"
	"bulkload/internal/test/testfs"
	"bulkload/internal/test/testwords"
)

// sqoopClasses runs lines through Sqoop's own classes: see testdata/java/Sqoop.java.
func sqoopClasses(t *testing.T, lines []string) []string {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a JVM")
	}
	cmd := testcluster.Program(t, os.DirFS("testdata/java"), "300m", "ingest.Sqoop")
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.Bytes())
	}
	answers := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(answers) != len(lines) {
		t.Fatalf("%d lines gave %d answers; %s", len(lines), len(answers), stderr.Bytes())
	}
	return answers
}

func hexed(text string) string { return "x" + hex.EncodeToString([]byte(text)) }

func unhexed(t *testing.T, text string) string {
	t.Helper()
	b, err := hex.DecodeString(strings.TrimPrefix(text, "x"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// sqoopForms are the ways that Sqoop's arguments can be set, without columns.
func sqoopForms() []*Form {
	var forms []*Form
	for _, delimiters := range [][2]string{{"\x01", "\x10"}, {",", "\n"}, {"；", "。"}} {
		for _, escape := range []byte{0, '\\'} {
			for _, enclosure := range []byte{0, '"'} {
				for _, all := range []bool{false, true} {
					if enclosure != 0 || !all {
						forms = append(forms, &Form{FieldDelimiter: []byte(delimiters[0]), RecordDelimiter: []byte(delimiters[1]),
							Escape: escape, Enclosure: enclosure, EncloseAll: all})
					}
				}
			}
		}
	}
	return forms
}

// arguments are a form as Sqoop.java takes it.
func arguments(d *Form) string {
	return fmt.Sprintf("%s %s %s %s %t", hexed(string(d.FieldDelimiter)), hexed(string(d.RecordDelimiter)),
		hexed(string([]byte{d.Enclosure})), hexed(string([]byte{d.Escape})), d.EncloseAll)
}

func withColumns(d *Form, n int) *Form {
	c := *d
	c.Columns = make([]string, n)
	for i := range c.Columns {
		c.Columns[i] = fmt.Sprint("c", i)
	}
	return &c
}

// pieces is what random texts are made of: all that means something in a form, and what should not.
func pieces(d *Form) []string {
	return []string{string(d.FieldDelimiter), string(d.RecordDelimiter), `\`, `"`, "a", "bc", "规", "\n", "\r", "N", "𠀀", "'", " "}
}

func randomText(r *rand.Rand, d *Form, most int) string {
	p := pieces(d)
	var s strings.Builder
	for range r.IntN(most + 1) {
		s.WriteString(p[r.IntN(len(p))])
	}
	return s.String()
}

// TestSqoopWrites: what Sqoop's FieldFormatter writes is read as the values that it was given, unless its text is
// ambiguous: a value has a delimiter that nothing marks, or a quote without an escape.
func TestSqoopWrites(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 4))
	const columns, records = 4, 400
	var lines []string
	var values [][]string
	for _, d := range sqoopForms() {
		for range records {
			row := make([]string, columns)
			for i := range row {
				for row[i] = randomText(r, d, 5); !d.canHold(row[i]); row[i] = randomText(r, d, 5) {
				}
			}
			values = append(values, row)
			line := "format " + arguments(d)
			for _, v := range row {
				line += " " + hexed(v)
			}
			lines = append(lines, line)
		}
	}
	answers := sqoopClasses(t, lines)
	for i, d := range sqoopForms() {
		var file strings.Builder
		for _, answer := range answers[i*records : (i+1)*records] {
			file.WriteString(unhexed(t, answer))
		}
		all := read(t, withColumns(d, columns), file.String())
		for k, row := range values[i*records : (i+1)*records] {
			if k >= len(all) || !slices.Equal(all[k].fields, row) {
				t.Fatalf("%s: record %d of %d: got %+v\nwant %q", arguments(d), k, len(all), all[min(k, len(all)-1)], row)
			}
		}
		if len(all) != records {
			t.Errorf("%s: %d records", arguments(d), len(all))
		}
	}
}

// canHold reports whether Sqoop writes a value so that it can be distinguished from others.
func (d *Form) canHold(value string) bool {
	marked := strings.Contains(value, string(d.FieldDelimiter)) || strings.Contains(value, string(d.RecordDelimiter))
	switch {
	case d.Escape != 0:
		return true
	case d.Enclosure == 0:
		return !marked
	}
	return !strings.Contains(value, string([]byte{d.Enclosure}))
}

// TestSqoopParses: any text whatever gives the values that Sqoop's RecordParser gives, and is rejected where that gives
// an error. That parser takes a record which ends inside an enclosure or after a lone escape; here it is rejected.
func TestSqoopParses(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	const each = 3000
	var lines, texts []string
	for _, d := range sqoopForms() {
		for range each {
			text := randomText(r, d, 12)
			texts = append(texts, text)
			lines = append(lines, "parse "+arguments(d)+" "+hexed(text))
		}
	}
	answers := sqoopClasses(t, lines)
	outcomes := map[string]int{}
	for i, d := range sqoopForms() {
		if !d.needsScanner() {
			continue // Sqoop's parser has no such state: it is the same as cutting at delimiters
		}
		for k, text := range texts[i*each : (i+1)*each] {
			if text != "" {
				outcomes[compareParsed(t, d, text, answers[i*each+k])]++
			}
		}
	}
	t.Logf("%v", outcomes)
	for _, wanted := range []string{"equal", "both refuse", "cut off"} {
		if outcomes[wanted] < 500 {
			t.Errorf("only %d were %s", outcomes[wanted], wanted)
		}
	}
}

// compareParsed compares the first record of a text with what Sqoop's parser answered.
func compareParsed(t *testing.T, d *Form, text, answer string) string {
	t.Helper()
	var want []string
	for _, field := range strings.Fields(answer) {
		if answer[0] != '!' {
			want = append(want, unhexed(t, field))
		}
	}
	form := withColumns(d, max(1, len(want)))
	m := testfs.Memory{Content: []byte(text)}
	in, err := form.Open(m, ingest.Split{File: fileOf(m), End: int64(len(text))})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	rec, err := in.Next()
	var bad *ingest.BadRecord
	switch {
	case errors.As(err, &bad) && answer[0] == '!' && !strings.Contains(bad.Reason, ", want "):
		return "both refuse"
	case errors.As(err, &bad) && (strings.Contains(bad.Reason, "at its end") || strings.Contains(bad.Reason, "ends with the escape")):
		return "cut off"
	case err != nil && !errors.Is(err, io.EOF) || answer[0] == '!':
		t.Fatalf("%s: %q: %v; Sqoop says %s %q", arguments(d), text, err, answer, want)
	}
	if got := texts(rec.Fields); !slices.Equal(got, want) {
		t.Fatalf("%s: %q: got %q, Sqoop has %q", arguments(d), text, got, want)
	}
	return "equal"
}

// TestSqoopDelimiters: a delimiter that Sqoop takes in an argument means the same here, or is refused with its likely
// meaning.
func TestSqoopDelimiters(t *testing.T) {
	notations := []string{`\001`, `\0x1`, `\0x01`, `\020`, `\0x10`, `\010`, `\012`, `\0xA`, `\0xa`, `\n`, `\t`, `\r`, `\b`, `\\`, `\'`, `\"`, `,`, `|`, "\t", `\0`, `\07`, `\0x7f`, `\0177`,
		`020`, `^A`, `\x10`, `\u0010`, `\16`, `x10`, `t`}
	var lines []string
	for _, n := range notations {
		lines = append(lines, "char "+hexed(n))
	}
	same, refused := 0, 0
	for i, answer := range sqoopClasses(t, lines) {
		got, err := ingest.ParseDelimiter(notations[i])
		switch {
		case answer[0] == '!': // Sqoop has no such notation
		case err != nil:
			refused++
			if !testwords.Names(err, "literally") {
				t.Errorf("%s: %v", notations[i], err)
			}
		case string(got) != unhexed(t, answer):
			t.Errorf("%s: %q, Sqoop takes it for %q", notations[i], got, unhexed(t, answer))
		default:
			same++
		}
	}
	if same < 20 || refused != 4 {
		t.Errorf("%d the same, %d refused", same, refused)
	}
}
