// Package siteconf reads Hadoop's and HBase's site files.
//
// It follows org.apache.hadoop.conf.Configuration: <configuration> has <property> elements with name, value and final.
// A later file overrides an earlier one, except for properties that the earlier one declares final. ${…} in values is
// expanded when they are read. XInclude is refused rather than ignored.
package siteconf

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bulkload/internal/errcode"
)

// siteFiles are read from every folder, in this order, so that hbase-site.xml wins.
var siteFiles = []string{"core-site.xml", "hdfs-site.xml", "hbase-site.xml"}

// commandLine is the Source of properties that were set with Set.
const commandLine = "command line"

// renamed maps old names that Hadoop still accepts in site files (Configuration.DeprecationDelta).
var renamed = map[string]string{"fs.default.name": "fs.defaultFS"}

// Conf is a set of Hadoop properties. Reading is safe for concurrent use, Set is not.
type Conf struct {
	properties map[string]property
}

type property struct {
	name   string
	value  string
	source string // file, or commandLine
	final  bool
}

// Load reads core-site.xml, hdfs-site.xml and hbase-site.xml from each of the folders; later ones win. A missing file
// is skipped, a missing folder is an error.
func Load(dirs ...string) (*Conf, error) {
	c := &Conf{}
	for _, dir := range dirs {
		if err := c.addDir(dir); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// FindDirs lists the configuration folders of this machine in the order that Load needs: Hadoop's, then HBase's. Each
// comes from its variable, HADOOP_CONF_DIR or HBASE_CONF_DIR. If a variable is not set, its folder is the one that
// packages use, /etc/hadoop/conf or /etc/hbase/conf, if that exists. But if the other variable's folder itself has
// core-site.xml or hbase-site.xml, only that folder is used, because the files of packages may belong to another
// cluster.
func FindDirs() []string { return findDirs("/etc") }

// findDirs is FindDirs with another folder in place of /etc.
func findDirs(etc string) []string {
	hadoop, hbase := os.Getenv("HADOOP_CONF_DIR"), os.Getenv("HBASE_CONF_DIR")
	var dirs []string
	for _, of := range []struct{ dir, other, file, packaged string }{
		{hadoop, hbase, "core-site.xml", "hadoop/conf"},
		{hbase, hadoop, "hbase-site.xml", "hbase/conf"},
	} {
		packaged := filepath.Join(etc, of.packaged)
		switch {
		case of.dir != "":
			dirs = append(dirs, of.dir)
		case of.other != "" && exists(filepath.Join(of.other, of.file)):
		case exists(packaged):
			dirs = append(dirs, packaged)
		}
	}
	return slices.Compact(dirs) // one folder may have both files
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Get returns a property with ${…} expanded and white space around it removed, or def if it is not set.
func (c *Conf) Get(name, def string) string {
	raw, ok := c.raw(name)
	if !ok {
		return def
	}
	return strings.TrimSpace(c.expand(raw))
}

// Names lists the properties that are set, sorted.
func (c *Conf) Names() []string { return slices.Sorted(maps.Keys(c.properties)) }

// Source returns the name of the file that set a property, or "" if it is not set.
func (c *Conf) Source(name string) string {
	if c == nil {
		return ""
	}
	return c.properties[current(name)].source
}

// Set overrides a property, as -D does on the command line, even if a file declares it final.
func (c *Conf) Set(name, value string) {
	c.put(property{name: name, value: value, source: commandLine})
}

func (c *Conf) addDir(dir string) error {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = &fs.PathError{Op: "open", Path: dir, Err: errors.New("not a folder")}
	}
	if err != nil {
		return errcode.SiteRead.Errorf("read configuration folder: %w", err)
	}
	for _, name := range siteFiles {
		if err := c.addFile(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

func (c *Conf) addFile(path string) error {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return errcode.SiteRead.Errorf("read site file: %w", err)
	}
	defer file.Close()
	properties, err := parse(file, path)
	if err != nil {
		return err
	}
	for _, p := range properties {
		if !c.properties[current(p.name)].final {
			c.put(p)
		}
	}
	return nil
}

func (c *Conf) put(p property) {
	if c.properties == nil {
		c.properties = make(map[string]property)
	}
	c.properties[current(p.name)] = p
}

func (c *Conf) raw(name string) (string, bool) {
	if c == nil {
		return "", false
	}
	p, ok := c.properties[current(name)]
	return p.value, ok
}

func current(name string) string {
	if newer, ok := renamed[name]; ok {
		return newer
	}
	return name
}
