package jobfile

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"bulkload/internal/errcode"
	"bulkload/internal/test/jobdir"
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
	o := ReadOptions{Date: jobdir.Date, Set: map[string]string{"which": "all"}}
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
	for _, c := range []struct {
		name, file, text string
		want             mistake // none if it has no place
	}{
		{"key", "shared/form.yaml", "hfile: {}\nregionz: {}\n",
			inFile("shared/form.yaml:2", errcode.JobKey, "regionz", "regions?")},
		{"value", "shared/more.yaml", "hfile:\n  compression: snapy\n",
			inFile("shared/more.yaml:2", errcode.JobValue, "hfile.compression: ", `"snapy"`)},
		{"syntax", "shared/more.yaml", "hfile:\n\t- x\n", inFile("shared/more.yaml:2", errcode.JobYaml)},
		{"variable", "shared/more.yaml", "\n\nfamily: ${nobody}\n", mistake{}}, // the included value is not used
		{"twice", "shared/more.yaml", "hfile: {}\nhfile: {}\n",
			inFile("shared/more.yaml:2", errcode.JobKey, "hfile", "line 1")},
		{"in the job file", "job.yaml", strings.Replace(includingJob, "rowkey: id", "rowkey: ix", 1),
			atLine(5, errcode.JobRowkey, "rowkey: ", "ix")},
		{"missing", "shared/all.yaml", "include: nothing.yaml\n",
			inFile("shared/all.yaml:1", errcode.JobValue, "include: ", "shared/nothing.yaml", syscall.ENOENT.Error())},
		{"itself", "shared/more.yaml", "include: more.yaml\n",
			inFile("shared/more.yaml:1", errcode.JobValue, "include: ", "shared/more.yaml → ")},
		{"circle", "shared/more.yaml", "\ninclude: ../job.yaml\n",
			inFile("shared/more.yaml:2", errcode.JobValue, "include: ", "job.yaml → ")},
		{"list", "shared/more.yaml", "[a]\n", inFile("shared/more.yaml:1", errcode.JobValue, "list", "mapping")},
		{"empty", "shared/more.yaml", "", inFile("shared/more.yaml:1", errcode.JobRead)},
		{"no name", "shared/more.yaml", "include: ''\n",
			inFile("shared/more.yaml:1", errcode.JobValue, "include: ", "empty")},
		{"a mapping", "shared/more.yaml", "include: {a: b}\n",
			inFile("shared/more.yaml:1", errcode.JobValue, "include", "mapping")},
		{"include twice", "shared/more.yaml", "include: form.yaml\ninclude: form.yaml\n",
			inFile("shared/more.yaml:2", errcode.JobValue, "include: [a.yaml, b.yaml]")},
		{"folder", "shared/all.yaml", "include: .\n", inFile("shared/all.yaml:1", errcode.JobValue, "/shared is")},
		{"split", "shared/form.yaml", "regions: {from: splits,\n splits: ['2',\n '1']}\n",
			inFile("shared/form.yaml:3", errcode.JobValue, "regions.splits: ", `"1"`)},
	} {
		files := maps.Clone(includedFiles)
		files[c.file] = c.text
		_, err := Read(writeFiles(t, files), ReadOptions{Date: jobdir.Date, Set: map[string]string{"which": "all"}})
		if good := c.want.place == ""; good && err != nil || !good && !c.want.saidBy(err) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

// TestIncludeOnlyAtTheTop: an output of several includes nothing.
func TestIncludeOnlyAtTheTop(t *testing.T) {
	text := "family: f\ninput: {path: a, columns: [id]}\nhfile: {}\noutputs:\n- {include: x, table: t, timestamp: 1, rowkey: id, output: o, regions: {from: splits, splits: []}}\n"
	if _, err := Read(jobdir.Write(t, text), ReadOptions{}); !atLine(5, errcode.JobKey, "outputs[0].include").saidBy(err) {
		t.Error(err)
	}
}

// TestSet: ${NAME} is what the caller sets, and nothing else.
func TestSet(t *testing.T) {
	text := strings.Replace(plainJob, "ns:t", "${ns}:${table}", 1)
	j, err := Read(jobdir.Write(t, text), ReadOptions{Date: jobdir.Date, Set: map[string]string{"ns": "a", "table": "b"}})
	if err != nil || j.Table != "a:b" {
		t.Errorf("%+v, %v", j, err)
	}
	_, err = Read(jobdir.Write(t, text), ReadOptions{Date: jobdir.Date, Set: map[string]string{"ns": "a"}})
	if !atLine(1, errcode.JobVariable, "${table}").saidBy(err) {
		t.Error(err)
	}
}
