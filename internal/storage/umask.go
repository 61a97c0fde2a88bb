package storage

import (
	"io/fs"
	"regexp"
	"strconv"
	"strings"

	"bulkload/internal/errcode"
	"bulkload/internal/siteconf"
)

const (
	umaskProperty = "fs.permissions.umask-mode"
	defaultUmask  = 0o022
)

// A umask is written in octal digits, or as the permissions that it leaves
// (org.apache.hadoop.fs.permission.UmaskParser).
var (
	octalUmask    = regexp.MustCompile(`^\+?[01]?([0-7]{3})$`)
	symbolicUmask = regexp.MustCompile(`^([ugoa]*)([+=-]+)([rwxXst]*)$`)
)

// readUmask returns the permissions that new files and folders in HDFS must not have. Hadoop's client removes them
// (DFSClient.applyUMask), because the NameNode does not.
func readUmask(conf *siteconf.Conf) (fs.FileMode, error) {
	text := conf.Get(umaskProperty, "")
	if text == "" {
		return defaultUmask, nil
	}
	mask, ok := parseUmask(text)
	if !ok {
		return 0, errcode.SiteProperty.Errorf("%s (%s) is %q; it must be octal digits such as 027, or the modes that are "+
			"left, such as u=rwx,g=rx,o=", umaskProperty, conf.Source(umaskProperty), text)
	}
	return mask, nil
}

func parseUmask(text string) (mask fs.FileMode, ok bool) {
	if m := octalUmask.FindStringSubmatch(text); m != nil {
		n, err := strconv.ParseUint(m[1], 8, 32)
		return fs.FileMode(n), err == nil
	}
	var left fs.FileMode
	for part := range strings.SplitSeq(text, ",") {
		m := symbolicUmask.FindStringSubmatch(strings.TrimSpace(part))
		if m == nil {
			return 0, false
		}
		left = applySymbolic(left, m[1], m[2], m[3])
	}
	return 0o777 &^ left, true
}

// applySymbolic changes the permissions of some classes of users, or of all if none is named.
func applySymbolic(mode fs.FileMode, classes, operator, letters string) fs.FileMode {
	var bits fs.FileMode
	for _, letter := range letters {
		bits |= map[rune]fs.FileMode{'r': 4, 'w': 2, 'x': 1, 'X': 1}[letter]
	}
	for class, shift := range map[string]int{"u": 6, "g": 3, "o": 0} {
		if classes != "" && !strings.Contains(classes, class) && !strings.Contains(classes, "a") {
			continue
		}
		switch operator[len(operator)-1] {
		case '=':
			mode = mode&^(7<<shift) | bits<<shift
		case '+':
			mode |= bits << shift
		case '-':
			mode &^= bits << shift
		}
	}
	return mode
}
