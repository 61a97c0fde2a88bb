package jobs

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"

	"bulkload/keys"

	"gopkg.in/yaml.v3"
)

// document reads a job file and collects what is wrong with it, each with its line.
type document struct {
	path      string
	variables variables
	anyQuery  bool // see ReadOptions
	problems  []problem
}

type problem struct {
	line int
	text string
}

// section is one mapping of the file.
type section struct {
	doc    *document
	name   string // "" for the whole file, else "input."
	node   *yaml.Node
	keys   map[string]*yaml.Node
	values map[string]*yaml.Node
}

// readDocument parses a job file into its outermost mapping.
func readDocument(path string, in io.Reader, v variables) (*section, error) {
	var root yaml.Node
	decoder := yaml.NewDecoder(in)
	switch err := decoder.Decode(&root); {
	case errors.Is(err, io.EOF):
		return nil, usagef("%s: the job file is empty", path)
	case err != nil:
		return nil, usagef("%s", yamlMessage(path, err))
	}
	d := &document{path: path, variables: v}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		d.fail(&root, "holds more than one YAML document; a job file is one")
	}
	s := d.section("", root.Content[0])
	return s, d.err()
}

var yamlLine = regexp.MustCompile(`^yaml: line (\d+): `)

// yamlMessage puts a syntax error into the form of our own.
func yamlMessage(path string, err error) string {
	text := err.Error()
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		return path + ":" + m[1] + ": " + strings.TrimPrefix(text, m[0])
	}
	return path + ": " + strings.TrimPrefix(text, "yaml: ")
}

func (d *document) fail(n *yaml.Node, format string, args ...any) {
	d.problems = append(d.problems, problem{n.Line, fmt.Sprintf(format, args...)})
}

// err joins the problems, by line.
func (d *document) err() error {
	if len(d.problems) == 0 {
		return nil
	}
	sort.SliceStable(d.problems, func(i, j int) bool { return d.problems[i].line < d.problems[j].line })
	var lines []string
	for _, p := range d.problems {
		line := fmt.Sprintf("%s:%d: %s", d.path, p.line, p.text)
		if !slices.Contains(lines, line) { // what holds for several outputs is read for each
			lines = append(lines, line)
		}
	}
	return usagef("%s", strings.Join(lines, "\n"))
}

// section takes a node as a mapping.
func (d *document) section(name string, n *yaml.Node) *section {
	n = resolve(n)
	s := &section{doc: d, name: name, node: n, keys: map[string]*yaml.Node{}, values: map[string]*yaml.Node{}}
	if n.Kind != yaml.MappingNode {
		d.fail(n, "%s is %s; a mapping of keys to values is wanted", s.title(), kindName(n))
		return s
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if first, twice := s.keys[key.Value]; twice {
			d.fail(key, "%s%s stands twice; first in line %d", name, key.Value, first.Line)
			continue
		}
		s.keys[key.Value], s.values[key.Value] = key, n.Content[i+1]
	}
	return s
}

func (s *section) title() string {
	if s.name == "" {
		return "the job file"
	}
	return strings.TrimSuffix(s.name, ".")
}

// resolve follows an alias to what it stands for.
func resolve(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

func kindName(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Tag == "!!null":
		return "empty"
	}
	return fmt.Sprintf("%q", n.Value)
}

// known reports every key that is not one of names.
func (s *section) known(names ...string) {
	for _, key := range slices.Sorted(maps.Keys(s.keys)) {
		if !slices.Contains(names, key) {
			s.doc.fail(s.keys[key], "unknown key %s%s%s", s.name, key, keys.Meant(key, names))
		}
	}
}

// notYet reports keys whose meaning is fixed but not built.
func (s *section) notYet(names ...string) {
	for _, name := range names {
		if key, ok := s.keys[name]; ok {
			s.doc.fail(key, "%s%s is not built yet; leave it out", s.name, name)
		}
	}
}

// at is the node that an error about a key points to: its value, or the section where it is missing.
func (s *section) at(key string) *yaml.Node {
	if n, ok := s.values[key]; ok {
		return n
	}
	return s.node
}

func (s *section) has(key string) bool { _, ok := s.values[key]; return ok }

func (s *section) fail(key, format string, args ...any) {
	s.doc.fail(s.at(key), "%s%s: %s", s.name, key, fmt.Sprintf(format, args...))
}

// require reports keys that are missing.
func (s *section) require(keys ...string) {
	for _, key := range keys {
		if !s.has(key) {
			s.doc.fail(s.node, "%s%s is missing", s.name, key)
		}
	}
}

// scalar is the text of a node with its variables expanded; false where it is something else, which is reported.
func (s *section) scalar(key string, n *yaml.Node) (string, bool) {
	n = resolve(n)
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		s.doc.fail(n, "%s%s is %s; a text is wanted", s.name, key, kindName(n))
		return "", false
	}
	text, err := s.doc.variables.expand(n.Value)
	if err != nil {
		s.doc.fail(n, "%s%s: %v", s.name, key, err)
		return "", false
	}
	return text, true
}

// text is a key's value, or "" where it is missing.
func (s *section) text(key string) string {
	n, ok := s.values[key]
	if !ok {
		return ""
	}
	text, _ := s.scalar(key, n)
	return text
}

// undated is a text that may lack its ${date} where the caller can do without: it is "" then.
func (s *section) undated(key string) string {
	if n, ok := s.values[key]; ok && s.doc.variables.dateOptional && s.doc.variables.Date.IsZero() &&
		resolve(n).Kind == yaml.ScalarNode && namesDate(resolve(n).Value) {
		return ""
	}
	return s.text(key)
}

// oneOf is a text from a fixed choice; the first one where the key is missing.
func (s *section) oneOf(key string, choice ...string) string {
	if !s.has(key) {
		return choice[0]
	}
	text := s.text(key)
	if text != "" && !slices.Contains(choice, text) {
		s.fail(key, "%q is none of %s%s", text, strings.Join(choice, ", "), keys.Meant(text, choice))
	}
	return text
}

// flag is true or false.
func (s *section) flag(key string) bool {
	if !s.has(key) {
		return false
	}
	text, ok := s.scalar(key, s.values[key])
	if n := resolve(s.values[key]); ok && n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 && n.Value == text {
		s.fail(key, "%q is a text; write %s without quotes", text, text)
	} else if ok && text != "true" && text != "false" {
		s.fail(key, "%q is neither true nor false", text)
	}
	return text == "true"
}

// number is a whole number of at least least; def where the key is missing.
func (s *section) number(key string, def, least int64) int64 {
	if !s.has(key) {
		return def
	}
	text, ok := s.scalar(key, s.values[key])
	if !ok {
		return def
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < least {
		s.fail(key, "%q is not a whole number of at least %d", text, least)
		return def
	}
	return n
}

// size is a number of bytes such as 64KiB; def where the key is missing.
func (s *section) size(key string, def int64) int64 {
	if !s.has(key) {
		return def
	}
	text, ok := s.scalar(key, s.values[key])
	if !ok {
		return def
	}
	n, err := ParseSize(text)
	if err != nil {
		s.fail(key, "%v", err)
		return def
	}
	return n
}

// item is one value of a list and where it stands.
type item struct {
	text string
	node *yaml.Node
}

// list is a list of texts; nil where the key is missing.
func (s *section) list(key string) []item {
	n, ok := s.values[key]
	if !ok {
		return nil
	}
	n = resolve(n)
	if n.Kind != yaml.SequenceNode {
		s.doc.fail(n, "%s%s is %s; a list is wanted, such as [a, b]", s.name, key, kindName(n))
		return nil
	}
	var items []item
	for _, element := range n.Content {
		if text, ok := s.scalar(key, element); ok {
			items = append(items, item{text, resolve(element)})
		}
	}
	return items
}

// section is a mapping below this one; nil where the key is missing.
func (s *section) section(key string) *section {
	n, ok := s.values[key]
	if !ok {
		return nil
	}
	return s.doc.section(s.name+key+".", n)
}
