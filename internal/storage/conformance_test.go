package storage

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"path"
	"slices"
	"testing"
	"time"
)

// conforms checks a file system against the documentation of FS, in the empty directory root.
func conforms(t *testing.T, fsys FS, root string) {
	for _, c := range []struct {
		name string
		test func(t *testing.T, fsys FS, dir string)
	}{
		{"write and read back", writesAndReadsBack},
		{"small and large writes", takesWritesOfAnySize},
		{"reads at any place", readsAtAnyPlace},
		{"reads independently", readsIndependently},
		{"create", createsOnlyNewFiles},
		{"abort", abortLeavesNothing},
		{"use after close", refusesUseAfterClose},
		{"stat and list", describesFiles},
		{"directories", makesDirectories},
		{"rename", renamesToFreeNamesOnly},
		{"replace", replacesFiles},
		{"remove", removes},
		{"relative names", refusesRelativeNames},
		{"names of all kinds", takesNamesOfAllKinds},
		{"free", saysWhatIsFree},
		{"side by side", worksSideBySide},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := path.Join(root, path.Base(t.Name()))
			check(t, fsys.MkdirAll(dir, 0))
			c.test(t, fsys, dir)
		})
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wants checks an error's kind, and that it is a *fs.PathError.
func wants(t *testing.T, err, kind error) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("got error %v, want %v", err, kind)
	}
	if _, ok := err.(*fs.PathError); err != nil && !ok {
		t.Errorf("error %v is a %T, want *fs.PathError", err, err)
	}
}

func write(t *testing.T, fsys FS, name string, content []byte) {
	t.Helper()
	w, err := fsys.Create(name, 0)
	check(t, err)
	n, err := w.Write(content)
	check(t, err)
	if n != len(content) {
		t.Fatalf("wrote %d bytes of %d", n, len(content))
	}
	check(t, w.Close())
}

func read(t *testing.T, fsys FS, name string) []byte {
	t.Helper()
	f, err := fsys.Open(name)
	check(t, err)
	defer f.Close()
	content, err := io.ReadAll(f)
	check(t, err)
	if int64(len(content)) != f.Size() {
		t.Errorf("read %d bytes, Size says %d", len(content), f.Size())
	}
	return content
}

func noise(n int) []byte {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func writesAndReadsBack(t *testing.T, fsys FS, dir string) {
	for _, size := range []int{0, 1, 511, 512, 65536, writeBuffer, writeBuffer + 1, 3 << 20} {
		name := path.Join(dir, "f")
		write(t, fsys, name, noise(size))
		if !bytes.Equal(read(t, fsys, name), noise(size)) {
			t.Errorf("%d bytes come back differently", size)
		}
		check(t, fsys.Remove(name))
	}
}

func takesWritesOfAnySize(t *testing.T, fsys FS, dir string) {
	want := noise(2<<20 + 77)
	name := path.Join(dir, "f")
	w, err := fsys.Create(name, 0)
	check(t, err)
	rest := want
	for i := 0; len(rest) > 0; i++ {
		n := min([]int{1, 7, 70_000, 300_000, 0}[i%5], len(rest))
		_, err := w.Write(rest[:n])
		check(t, err)
		rest = rest[n:]
	}
	check(t, w.Close())
	if !bytes.Equal(read(t, fsys, name), want) {
		t.Error("content differs")
	}
}

func readsAtAnyPlace(t *testing.T, fsys FS, dir string) {
	want := noise(1<<20 + 3)
	name := path.Join(dir, "f")
	write(t, fsys, name, want)
	f, err := fsys.Open(name)
	check(t, err)
	defer f.Close()
	head := make([]byte, 1000)
	_, err = io.ReadFull(f, head)
	check(t, err)
	buf := make([]byte, 200_000)
	// forward with and without gaps (small, large), the same again, backward
	for _, at := range []struct{ off, n int }{{0, 10}, {10, 70_000}, {70_010, 5}, {70_100, 512}, {135_000, 66_000},
		{600_000, 1}, {600_000, 1}, {599_999, 3}, {1, 2}, {len(want) - 5, 5}, {300_000, 200_000}} {
		n, err := f.ReadAt(buf[:at.n], int64(at.off))
		if err != nil && (err != io.EOF || at.off+at.n < len(want)) || !bytes.Equal(buf[:n], want[at.off:at.off+at.n]) {
			t.Errorf("ReadAt %d+%d: %d bytes, %v; content equal: %t", at.off, at.n, n, err, bytes.Equal(buf[:n], want[at.off:at.off+n]))
		}
	}
	if n, err := f.ReadAt(buf[:10], int64(len(want)-4)); n != 4 || err != io.EOF {
		t.Errorf("ReadAt over the end: %d, %v", n, err)
	}
	if n, err := f.ReadAt(buf[:10], int64(len(want)+4)); n != 0 || err != io.EOF {
		t.Errorf("ReadAt after the end: %d, %v", n, err)
	}
	if _, err := f.ReadAt(buf[:10], -1); err == nil || err == io.EOF {
		t.Errorf("ReadAt before the start: %v", err)
	}
	rest, err := io.ReadAll(f)
	check(t, err)
	if !bytes.Equal(rest, want[1000:]) {
		t.Error("ReadAt moved Read")
	}
	if n, err := f.Read(buf); n != 0 || err != io.EOF {
		t.Errorf("Read at the end: %d, %v", n, err)
	}
}

func readsIndependently(t *testing.T, fsys FS, dir string) {
	name := path.Join(dir, "f")
	write(t, fsys, name, []byte("abcdef"))
	a, err := fsys.Open(name)
	check(t, err)
	defer a.Close()
	b, err := fsys.Open(name)
	check(t, err)
	var buf [3]byte
	_, err = io.ReadFull(a, buf[:])
	check(t, err)
	_, err = io.ReadFull(b, buf[:])
	check(t, err)
	check(t, b.Close())
	if string(buf[:]) != "abc" {
		t.Errorf("the second reader got %q", buf)
	}
	_, err = io.ReadFull(a, buf[:])
	check(t, err)
	if string(buf[:]) != "def" {
		t.Errorf("the first reader went on with %q", buf)
	}
}

func createsOnlyNewFiles(t *testing.T, fsys FS, dir string) {
	name := path.Join(dir, "f")
	write(t, fsys, name, []byte("first"))
	_, err := fsys.Create(name, 0)
	wants(t, err, fs.ErrExist)
	if got := read(t, fsys, name); string(got) != "first" {
		t.Errorf("a refused Create left %q", got)
	}
	_, err = fsys.Create(path.Join(dir, "no/f"), 0)
	wants(t, err, fs.ErrNotExist)
	_, err = fsys.Create(dir, 0)
	wants(t, err, fs.ErrExist)
	w, err := fsys.Create(path.Join(dir, "private"), 0o600)
	check(t, err)
	_, err = fsys.Create(path.Join(dir, "private"), 0o600)
	wants(t, err, fs.ErrExist) // while it is still being written, too
	check(t, w.Close())
	st, err := fsys.Stat(path.Join(dir, "private"))
	check(t, err)
	if st.Mode.Perm() != 0o600 {
		t.Errorf("mode %v, want 0600", st.Mode)
	}
}

// showsNothingUnfinished: a file that is being written exists, and is empty. That is so on HDFS, where the NameNode learns
// of a block when it is finished, and not on a local disk.
func showsNothingUnfinished(t *testing.T, fsys FS, dir string) {
	name := path.Join(dir, "f")
	w, err := fsys.Create(name, 0)
	check(t, err)
	_, err = w.Write(noise(3 * writeBuffer / 2))
	check(t, err)
	st, err := fsys.Stat(name)
	check(t, err)
	if got := read(t, fsys, name); len(got) > 0 || st.Size > 0 {
		t.Errorf("of a file that is being written, %d bytes are read, and its size is %d", len(got), st.Size)
	}
	check(t, w.Close())
}

func abortLeavesNothing(t *testing.T, fsys FS, dir string) {
	for _, size := range []int{0, 10, 1 << 20} {
		name := path.Join(dir, "f")
		w, err := fsys.Create(name, 0)
		check(t, err)
		_, err = w.Write(noise(size))
		check(t, err)
		check(t, w.Abort())
		_, err = fsys.Stat(name)
		wants(t, err, fs.ErrNotExist)
		check(t, w.Abort())
		if w.Close() == nil {
			t.Error("Close after Abort says the file is there")
		}
	}
	name := path.Join(dir, "done")
	w, err := fsys.Create(name, 0)
	check(t, err)
	check(t, w.Close())
	check(t, w.Abort())
	_, err = fsys.Stat(name)
	check(t, err)
}

func refusesUseAfterClose(t *testing.T, fsys FS, dir string) {
	w, err := fsys.Create(path.Join(dir, "f"), 0)
	check(t, err)
	check(t, w.Close())
	if _, err := w.Write([]byte("x")); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Write after Close: %v", err)
	}
	check(t, w.Close())
}

func describesFiles(t *testing.T, fsys FS, dir string) {
	begun := time.Now().Add(-time.Minute)
	write(t, fsys, path.Join(dir, "b"), []byte("12345"))
	write(t, fsys, path.Join(dir, "_a"), nil)
	check(t, fsys.MkdirAll(path.Join(dir, "c/d"), 0))
	infos, err := fsys.ReadDir(dir)
	check(t, err)
	var names []string
	for _, i := range infos {
		names = append(names, i.Name)
	}
	if !slices.Equal(names, []string{"_a", "b", "c"}) {
		t.Fatalf("listed %q", names)
	}
	b, c := infos[1], infos[2]
	if b.Size != 5 || b.Dir || b.ModTime.Before(begun) || b.ModTime.After(time.Now().Add(time.Minute)) || b.Mode.Perm() != 0o644 {
		t.Errorf("file: %+v", b)
	}
	if !c.Dir || c.Mode.Perm() != 0o755 || !c.Mode.IsDir() {
		t.Errorf("directory: %+v", c)
	}
	st, err := fsys.Stat(path.Join(dir, "b"))
	check(t, err)
	if st != b {
		t.Errorf("Stat %+v, ReadDir %+v", st, b)
	}
	_, err = fsys.Stat(path.Join(dir, "none"))
	wants(t, err, fs.ErrNotExist)
	_, err = fsys.Open(path.Join(dir, "none"))
	wants(t, err, fs.ErrNotExist)
	_, err = fsys.ReadDir(path.Join(dir, "none"))
	wants(t, err, fs.ErrNotExist)
	if _, err = fsys.ReadDir(path.Join(dir, "b")); err == nil {
		t.Error("a file was listed")
	}
	if _, err = fsys.Open(dir); err == nil {
		t.Error("a directory was opened as a file")
	}
}

func makesDirectories(t *testing.T, fsys FS, dir string) {
	check(t, fsys.MkdirAll(path.Join(dir, "x/y/z"), 0o700))
	check(t, fsys.MkdirAll(path.Join(dir, "x/y/z"), 0o755))
	st, err := fsys.Stat(path.Join(dir, "x/y/z"))
	check(t, err)
	if !st.Dir || st.Mode.Perm() != 0o700 {
		t.Errorf("made %+v", st)
	}
	for _, above := range []string{"x", "x/y"} { // other users' folders may be made there
		if st, err = fsys.Stat(path.Join(dir, above)); err != nil || st.Mode.Perm() != DirPerm {
			t.Errorf("%s, above a private directory, is %v: %v", above, st.Mode, err)
		}
	}
	write(t, fsys, path.Join(dir, "f"), nil)
	if err := fsys.MkdirAll(path.Join(dir, "f"), 0); err == nil {
		t.Error("a directory was made over a file")
	}
	if err := fsys.MkdirAll(path.Join(dir, "f/g"), 0); err == nil {
		t.Error("a directory was made below a file")
	}
}

func renamesToFreeNamesOnly(t *testing.T, fsys FS, dir string) {
	a, b := path.Join(dir, "a"), path.Join(dir, "sub/b")
	check(t, fsys.MkdirAll(path.Dir(b), 0))
	write(t, fsys, a, []byte("a"))
	check(t, fsys.Rename(a, b))
	_, err := fsys.Stat(a)
	wants(t, err, fs.ErrNotExist)
	write(t, fsys, a, []byte("new"))
	wants(t, fsys.Rename(a, b), fs.ErrExist)
	if string(read(t, fsys, a)) != "new" || string(read(t, fsys, b)) != "a" {
		t.Error("a refused Rename changed something")
	}
	wants(t, fsys.Rename(path.Join(dir, "none"), path.Join(dir, "c")), fs.ErrNotExist)
	wants(t, fsys.Rename(a, path.Join(dir, "none/c")), fs.ErrNotExist)
	check(t, fsys.MkdirAll(path.Join(dir, "empty"), 0))
	wants(t, fsys.Rename(path.Join(dir, "sub"), path.Join(dir, "empty")), fs.ErrExist)
	wants(t, fsys.Rename(a, path.Join(dir, "empty")), fs.ErrExist)
	check(t, fsys.Rename(path.Join(dir, "sub"), path.Join(dir, "moved")))
	if string(read(t, fsys, path.Join(dir, "moved/b"))) != "a" {
		t.Error("a renamed directory lost its file")
	}
}

func replacesFiles(t *testing.T, fsys FS, dir string) {
	a, b := path.Join(dir, "a"), path.Join(dir, "b")
	write(t, fsys, a, []byte("new"))
	write(t, fsys, b, []byte("old"))
	check(t, fsys.Replace(a, b))
	if string(read(t, fsys, b)) != "new" {
		t.Error("not replaced")
	}
	_, err := fsys.Stat(a)
	wants(t, err, fs.ErrNotExist)
	check(t, fsys.Replace(b, a)) // also if the name is free
	wants(t, fsys.Replace(path.Join(dir, "none"), a), fs.ErrNotExist)
}

func removes(t *testing.T, fsys FS, dir string) {
	tree := path.Join(dir, "tree")
	check(t, fsys.MkdirAll(path.Join(tree, "x"), 0))
	write(t, fsys, path.Join(tree, "x/f"), []byte("f"))
	if err := fsys.Remove(tree); err == nil {
		t.Error("Remove took a directory that is not empty")
	}
	check(t, fsys.Remove(path.Join(tree, "x/f")))
	check(t, fsys.Remove(path.Join(tree, "x")))
	wants(t, fsys.Remove(path.Join(tree, "x")), fs.ErrNotExist)
	write(t, fsys, path.Join(tree, "f"), nil)
	check(t, fsys.RemoveAll(tree))
	_, err := fsys.Stat(tree)
	wants(t, err, fs.ErrNotExist)
	check(t, fsys.RemoveAll(tree))
}

func refusesRelativeNames(t *testing.T, fsys FS, dir string) {
	_, err := fsys.Open("f")
	wants(t, err, ErrRelative)
	_, err = fsys.Create("f", 0)
	wants(t, err, ErrRelative)
	wants(t, fsys.Rename("f", path.Join(dir, "g")), ErrRelative)
	wants(t, fsys.Rename(path.Join(dir, "g"), "f"), ErrRelative)
	wants(t, fsys.Replace("f", path.Join(dir, "g")), ErrRelative)
	wants(t, fsys.Replace(path.Join(dir, "g"), "f"), ErrRelative)
	_, err = fsys.Stat("f")
	wants(t, err, ErrRelative)
	_, err = fsys.ReadDir("f")
	wants(t, err, ErrRelative)
	wants(t, fsys.Remove("f"), ErrRelative)
	wants(t, fsys.MkdirAll("", 0), ErrRelative)
	wants(t, fsys.RemoveAll("f"), ErrRelative)
}

func takesNamesOfAllKinds(t *testing.T, fsys FS, dir string) {
	for _, name := range []string{"a b", "规则", "a%20b", "a+b=c", ".hidden", "x#y?z", "a//b/../c"} {
		check(t, fsys.MkdirAll(path.Join(dir, "a"), 0))
		full := dir + "/" + name
		write(t, fsys, full, []byte(name))
		if string(read(t, fsys, path.Clean(full))) != name {
			t.Errorf("%q is not found under its clean name", name)
		}
	}
}

func saysWhatIsFree(t *testing.T, fsys FS, dir string) {
	free, err := fsys.Free(path.Join(dir, "not/yet/there"))
	check(t, err)
	if free < 1<<20 || free > 1<<60 {
		t.Errorf("free: %d", free)
	}
}

func worksSideBySide(t *testing.T, fsys FS, dir string) {
	failed := make(chan error, 4)
	for i := range cap(failed) {
		go func() { failed <- roundTrip(fsys, path.Join(dir, string(rune('a'+i))), noise(300_000+i)) }()
	}
	for range cap(failed) {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
}

func roundTrip(fsys FS, name string, content []byte) error {
	w, err := fsys.Create(name+".tmp", 0)
	if err != nil {
		return err
	}
	if _, err := w.Write(content); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	if err := fsys.Rename(name+".tmp", name); err != nil {
		return err
	}
	f, err := fsys.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	got, err := io.ReadAll(f)
	if err == nil && !bytes.Equal(got, content) {
		err = errors.New("content differs: " + name)
	}
	return err
}
