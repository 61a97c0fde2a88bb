package jobfile

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/jobs/base/failure"
)

// files writes files into a folder and gives the path of the one that is called job.yaml.
func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "job.yaml")
}

const (
	plainJob = `table: ns:t
family: f
timestamp: ${date}
input:
  path: in/${date}
  columns: [id, note]
  record_delimiter: '\x10'
  max_rejects: 5
columns_map: {id: {to: 'f:i'}, note: {to: 'f:n'}}
rowkey: id
regions: {from: splits, splits: []}
hfile: {compression: snappy, encoding: fast_diff}
output: out/${date}
`
	includingJob = `include: shared/${which}.yaml
table: ns:t
input: {path: 'in/${date}', columns: [id, note], max_rejects: 5}
columns_map: {note: {to: 'f:n'}}
rowkey: id
output: out/${date}
`
	sharedLines = `include: [form.yaml, more.yaml]
family: f
input: {max_rejects: 9, record_delimiter: '\x10'}
`
	formLines = `hfile: {compression: gz, encoding: fast_diff}
columns_map: {note: {to: 'f:other'}, id: {to: 'f:i'}}
regions: {from: splits, splits: []}
`
	moreLines = `hfile: {compression: snappy}
`
)

var includedFiles = map[string]string{"job.yaml": includingJob, "shared/all.yaml": sharedLines, "shared/form.yaml": formLines, "shared/more.yaml": moreLines}

// TestInclude: a job is the same whether its lines are its own or included.
func TestInclude(t *testing.T) {
	o := ReadOptions{Date: date20, Set: map[string]string{"which": "all"}}
	plain, err := Read(writeFiles(t, map[string]string{"job.yaml": plainJob}), o)
	if err != nil {
		t.Fatal(err)
	}
	j, err := Read(writeFiles(t, includedFiles), o)
	if err != nil {
		t.Fatal(err)
	}
	if j.Hash() != plain.Hash() || j.Input.Path != plain.Input.Path || j.Input.MaxRejects != plain.Input.MaxRejects || j.Output != plain.Output {
		t.Errorf("included: %+v\nplain: %+v", j, plain)
	}
}

// TestIncludeMistakes: each names the file and the line that it is in.
func TestIncludeMistakes(t *testing.T) {
	for _, c := range []struct{ name, file, text, want string }{
		{"key", "shared/form.yaml", "hfile: {}\nregionz: {}\n", "shared/form.yaml:2: unknown key regionz; did you mean regions?"},
		{"value", "shared/more.yaml", "hfile:\n  compression: snapy\n", `shared/more.yaml:2: hfile.compression: compression "snapy"`},
		{"syntax", "shared/more.yaml", "hfile:\n\t- x\n", "shared/more.yaml:2: found character"},
		{"variable", "shared/more.yaml", "\n\nfamily: ${nobody}\n", ""},
		{"twice", "shared/more.yaml", "hfile: {}\nhfile: {}\n", "shared/more.yaml:2: hfile is given twice, first in line 1"},
		{"in the job file", "job.yaml", strings.Replace(includingJob, "rowkey: id", "rowkey: ix", 1), "job.yaml:5: rowkey: "},
		{"missing", "shared/all.yaml", "include: nothing.yaml\n", "shared/all.yaml:1: include: open "},
		{"itself", "shared/more.yaml", "include: more.yaml\n", "shared/more.yaml:1: include: the files include each other in a circle: "},
		{"circle", "shared/more.yaml", "\ninclude: ../job.yaml\n", "shared/more.yaml:2: include: the files include each other in a circle: "},
		{"list", "shared/more.yaml", "[a]\n", "shared/more.yaml:1: the file is a list"},
		{"empty", "shared/more.yaml", "", "shared/more.yaml:1: the job file is empty"},
		{"no name", "shared/more.yaml", "include: ''\n", "shared/more.yaml:1: include: is empty"},
		{"a mapping", "shared/more.yaml", "include: {a: b}\n", "shared/more.yaml:1: include is a mapping; it must be a text"},
		{"include twice", "shared/more.yaml", "include: form.yaml\ninclude: form.yaml\n", "shared/more.yaml:2: include is given twice"},
		{"folder", "shared/all.yaml", "include: .\n", "is not a file"},
		{"split", "shared/form.yaml", "regions: {from: splits,\n splits: ['2',\n '1']}\n", "shared/form.yaml:3: regions.splits: split"},
	} {
		files := maps.Clone(includedFiles)
		files[c.file] = c.text
		path := writeFiles(t, files)
		_, err := Read(path, ReadOptions{Date: date20, Set: map[string]string{"which": "all"}})
		if c.want == "" { // the included value is not used
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if err == nil || failure.KindOf(err) != failure.Usage || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}

// TestIncludeOnlyAtTheTop: an output of several includes nothing.
func TestIncludeOnlyAtTheTop(t *testing.T) {
	text := "family: f\ninput: {path: a, columns: [id]}\nhfile: {}\noutputs:\n- {include: x, table: t, timestamp: 1, rowkey: id, output: o, regions: {from: splits, splits: []}}\n"
	if _, err := Read(writeJob(t, text), ReadOptions{}); err == nil || !strings.Contains(err.Error(), "unknown key outputs[0].include") {
		t.Error(err)
	}
}

// TestSet: ${NAME} is what the caller sets, and nothing else.
func TestSet(t *testing.T) {
	text := strings.Replace(plainJob, "ns:t", "${ns}:${table}", 1)
	j, err := Read(writeJob(t, text), ReadOptions{Date: date20, Set: map[string]string{"ns": "a", "table": "b"}})
	if err != nil || j.Table != "a:b" {
		t.Errorf("%+v, %v", j, err)
	}
	if _, err := Read(writeJob(t, text), ReadOptions{Date: date20, Set: map[string]string{"ns": "a"}}); err == nil || !strings.Contains(err.Error(), "${table} is not defined") {
		t.Error(err)
	}
}
