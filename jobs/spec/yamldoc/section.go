package yamldoc

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
	"bulkload/keys"

	"go.yaml.in/yaml/v3"
)

// Document reads a job file and collects its problems, each with its line.
type Document struct {
	path      string
	Variables Variables
	from      Files // reads the files that it names
	problems  []problem
	Columns   []string              // of the input
	files     map[*yaml.Node]string // names of included files, by their nodes
	merged    map[pair]*yaml.Node   // the result of merging mappings of two files
}

// Section is one mapping of the file.
//
// It has many methods, because each kind of value has its own: a text, a number, a size, a flag, a choice, a list, a
// mapping. The methods are not divided among several types, because the readers of a job file (package jobfile) ask one
// mapping for values of all kinds, and report errors for the same keys.
type Section struct {
	Doc    *Document
	Name   string // "" for the whole file, else "input."
	Node   *yaml.Node
	Keys   map[string]*yaml.Node
	Values map[string]*yaml.Node
}

// Open parses a job file into its outermost mapping.
func Open(path string, text []byte, v Variables, from Files) (*Section, error) {
	d := &Document{path: path, Variables: v, from: from}
	root, err := d.readRoot(path, text)
	if err != nil {
		return nil, err
	}
	if root, err = d.include(root, &including{path: path}); err != nil {
		return nil, err
	}
	s := d.Section("", root)
	return s, d.Err()
}

// readRoot parses a job file or an included file.
func (d *Document) readRoot(path string, text []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	root, err := decodeYAML(decoder)
	switch {
	case errors.Is(err, io.EOF) || err == nil && len(root.Content) == 0:
		return nil, errcode.JobRead.Errorf("%s:1: the job file is empty", path)
	case err != nil:
		return nil, errcode.JobYaml.Errorf("%s", yamlMessage(path, text, err))
	}
	if alias := recursive(root, map[*yaml.Node]bool{}); alias != nil {
		return nil, errcode.JobYaml.Errorf("%s:%d: the anchor %s contains itself", path, alias.Line, alias.Value)
	}
	if _, err := decodeYAML(decoder); !errors.Is(err, io.EOF) {
		d.failAt(errcode.JobYaml, path, root.Line, "has more than one YAML document; a job file has one")
	}
	return root.Content[0], nil
}

// recursive returns an alias of a node that contains the alias, or nil. A reader that follows such an alias would never
// end. seen has the nodes that were visited; it is true for those that contain n.
func recursive(n *yaml.Node, seen map[*yaml.Node]bool) (alias *yaml.Node) {
	target := Resolve(n)
	if above, known := seen[target]; known {
		if above {
			return n
		}
		return nil
	}
	seen[target] = true
	for _, below := range target.Content {
		if alias := recursive(below, seen); alias != nil {
			return alias
		}
	}
	seen[target] = false
	return nil
}

// MaxBytes bounds a job file's length in bytes. A job with thousands of columns needs less.
const MaxBytes = 4 << 20

// decodeYAML reads the next document. It returns a panic of the library as an error.
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

// yamlMessage rewords a syntax error in the form of our own errors.
func yamlMessage(path string, text []byte, err error) string {
	message := err.Error()
	if m := yamlLine.FindStringSubmatch(message); m != nil {
		return path + ":" + m[1] + ": " + strings.TrimPrefix(message, m[0])
	}
	return fmt.Sprintf("%s:%d: %s", path, faultyLine(text, message), strings.TrimPrefix(message, "yaml: "))
}

// faultyLine returns the line of an error for which the YAML library gives none: the line of an alias without its
// anchor or of bytes that are not text, or else the first line.
func faultyLine(text []byte, message string) int {
	var at int
	if m := yamlUnknown.FindStringSubmatch(message); m != nil {
		at = bytes.Index(text, []byte("*"+m[1]))
	} else {
		at = bytes.IndexFunc(text,
			func(r rune) bool { return r == utf8.RuneError || unicode.IsControl(r) && !unicode.IsSpace(r) })
	}
	return 1 + bytes.Count(text[:max(at, 0)], []byte{'\n'})
}

// Section reads a node as a mapping. name is "" for the whole file, else it ends with a dot. Section reports other
// kinds of nodes, and keys that are given twice.
func (d *Document) Section(name string, n *yaml.Node) *Section {
	n = Resolve(n)
	s := &Section{Doc: d, Name: name, Node: n, Keys: map[string]*yaml.Node{}, Values: map[string]*yaml.Node{}}
	if n.Kind != yaml.MappingNode {
		d.FailCode(errcode.JobValue, n, "%s is %s; it must be a mapping of keys to values", s.title(), KindName(n))
		return s
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if first, twice := s.Keys[key.Value]; twice {
			d.FailCode(errcode.JobKey, key, "%s%s is given twice, first in line %d", name, key.Value, first.Line)
			continue
		}
		s.Keys[key.Value], s.Values[key.Value] = key, n.Content[i+1]
	}
	return s
}

func (s *Section) title() string {
	if s.Name == "" {
		return "the job file"
	}
	return strings.TrimSuffix(s.Name, ".")
}

// Resolve follows an alias to its target.
func Resolve(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// KindName says in words what a node is, for errors.
func KindName(n *yaml.Node) string {
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

// Known reports every key that is in none of the lists.
func (s *Section) Known(lists ...[]Key) {
	names := Names(lists...)
	for _, key := range slices.Sorted(maps.Keys(s.Keys)) {
		if !slices.Contains(names, key) {
			s.Doc.FailCode(errcode.JobKey, s.Keys[key], "unknown key %s%s%s", s.Name, key, instead(key, names))
		}
	}
}

// instead names the key that was probably meant by an unknown one, or all keys that may be given.
func instead(key string, names []string) string {
	if near := keys.Suggest(key, names); near != "" {
		return near
	}
	return "; there are " + strings.Join(names, ", ")
}

// At returns the node for errors about a key: its value, or the section if it is missing.
func (s *Section) At(key string) *yaml.Node {
	if n, ok := s.Values[key]; ok {
		return n
	}
	return s.Node
}

// Has reports whether a key is given.
func (s *Section) Has(key string) bool { _, ok := s.Values[key]; return ok }

// Fail reports what is wrong with the value of a key.
func (s *Section) Fail(key, format string, args ...any) {
	code, ok := keyCodes[s.Name+key]
	if !ok {
		code = errcode.JobValue
	}
	s.FailCode(codeOf(args, code), key, format, args...)
}

// FailCode is Fail with a code.
func (s *Section) FailCode(code errcode.Code, key, format string, args ...any) {
	s.Doc.FailCode(code, s.At(key), "%s%s: %s", s.Name, key, fmt.Sprintf(format, args...))
}

// Require reports keys that are missing.
func (s *Section) Require(names ...string) {
	for _, key := range names {
		if !s.Has(key) {
			s.Doc.FailCode(errcode.JobKey, s.Node, "%s%s is missing", s.Name, key)
		}
	}
}

// Scalar returns the text of a node with its variables expanded. If the node is not a text, or a variable is not
// defined, it reports that and returns false.
func (s *Section) Scalar(key string, n *yaml.Node) (string, bool) {
	n = Resolve(n)
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		s.Doc.FailCode(errcode.JobValue, n, "%s%s is %s; it must be a text", s.Name, key, KindName(n))
		return "", false
	}
	text, err := s.Doc.Variables.expand(n.Value)
	if err != nil {
		s.Doc.Fail(n, "%s%s: %v", s.Name, key, err)
		return "", false
	}
	return text, true
}

// Text returns a key's value, which must not be empty; "" if it is missing or wrong.
func (s *Section) Text(key string) string {
	n, ok := s.Values[key]
	if !ok {
		return ""
	}
	text, ok := s.Scalar(key, n)
	if ok && text == "" {
		s.FailCode(errcode.JobValue, key, "is empty%s", emptyAdvice[key])
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

// Path returns the name of a file or folder. A relative one starts at dir.
func (s *Section) Path(key, dir string) string {
	name := s.Text(key)
	if name != "" && !filepath.IsAbs(name) {
		return filepath.Join(dir, name)
	}
	return name
}

// Undated returns a key's text, or "" if it has a ${date} that is missing because the caller does not need it.
func (s *Section) Undated(key string) string {
	if s.LacksDate(key) {
		return ""
	}
	return s.Text(key)
}

// LacksDate reports whether a text needs the date, which is not given and may be omitted.
func (s *Section) LacksDate(key string) bool {
	return s.Doc.Variables.DateOptional && s.Doc.Variables.Time.IsZero() && s.Dated(key)
}

// OneOf returns a text from a fixed choice; the first one if the key is missing.
func (s *Section) OneOf(key string, choice ...string) string {
	if !s.Has(key) {
		return choice[0]
	}
	text := s.Text(key)
	if text != "" && !slices.Contains(choice, text) {
		s.Fail(key, "%q is none of %s%s", text, strings.Join(choice, ", "), keys.Suggest(text, choice))
	}
	return text
}

// Flag returns true or false; false if the key is missing.
func (s *Section) Flag(key string) bool {
	if !s.Has(key) {
		return false
	}
	text, ok := s.Scalar(key, s.Values[key])
	if n := Resolve(s.Values[key]); ok && n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 && n.Value == text {
		s.FailCode(errcode.JobValue, key, "%q is a text; write %s without quotes", text, text)
	} else if ok && text != "true" && text != "false" {
		s.Fail(key, "%q is neither true nor false", text)
	}
	return text == "true"
}

// Number returns a whole number of at least least; def if the key is missing.
func (s *Section) Number(key string, def, least int64) int64 {
	if !s.Has(key) {
		return def
	}
	text, ok := s.Scalar(key, s.Values[key])
	if !ok {
		return def
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < least {
		s.Fail(key, "%q is not a whole number of at least %d", text, least)
		return def
	}
	return n
}

// Size returns a number of bytes such as 64KiB; def if the key is missing.
func (s *Section) Size(key string, def int64) int64 {
	if !s.Has(key) {
		return def
	}
	text, ok := s.Scalar(key, s.Values[key])
	if !ok {
		return def
	}
	n, err := bytesize.Parse(text)
	if err != nil {
		s.Fail(key, "%v", err)
		return def
	}
	return n
}

// Item is one value of a list, with its position.
type Item struct {
	Text string
	Node *yaml.Node
}

// List returns a list of texts without the empty ones, which it reports; nil if the key is missing.
func (s *Section) List(key string) []Item {
	var items []Item
	for i, it := range s.Texts(key) {
		if it.Text == "" {
			s.Doc.FailCode(errcode.JobValue, it.Node, "%s%s: entry %d is empty", s.Name, key, i+1)
			continue
		}
		items = append(items, it)
	}
	return items
}

// Texts returns a list of texts; nil if the key is missing.
func (s *Section) Texts(key string) []Item {
	n, ok := s.Values[key]
	if !ok {
		return nil
	}
	n = Resolve(n)
	if n.Kind != yaml.SequenceNode {
		s.Doc.FailCode(errcode.JobValue, n, "%s%s is %s; it must be a list, such as [a, b]", s.Name, key, KindName(n))
		return nil
	}
	var items []Item
	for _, element := range n.Content {
		if text, ok := s.Scalar(key, element); ok {
			items = append(items, Item{text, Resolve(element)})
		}
	}
	return items
}

// Section returns a mapping below this one; nil if the key is missing.
func (s *Section) Section(key string) *Section {
	n, ok := s.Values[key]
	if !ok {
		return nil
	}
	return s.Doc.Section(s.Name+key+".", n)
}

// Dated reports whether a key's text uses the logical date.
func (s *Section) Dated(key string) bool {
	n, ok := s.Values[key]
	return ok && Resolve(n).Kind == yaml.ScalarNode && namesDate(Resolve(n).Value)
}
