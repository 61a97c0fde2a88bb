package source_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/runtest"
	"bulkload/internal/test/sample"
	"bulkload/internal/test/testcluster"
	"bulkload/internal/test/testfs"
	"bulkload/jobs/base/options"
	"bulkload/jobs/inspect/verify"
)

// TestCSVGivesWhatTextGives: the rows of the check example, written as CSV by Python's csv module, in other charsets,
// with the columns in another order, packed or not, give the HFiles that Sqoop's text of them gives, byte for byte.
func TestCSVGivesWhatTextGives(t *testing.T) {
	dir := t.TempDir()
	text := exampleText(t)
	writeInput(t, filepath.Join(dir, "text"), string(text), false)
	runRejecting(t, dir, exampleJob("text", `record_delimiter: '\x10'`, "text-out"))
	want := hfileBytes(t, filepath.Join(dir, "text-out"))
	for i, c := range []struct {
		charset, delimiter, end, keys string
		zip                           bool
	}{
		{"utf-8", ",", "lf", "format: csv", false},
		{"utf-8-sig", ";", "crlf", "format: csv, field_delimiter: ;", true},
		{"gbk", "|", "lf", "format: csv, charset: gbk, field_delimiter: '|'", false},
		{"gb18030", "\t", "crlf", "format: csv, charset: ZHS32GB18030, field_delimiter: '\\t'", true},
	} {
		name := fmt.Sprintf("csv-%d", i)
		content := pythonCSV(t, text, c.charset, c.delimiter, c.end)
		writeInput(t, filepath.Join(dir, name), string(content), c.zip)
		runRejecting(t, dir, exampleJob(name, c.keys, name+"-out"))
		if got := hfileBytes(t, filepath.Join(dir, name+"-out")); got != want {
			t.Errorf("%s, %s: other HFiles than the text's", c.charset, c.keys)
		}
	}
}

// TestCSVExample: the shipped spool gives the HFiles of the same rows of the check example.
func TestCSVExample(t *testing.T) {
	sameAsText(t, "check-csv", 40)
}

// exampleJob is the job of the check example over input in another form.
func exampleJob(path, keys, output string) string {
	return fmt.Sprintf("table: tinawang:check\nfamily: f\ntimestamp: 2026-11-20\ninput: {path: %s, columns: [%s], %s}\n"+
		"rowkey: salt(check_id, 10) + md5(check_id) + id\nregions: {from: splits, splits: ['1','2','3','4','5','6','7','8','9']}\n"+
		"hfile: {compression: snappy, encoding: fast_diff, bloom: row}\noutput: %s\n",
		path, strings.Join(sample.CheckColumns, ", "), keys, output)
}

// exampleText is the text of the check example.
func exampleText(t *testing.T) []byte {
	t.Helper()
	return testfs.Read(t, jobdir.Joined(t, t.TempDir(), jobdir.Example(t, "testdata/check/2026-11-20/part-*")))
}

// sameAsText runs the first rows of the check example's text, and the example of that name, which holds the same in
// another form: both must give the same HFiles.
func sameAsText(t *testing.T, name string, rows int64) {
	t.Helper()
	dir := t.TempDir()
	in := filepath.Join(dir, "in")
	first := bytes.SplitAfterN(exampleText(t), []byte{0x10}, int(rows)+1)[:rows]
	if err := os.WriteFile(in, bytes.Join(first, nil), 0o600); err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, example := range []string{"check", name} {
		j := jobtest.Read(t, jobdir.Example(t, example+".yaml"))
		if example == "check" {
			j.Input.Path = in
		}
		j.Output = filepath.Join(dir, example)
		if s := runtest.Must(t, j, options.Options{}); s.Counts.Written != rows {
			t.Errorf("%s: %d rows written", example, s.Counts.Written)
		}
		files = append(files, hfileBytes(t, j.Output))
	}
	if files[0] != files[1] {
		t.Errorf("%s gives other HFiles than the text", name)
	}
}

// pythonCSV is Sqoop's text of the check table as CSV.
func pythonCSV(t *testing.T, text []byte, charset, delimiter, end string) []byte {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		testcluster.Without(t, "needs python3, whose csv module writes the input")
	}
	cmd := exec.Command(python, "testdata/as_csv.py", strings.Join(sample.CheckColumns, ","), charset, delimiter, end)
	cmd.Stdin = bytes.NewReader(text)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// hfileBytes are the HFiles of an output; their names follow from the run.
func hfileBytes(t *testing.T, output string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(output, "f", "*"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no HFiles in %s (%v)", output, err)
	}
	var files []string
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, string(b))
	}
	slices.Sort(files)
	return strings.Join(files, "")
}

// spool writes the input of a folder that jobdir.Check made as SQL*Plus does: with a heading, again before every n
// rows, and messages. It returns the number of lines that are skipped.
func spool(t *testing.T, dir string, n int) (skipped int64) {
	t.Helper()
	heading := strings.Join(sample.CheckColumns, ",") + "\n"
	for _, name := range jobdir.Parts(t, dir) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		out := bytes.NewBufferString("SQL> select\n  2  * from check;\n" + heading)
		skipped += 2
		for i, record := range bytes.Split(bytes.TrimSuffix(text, []byte{0x10}), []byte{0x10}) {
			if i > 0 && i%n == 0 {
				out.WriteString("\n" + heading)
				skipped++
			}
			values := strings.ReplaceAll(strings.ReplaceAll(string(record), `"`, `""`), "\x01", `","`)
			out.WriteString(`"` + values + "\"\n")
		}
		out.WriteString("\n5 rows selected.\nSQL> spool off\n")
		skipped += 2
		if err := os.WriteFile(name, out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return skipped
}

const spoolJob = "format: csv\n  skip_noise: true"

// TestSkippedLinesAreCounted: lines that skip_noise skips are in the counts, whether one process reads, tasks, a
// verification, or a process that continues a killed one.
func TestSkippedLinesAreCounted(t *testing.T) {
	runtest.ManyProcesses(t)
	dir := jobdir.Check(t, strings.Replace(jobdir.CheckJob, `record_delimiter: '\x10'`, spoolJob, 1), 90_000)
	skipped := spool(t, dir, 100)
	runtest.SameByTasks(t, "spooled", dir, runtest.SmallTasks, 4)
	k := runtest.Killed{Dir: dir, Out: "out", Work: filepath.Join(dir, "work"), Memory: options.MinMemory, At: options.Checkpointed, Times: 1}
	k.KillAnew(t)
	got := runtest.Must(t, k.Read(t), k.Options())
	if b := got.Counts; got.Resumed == nil || b.Skipped != skipped || b.Read != 90_000 {
		t.Errorf("continued (%v): %d lines skipped, want %d; %v", got.Resumed, b.Skipped, skipped, b)
	}
	if b := runtest.ManifestOf(t, filepath.Join(dir, "here"))[0].Counts; b.Skipped != skipped {
		t.Errorf("in one process: %d lines skipped, want %d", b.Skipped, skipped)
	}
	if r, err := verify.Job(t.Context(), k.Read(t), options.Options{}, false); err != nil || r.Skipped != skipped {
		t.Errorf("verify: %d lines skipped, want %d: %v", r.Skipped, skipped, err)
	}
}

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
	cmd := testcluster.Program(t, os.DirFS("../../../ingest/delimited/testdata/java"), "300m", "ingest.Sqoop")
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

// TestSqoopFormsGiveTheSame: the rows of the check example, as Sqoop's own classes write them with escapes and
// enclosures, plain and compressed by Hadoop's own codecs, give the HFiles that plain text of them gives, byte for
// byte.
func TestSqoopFormsGiveTheSame(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a JVM")
	}
	dir := t.TempDir()
	text := exampleText(t)
	writeInput(t, filepath.Join(dir, "text"), string(text), false)
	runRejecting(t, dir, exampleJob("text", `record_delimiter: '\x10'`, "text-out"))
	want := hfileBytes(t, filepath.Join(dir, "text-out"))
	compare := func(name, keys string) {
		t.Helper()
		runRejecting(t, dir, exampleJob(name, keys, name+"-out"))
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
	cmd := testcluster.Program(t, os.DirFS("../../../ingest/delimited/testdata/java"), "300m", "ingest.Codecs", names[1])
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
	sameAsText(t, "check-sqoop", 40)
}
