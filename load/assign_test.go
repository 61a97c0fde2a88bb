package load

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"bulkload/internal/errcode"
	"bulkload/internal/test/testwords"
)

func between(start, end string) Region {
	return Region{Name: []byte("t," + start), Start: []byte(start), End: []byte(end), Server: "h:1"}
}

func file(uri, first, last string) *pendingFile {
	return &pendingFile{HFile: HFile{Family: "f", URI: uri, FirstRow: []byte(first), LastRow: []byte(last)}}
}

func TestAssign(t *testing.T) {
	regions := []Region{between("", "b"), between("b", "c"), between("c", "")}
	groups, err := assign([]*pendingFile{
		file("u1", "z", "zz"), file("u2", "\x00", "a"), file("u3", "b", "bzzz"), file("u4", "c", "c"), file("u5", "a", "a\xff\xff"),
	}, regions, 32)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, g := range groups {
		text := string(g.region.Start) + ":"
		for _, f := range g.files {
			text += " " + f.URI
		}
		got = append(got, text)
	}
	if text := strings.Join(got, "; "); text != ": u2 u5; b: u3; c: u1 u4" {
		t.Errorf("got %s", text)
	}
}

func TestAssignRefuses(t *testing.T) {
	regions := []Region{between("", "b"), between("b", "c"), between("c", "")}
	for name, test := range map[string]struct {
		file *pendingFile
		code errcode.Code
		want []string
	}{
		"straddles": {file("u", "a", "b"), errcode.LoadStraddles,
			[]string{"file u", `region ["", "b")`, `before "b"`}},
		"straddles by much":   {file("u", "bb", "z"), errcode.LoadStraddles, []string{"file u", `region ["b", "c")`}},
		"no first row":        {file("u", "", "a"), errcode.HFileCorrupt, []string{"file u"}},
		"last before first":   {file("u", "b", "a"), errcode.HFileCorrupt, []string{"file u"}},
		"last row is the end": {file("u", "b", "c"), errcode.LoadStraddles, []string{`before "c"`}},
	} {
		_, err := assign([]*pendingFile{test.file}, regions, 32)
		if !errors.Is(err, ErrRefused) || errcode.Outermost(err) != test.code || !testwords.Names(err, test.want...) {
			t.Errorf("%s: got %v [%s], want [%s] %q", name, err, errcode.Outermost(err), test.code, test.want)
		}
	}
}

func TestFilesPerRegionAndFamily(t *testing.T) {
	var files []*pendingFile
	for i := range 32 {
		files = append(files, file(fmt.Sprint("u", i), "a", "a"))
	}
	other := file("g", "a", "a")
	other.Family = "g"
	files = append(files, other)
	if _, err := assign(files, []Region{between("", "")}, 32); err != nil {
		t.Error(err)
	}
	_, err := assign(append(files, file("u32", "a", "a")), []Region{between("", "")}, 32)
	if !errors.Is(err, ErrRefused) || errcode.Outermost(err) != errcode.FilesLimit ||
		!testwords.Names(err, MaxFilesProperty) {
		t.Errorf("got %v", err)
	}
}

func TestCheckChain(t *testing.T) {
	for name, test := range map[string]struct {
		regions []Region
		want    string
	}{
		"one":        {[]Region{between("", "")}, ""},
		"unordered":  {[]Region{between("c", ""), between("", "b"), between("b", "c")}, ""},
		"none":       {nil, "no regions"},
		"no first":   {[]Region{between("b", "")}, "below"},
		"no last":    {[]Region{between("", "b")}, "above"},
		"hole":       {[]Region{between("", "b"), between("c", "")}, "hole"},
		"overlap":    {[]Region{between("", "c"), between("b", "")}, "overlap"},
		"two lasts":  {[]Region{between("", ""), between("b", "")}, "overlap"},
		"same start": {[]Region{between("", "b"), between("", "b"), between("b", "")}, "overlap"},
	} {
		err := checkChain(test.regions)
		if test.want == "" && err != nil || test.want != "" &&
			(!errors.Is(err, errInTransition) || !testwords.Names(err, test.want)) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
}

// TestRegionOfARow: a region begins with its boundary.
func TestRegionOfARow(t *testing.T) {
	table := &Table{Regions: []Region{{End: []byte("b")}, {Start: []byte("b"), End: []byte("c")}, {Start: []byte("c")}}}
	for row, want := range map[string]int{"": 0, "a": 0, "b": 1, "b0": 1, "c": 2, "d": 2} {
		if got := regionOf(table.Regions, []byte(row)); got != want {
			t.Errorf("%s is in region %d, want %d", row, got, want)
		}
		if got := table.Overlapping([]byte(row), []byte(row)); len(got) != 1 || &got[0] != &table.Regions[want] {
			t.Errorf("%s is in %v, want region %d", row, got, want)
		}
	}
}
