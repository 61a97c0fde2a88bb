package jobfile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"bulkload/internal/test/jobdir"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/site"
	"bulkload/jobs/pipeline/entry"
	"bulkload/jobs/pipeline/targets"
	"bulkload/jobs/spec/jobfile"

	"go.yaml.in/yaml/v3"
)

// exampleJobs are the job files of the examples, by name.
func exampleJobs(t testing.TB) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pattern := range []string{"../../examples/*.yaml", "../../examples/keys/*.yaml"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all[name] = string(text)
		}
	}
	if len(all) < 40 {
		t.Fatalf("%d examples", len(all))
	}
	return all
}

// jobProblem is a line of a job file's errors.
var jobProblem = regexp.MustCompile(`^job\.yaml:[1-9][0-9]*: .|^job\.yaml: and [0-9]+ more errors$`)

// hostileOptions are the ways to read a job file: with a date, and without one where it is not needed.
var hostileOptions = []jobfile.ReadOptions{
	{Date: jobdir.Date, Environment: func(string) (string, bool) { return "", true }},
	{DateOptional: true, AnyQuery: true, Environment: func(string) (string, bool) { return "", false }},
}

// readHostile reads a text as a job file: it is a job that can be prepared, or a usage error that names the line.
func readHostile(t *testing.T, text string) {
	t.Helper()
	for _, o := range hostileOptions {
		j, err := jobfile.Parse("job.yaml", strings.NewReader(text), o)
		if err == nil {
			prepare(t, text, j, o)
			continue
		}
		if failure.KindOf(err) != failure.Usage {
			t.Errorf("%v: the error is not one of usage\n%s", err, text)
		}
		for _, line := range strings.Split(err.Error(), "\n") {
			if !jobProblem.MatchString(line) && strings.HasPrefix(line, "job.yaml") {
				t.Errorf("%q names no line\n%s", line, text)
			}
		}
		if !jobProblem.MatchString(err.Error()) {
			t.Errorf("%q names no line\n%s", err, text)
		}
	}
}

// prepare does what a run does with a job before it looks at the input and the cluster.
func prepare(t *testing.T, text string, whole *jobfile.Job, o jobfile.ReadOptions) {
	t.Helper()
	s, err := site.Open(options.Options{Conf: t.TempDir()}, jobfile.HBase{}, false)
	if err != nil {
		t.Fatal(err)
	}
	whole.RunID(nil)
	for _, j := range whole.Feeds() {
		if wrong := incomplete(j, o); wrong != "" {
			t.Errorf("%s, and no error\n%s", wrong, text)
		}
		entry.NewKey(j)
		j.RowKey.Findings(j.Query)
		if j.Regions.From == "table" {
			if _, err := entry.NewLayout(j); err != nil && failure.KindOf(err) != failure.Refused {
				t.Logf("%v\n%s", err, text)
			}
			continue
		}
		if _, err := targets.New(j, s, nil); err != nil && failure.KindOf(err) == failure.Later {
			t.Errorf("%v\n%s", err, text)
		}
	}
}

// incomplete is what a job that was read without an error lacks; "" where it is complete.
func incomplete(j *jobfile.Job, o jobfile.ReadOptions) string {
	dated := !o.Date.IsZero()
	switch {
	case j.RowKey == nil:
		return "no row key"
	case len(j.CellColumns()) == 0:
		return "no cells"
	case j.Table == "":
		return "no table"
	case j.Regions.From == "":
		return "no regions"
	case dated && j.Output == "":
		return "no output"
	case dated && j.Input.Path == "":
		return "no input"
	case dated && j.Moments == "" && (j.Timestamp <= 0 || j.Timestamp > jobfile.EndOf9999):
		return fmt.Sprintf("the timestamp %d", j.Timestamp)
	case j.Hash() == "":
		return "no hash"
	}
	return ""
}

// mutations are what each node of a job file is replaced by.
func mutations() []*yaml.Node {
	scalar := func(tag, value string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value} }
	list := func(content ...*yaml.Node) *yaml.Node { return &yaml.Node{Kind: yaml.SequenceNode, Content: content} }
	mapping := func(content ...*yaml.Node) *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode, Content: content} }
	return []*yaml.Node{
		scalar("!!str", ""), scalar("!!str", " "), scalar("!!str", "${env.EMPTY}"), scalar("!!null", "null"), scalar("!!int", "0"), scalar("!!int", "-7"),
		scalar("!!float", "1.5e300"), scalar("!!bool", "true"), scalar("!!str", strings.Repeat("huge ", 2000)), scalar("!!str", "\x00\xff"),
		list(), list(scalar("!!str", "")), list(list()), mapping(), mapping(scalar("!!str", ""), scalar("!!str", "")), mapping(scalar("!!str", "x"), list()),
	}
}

// mutate calls visit with the document once for each change of each of its nodes: replaced, or swapped with its
// neighbour.
func mutate(root, n *yaml.Node, visit func()) {
	for i := range n.Content {
		child := n.Content[i]
		for _, m := range mutations() {
			n.Content[i] = m
			visit()
		}
		n.Content[i] = child
		for _, next := range []int{i + 1, i + 2} {
			if next < len(n.Content) && n.Kind != yaml.DocumentNode {
				n.Content[i], n.Content[next] = n.Content[next], n.Content[i]
				visit()
				n.Content[i], n.Content[next] = n.Content[next], n.Content[i]
			}
		}
		mutate(root, child, visit)
	}
}

// mutated are the documents with each of their nodes changed.
func mutated(t *testing.T, text string, visit func(text string)) {
	t.Helper()
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(text), &root); err != nil {
		t.Fatal(err)
	}
	mutate(&root, &root, func() {
		changed, err := yaml.Marshal(&root)
		if err == nil {
			visit(string(changed))
		}
	})
}

// TestMutatedJobs changes each node of each example, one at a time.
func TestMutatedJobs(t *testing.T) {
	n, last := 0, ""
	defer func() {
		if p := recover(); p != nil {
			t.Fatalf("%v\n%s", p, last)
		}
	}()
	for name, text := range exampleJobs(t) {
		if strings.HasPrefix(name, "../../examples/keys/") { // these differ in the row key alone
			continue
		}
		mutated(t, text, func(changed string) {
			if n++; testing.Short() && n%40 > 0 {
				return
			}
			last = changed
			readHostile(t, changed)
		})
	}
	t.Logf("%d job files", n)
}

// FuzzReadJob passes any text to Read.
func FuzzReadJob(f *testing.F) {
	for _, text := range exampleJobs(f) {
		f.Add(text)
	}
	f.Add("a: &a [*a]\n")
	f.Add("a: *b\n")
	f.Add("# nothing\n")
	f.Add("---\n")
	f.Add("\x00")
	f.Add("input: {columns: [[], {}]}\nregions: {splits: {}}")
	f.Fuzz(func(t *testing.T, text string) { readHostile(t, text) })
}
