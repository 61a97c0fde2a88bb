package storage

import (
	"testing"

	"bulkload/internal/errcode"
	"bulkload/internal/test/testwords"
)

func TestResolveLocal(t *testing.T) {
	for _, c := range []struct{ path, name string }{
		{"/a/b", "/a/b"},
		{"/a/../b//c", "/b/c"},
		{"x/y", "/base/x/y"},
		{"../y", "/y"},
		{"file:///a/b c", "/a/b c"},
		{"file:/a", "/a"},
		{"FILE:///a", "/a"},
		{"file://localhost/a%41", "/a%41"},
		{"10:30/part", "/base/10:30/part"},
		{"in/*/part-*", "/base/in/*/part-*"},
	} {
		fsys, name, err := ResolveAs(c.path, "/base", nil, Identity{})
		if err != nil || name != c.name || fsys != Local {
			t.Errorf("ResolveAs(%q) = %v, %q, %v; want %q", c.path, fsys, name, err, c.name)
		}
	}
	if got := Local.URI("/a/b c"); got != "file:///a/b c" {
		t.Errorf("URI: %s", got)
	}
}

func TestResolveRefuses(t *testing.T) {
	for path, want := range map[string]struct {
		code  errcode.Code
		names string
	}{
		"":                  {"", "empty"},
		"s3://bucket/key":   {errcode.FileSystem, "s3:"},
		"s3a://bucket/key":  {errcode.FileSystem, "hdfs://"},
		"https://host/path": {errcode.FileSystem, "https:"},
		"file://host/a":     {errcode.FileSystem, "file:///host/a"},
		"file:a":            {"", ErrRelative.Error()},
	} {
		_, _, err := ResolveAs(path, "/base", nil, Identity{})
		if errcode.Outermost(err) != want.code || !testwords.Names(err, want.names) {
			t.Errorf("ResolveAs(%q): %v; want %v", path, err, want)
		}
	}
}

// TestSplitURI: Hadoop escapes nothing in a URI, and knows one without an authority.
func TestSplitURI(t *testing.T) {
	for uri, want := range map[string][2]string{
		"hdfs://h:1/a/b":  {"h:1", "/a/b"},
		"hdfs://ns/a%20b": {"ns", "/a%20b"},
		"hdfs:///a":       {"", "/a"},
		"file:/a":         {"", "/a"},
		"/a:b":            {"", "/a:b"},
		"hdfs://h":        {"h", "/"},
	} {
		if authority, name := SplitURI(uri); authority != want[0] || name != want[1] {
			t.Errorf("%s: %q, %q", uri, authority, name)
		}
	}
	if !SameNameNode("nn", "nn:8020") || SameNameNode("nn", "nn:9000") || !SameNameNode("[::1]", "[::1]:8020") {
		t.Error("the default port is not 8020")
	}
}
