package jobs

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/sample"
	"bulkload/internal/test/testcluster"
)

// sqoopForm is a way that Sqoop writes text.
type sqoopForm struct {
	field, record, enclose, escape string // a character each; enclose and escape of \x00 are none
	required                       bool   // all values are enclosed
	keys                           string // what the job file says of it
}

var sqoopForms = []sqoopForm{
	{",", "\n", "\x00", `\`, false, `field_delimiter: ',', escaped_by: '\'`},
	{",", "\n", `"`, `\`, false, `field_delimiter: ',', escaped_by: '\\', optionally_enclosed_by: '\"'`},
	{"|", "\n", `"`, `\`, true, `field_delimiter: '|', escaped_by: '\x5c', enclosed_by: '"'`},
	{"\x01", "\x10", `'`, "\x00", true, `record_delimiter: '\x10', enclosed_by: "'"`},
	{"；", "\x10", "\x00", "~", false, `field_delimiter: ；, record_delimiter: '\020', escaped_by: '~'`},
}

// sqoopText writes the rows of a text of the check table by Sqoop's own FieldFormatter, a text for each form.
func sqoopText(t *testing.T, text []byte, forms []sqoopForm) [][]byte {
	t.Helper()
	var lines strings.Builder
	x := func(s string) string { return " x" + hex.EncodeToString([]byte(s)) }
	rows := strings.Split(strings.TrimSuffix(string(text), "\x10"), "\x10")
	for _, f := range forms {
		for _, row := range rows {
			fmt.Fprintf(&lines, "format%s%s%s%s %t", x(f.field), x(f.record), x(f.enclose), x(f.escape), f.required)
			for _, value := range strings.Split(row, "\x01") {
				lines.WriteString(x(value))
			}
			lines.WriteString("\n")
		}
	}
	cmd := testcluster.Program(t, os.DirFS("../ingest/delimited/testdata/java"), "300m", "ingest.Sqoop")
	cmd.Stdin = strings.NewReader(lines.String())
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	records := strings.Fields(string(out))
	if len(records) != len(forms)*len(rows) {
		t.Fatalf("%d records", len(records))
	}
	var texts [][]byte
	for part := range slices.Chunk(records, len(rows)) {
		b, err := hex.DecodeString(strings.ReplaceAll(strings.Join(part, ""), "x", ""))
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, b)
	}
	return texts
}

// TestSqoopFormsGiveTheSame: the rows of the check example, as Sqoop's own classes write them with escapes and enclosures,
// plain and compressed by Hadoop's own codecs, give the HFiles that plain text of them gives, byte for byte.
func TestSqoopFormsGiveTheSame(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a JVM")
	}
	dir := t.TempDir()
	text, err := os.ReadFile(jobdir.Joined(t, dir, "examples/testdata/check/2026-11-20/part-*"))
	if err != nil {
		t.Fatal(err)
	}
	job := func(path, keys, output string) string {
		return fmt.Sprintf("table: tinawang:check\nfamily: f\ntimestamp: 2026-11-20\ninput: {path: %s, columns: [%s], %s}\n"+
			"rowkey: salt(check_id, 10) + md5(check_id) + id\nregions: {from: splits, splits: ['1','2','3','4','5','6','7','8','9']}\n"+
			"hfile: {compression: snappy, encoding: fast_diff, bloom: row}\noutput: %s\n", path, strings.Join(sample.CheckColumns, ", "), keys, output)
	}
	runRejecting(t, dir, job("text", `record_delimiter: '\x10'`, "text-out"))
	want := hfileBytes(t, filepath.Join(dir, "text-out"))
	compare := func(name, keys string) {
		t.Helper()
		runRejecting(t, dir, job(name, keys, name+"-out"))
		if hfileBytes(t, filepath.Join(dir, name+"-out")) != want {
			t.Errorf("%s, %s: other HFiles than the plain text's", name, keys)
		}
	}
	var names []string
	for i, content := range sqoopText(t, text, sqoopForms) {
		name := fmt.Sprintf("sqoop-%d", i)
		names = append(names, filepath.Join(dir, name))
		if err := os.WriteFile(names[i], content, 0o600); err != nil {
			t.Fatal(err)
		}
		if bytes.Equal(content, text) {
			t.Errorf("form %d writes what no form writes", i)
		}
		compare(name, sqoopForms[i].keys)
	}
	cmd := testcluster.Program(t, os.DirFS("../ingest/delimited/testdata/java"), "300m", "ingest.Codecs", names[1])
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	packed, err := filepath.Glob(names[1] + ".*")
	if err != nil || len(packed) != 9 {
		t.Fatalf("%q, %v", packed, err)
	}
	for _, name := range packed {
		compare(filepath.Base(name), sqoopForms[1].keys)
	}
}

// TestSqoopExample: the shipped export gives the HFiles of the same rows of the check example.
func TestSqoopExample(t *testing.T) {
	dir := t.TempDir()
	part, err := os.ReadFile("examples/testdata/check/2026-11-20/part-m-00000")
	if err != nil {
		t.Fatal(err)
	}
	sameAsText(t, dir, "check-sqoop", part, 40)
}
