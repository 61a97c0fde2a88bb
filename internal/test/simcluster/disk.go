package simcluster

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/storage"
)

// Disk is an HDFS that exists only in memory, as a NameNode shows it: a file is empty until it is closed, a rename is
// one step, and in safe mode nothing changes. Clients use it through Client.FS; what people and HBase do to it are
// calls of methods, which never fail for want of a NameNode.
type Disk struct {
	mu          sync.Mutex
	nodes       map[string]*node                      // by absolute path
	safe        bool                                  // in safe mode
	full        bool                                  // its quota is used up
	noDataNodes bool                                  // no DataNode answers
	noNameNode  bool                                  // the NameNode does not answer
	byOthers    func(name string, text []byte) []byte // see SeenByOthers; nil: nothing is changed
}

// node is a file or a folder.
type node struct {
	dir    bool
	data   []byte // never changed in place
	time   time.Time
	owner  string
	perm   fs.FileMode
	writer *Client // that has the file open; nil: it is closed
	by     *Client // that has made it
	// written is what DataNodes have of an open file. The NameNode does not know of it before the file is closed.
	written   []byte
	abandoned bool // its writer was killed
}

// close ends the writing of a file.
func (n *node) close() {
	n.data, n.written, n.writer, n.time = n.written, nil, nil, time.Now()
}

// lease is how long the NameNode waits for a writer that is gone, before it closes the file
// (dfs.namenode.lease-hard-limit-sec).
const lease = 20 * time.Minute

// URI is that of the disk's root: hdfs://sim.
const URI = "hdfs://sim"

// NewDisk makes an empty disk.
func NewDisk() *Disk { return &Disk{nodes: map[string]*node{"/": {dir: true}}} }

// Copy is a disk with the same content. Files that are being written are closed, and as long as they are now.
func (d *Disk) Copy() *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	same := NewDisk()
	for name, n := range d.nodes {
		one := *n
		one.writer, one.written, one.abandoned = nil, nil, false
		same.nodes[name] = &one
	}
	return same
}

// SafeMode makes the NameNode refuse every change, or ends that.
func (d *Disk) SafeMode(on bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.safe = on
}

// Fill makes the NameNode refuse every new file and folder, because a quota is used up, or ends that.
func (d *Disk) Fill(on bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.full = on
}

// NoDataNodes makes all DataNodes refuse to read and write, or ends that.
func (d *Disk) NoDataNodes(on bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.noDataNodes = on
}

// NoNameNode makes the NameNode's process hang, so that it answers nobody, or ends that. Afterwards overdue leases end.
func (d *Disk) NoNameNode(on bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.noNameNode = on
}

// SeenByOthers changes what a client reads of a file that another one has made which still runs.
func (d *Disk) SeenByOthers(change func(name string, text []byte) []byte) { d.byOthers = change }

// checkDataNodes is an error if no DataNode answers.
func (d *Disk) checkDataNodes(op, name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.noDataNodes {
		return &fs.PathError{Op: op, Path: name, Err: unavailable("no DataNode answers")}
	}
	return nil
}

// CopyFile copies a file, and makes the folder of the copy.
func (d *Disk) CopyFile(name, other string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, err := d.file(name)
	if err == nil {
		err = d.mkdirAll(path.Dir(other), n.owner, storage.DirPerm)
	}
	if err == nil {
		same := *n
		same.writer, same.written, same.abandoned = nil, nil, false
		d.nodes[other] = &same
	}
	return err
}

// Restore puts a folder of another disk in place of the one of the same name.
func (d *Disk) Restore(folder string, from *Disk) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.remove(folder, true); err != nil {
		return err
	}
	for name, n := range from.Copy().nodes {
		if name == folder || storage.Below(folder, name) {
			d.nodes[name] = n
		}
	}
	return nil
}

// abandon leaves the files that a client has open to the NameNode, which closes them when their lease ends.
func (d *Disk) abandon(writer *Client) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, n := range d.nodes {
		if n.writer == writer && !n.abandoned {
			n.abandoned = true
			time.AfterFunc(lease, func() { d.endLease(n) })
		}
	}
}

// endLeases closes the files that a client has open, after it has been stopped for so long that the NameNode takes it for
// gone. It reports whether there was one, and whether the NameNode can close files now.
func (d *Disk) endLeases(writer *Client) (closed, able bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.endsLeases() {
		return false, false
	}
	for _, n := range d.nodes {
		if n.writer == writer && !n.abandoned {
			n.close()
			closed = true
		}
	}
	return closed, true
}

// endsLeases reports whether the NameNode can close files, for which it needs the DataNodes.
func (d *Disk) endsLeases() bool { return !d.safe && !d.noDataNodes && !d.noNameNode }

func (d *Disk) endLease(n *node) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.endsLeases() {
		time.AfterFunc(time.Minute, func() { d.endLease(n) })
		return
	}
	n.close()
}

// FS is the disk as a user sees it, past the gate: a function given to Watch may use it.
func (d *Disk) FS(user string) storage.FS {
	return clientFS{d, &Client{User: user, cluster: new(Cluster)}}
}

// Names lists the files in a folder and below it, in order.
func (d *Disk) Names(folder string) (names []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for name, n := range d.nodes {
		if !n.dir && storage.Below(folder, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Read returns the content of a file.
func (d *Disk) Read(name string) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, err := d.file(name)
	if err != nil {
		return nil, err
	}
	return n.data, nil
}

func (d *Disk) file(name string) (*node, error) {
	n := d.nodes[name]
	switch {
	case n == nil:
		return nil, fs.ErrNotExist
	case n.dir:
		return nil, syscall.EISDIR
	}
	return n, nil
}

func (d *Disk) create(name string, writer *Client, perm fs.FileMode) (*node, error) {
	up := d.nodes[path.Dir(name)]
	switch {
	case up == nil:
		return nil, fs.ErrNotExist
	case !up.dir:
		return nil, syscall.ENOTDIR
	case d.nodes[name] != nil:
		return nil, fs.ErrExist
	}
	up.time = time.Now()
	n := &node{time: up.time, owner: writer.User, perm: perm, writer: writer, by: writer}
	d.nodes[name] = n
	return n, nil
}

// mkdirAll makes a folder and those above it.
func (d *Disk) mkdirAll(name, owner string, perm fs.FileMode) error {
	switch n := d.nodes[name]; {
	case n == nil:
	case n.dir:
		return nil
	default:
		return syscall.ENOTDIR
	}
	if err := d.mkdirAll(path.Dir(name), owner, storage.DirPerm); err != nil {
		return err
	}
	d.nodes[path.Dir(name)].time = time.Now()
	d.nodes[name] = &node{dir: true, time: time.Now(), owner: owner, perm: perm}
	return nil
}

// move renames a file or folder. With over it may replace a file.
func (d *Disk) move(from, to string, over bool) error {
	n, up, old := d.nodes[from], d.nodes[path.Dir(to)], d.nodes[to]
	switch {
	case n == nil || up == nil:
		return fs.ErrNotExist
	case !up.dir:
		return syscall.ENOTDIR
	case from == to:
		return nil
	case old != nil && (!over || old.dir):
		return fs.ErrExist
	case storage.Below(from, to):
		return fs.ErrInvalid
	}
	d.nodes[path.Dir(from)].time, up.time = time.Now(), time.Now()
	for _, name := range slices.Collect(maps.Keys(d.nodes)) {
		if storage.Below(from, name) {
			d.nodes[to+strings.TrimPrefix(name, from)] = d.nodes[name]
			delete(d.nodes, name)
		}
	}
	d.nodes[to] = n
	delete(d.nodes, from)
	return nil
}

func (d *Disk) remove(name string, all bool) error {
	n := d.nodes[name]
	if n == nil {
		if all {
			return nil
		}
		return fs.ErrNotExist
	}
	for other := range d.nodes {
		if storage.Below(name, other) {
			if !all {
				return syscall.ENOTEMPTY
			}
			delete(d.nodes, other)
		}
	}
	delete(d.nodes, name)
	if up := d.nodes[path.Dir(name)]; up != nil {
		up.time = time.Now()
	}
	return nil
}

func (n *node) info(name string) storage.Info {
	mode := n.perm
	if n.dir {
		mode |= fs.ModeDir
	}
	return storage.Info{Name: path.Base(name), Size: int64(len(n.data)), ModTime: n.time, Dir: n.dir, Mode: mode, Owner: n.owner}
}

// clientFS is the disk as a client uses it: each call waits at the cluster's gate.
type clientFS struct {
	disk   *Disk
	client *Client
}

// do makes a call, whose effect gets the clean form of the name. A change is refused in safe mode.
func (f clientFS) do(op, name string, change bool, effect func(d *Disk, name string) error) error {
	failed := func(err error) error {
		if err != nil {
			err = &fs.PathError{Op: op, Path: name, Err: err}
		}
		return err
	}
	if !path.IsAbs(name) {
		return failed(storage.ErrRelative)
	}
	name = path.Clean(name)
	v := f.client.pass(op, name)
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if v == Refused || f.disk.noNameNode {
		return failed(unavailable("the NameNode did not answer"))
	}
	if f.client.isDead() {
		return failed(errKilled)
	}
	if change && f.disk.safe {
		return failed(unavailable("Name node is in safe mode"))
	}
	if f.disk.full && (op == "create" || op == "mkdir" && f.disk.nodes[name] == nil) {
		return failed(errcode.HDFSQuota.New("NSQuotaExceededException: simulated"))
	}
	err := effect(f.disk, name)
	if v == Lost && err == nil {
		err = unavailable("the answer of the NameNode was lost")
	}
	return failed(err)
}

// errKilled is the error of each call of a client that was killed. Nobody sees it.
var errKilled = errors.New("the client was killed")

func unavailable(why string) error {
	return fmt.Errorf("%w: %s: %s", storage.ErrUnavailable, URI, why)
}

func (f clientFS) Open(name string) (file storage.File, err error) {
	err = f.do("open", name, false, func(d *Disk, name string) error {
		n, err := d.file(name)
		if err == nil {
			text := n.data
			if d.byOthers != nil && n.by != nil && n.by != f.client && n.by.runs() {
				text = d.byOthers(name, text)
			}
			file = openFile{bytes.NewReader(text), d, name}
		}
		return err
	})
	return file, err
}

// openFile reads a file as it was when it was opened.
type openFile struct {
	content *bytes.Reader
	disk    *Disk
	name    string
}

func (f openFile) Size() int64 { return f.content.Size() }

func (f openFile) Read(b []byte) (int, error) {
	if err := f.disk.checkDataNodes("read", f.name); err != nil {
		return 0, err
	}
	return f.content.Read(b)
}

func (f openFile) ReadAt(b []byte, off int64) (int, error) {
	if err := f.disk.checkDataNodes("read", f.name); err != nil {
		return 0, err
	}
	return f.content.ReadAt(b, off)
}

func (openFile) Close() error { return nil }

func (f clientFS) Create(name string, perm fs.FileMode) (w storage.FileWriter, err error) {
	err = f.do("create", name, true, func(d *Disk, name string) error {
		n, err := d.create(name, f.client, cmp.Or(perm, storage.FilePerm))
		w = &fileWriter{fs: f, name: name, node: n}
		return err
	})
	if err != nil {
		return nil, err
	}
	return w, nil
}

// buffer is how much the real writer collects before it sends something to a DataNode, in bytes.
const buffer = 128 << 10

// fileWriter writes a file, under whatever name the file has by then. It ends like the real writer: after a failure it
// fails again, and Abort removes what has the name now.
type fileWriter struct {
	fs     clientFS
	name   string
	node   *node
	text   []byte
	closed bool
	err    error // of the first call that failed
}

func (w *fileWriter) Write(b []byte) (int, error) {
	if w.closed {
		return 0, w.failed(fs.ErrClosed)
	}
	if w.err != nil {
		return 0, w.err
	}
	w.text = append(w.text, b...)
	w.err = w.send(len(w.text) / buffer * buffer)
	return len(b), w.err
}

func (w *fileWriter) failed(err error) error {
	return &fs.PathError{Op: "write", Path: w.name, Err: err}
}

// send sends the text's first n bytes to DataNodes, unless they have them already.
func (w *fileWriter) send(n int) error {
	d := w.fs.disk
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case w.fs.client.isDead():
		return w.failed(errKilled)
	case n == len(w.node.written):
		return nil
	case d.noDataNodes:
		return w.failed(fmt.Errorf("%w: %w", storage.ErrDataNode, unavailable("no DataNode answers")))
	case w.node.writer != w.fs.client:
		return w.failed(fmt.Errorf("%w: %w", storage.ErrUnavailable, storage.ErrLeaseLost))
	}
	w.node.written = slices.Clip(w.text[:n])
	return nil
}

// has reports whether the file still exists, perhaps by another name: a writer completes the file that it has opened
// (FSDirWriteFileOp.completeFileInternal, by the file's id).
func (d *Disk) has(file *node) bool {
	for _, n := range d.nodes {
		if n == file {
			return true
		}
	}
	return false
}

func (w *fileWriter) Close() error {
	if w.closed || w.err != nil {
		return w.err
	}
	w.closed = true
	if w.err = w.send(len(w.text)); w.err != nil {
		return w.err
	}
	w.err = w.fs.do("complete", w.name, true, func(d *Disk, _ string) error {
		if !d.has(w.node) || w.node.writer != w.fs.client {
			return fmt.Errorf("%w: %w", storage.ErrUnavailable, storage.ErrLeaseLost)
		}
		w.node.close()
		return nil
	})
	return w.err
}

var errAborted = errors.New("writing was given up")

func (w *fileWriter) Abort() error {
	if w.closed && w.err == nil || errors.Is(w.err, errAborted) {
		return nil
	}
	lost := errors.Is(w.err, storage.ErrLeaseLost)
	w.closed, w.err = true, w.failed(errAborted)
	if lost {
		return nil
	}
	return storage.RemoveIfThere(w.fs, w.name)
}

func (f clientFS) Stat(name string) (info storage.Info, err error) {
	err = f.do("stat", name, false, func(d *Disk, name string) error {
		n := d.nodes[name]
		if n == nil {
			return fs.ErrNotExist
		}
		info = n.info(name)
		return nil
	})
	return info, err
}

func (f clientFS) ReadDir(name string) (infos []storage.Info, err error) {
	err = f.do("list", name, false, func(d *Disk, name string) error {
		n := d.nodes[name]
		switch {
		case n == nil:
			return fs.ErrNotExist
		case !n.dir:
			return syscall.ENOTDIR
		}
		for other, n := range d.nodes {
			if path.Dir(other) == name && other != "/" {
				infos = append(infos, n.info(other))
			}
		}
		slices.SortFunc(infos, func(a, b storage.Info) int { return strings.Compare(a.Name, b.Name) })
		return nil
	})
	return infos, err
}

func (f clientFS) MkdirAll(name string, perm fs.FileMode) error {
	return f.do("mkdir", name, true, func(d *Disk, name string) error {
		return d.mkdirAll(name, f.client.User, cmp.Or(perm, storage.DirPerm))
	})
}

// Rename is two calls, as with the real client library: see storage.FS.
func (f clientFS) Rename(from, to string) error {
	if _, err := f.Stat(to); err == nil {
		return &fs.PathError{Op: "rename", Path: to, Err: fs.ErrExist}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return f.do("rename", from, true, func(d *Disk, from string) error { return d.move(from, path.Clean(to), true) })
}

func (f clientFS) Replace(from, to string) error {
	if !path.IsAbs(from) {
		return &fs.PathError{Op: "replace", Path: from, Err: storage.ErrRelative}
	}
	return f.do("replace", to, true, func(d *Disk, to string) error { return d.move(path.Clean(from), to, true) })
}

func (f clientFS) Remove(name string) error {
	return f.do("remove", name, true, func(d *Disk, name string) error { return d.remove(name, false) })
}

func (f clientFS) RemoveAll(name string) error {
	return f.do("remove all", name, true, func(d *Disk, name string) error { return d.remove(name, true) })
}

func (f clientFS) Free(string) (int64, error) { return 1 << 40, nil }

func (f clientFS) URI(name string) string { return fmt.Sprint(URI, name) }

func (f clientFS) Close() error { return nil }
