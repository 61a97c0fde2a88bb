package yamldoc

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/test/testwords"
)

// folder is the files that a job file may include, by path.
type folder map[string]string

func (f folder) Read(name string, limit int64) ([]byte, error) {
	text, ok := f[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	if int64(len(text)) > limit {
		return nil, fmt.Errorf("%s is too long", name)
	}
	return []byte(text), nil
}

// open opens the file /job.yaml of a folder.
func open(f folder, v Variables) (*Section, error) {
	return Open("/job.yaml", []byte(f["/job.yaml"]), v, f)
}

// texts lists the keys and values of a section and those below it, in order.
func texts(s *Section) string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(s.Values)) {
		if n := Resolve(s.Values[key]); n.Content != nil {
			all = append(all, key+"("+texts(s.Section(key))+")")
		} else {
			all = append(all, key+"="+s.Text(key))
		}
	}
	return strings.Join(all, " ")
}

// TestIncludedKeys: a file's own keys win over those of included files, of these a later one wins over an earlier one;
// mappings are merged key by key, also where an anchor names them.
func TestIncludedKeys(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files folder
		want  string
	}{
		"own wins":        {folder{"/job.yaml": "include: a.yaml\nx: own", "/a.yaml": "x: a\ny: a"}, "x=own y=a"},
		"later wins":      {folder{"/job.yaml": "include: [a.yaml, b.yaml]", "/a.yaml": "x: a\ny: a", "/b.yaml": "x: b"}, "x=b y=a"},
		"merged":          {folder{"/job.yaml": "include: a.yaml\nm: {x: own, n: {z: own}}", "/a.yaml": "m: {x: a, y: a, n: {w: a}}"}, "m(n(w=a z=own) x=own y=a)"},
		"text for a map":  {folder{"/job.yaml": "include: a.yaml\nm: own", "/a.yaml": "m: {x: a}"}, "m=own"},
		"nested":          {folder{"/job.yaml": "include: sub/a.yaml", "/sub/a.yaml": "include: b.yaml\nx: a", "/sub/b.yaml": "x: b\ny: b"}, "x=a y=b"},
		"twice":           {folder{"/job.yaml": "include: [a.yaml, b.yaml]", "/a.yaml": "include: c.yaml", "/b.yaml": "include: c.yaml", "/c.yaml": "x: c"}, "x=c"},
		"with an anchor":  {folder{"/job.yaml": "include: a.yaml\nk: &m {x: own}\nm: *m", "/a.yaml": "m: {y: a}"}, "k(x=own) m(x=own y=a)"},
		"by a variable":   {folder{"/job.yaml": "include: ${FILE}.yaml", "/a.yaml": "x: a"}, "x=a"},
		"absolute":        {folder{"/job.yaml": "include: /etc/a.yaml", "/etc/a.yaml": "x: a"}, "x=a"},
		"nothing of ours": {folder{"/job.yaml": "x: '1'"}, "x=1"},
	} {
		s, err := open(c.files, Variables{Set: map[string]string{"FILE": "a"}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got := texts(s); got != c.want || s.Doc.Err() != nil {
			t.Errorf("%s: %s, want %s (%v)", name, got, c.want, s.Doc.Err())
		}
	}
}

// TestFilesThatCantBeIncluded: a problem of an included file is reported with that file and its line.
func TestFilesThatCantBeIncluded(t *testing.T) {
	t.Parallel()
	deep := folder{"/job.yaml": "include: 0.yaml"}
	for i := range maxIncludes + 2 {
		deep[fmt.Sprintf("/%d.yaml", i)] = fmt.Sprintf("include: %d.yaml", i+1)
	}
	for name, c := range map[string]struct {
		files folder
		place string
		code  errcode.Code
		says  string // a part of it
	}{
		"missing": {folder{"/job.yaml": "x: 1\ninclude: a.yaml"}, "/job.yaml:2", errcode.JobValue, "/a.yaml"},
		"missing in a file": {folder{"/job.yaml": "include: a.yaml", "/a.yaml": "\n\ninclude: b.yaml"}, "/a.yaml:3",
			errcode.JobValue, "/b.yaml"},
		"too deep": {deep, fmt.Sprintf("/%d.yaml:1", maxIncludes-1), errcode.JobValue,
			fmt.Sprint(maxIncludes, " files")},
		"empty": {folder{"/job.yaml": "include: a.yaml", "/a.yaml": ""}, "/a.yaml:1", errcode.JobRead,
			"empty"},
		"a list": {folder{"/job.yaml": "include: a.yaml", "/a.yaml": "- x"}, "/a.yaml:1", errcode.JobValue,
			"list"},
		"no YAML": {folder{"/job.yaml": "include: a.yaml", "/a.yaml": "x: {"}, "/a.yaml:1", errcode.JobYaml,
			""},
		"two lists": {folder{"/job.yaml": "include: a.yaml\ninclude: b.yaml", "/a.yaml": "x: 1",
			"/b.yaml": "x: 1"}, "/job.yaml:2", errcode.JobValue, "twice"},
		"no name":   {folder{"/job.yaml": "include: ''"}, "/job.yaml:1", errcode.JobValue, "empty"},
		"a mapping": {folder{"/job.yaml": "include: {a: b}"}, "/job.yaml:1", errcode.JobValue, "mapping"},
		"a twice given key": {folder{"/job.yaml": "include: a.yaml", "/a.yaml": "y: 1\nx: 1\nx: 2"}, "/a.yaml:3",
			errcode.JobKey, "line 2"},
		"two documents": {folder{"/job.yaml": "include: a.yaml", "/a.yaml": "x: 1\n---\ny: 1"}, "/a.yaml:1",
			errcode.JobYaml, "document"},
		"too long": {folder{"/job.yaml": "include: a.yaml", "/a.yaml": strings.Repeat("#", MaxBytes+1)},
			"/job.yaml:1", errcode.JobValue, "too long"},
	} {
		_, err := open(c.files, Variables{})
		if errcode.Outermost(err) != c.code || !testwords.Names(err, c.place+": ", c.says) {
			t.Errorf("%s: %v, want %s [%s] %s", name, err, c.place, c.code, c.says)
		}
	}
}

// manyAliases is a document of n mappings, each of which has the previous one three times: written out, the last one
// has 3^n values.
func manyAliases(n int) string {
	var text strings.Builder
	text.WriteString("k0: &a0 {x: y}\n")
	for i := 1; i < n; i++ {
		fmt.Fprintf(&text, "k%d: &a%d {a: *a%d, b: *a%d, c: *a%d}\n", i, i, i-1, i-1, i-1)
	}
	return text.String()
}

// TestHostileDocuments: anchors that contain themselves or are used many times, bytes that are no text, and
// deep nesting end in a document or in an error, never in a panic.
func TestHostileDocuments(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]folder{
		"itself":              {"/job.yaml": "a: &x {b: *x}"},
		"itself, included":    {"/job.yaml": "include: b.yaml", "/b.yaml": "a: &y {b: *y}"},
		"both files":          {"/job.yaml": "include: b.yaml\na: &x {b: *x}", "/b.yaml": "a: &y {b: *y}"},
		"the file itself":     {"/job.yaml": "&x {include: b.yaml, a: *x}", "/b.yaml": "&y {a: *y}"},
		"lists":               {"/job.yaml": "include: b.yaml\na: &x [*x]", "/b.yaml": "a: &y [*y]"},
		"many times":          {"/job.yaml": "include: b.yaml\n" + manyAliases(40), "/b.yaml": manyAliases(40)},
		"include of itself":   {"/job.yaml": "include: &x [*x]"},
		"bytes":               {"/job.yaml": "a: \x00\xff"},
		"a tag":               {"/job.yaml": "a: !!binary x\nb: !!float x\nc: !<> d"},
		"an alias of nothing": {"/job.yaml": "a: *b"},
		"a merge":             {"/job.yaml": "a: &x {c: d}\nb: {<<: *x}"},
		"deep":                {"/job.yaml": strings.Repeat("{a: ", 5000)},
		"deep, and closed":    {"/job.yaml": strings.Repeat("[", 5000) + strings.Repeat("]", 5000)},
	} {
		s, err := open(files, Variables{})
		if err == nil {
			s.Section("a")
			s.Texts("a")
			s.Text("a")
			s.Known()
			err = s.Doc.Err()
		}
		if err != nil && !strings.HasPrefix(err.Error(), "/job.yaml:") && !strings.HasPrefix(err.Error(), "/b.yaml:") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestProblems: all problems are listed once, by line, those of the job file before those of included files, with their
// codes; a text with a value is bounded, and so is the list.
func TestProblems(t *testing.T) {
	t.Parallel()
	s, err := open(folder{"/job.yaml": "include: a.yaml\nlate: x\nearly: x\nnone: x", "/a.yaml": "there: x"}, Variables{})
	if err != nil || !s.Doc.Sound() {
		t.Fatal(err)
	}
	s.Doc.Columns = []string{"user", "city"}
	s.Fail("there", "wrong")
	s.Fail("none", "%s", strings.Repeat("中", longestProblem))
	s.Doc.NoColumn(s.At("early"), "early", "usr")
	s.Fail("late", "wrong too: %v", errcode.JobFilter.New("no filter"))
	s.Fail("late", "wrong too: %v", errcode.JobFilter.New("no filter"))
	s.Require("gone", "late")
	s.Known([]Key{{Name: "late"}, {Name: "early"}, {Name: "there"}, {Name: "nine"}})
	err = s.Doc.Err()
	var several interface{ TextWithCodes() string }
	var code errcode.Coder
	if !errors.As(err, &several) || !errors.As(err, &code) || code.ErrorCode() != errcode.JobKey {
		t.Fatalf("%v", err)
	}
	lines := strings.Split(several.TextWithCodes(), "\n")
	want := []string{"/job.yaml:1: gone is missing", "/job.yaml:2: late: wrong too: no filter [" + string(errcode.JobFilter) + "]", "/job.yaml:3: early: input.columns has no column usr",
		"/job.yaml:4: none: 中", "/job.yaml:4: unknown key none", "/a.yaml:1: there: wrong"}
	if len(lines) != len(want) || s.Doc.Sound() {
		t.Fatalf("%d lines:\n%s", len(lines), strings.Join(lines, "\n"))
	}
	for i := range want {
		if !strings.HasPrefix(lines[i], want[i]) || len(lines[i]) > longestProblem+99 {
			t.Errorf("line %d: %s, want %s", i, lines[i], want[i])
		}
	}
	if !strings.Contains(lines[2], "user") || strings.Contains(lines[3], "\uFFFD") {
		t.Errorf("%s\n%s", lines[2], lines[3])
	}
	for i := range 2 * mostProblems {
		s.Fail("late", "problem %d", i)
	}
	err = s.Doc.Err()
	var all *problems
	if !errors.As(err, &all) || len(all.list) != mostProblems || all.more != mostProblems+len(want) ||
		strings.Count(err.Error(), "\n") != mostProblems {
		t.Errorf("%.300v", err)
	}
}

// TestValuesOfKeys: each kind of value has its form; a value of another kind is an error of that key's line, and never
// passes for one that was not given.
func TestValuesOfKeys(t *testing.T) {
	t.Parallel()
	for value, c := range map[string]struct {
		read func(*Section) any
		want any // nil for an error
	}{
		"12":           {func(s *Section) any { return s.Number("k", 7, 0) }, int64(12)},
		"0":            {func(s *Section) any { return s.Number("k", 7, 0) }, int64(0)},
		"-1":           {func(s *Section) any { return s.Number("k", 7, 0) }, nil},
		"1.5":          {func(s *Section) any { return s.Number("k", 7, 0) }, nil},
		"1e3":          {func(s *Section) any { return s.Number("k", 7, 0) }, nil},
		"[1]":          {func(s *Section) any { return s.Number("k", 7, 0) }, nil},
		"64KiB":        {func(s *Section) any { return s.Size("k", 7) }, int64(65536)},
		"64 parrots":   {func(s *Section) any { return s.Size("k", 7) }, nil},
		"true":         {func(s *Section) any { return s.Flag("k") }, true},
		"false":        {func(s *Section) any { return s.Flag("k") }, false},
		"'true'":       {func(s *Section) any { return s.Flag("k") }, nil},
		"yes":          {func(s *Section) any { return s.Flag("k") }, nil},
		"${T}":         {func(s *Section) any { return s.Flag("k") }, true},
		"'a text'":     {func(s *Section) any { return s.Text("k") }, "a text"},
		"''":           {func(s *Section) any { return s.Text("k") }, nil},
		"":             {func(s *Section) any { return s.Text("k") }, nil},
		"{a: b}":       {func(s *Section) any { return s.Text("k") }, nil},
		"file":         {func(s *Section) any { return s.Path("k", "/dir") }, "/dir/file"},
		"/file":        {func(s *Section) any { return s.Path("k", "/dir") }, "/file"},
		"two":          {func(s *Section) any { return s.OneOf("k", "one", "two") }, "two"},
		"twoo":         {func(s *Section) any { return s.OneOf("k", "one", "two") }, nil},
		"[a, b]":       {func(s *Section) any { return len(s.List("k")) }, 2},
		"[a, '']":      {func(s *Section) any { return len(s.List("k")) }, nil},
		"[a, [b]]":     {func(s *Section) any { return len(s.List("k")) }, nil},
		"a, b":         {func(s *Section) any { return len(s.List("k")) }, nil},
		"[a, b, '']":   {func(s *Section) any { return len(s.Texts("k")) }, 3},
		"${date}":      {func(s *Section) any { return s.Undated("k") }, ""},
		"${date:2006}": {func(s *Section) any { return s.LacksDate("k") }, true},
		"x ${U}":       {func(s *Section) any { return s.Text("k") }, nil},
	} {
		s, err := open(folder{"/job.yaml": "first: x\nk: " + value}, Variables{DateOptional: true, Set: map[string]string{"T": "true"}})
		if err != nil {
			t.Fatal(err)
		}
		got := c.read(s)
		err = s.Doc.Err()
		if c.want == nil && (err == nil || !strings.HasPrefix(err.Error(), "/job.yaml:2: k")) || c.want != nil && (err != nil || got != c.want) {
			t.Errorf("k: %s is %v, want %v (%v)", value, got, c.want, err)
		}
	}
	s, err := open(folder{"/job.yaml": "first: x"}, Variables{})
	if err != nil || s.Number("k", 7, 0) != 7 || s.Size("k", 8) != 8 || s.Flag("k") || s.Text("k") != "" || s.OneOf("k", "one") != "one" || s.List("k") != nil || s.Section("k") != nil || s.Doc.Err() != nil {
		t.Errorf("a key that is not given: %v", errors.Join(err, s.Doc.Err()))
	}
}

// TestVariables: each kind of variable has its value; one that has none is never an empty text.
func TestVariables(t *testing.T) {
	t.Parallel()
	v := Variables{Time: time.Date(2026, 11, 20, 7, 0, 0, 0, time.UTC), Date: "2026-11-20", Set: map[string]string{"A": "${B}", "E": ""},
		Environment: func(name string) (string, bool) { return "of " + name, name == "HOME" }}
	for text, want := range map[string]string{
		"${date}": "2026-11-20", "${date:20060102-15}": "20261120-07", "x${A}y": "x${B}y", "[${E}]": "[]", "${env.HOME}": "of HOME", "$ {a} $a": "$ {a} $a",
	} {
		if got, err := v.expand(text); err != nil || got != want {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"${date:}", "${B}", "${env.NONE}", "${", "${A} ${A", "${}"} {
		if got, err := v.expand(text); errcode.Outermost(err) != errcode.JobVariable {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
	v.Time = time.Time{}
	for _, text := range []string{"${date}", "a ${date:2006}"} {
		if got, err := v.expand(text); !errors.Is(err, ErrNoDate) {
			t.Errorf("%s without a date: %q, %v", text, got, err)
		}
	}
}
