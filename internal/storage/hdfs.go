package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/colinmarc/hdfs/v2"

	"bulkload/internal/errcode"
	"bulkload/internal/printable"
	"bulkload/internal/siteconf"
	"bulkload/internal/throttle"
)

// hdfsFS is HDFS as one user sees it. The library's client has one connection to the active NameNode, for one call at a
// time. Each open file has a connection to a DataNode.
type hdfsFS struct {
	client      *hdfs.Client
	uri         string // hdfs://authority; see oneName
	user        string // the full name
	names       *rpcClient
	blocks      *transfers
	clientName  string // of the library's client, for the DataNodes' logs
	byHostname  bool   // DataNodes are dialed by their host names
	timeouts    timeouts
	replication int
	blockSize   int64
	umask       fs.FileMode
	replicas    *replicas
	log         *slog.Logger // of calls; nil: no log
	rate        *throttle.Limit
	stopped     <-chan struct{} // see Interrupt; nil: never
	noticed     atomic.Int64    // when the stop was first seen, in Unix nanoseconds
	closing     sync.Once
}

// connectHDFS connects to the active one of the NameNodes at addresses.
func connectHDFS(conf *siteconf.Conf, authority string, addresses []string, who Identity, p timeouts) (*hdfsFS, error) {
	secured, err := readSecurity(conf)
	if err != nil {
		return nil, err
	}
	user, err := secured.as(who, conf, authority, addresses)
	if err != nil {
		return nil, err
	}
	names := &rpcClient{security: secured, addresses: addresses, user: user, dial: p.dialer(p.nameNode)}
	blocks := &transfers{names: names, dial: p.packets()}
	if secured.kerberos && secured.transfer != nil {
		blocks.dial = p.tokens()
	}
	h := &hdfsFS{uri: "hdfs://" + oneName(conf, authority, addresses), user: user, names: names, blocks: blocks,
		byHostname: conf.Get("dfs.client.use.datanode.hostname", "") == "true", timeouts: p, replicas: &replicas{}}
	options := hdfs.ClientOptions{
		Addresses:           addresses,
		User:                user,
		UseDatanodeHostname: h.byHostname,
		NamenodeDialFunc:    names.connect,
		DatanodeDialFunc:    names.nodes.watched(blocks.connect),
	}
	if err := h.connect(options); err != nil {
		return nil, err
	}
	if err := h.readDefaults(conf); err != nil {
		h.Close()
		return nil, err
	}
	return h, nil
}

// readDefaults asks the NameNode for its settings, so that the client does not fetch them itself, without a lock.
func (h *hdfsFS) readDefaults(conf *siteconf.Conf) error {
	var defaults hdfs.ServerDefaults
	err := h.call("connect", h.uri, true, func() (err error) {
		defaults, err = h.client.ServerDefaults()
		return err
	})
	if p := (*fs.PathError)(nil); errors.As(err, &p) && errors.Is(err, ErrUnavailable) && h.names.accepts() {
		p.Err = fmt.Errorf("%w; the server accepts connections and does not answer as a NameNode does: is this its port "+
			"for clients?", p.Err)
	}
	if err != nil {
		return err
	}
	if h.names.encrypt && !h.names.encrypted() {
		return siteError(conf, encryptProperty,
			"the NameNode says that its DataNodes don't encrypt; set it to true there and start the servers again, "+
				"or take it out of the site files")
	}
	if h.replication, h.blockSize, err = newFiles(conf, defaults); err != nil {
		return err
	}
	h.umask, err = readUmask(conf)
	return err
}

// connect tries for timeouts.start, because a NameNode that was just restarted is soon up again.
func (h *hdfsFS) connect(options hdfs.ClientOptions) error {
	begun := time.Now()
	for {
		client, err := hdfs.NewClient(options)
		if err == nil {
			h.client, h.clientName = client, client.Name()
			return nil
		}
		if unknownHosts(options.Addresses) {
			return errcode.Address.Errorf(
				"%s: no such host: %s; if it is a name service, dfs.nameservices in hdfs-site.xml must name it",
				h.uri, strings.Join(options.Addresses, ", "))
		}
		if refused := h.names.refusal(); refused != nil {
			return &fs.PathError{Op: "connect", Path: printable.Name(h.uri), Err: refused}
		}
		if time.Since(begun) >= h.timeouts.start {
			return h.explain("connect", h.uri, err)
		}
		time.Sleep(min(time.Second, h.timeouts.start))
	}
}

// newFiles returns the replication and block size of new files: the client's own settings, as in Java, or else the
// NameNode's.
func newFiles(conf *siteconf.Conf, defaults hdfs.ServerDefaults) (replication int, blockSize int64, err error) {
	replication, blockSize = defaults.Replication, defaults.BlockSize
	if text := conf.Get("dfs.replication", ""); text != "" {
		if replication, err = strconv.Atoi(text); err != nil || replication < 1 {
			return 0, 0, errcode.SiteProperty.Errorf("dfs.replication (%s) is %q, want a number from 1 on",
				conf.Source("dfs.replication"), text)
		}
	}
	if text := conf.Get("dfs.blocksize", ""); text != "" {
		if blockSize, err = byteSize(text); err != nil {
			return 0, 0, errcode.SiteProperty.Errorf("dfs.blocksize (%s) is %q, want a size such as 134217728 or 128m",
				conf.Source("dfs.blocksize"), text)
		}
	}
	return replication, blockSize, nil
}

// byteSize reads a number with one of Hadoop's binary prefixes (StringUtils.TraditionalBinaryPrefix).
func byteSize(text string) (int64, error) {
	number := strings.TrimRight(strings.ToLower(text), "kmgt")
	n, err := strconv.ParseInt(number, 10, 64)
	shift := map[string]int{"": 0, "k": 10, "m": 20, "g": 30, "t": 40}
	s, ok := shift[strings.ToLower(text)[len(number):]]
	if err != nil || !ok || n < 1 || n > 1<<62>>s {
		return 0, errors.New("not a size")
	}
	return n << s, nil
}

func (h *hdfsFS) Open(name string) (File, error) {
	name, err := absolute("open", name)
	if err != nil {
		return nil, err
	}
	f := &hdfsFile{fs: h, name: name}
	if err := f.open(); err != nil {
		return nil, err
	}
	return f, nil
}

func (h *hdfsFS) Create(name string, perm fs.FileMode) (FileWriter, error) {
	name, err := absolute("create", name)
	if err != nil {
		return nil, err
	}
	if err := h.refuseFolder(path.Dir(name)); err != nil {
		return nil, err
	}
	var w *hdfs.FileWriter
	err = h.call("create", name, false, func() (err error) {
		w, err = h.client.CreateFile(name, h.replication, h.blockSize, orDefault(perm, 0o644).Perm()&^h.umask)
		return err
	})
	if err != nil {
		return nil, err
	}
	return newHDFSWriter(h, name, w), nil
}

// flagEncrypted is HdfsFileStatusProto.Flags.HAS_CRYPT.
const flagEncrypted = 2

// refuseFolder refuses directories in which files written by the library could not be read.
func (h *hdfsFS) refuseFolder(dir string) error {
	info, err := h.stat("create", dir)
	if err != nil {
		return err
	}
	switch s := status(info); {
	case s.GetEcPolicy() != nil:
		err = errcode.FileSystem.New("the directory is erasure-coded, which bulkload does not support; choose a replicated " +
			"one (hdfs ec -getPolicy)")
	case s.GetFlags()&flagEncrypted != 0:
		err = errcode.FileSystem.New("the directory is in an encryption zone, which bulkload does not support; choose one " +
			"outside all zones (hdfs crypto -listZones)")
	}
	if err != nil {
		return &fs.PathError{Op: "create", Path: printable.Name(dir), Err: err}
	}
	return nil
}

func (h *hdfsFS) stat(op, name string) (fs.FileInfo, error) {
	var info fs.FileInfo
	err := h.call(op, name, true, func() (err error) {
		info, err = h.client.Stat(name)
		return err
	})
	return info, err
}

// status is the NameNode's own description. If it is nil, its methods return zero values.
func status(info fs.FileInfo) *hdfs.FileStatus {
	s, _ := info.Sys().(*hdfs.FileStatus)
	return s
}

func (h *hdfsFS) Stat(name string) (Info, error) {
	name, err := absolute("stat", name)
	if err != nil {
		return Info{}, err
	}
	info, err := h.stat("stat", name)
	if err != nil {
		return Info{}, err
	}
	return hdfsInfo(info), nil
}

func hdfsInfo(st fs.FileInfo) Info {
	s := status(st)
	return Info{Name: st.Name(), Size: st.Size(), ModTime: st.ModTime(), Dir: st.IsDir(),
		Mode: st.Mode(), Owner: s.GetOwner(),
		Encrypted: s.GetFlags()&flagEncrypted != 0, ErasureCoded: s.GetEcPolicy() != nil}
}

func (h *hdfsFS) ReadDir(name string) ([]Info, error) {
	name, err := absolute("readdir", name)
	if err != nil {
		return nil, err
	}
	info, err := h.stat("readdir", name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, &fs.PathError{Op: "readdir", Path: printable.Name(name), Err: syscall.ENOTDIR}
	}
	var entries []fs.FileInfo
	err = h.call("readdir", name, true, func() (err error) {
		entries, err = h.client.ReadDir(name)
		return err
	})
	if err != nil {
		return nil, err
	}
	infos := make([]Info, len(entries))
	for i, e := range entries {
		infos[i] = hdfsInfo(e)
	}
	slices.SortFunc(infos, func(a, b Info) int { return strings.Compare(a.Name, b.Name) })
	return infos, nil
}

func (h *hdfsFS) MkdirAll(name string, perm fs.FileMode) error {
	name, err := absolute("mkdir", name)
	if err != nil {
		return err
	}
	if perm = orDefault(perm, DirPerm); perm != DirPerm {
		// The library gives all directories that it makes the same permissions.
		if err := h.mkdirAll(name, path.Dir(name), DirPerm); err != nil {
			return err
		}
	}
	return h.mkdirAll(name, name, perm)
}

// mkdirAll creates a directory on behalf of a call for name.
func (h *hdfsFS) mkdirAll(name, dir string, perm fs.FileMode) error {
	return h.call("mkdir", name, true, func() error { return h.client.MkdirAll(dir, perm.Perm()&^h.umask) })
}

func (h *hdfsFS) Rename(from, to string) error {
	from, err := absolute("rename", from)
	if err != nil {
		return err
	}
	if to, err = absolute("rename", to); err != nil {
		return err
	}
	// The library's rename always overwrites, even an empty directory.
	switch _, err = h.stat("rename", to); {
	case err == nil:
		return &fs.PathError{Op: "rename", Path: printable.Name(to), Err: fs.ErrExist}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return h.Replace(from, to)
}

func (h *hdfsFS) Replace(from, to string) error {
	from, err := absolute("rename", from)
	if err != nil {
		return err
	}
	if to, err = absolute("rename", to); err != nil {
		return err
	}
	return h.call("rename", from, false, func() error { return h.client.Rename(from, to) })
}

func (h *hdfsFS) Remove(name string) error {
	name, err := absolute("remove", name)
	if err != nil {
		return err
	}
	return h.call("remove", name, false, func() error { return h.client.Remove(name) })
}

func (h *hdfsFS) RemoveAll(name string) error {
	name, err := absolute("remove", name)
	if err != nil {
		return err
	}
	return h.call("remove", name, true, func() error { return h.client.RemoveAll(name) })
}

func (h *hdfsFS) Free(name string) (int64, error) {
	name, err := absolute("statfs", name)
	if err != nil {
		return 0, err
	}
	var info hdfs.FsInfo
	err = h.call("statfs", name, true, func() (err error) {
		info, err = h.client.StatFs()
		return err
	})
	return int64(info.Remaining) / int64(max(h.replication, 1)), err
}

func (h *hdfsFS) URI(name string) string { return h.uri + name }

func (h *hdfsFS) Close() error {
	var err error
	h.closing.Do(func() {
		h.names.close()
		if err = h.client.Close(); errors.Is(err, net.ErrClosed) {
			err = nil // the connection had already ended
		}
	})
	return err
}
