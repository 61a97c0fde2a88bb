package jobfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"bulkload/internal/bytesize"
	"bulkload/internal/errcode"
	"bulkload/jobs/jobkeys"
	"bulkload/keys"

	"go.yaml.in/yaml/v3"
)

// document reads a job file and collects everything that is wrong with it, with its line.
type document struct {
	path      string
	variables variables
	from      files // those that it names
	anyQuery  bool  // see ReadOptions
	problems  []problem
	columns   []string              // of the input
	files     map[*yaml.Node]string // of nodes from files that the job file includes
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
func readDocument(path string, text []byte, v variables, from files) (*section, error) {
	d := &document{path: path, variables: v, from: from}
	root, err := d.readRoot(path, text)
	if err != nil {
		return nil, err
	}
	if root, err = d.include(root, &including{path: path}); err != nil {
		return nil, err
	}
	s := d.section("", root)
	return s, d.err()
}

// readRoot parses a job file, or a file that one includes.
func (d *document) readRoot(path string, text []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	root, err := decodeYAML(decoder)
	switch {
	case errors.Is(err, io.EOF) || err == nil && len(root.Content) == 0:
		return nil, errcode.JobRead.Errorf("%s:1: the job file is empty", path)
	case err != nil:
		return nil, errcode.JobYaml.Errorf("%s", yamlMessage(path, text, err))
	}
	if _, err := decodeYAML(decoder); !errors.Is(err, io.EOF) {
		d.failAt(errcode.JobYaml, path, root.Line, "has more than one YAML document; a job file has one")
	}
	return root.Content[0], nil
}

// maxJobFile bounds a job file's length in bytes: a job with thousands of columns needs less.
const maxJobFile = 4 << 20

// decodeYAML reads the next document. A panic of the library is an error of the document.
func decodeYAML(d *yaml.Decoder) (root *yaml.Node, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("yaml: this is not YAML (%v)", p)
		}
	}()
	root = new(yaml.Node)
	return root, d.Decode(root)
}

var (
	yamlLine    = regexp.MustCompile(`^yaml: line (\d+): `)
	yamlUnknown = regexp.MustCompile(`unknown anchor '(.*)' referenced`)
)

// yamlMessage rewords a syntax error in the form of ours.
func yamlMessage(path string, text []byte, err error) string {
	message := err.Error()
	if m := yamlLine.FindStringSubmatch(message); m != nil {
		return path + ":" + m[1] + ": " + strings.TrimPrefix(message, m[0])
	}
	return fmt.Sprintf("%s:%d: %s", path, faultyLine(text, message), strings.TrimPrefix(message, "yaml: "))
}

// faultyLine is the line of an error for which the YAML library has none: that of an alias without its anchor, that
// of bytes that are not text, or the first one.
func faultyLine(text []byte, message string) int {
	var at int
	if m := yamlUnknown.FindStringSubmatch(message); m != nil {
		at = bytes.Index(text, []byte("*"+m[1]))
	} else {
		at = bytes.IndexFunc(text, func(r rune) bool { return r == utf8.RuneError || unicode.IsControl(r) && !unicode.IsSpace(r) })
	}
	return 1 + bytes.Count(text[:max(at, 0)], []byte{'\n'})
}

// section takes a node as a mapping.
func (d *document) section(name string, n *yaml.Node) *section {
	n = resolve(n)
	s := &section{doc: d, name: name, node: n, keys: map[string]*yaml.Node{}, values: map[string]*yaml.Node{}}
	if n.Kind != yaml.MappingNode {
		d.failCode(errcode.JobType, n, "%s is %s; it must be a mapping of keys to values", s.title(), kindName(n))
		return s
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if first, twice := s.keys[key.Value]; twice {
			d.failCode(errcode.JobTwice, key, "%s%s is given twice, first in line %d", name, key.Value, first.Line)
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

// resolve follows an alias to its target.
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

// known reports every key that is in none of the lists.
func (s *section) known(lists ...[]jobkeys.Key) {
	names := jobkeys.Names(lists...)
	for _, key := range slices.Sorted(maps.Keys(s.keys)) {
		if !slices.Contains(names, key) {
			s.doc.failCode(errcode.JobKey, s.keys[key], "unknown key %s%s%s", s.name, key, keys.Suggest(key, names))
		}
	}
}

// at is the node for errors about a key: its value, or the section if it is missing.
func (s *section) at(key string) *yaml.Node {
	if n, ok := s.values[key]; ok {
		return n
	}
	return s.node
}

func (s *section) has(key string) bool { _, ok := s.values[key]; return ok }

// fail reports what is wrong with the value of a key.
func (s *section) fail(key, format string, args ...any) {
	code, ok := keyCodes[s.name+key]
	if !ok {
		code = errcode.JobValue
	}
	s.failCode(codeOf(args, code), key, format, args...)
}

func (s *section) failCode(code errcode.Code, key, format string, args ...any) {
	s.doc.failCode(code, s.at(key), "%s%s: %s", s.name, key, fmt.Sprintf(format, args...))
}

// require reports keys that are missing.
func (s *section) require(names ...string) {
	for _, key := range names {
		if !s.has(key) {
			s.doc.failCode(errcode.JobMissing, s.node, "%s%s is missing", s.name, key)
		}
	}
}

// scalar is the text of a node with its variables expanded; false if it is something else, which is reported.
func (s *section) scalar(key string, n *yaml.Node) (string, bool) {
	n = resolve(n)
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		s.doc.failCode(errcode.JobType, n, "%s%s is %s; it must be a text", s.name, key, kindName(n))
		return "", false
	}
	text, err := s.doc.variables.expand(n.Value)
	if err != nil {
		s.doc.fail(n, "%s%s: %v", s.name, key, err)
		return "", false
	}
	return text, true
}

// text is a key's value, which must not be empty; "" if it is missing, or if something is wrong with it.
func (s *section) text(key string) string {
	n, ok := s.values[key]
	if !ok {
		return ""
	}
	text, ok := s.scalar(key, n)
	if ok && text == "" {
		s.failCode(errcode.JobEmpty, key, "is empty%s", emptyAdvice[key])
	}
	return text
}

// emptyAdvice says, for each key, what to write instead of an empty text.
var emptyAdvice = map[string]string{
	"path":      "; write a local path, file:///… or hdfs://…",
	"output":    "; write a local path, file:///… or hdfs://…",
	"timestamp": "; write a date, epoch milliseconds or column:NAME, or leave it out for ${date}",
	"filter":    "; write a condition such as \"status = 'A'\", or leave it out",
	"to":        "; write family:qualifier, a qualifier, or family: for the empty qualifier",
	"quote":     "; write none where values have no quotes",
	"conf":      "; name the folder of the site files, or leave it out",
}

// path is the name of a file or folder; a relative one starts at dir.
func (s *section) path(key, dir string) string {
	name := s.text(key)
	if name != "" && !filepath.IsAbs(name) {
		return filepath.Join(dir, name)
	}
	return name
}

// undated is a text whose ${date} may be missing because the caller does not need it: it is "" then.
func (s *section) undated(key string) string {
	if s.lacksDate(key) {
		return ""
	}
	return s.text(key)
}

// lacksDate reports whether a text needs the date, which is not given and may be omitted.
func (s *section) lacksDate(key string) bool {
	return s.doc.variables.dateOptional && s.doc.variables.Time.IsZero() && s.dated(key)
}

// oneOf is a text from a fixed choice; the first one if the key is missing.
func (s *section) oneOf(key string, choice ...string) string {
	if !s.has(key) {
		return choice[0]
	}
	text := s.text(key)
	if text != "" && !slices.Contains(choice, text) {
		s.fail(key, "%q is none of %s%s", text, strings.Join(choice, ", "), keys.Suggest(text, choice))
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
		s.failCode(errcode.JobType, key, "%q is a text; write %s without quotes", text, text)
	} else if ok && text != "true" && text != "false" {
		s.fail(key, "%q is neither true nor false", text)
	}
	return text == "true"
}

// number is a whole number of at least least; def if the key is missing.
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

// size is a number of bytes such as 64KiB; def if the key is missing.
func (s *section) size(key string, def int64) int64 {
	if !s.has(key) {
		return def
	}
	text, ok := s.scalar(key, s.values[key])
	if !ok {
		return def
	}
	n, err := bytesize.Parse(text)
	if err != nil {
		s.fail(key, "%v", err)
		return def
	}
	return n
}

// item is one value of a list, with its position.
type item struct {
	text string
	node *yaml.Node
}

// list is a list of texts, none of them empty; nil if the key is missing.
func (s *section) list(key string) []item {
	var items []item
	for i, it := range s.texts(key) {
		if it.text == "" {
			s.doc.failCode(errcode.JobEmpty, it.node, "%s%s: entry %d is empty", s.name, key, i+1)
			continue
		}
		items = append(items, it)
	}
	return items
}

// texts is a list of texts; nil if the key is missing.
func (s *section) texts(key string) []item {
	n, ok := s.values[key]
	if !ok {
		return nil
	}
	n = resolve(n)
	if n.Kind != yaml.SequenceNode {
		s.doc.failCode(errcode.JobType, n, "%s%s is %s; it must be a list, such as [a, b]", s.name, key, kindName(n))
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

// section is a mapping below this one; nil if the key is missing.
func (s *section) section(key string) *section {
	n, ok := s.values[key]
	if !ok {
		return nil
	}
	return s.doc.section(s.name+key+".", n)
}
