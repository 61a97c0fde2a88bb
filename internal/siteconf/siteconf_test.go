package siteconf

import (
	"errors"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/errcode"
	"bulkload/internal/test/testwords"
)

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func site(properties ...string) string {
	return "<?xml version=\"1.0\"?>\n<configuration>\n" + strings.Join(properties, "\n") + "\n</configuration>\n"
}

func prop(name, value string) string {
	return "<property><name>" + name + "</name><value>" + value + "</value></property>"
}

func TestLaterFilesAndFoldersWin(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	write(t, one, "core-site.xml", site(prop("a", "core"), prop("b", "core"), prop("kept", "core")))
	write(t, one, "hbase-site.xml", site(prop("a", "hbase"), "<property><name>locked</name><value>first</value><final>true</final></property>"))
	write(t, two, "hdfs-site.xml", site(prop("b", "two"), prop("locked", "second")))

	c, err := Load(one, two)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a": "hbase", "b": "two", "kept": "core", "locked": "first", "none": "default"} {
		if got := c.Get(name, "default"); got != want {
			t.Errorf("Get(%s) = %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]string{"b": filepath.Join(two, "hdfs-site.xml"), "locked": filepath.Join(one, "hbase-site.xml"), "none": ""} {
		if got := c.Source(name); got != want {
			t.Errorf("Source(%s) = %q, want %q", name, got, want)
		}
	}
	c.Set("locked", "third")
	if c.Get("locked", "") != "third" || c.Source("locked") != "command line" {
		t.Errorf("after Set: %q from %q", c.Get("locked", ""), c.Source("locked"))
	}
}

func TestNilAndEmptyConf(t *testing.T) {
	var none *Conf
	if none.Get("a", "def") != "def" || none.Source("a") != "" {
		t.Error("a nil Conf is not empty")
	}
	var c Conf
	c.Set("a", "1")
	if c.Get("a", "") != "1" {
		t.Error("Set on a zero Conf is lost")
	}
}

func TestExpansion(t *testing.T) {
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("SITECONF_SET", "x")
	t.Setenv("SITECONF_EMPTY", "")
	c := &Conf{}
	c.Set("host", "nn1")
	c.Set("which", "host")
	c.Set("chain", "${host}:${port}")
	c.Set("port", "8020")
	c.Set("loop", "a${loop}")
	c.Set("self", "${self}")
	c.Set("twice", "${twice}${twice}")
	for text, want := range map[string]string{
		"plain":                      "plain",
		"hdfs://${host}/":            "hdfs://nn1/",
		"${chain}":                   "nn1:8020",
		"${${which}}":                "nn1",
		"${absent}/${host}":          "${absent}/nn1",
		"/home/${user.name}":         "/home/" + me.Username,
		"${env.SITECONF_SET}":        "x",
		"${env.SITECONF_NONE}":       "${env.SITECONF_NONE}",
		"${env.SITECONF_NONE:-def}":  "def",
		"${env.SITECONF_EMPTY:-def}": "def",
		"${env.SITECONF_EMPTY-def}":  "",
		"${":                         "${",
		"}":                          "}",
		"${}":                        "${}",
		"${a b}":                     "${a b}",
		" spaced\n":                  "spaced",
		"${self}":                    "${self}",
	} {
		c.Set("it", text)
		if got := c.Get("it", ""); got != want {
			t.Errorf("%q expands to %q, want %q", text, got, want)
		}
	}
	if got := c.Get("loop", ""); len(got) > 40 {
		t.Errorf("a loop grew to %d bytes", len(got))
	}
	if got := c.Get("twice", ""); len(got) > maxExpanded {
		t.Errorf("a doubling loop grew to %d bytes", len(got))
	}
}

func TestForms(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"elements":   {site(prop("n", "v")), "v"},
		"attributes": {site(`<property name="n" value="v"/>`), "v"},
		"comment":    {site("<!-- <property> -->", prop("n", "v<!-- c -->w")), "vw"},
		"cdata":      {site("<property><name> n </name><value><![CDATA[a<b]]></value></property>"), "a<b"},
		"entity":     {site(prop("n", "a&amp;b")), "a&b"},
		"empty":      {site("<property><name>n</name><value/></property>"), ""},
		"no value":   {site("<property><name>n</name><description>d</description></property>"), "unset"},
		"last wins":  {site(prop("n", "1"), prop("n", "2")), "2"},
		"latin1":     {"<?xml version='1.0' encoding='ISO-8859-1'?><configuration>" + prop("n", "\xe4") + "</configuration>", "ä"},
		"doctype":    {"<?xml version='1.0'?><!DOCTYPE configuration><?xml-stylesheet href='c.xsl'?><configuration>" + prop("n", "v") + "</configuration>", "v"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "core-site.xml", test.text)
			c, err := Load(dir)
			if err != nil {
				t.Fatal(err)
			}
			if got := c.Get("n", "unset"); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestRenamedProperty(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "core-site.xml", site(prop("fs.default.name", "hdfs://old")))
	c, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if c.Get("fs.defaultFS", "") != "hdfs://old" || c.Get("fs.default.name", "") != "hdfs://old" {
		t.Errorf("fs.defaultFS is %q", c.Get("fs.defaultFS", ""))
	}
}

func TestErrorsNameFileAndLine(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"unclosed":     {"<configuration>\n<property>\n", "core-site.xml:3"},
		"crossed":      {"<configuration>\n<property></name>\n</configuration>", "core-site.xml:2"},
		"no name":      {site("<property><value>v</value></property>"), "without a <name>"},
		"include":      {"<configuration xmlns:xi=\"http://www.w3.org/2001/XInclude\">\n<xi:include href=\"b.xml\"/></configuration>", "core-site.xml:2: <include> (XInclude)"},
		"bare include": {site("<xi:include href=\"b.xml\"/>"), "XInclude"},
		"other root":   {"<beans/>", "<beans>"},
		"empty":        {"", "no <configuration>"},
		"nested":       {site("<property><name>a<b/></name></property>"), "<b> inside"},
		"two roots":    {site() + "<more/>", "<more> behind"},
		"encoding":     {"<?xml version='1.0' encoding='utf-16'?><configuration/>", "utf-16"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "core-site.xml", test.text)
			_, err := Load(dir)
			if errcode.Outermost(err) != errcode.SiteRead ||
				!testwords.Names(err, test.want, filepath.Join(dir, "core-site.xml")+":") {
				t.Errorf("got %v, want file, line and %q", err, test.want)
			}
		})
	}
}

func TestMissingFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	_, err := Load(dir)
	if errcode.Outermost(err) != errcode.SiteRead || !errors.Is(err, fs.ErrNotExist) || !testwords.Names(err, dir) {
		t.Errorf("got %v", err)
	}
}

// TestFindDirs: each folder is searched independently, so that one variable does not hide the other's folder.
func TestFindDirs(t *testing.T) {
	etc := t.TempDir()
	hadoop, hbase := filepath.Join(etc, "hadoop", "conf"), filepath.Join(etc, "hbase", "conf")
	for _, dir := range []string{hadoop, hbase} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	whole := t.TempDir() // of another cluster
	write(t, whole, "core-site.xml", site())
	write(t, whole, "hbase-site.xml", site())
	for _, c := range []struct {
		hadoop, hbase, etc string
		want               []string
	}{
		{whole, "", etc, []string{whole}},
		{"", whole, etc, []string{whole}},
		{"/h", "/b", etc, []string{"/h", "/b"}},
		{"/h", "", etc, []string{"/h", hbase}},
		{"", "/b", etc, []string{hadoop, "/b"}},
		{"", "", etc, []string{hadoop, hbase}},
		{"/h", "", t.TempDir(), []string{"/h"}},
		{"", "/b", t.TempDir(), []string{"/b"}},
		{"", "", t.TempDir(), nil},
	} {
		t.Setenv("HADOOP_CONF_DIR", c.hadoop)
		t.Setenv("HBASE_CONF_DIR", c.hbase)
		if got := findDirs(c.etc); !slices.Equal(got, c.want) {
			t.Errorf("HADOOP_CONF_DIR=%s HBASE_CONF_DIR=%s: %v, want %v", c.hadoop, c.hbase, got, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(site(prop("a", "${b}"), prop("b", "${a}${a}")))
	f.Add("<configuration><property name='a' value='${env.A:-x}' final='true'/></configuration>")
	f.Add("<configuration><xi:include/></configuration>")
	f.Add("<configuration><property><name>a</name><value>&#x0;</value>")
	f.Fuzz(func(t *testing.T, text string) {
		properties, err := parse(strings.NewReader(text), "f.xml")
		if err != nil {
			if !testwords.Names(err, "f.xml:") {
				t.Errorf("error without a file: %v", err)
			}
			return
		}
		c := &Conf{}
		for _, p := range properties {
			if p.name == "" || strings.TrimSpace(p.name) != p.name {
				t.Errorf("property name %q", p.name)
			}
			c.put(p)
		}
		for _, p := range properties {
			c.Get(p.name, "")
		}
	})
}
