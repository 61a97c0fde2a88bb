package storage

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"

	"bulkload/internal/errcode"
	"bulkload/internal/siteconf"
	"bulkload/internal/throttle"
)

// ResolveAs returns the file system of a path of a job file, and the path's name in it. The path is a local path, a
// file: URI, or an hdfs: URI, for which conf has the NameNodes and the protection of connections; conf may be nil for a
// local path. A relative local path is relative to base. For an HDFS path it connects to HDFS; if that fails, the error
// is ErrUnavailable. The caller closes the file system.
func ResolveAs(path, base string, conf *siteconf.Conf, who Identity) (FS, string, error) {
	scheme, rest := splitScheme(path)
	switch scheme {
	case "":
		name, err := localName(path, base)
		return Local, name, err
	case "file":
		name, err := fileName(path, rest)
		return Local, name, err
	case "hdfs":
		return resolveHDFS(path, rest, conf, who)
	}
	return nil, "", errcode.FileSystem.Errorf(
		"open %s: %s is not a file system that bulkload supports; use a local path, file:///… or hdfs://…",
		path, scheme+":")
}

// Listen sets the log of a file system. The log gets warnings of faults that do not prevent reading: damaged replicas
// and files without checksums; and calls to the NameNode, at calllog's level. Call it before files are opened.
func Listen(fsys FS, log *slog.Logger) {
	if h, ok := fsys.(*hdfsFS); ok {
		h.log = log
		h.replicas.listen(log)
	}
}

// Throttle bounds the bytes a second that are read from and written to files in HDFS; local disks have no limit. Only
// the content of files counts, not its replication or calls to the NameNode. Call it before files are opened.
func Throttle(fsys FS, limit *throttle.Limit) {
	if h, ok := fsys.(*hdfsFS); ok {
		h.rate = limit
	}
}

// Interrupt sets a channel that reports that the command was stopped. From then on, whatever it still saves in HDFS is
// tried for only some seconds, and no call waits longer for a NameNode or a DataNode. Call it before files are opened.
func Interrupt(fsys FS, stopped <-chan struct{}) {
	if h, ok := fsys.(*hdfsFS); ok {
		h.stopped = stopped
	}
}

// splitScheme cuts off a URI's scheme. A colon alone does not make a scheme: 10:30/part-0 is a local path.
func splitScheme(path string) (scheme, rest string) {
	scheme, rest, found := strings.Cut(path, ":")
	if !found || strings.ContainsAny(scheme, "/*?[. ") {
		return "", path
	}
	lower := strings.ToLower(scheme)
	if lower == "file" || lower == "hdfs" || strings.HasPrefix(rest, "//") {
		return lower, rest
	}
	return "", path
}

func localName(path, base string) (string, error) {
	if path == "" {
		return "", errors.New("open: the path is empty")
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(base, path)
	}
	name, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("find the folder that %s is relative to: %w", path, err)
	}
	return name, nil
}

// fileName returns the path of file:/a, file:///a or file://localhost/a. As in Hadoop, %41 is left unchanged.
func fileName(uri, rest string) (string, error) {
	authority, name := splitAuthority(rest)
	if authority != "" && authority != "localhost" {
		return "", errcode.FileSystem.Errorf("open %s: a file: URI names no host; write file:///%s", uri,
			strings.TrimPrefix(rest, "//"))
	}
	if !filepath.IsAbs(name) {
		return "", fmt.Errorf("open %s: %w; write the plain path or file:///…", uri, ErrRelative)
	}
	return filepath.Clean(name), nil
}

// SplitURI splits "scheme://authority/path", "scheme:/path" or "/path" into authority and path. Hadoop escapes nothing
// in them.
func SplitURI(uri string) (authority, name string) {
	scheme, rest, found := strings.Cut(uri, ":")
	if !found || strings.Contains(scheme, "/") {
		return "", uri
	}
	return splitAuthority(rest)
}

// splitAuthority splits "//host:1/a/b" into "host:1" and "/a/b".
func splitAuthority(rest string) (authority, name string) {
	after, found := strings.CutPrefix(rest, "//")
	if !found {
		return "", rest
	}
	if slash := strings.IndexByte(after, '/'); slash >= 0 {
		return after[:slash], after[slash:]
	}
	return after, "/"
}
