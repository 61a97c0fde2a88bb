package main

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"bulkload/internal/test/testcluster"
)

var updateDocs = flag.Bool("update-docs", false, "write what the commands print into the documents")

// block is a fenced block of a document.
type block struct {
	language string // the text after the fence
	text     string
	from, to int // position of text in the document
}

var fence = regexp.MustCompile("(?ms)^```([a-z]+[a-z ]*)\n(.*?)^```$")

func blocks(document string) []block {
	var all []block
	for _, m := range fence.FindAllStringSubmatchIndex(document, -1) {
		all = append(all, block{document[m[2]:m[3]], document[m[4]:m[5]], m[4], m[5]})
	}
	return all
}

// volatile matches what differs between runs: times, rates, addresses, the progress of a load, and a table's size,
// which the master learns some time after a load.
var volatile = regexp.MustCompile(`[0-9]+\.[0-9]+ s\b.*|hdfs://[^/]*/|\(about [0-9.]+ [KMG]?i?B\)|in [0-9]+ rounds?`)

func settled(text string) string { return volatile.ReplaceAllString(text, "…") }

// TestDocumentedCommands runs every command of the documents' console blocks, one after another in a fresh copy of the
// repository's jobs, and requires the output shown there.
func TestDocumentedCommands(t *testing.T) {
	repository, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	// What the tutorial loads, operations.md takes back.
	for _, names := range [][]string{{"README.md"}, {"docs/cli.md"}, {"docs/plan.md"}, {"docs/tutorial.md", "docs/operations.md"}} {
		for _, language := range []string{"console", "console cluster"} {
			t.Run(strings.Join(names, " ")+" "+language, func(t *testing.T) {
				begun := false
				begin := func() {
					if !begun && language == "console cluster" {
						useCluster(t) // which may skip the test
					}
					if !begun {
						t.Chdir(copyJobs(t, repository))
					}
					begun = true
				}
				for _, name := range names {
					checkDocument(t, filepath.Join(repository, name), language, begin)
				}
			})
		}
	}
}

// checkDocument replays the blocks of one language; begin prepares the first of them.
func checkDocument(t *testing.T, name, language string, begin func()) {
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	document := string(text)
	var mine []block
	for _, b := range blocks(document) {
		if b.language == language {
			mine = append(mine, b)
		}
	}
	if len(mine) == 0 {
		return
	}
	begin()
	shift := 0
	for _, b := range mine {
		got := replay(t, b.text)
		if *updateDocs {
			document = document[:b.from+shift] + got + document[b.to+shift:]
			shift += len(got) - len(b.text)
		} else if settled(got) != settled(b.text) {
			t.Errorf("%s says\n%s\nbut it is\n%s", filepath.Base(name), b.text, got)
		}
	}
	if *updateDocs {
		if err := os.WriteFile(name, []byte(document), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// useCluster points the commands to the test cluster, which must not have the examples' tables, and to a ledger that
// records nothing yet: what one document loaded is not loaded for another.
func useCluster(t *testing.T) {
	c := testcluster.Use(t)
	conf := confWith(t, c.ConfDir(), "bulkload.ledger.dir", filepath.Join(t.TempDir(), "ledger"))
	t.Setenv("HADOOP_CONF_DIR", conf)
	t.Setenv("HBASE_CONF_DIR", conf)
	clean := func() {
		for _, table := range []string{"tinawang:check", "tinawang:opinion", "shop:orders"} {
			if _, err := c.Oracle(t).Run("drop", table, "-if-exists"); err != nil {
				t.Error(err)
			}
		}
		if _, err := c.Java(context.Background(), "org.apache.hadoop.fs.FsShell", "-rm", "-r", "-f", "/user/tina/hfile/check", "/user/tina/hfile/opinion", "/user/tina/hfile/orders"); err != nil {
			t.Error(err)
		}
	}
	clean()
	t.Cleanup(clean)
}

// confWith copies a folder of site files and adds a property to hbase-site.xml.
func confWith(t *testing.T, conf, name, value string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "conf")
	if err := os.CopyFS(dir, os.DirFS(conf)); err != nil {
		t.Fatal(err)
	}
	site := filepath.Join(dir, "hbase-site.xml")
	text, err := os.ReadFile(site)
	if err != nil {
		t.Fatal(err)
	}
	with := strings.Replace(string(text), "</configuration>", "<property><name>"+name+"</name><value>"+value+"</value></property>\n</configuration>", 1)
	if with == string(text) {
		t.Fatalf("%s has no </configuration>", site)
	}
	if err := os.WriteFile(site, []byte(with), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func copyJobs(t *testing.T, repository string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "jobs"), os.DirFS(filepath.Join(repository, "jobs"))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// replay runs the commands of a block and returns the block as it should be.
func replay(t *testing.T, text string) string {
	t.Helper()
	var out strings.Builder
	for _, line := range strings.Split(text, "\n") {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			out.WriteString(line + "\n" + printed(t, command))
		}
	}
	return out.String()
}

var pipe = regexp.MustCompile(`^(.*?)( 2>&1)? \| (head|tail) -([0-9]+)$`)

// printed runs one command in this process and returns what a terminal would show: what goes to stderr passes by a
// pipe, unless the command joins it with stdout.
func printed(t *testing.T, command string) string {
	t.Helper()
	limit, last := -1, false
	var stdout, beside bytes.Buffer
	stderr := &stdout
	if m := pipe.FindStringSubmatch(command); m != nil {
		command, last = m[1], m[3] == "tail"
		limit, _ = strconv.Atoi(m[4]) // it is a number
		if m[2] == "" {
			stderr = &beside
		}
	}
	words := strings.Fields(strings.TrimPrefix(command, "go run ./cmd/"))
	if words[0] != "bulkload" {
		t.Fatalf("the documents run %q, which this test does not know", command)
	}
	if code := execute(context.Background(), words[1:], &stdout, stderr); code != 0 {
		t.Fatalf("%s: exit code %d\n%s%s", command, code, &beside, &stdout)
	}
	text := stdout.String()
	if limit >= 0 {
		lines := strings.SplitAfter(text, "\n")
		lines = lines[:len(lines)-1] // what comes after the last newline
		if limit = min(limit, len(lines)); last {
			lines = lines[len(lines)-limit:]
		}
		text = strings.Join(lines[:limit], "")
	}
	return beside.String() + text
}

var (
	link    = regexp.MustCompile(`\]\(([^)#:\s]*)(?:#([^)\s]*))?\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	slugged = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// TestLinks: the documents' links lead to existing files and headings.
func TestLinks(t *testing.T) {
	pages := []string{filepath.Join(repositoryRoot, "README.md")}
	for _, pattern := range []string{"docs/*.md", "docs/*/*.md"} {
		found, err := filepath.Glob(filepath.Join(repositoryRoot, pattern))
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	links := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			target := page
			if m[1] != "" {
				target = filepath.Join(filepath.Dir(page), m[1])
			}
			if links++; !leads(target, m[2]) {
				t.Errorf("%s: no %s%s", filepath.Base(page), m[1], m[2])
			}
		}
	}
	if links < 50 {
		t.Errorf("only %d links were found", links)
	}
}

// leads reports whether a file exists and, if anchor is not empty, has that heading.
func leads(name, anchor string) bool {
	if anchor == "" {
		_, err := os.Stat(name)
		return err == nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return false
	}
	for _, m := range heading.FindAllStringSubmatch(string(text), -1) {
		plain := slugged.ReplaceAllString(strings.ToLower(m[1]), "")
		if strings.ReplaceAll(plain, " ", "-") == anchor {
			return true
		}
	}
	return false
}

// TestExitCodesAreDocumented: docs/cli.md and the help list the codes that exitCode returns.
func TestExitCodesAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`(?m)^\| ([0-9]+) \| `)
	helpRow := regexp.MustCompile(`(?m)^  ([0-9]+) `)
	want := "0 1 2 3 4 5 6 66 75"
	for what, found := range map[string][][]string{"docs/cli.md": row.FindAllStringSubmatch(string(page), -1), "the help": helpRow.FindAllStringSubmatch(exitHelp, -1)} {
		var codes []string
		for _, m := range found {
			codes = append(codes, m[1])
		}
		if got := strings.Join(codes, " "); got != want {
			t.Errorf("%s lists the exit codes %s, want %s", what, got, want)
		}
	}
}

// TestArchitectureNamesFiles: the Go files named in docs/ARCHITECTURE.md exist.
func TestArchitectureNamesFiles(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(repositoryRoot, "docs/ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	var sources []string
	eachSource(t, func(path string, _ []byte) { sources = append(sources, filepath.ToSlash(path)) })
	for _, m := range regexp.MustCompile("`([a-z0-9_/]+\\.go)`").FindAllStringSubmatch(string(text), -1) {
		if !slices.ContainsFunc(sources, func(path string) bool { return strings.HasSuffix(path, "/"+m[1]) }) {
			t.Errorf("there is no %s", m[1])
		}
	}
}
