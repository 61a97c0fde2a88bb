package lock

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/internal/test/testcluster"
	"bulkload/internal/test/testwords"
	"bulkload/jobs/base/failure"
)

func TestLockKeepsOthersOut(t *testing.T) {
	dir := t.TempDir()
	ctx := context.Background()
	l, err := Acquire(ctx, storage.Local, dir, Request{User: "tina", Lost: func(error) {}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Acquire(ctx, storage.Local, dir, Request{User: "other", Lost: func(error) {}})
	if failure.CodeOf(err) != errcode.Locked || !testwords.Names(err, "user tina") {
		t.Errorf("a second lock: %v", err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	again, err := Acquire(ctx, storage.Local, dir, Request{User: "other", Lost: func(error) {}})
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Release(); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left in the directory: %v", left)
	}
}

// brokenFS fails to write what it has created.
type brokenFS struct{ storage.FS }

func (b brokenFS) Create(name string, perm os.FileMode) (storage.FileWriter, error) {
	w, err := b.FS.Create(name, perm)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(name, nil, perm); err != nil { // as HDFS shows it: there, and empty
		return nil, err
	}
	return brokenWriter{w}, nil
}

type brokenWriter struct{ storage.FileWriter }

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("no datanode takes it") }

// TestFailedLockIsRemoved: a lock whose writing failed keeps nobody out.
func TestFailedLockIsRemoved(t *testing.T) {
	dir := t.TempDir()
	if _, err := Acquire(context.Background(), brokenFS{storage.Local}, dir, Request{User: "tina", Lost: func(error) {}}); err == nil {
		t.Fatal("a lock that can't be written is taken")
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left in the directory: %v", left)
	}
	l, err := Acquire(context.Background(), storage.Local, dir, Request{User: "tina", Lost: func(error) {}})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Release(); err != nil {
		t.Error(err)
	}
}

// movedFS is one in which another run moves away the lock that is being written, and takes it.
type movedFS struct {
	storage.FS
	others []byte
	err    error // of the writer
}

func (f movedFS) Create(name string, perm os.FileMode) (storage.FileWriter, error) {
	w, err := f.FS.Create(name, perm)
	if err != nil || path.Base(name) != LockName {
		return w, err
	}
	return movedWriter{w, f, name}, nil
}

type movedWriter struct {
	storage.FileWriter
	fs   movedFS
	name string
}

func (w movedWriter) Close() error {
	return errors.Join(w.fs.err, w.FileWriter.Close(), os.Remove(w.name), os.WriteFile(w.name, w.fs.others, 0o600))
}

// TestLockMovedAway: a run whose lock is moved away while it writes it leaves the other one's lock alone, and may be
// tried again later.
func TestLockMovedAway(t *testing.T) {
	dir := t.TempDir()
	far := newOwner("otto")
	far.Host = "elsewhere"
	text, err := json.Marshal(far)
	if err != nil {
		t.Fatal(err)
	}
	for _, lost := range []error{storage.ErrLeaseLost, storage.ErrDataNode, storage.ErrUnavailable} {
		if err := os.RemoveAll(filepath.Join(dir, LockName)); err != nil {
			t.Fatal(err)
		}
		_, err = Acquire(t.Context(), movedFS{storage.Local, text, lost}, dir, Request{User: "tina", Lost: func(error) {}})
		if failure.CodeOf(err) != errcode.Locked || !testwords.Names(err, "elsewhere") {
			t.Errorf("%v: %v", lost, err)
		}
		if left, err := os.ReadFile(filepath.Join(dir, LockName)); string(left) != string(text) {
			t.Errorf("%v: the other run's lock is %q, %v", lost, left, err)
		}
	}
}

// readOnlyFS takes no new file.
type readOnlyFS struct{ storage.FS }

func (readOnlyFS) Create(name string, _ fs.FileMode) (storage.FileWriter, error) {
	return nil, &fs.PathError{Op: "create", Path: name, Err: syscall.EROFS}
}

// takenFS has a lock already, and takes no other new file.
type takenFS struct{ readOnlyFS }

func (f takenFS) Create(name string, perm fs.FileMode) (storage.FileWriter, error) {
	if path.Base(name) == LockName {
		return nil, &fs.PathError{Op: "create", Path: name, Err: fs.ErrExist}
	}
	return f.readOnlyFS.Create(name, perm)
}

// TestTrueCauses: where a folder can't be written, that is the error, and not that another run has the lock, or that
// this one has lost it for no reason.
func TestTrueCauses(t *testing.T) {
	dir := t.TempDir()
	acquire := func(fsys storage.FS) error {
		_, err := Acquire(t.Context(), fsys, dir, Request{User: "tina", Lost: func(error) {}})
		return err
	}
	if err := acquire(readOnlyFS{storage.Local}); !errors.Is(err, syscall.EROFS) || failure.CodeOf(err) == errcode.Locked {
		t.Errorf("a folder without a lock: %v", err)
	}
	far := newOwner("otto")
	far.Host = "elsewhere"
	text, err := json.Marshal(far)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, LockName), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := acquire(storage.Local); failure.CodeOf(err) != errcode.Locked {
		t.Errorf("a folder with a lock: %v", err)
	}
	err = acquire(takenFS{readOnlyFS{storage.Local}})
	if !errors.Is(err, syscall.EROFS) || failure.CodeOf(err) == errcode.Locked || !testwords.Names(err, "elsewhere") {
		t.Errorf("a folder with a lock, which can't be written: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, LockName)); err != nil {
		t.Fatal(err)
	}
	l, err := Acquire(t.Context(), storage.Local, dir, Request{User: "tina", Lost: func(error) {}})
	if err != nil {
		t.Fatal(err)
	}
	l.FS = readOnlyFS{storage.Local}
	l.SetTouched(time.Now().Add(-LockStale))
	if err := l.Touch(); failure.CodeOf(err) != errcode.RunAgain || !testwords.Names(err, syscall.EROFS.Error()) {
		t.Errorf("a lock that can't be written any more: %v", err)
	}
	if err := l.Release(); err != nil {
		t.Error(err)
	}
}

// unreadableFS can't read the files whose names contain a text.
type unreadableFS struct {
	storage.FS
	text string
}

func (f unreadableFS) Open(name string) (storage.File, error) {
	if strings.Contains(path.Base(name), f.text) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.EIO}
	}
	return f.FS.Open(name)
}

// TestUnreadableLocks: a lock that can't be read may be a living run's. It stays, or is put back if it was moved
// already.
func TestUnreadableLocks(t *testing.T) {
	for _, unreadable := range []string{LockName, "_stale_"} {
		dir := t.TempDir()
		name := filepath.Join(dir, LockName)
		if err := os.WriteFile(name, nil, 0o600); err != nil { // it names nobody, so its age decides
			t.Fatal(err)
		}
		if err := os.Chtimes(name, time.Time{}, time.Now().Add(-2*lockBlank)); err != nil {
			t.Fatal(err)
		}
		if l, err := Acquire(t.Context(), unreadableFS{storage.Local, unreadable}, dir, Request{User: "tina", Lost: func(error) {}}); !errors.Is(err, syscall.EIO) {
			t.Errorf("%s: the lock is %v, %v", unreadable, l, err)
		}
		_ = os.Remove(filepath.Join(dir, TempDir)) // if it is empty
		if left, err := os.ReadDir(dir); err != nil || len(left) != 1 || left[0].Name() != LockName {
			t.Errorf("%s: left in the directory: %v, %v", unreadable, left, err)
		}
		l, err := Acquire(t.Context(), storage.Local, dir, Request{User: "tina", Lost: func(error) {}})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Release(); err != nil {
			t.Error(err)
		}
	}
}

// hold has this process hold a lock.
func hold(t *testing.T, token string) {
	heldHere.Store(token, true)
	t.Cleanup(func() { heldHere.Delete(token) })
}

// stuckFS deletes nothing.
type stuckFS struct{ storage.FS }

func (stuckFS) Remove(string) error { return errors.New("no NameNode answers") }

// TestLockThatStays: a lock that could not be deleted does not keep out another run of the same process.
func TestLockThatStays(t *testing.T) {
	if systemProcesses.namespaces() == "" {
		testcluster.Without(t, "needs a system with a /proc that names namespaces: without it no owner can be seen")
	}
	dir := t.TempDir()
	first, err := Acquire(t.Context(), stuckFS{storage.Local}, dir, Request{User: "tina", Lost: func(error) {}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Acquire(t.Context(), storage.Local, dir, Request{User: "tina", Lost: func(error) {}}); failure.KindOf(err) != failure.Later {
		t.Errorf("while it is held: %v", err)
	}
	if err := first.Release(); err == nil {
		t.Error("the lock was released")
	}
	second, err := Acquire(t.Context(), storage.Local, dir, Request{User: "tina", Lost: func(error) {}})
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Release(); err != nil {
		t.Error(err)
	}
}

// TestStaleLocks: a lock is taken over at once where its owner is certainly gone, never where it certainly lives, and
// by its age where neither can be seen from here.
func TestStaleLocks(t *testing.T) {
	me := newOwner("otto")
	if me.Boot == "" || me.Namespaces == "" {
		testcluster.Without(t, "needs a system with a /proc that names boots and namespaces: without it no owner can be seen")
	}
	const token = "0123456789abcdef"
	hold(t, token)
	held := func(change func(*Owner)) string {
		o := me
		o.Token = token
		change(&o)
		text, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	const gone = 4194305 // beyond the largest number of a process
	byAge := func(name, text string, limit time.Duration, says string) (young, old lockCase) {
		return lockCase{name, text, limit - time.Minute/2, false, says}, lockCase{name + ", old", text, limit + time.Minute/2, true, ""}
	}
	cases := []lockCase{
		{"living process", held(func(*Owner) {}), 0, false, "is running"},
		{"living process, untouched", held(func(*Owner) {}), time.Hour, false, "is running"},
		{"this process, which is done with it", held(func(o *Owner) { o.Token = "fedcba9876543210" }), 0, true, ""},
		{"dead process", held(func(o *Owner) { o.PID = gone }), 0, true, ""},
		{"reused process number", held(func(o *Owner) { o.Process = "1@" + o.Boot }), 0, true, ""},
	}
	for _, c := range []struct {
		name, text string
		limit      time.Duration
		says       string
	}{
		{"another machine", held(func(o *Owner) { o.Host, o.PID = "elsewhere", gone }), LockStale, "on another machine"},
		{"another boot, or machine of the name", held(func(o *Owner) { o.Boot, o.PID = "before", gone }), LockStale,
			"same name"},
		{"another container", held(func(o *Owner) { o.Namespaces, o.PID = "pid:[1]", gone }), LockStale, "another container"},
		{"another bulkload's, of this boot", held(func(o *Owner) { o.Boot, o.Namespaces, o.Token, o.PID = "", "", "", gone }), LockStale, "does not say"},
		{"another bulkload's, alive", held(func(o *Owner) { o.Boot, o.Namespaces, o.Token = "", "", "" }), LockStale, "does not say"},
		{"no start", held(func(o *Owner) { o.Process = "" }), LockStale, "not show it"},
		{"empty, from a crash or just being made", "", lockBlank, "who it is"},
		{"damaged", `{"host":"else`, lockBlank, "who it is"},
		{"another format's", `{"format": 2, "holder": {"pid": 1}}`, LockStale, "who it is"},
		{"another format's, of other types", `{"pid": "1@elsewhere"}`, LockStale, "who it is"},
		{"null", "null", LockStale, "who it is"},
	} {
		young, old := byAge(c.name, c.text, c.limit, c.says)
		cases = append(cases, young, old)
	}
	for _, c := range cases {
		t.Run(c.name, c.run)
	}
	of := func(output string) string { return held(func(o *Owner) { o.Output = output }) }
	for _, c := range []lockCase{
		{"another output's", of("hdfs:///b"), 0, false, "is running"},
		{"another output's, nearly old", of("hdfs:///b"), LockStale - time.Minute/2, false, "is running"},
		{"another output's, whose process is stopped", of("hdfs:///b"), LockStale + time.Minute/2, true, ""},
		{"this output's, whose lock was taken over", of("hdfs:///a"), 0, true, ""},
		{"no turn", of(""), time.Hour, false, "is running"},
	} {
		t.Run("turn, "+c.name, func(t *testing.T) {
			c.acquire(t, func(dir string) (*DirectoryLock, error) {
				return Acquire(t.Context(), storage.Local, dir, Request{User: "tina", Purpose: "a load", Output: "hdfs:///a", Lost: func(error) {}})
			})
		})
	}
}

// otherClock is a file system whose clock is ahead of ours. It counts the files that are made to ask for the time.
type otherClock struct {
	storage.FS
	ahead  time.Duration
	probes int
}

func (f *otherClock) Create(name string, perm fs.FileMode) (storage.FileWriter, error) {
	if strings.Contains(name, "_probe_") {
		f.probes++
	}
	return f.FS.Create(name, perm)
}

func (f *otherClock) Stat(name string) (storage.Info, error) {
	info, err := f.FS.Stat(name)
	info.ModTime = info.ModTime.Add(f.ahead)
	return info, err
}

// TestWaitingAsksForNoTime: a run that waits for a lock makes no file as long as the lock is touched; and whatever the
// difference of the clocks, an old lock is taken over, and a young one is not.
func TestWaitingAsksForNoTime(t *testing.T) {
	t.Parallel()
	me := newOwner("otto")
	if me.Boot == "" || me.Namespaces == "" {
		testcluster.Without(t, "needs a system with a /proc that names boots and namespaces: without it no owner can be seen")
	}
	me.Token, me.Output = "00112233445566aa", "hdfs:///b"
	hold(t, me.Token)
	text, err := json.Marshal(me)
	if err != nil {
		t.Fatal(err)
	}
	for _, ahead := range []time.Duration{0, time.Hour, -time.Hour, 24 * time.Hour} {
		fsys := &otherClock{FS: storage.Local, ahead: ahead}
		for _, c := range []lockCase{{text: string(text), age: time.Minute, says: "is running"},
			{text: string(text), age: LockStale + time.Minute/2, taken: true}} {
			c.acquire(t, func(dir string) (*DirectoryLock, error) {
				return Acquire(t.Context(), fsys, dir, Request{User: "tina", Purpose: "a load", Output: "hdfs:///a", Lost: func(error) {}})
			})
			if ahead == 0 && !c.taken && fsys.probes > 0 {
				t.Errorf("%d files were made to ask for the time", fsys.probes)
			}
		}
	}
}

// lockCase is a lock that another one has left, and what becomes of it.
type lockCase struct {
	name, text string
	age        time.Duration
	taken      bool
	says       string
}

func (c lockCase) run(t *testing.T) {
	c.acquire(t, func(dir string) (*DirectoryLock, error) {
		return Acquire(context.Background(), storage.Local, dir, Request{User: "tina", Lost: func(error) {}})
	})
}

func (c lockCase) acquire(t *testing.T, acquire func(dir string) (*DirectoryLock, error)) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, LockName)
	if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
		t.Fatal(err)
	}
	then := time.Now().Add(-c.age)
	if err := os.Chtimes(file, then, then); err != nil {
		t.Fatal(err)
	}
	l, err := acquire(dir)
	if (err == nil) != c.taken || err != nil &&
		(failure.CodeOf(err) != errcode.Locked || !testwords.Names(err, c.says)) {
		t.Errorf("taken over: %v, want %v (%v)", err == nil, c.taken, err)
	}
	if err == nil {
		if err := l.Release(); err != nil {
			t.Error(err)
		}
	} else if text, _ := os.ReadFile(file); string(text) != c.text {
		t.Errorf("the lock was changed to %s", text)
	}
	if left, _ := filepath.Glob(file + "_*"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestZombieHoldsNoLock: a killed process whose parent has not asked for it is gone, though its number is still there.
func TestZombieHoldsNoLock(t *testing.T) {
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	p := systemProcesses
	me := p.self()
	o := me
	o.PID = child.Process.Pid
	if o.Process = p.start(fmt.Sprint(o.PID)); o.Process == "" || me.Namespaces == "" {
		testcluster.Without(t, "needs a system with a /proc that shows processes")
	}
	if f, why := p.liveness(o, me); f != alive {
		t.Errorf("%+v is taken for %d (%s)", o, f, why)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	fateOf := func() liveness { f, _ := p.liveness(o, me); return f }
	for end := time.Now().Add(10 * time.Second); fateOf() != dead; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("a process that was killed and not waited for is taken for alive")
		}
	}
	_ = child.Wait() // it was killed
}

// shownProc is a /proc as another one than the system's.
func shownProc(t *testing.T, files map[string]string) processes {
	t.Helper()
	p := processes{proc: t.TempDir(), signal: func(int) error { return nil }}
	for name, content := range files {
		name = filepath.Join(p.proc, name)
		err := os.MkdirAll(filepath.Dir(name), 0o700)
		if target, link := strings.CutPrefix(content, "->"); link {
			err = errors.Join(err, os.Symlink(target, name))
		} else {
			err = errors.Join(err, os.WriteFile(name, []byte(content), 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func procFiles(pid int) map[string]string {
	stat := strings.Repeat("0 ", 18) + "777 0\n"
	return map[string]string{
		"sys/kernel/random/boot_id": "boot\n", "self/stat": "1 (a (b) c) S " + stat, "42/stat": "42 (x) S " + stat,
		"self/status": fmt.Sprintf("Name:\tx\nNSpid:\t%d\nThreads:\t1\n", pid), "self/ns/pid": "->pid:[7]", "self/ns/time": "->time:[8]",
	}
}

// TestHiddenProcesses: where /proc hides the processes of other users (hidepid), or signals are refused, an owner is
// neither dead nor alive.
func TestHiddenProcesses(t *testing.T) {
	files := procFiles(os.Getpid())
	p := shownProc(t, files)
	me := p.self()
	if me.Boot != "boot" || me.Namespaces != "pid:[7] time:[8]" || me.Process != "777@boot" {
		t.Fatalf("this process is %+v", me)
	}
	for _, c := range []struct {
		what   string
		signal error
		pid    int
		start  string
		want   liveness
	}{
		{"shown", nil, 42, "777@boot", alive},
		{"shown, another user's", syscall.EPERM, 42, "777@boot", alive},
		{"hidden, another user's", syscall.EPERM, 43, "777@boot", unknown},
		{"hidden", nil, 43, "777@boot", unknown},
		{"refused for no reason", syscall.EACCES, 43, "777@boot", unknown},
		{"another one with its number", nil, 42, "776@boot", dead},
		{"gone", syscall.ESRCH, 43, "777@boot", dead},
	} {
		p.signal = func(int) error { return c.signal }
		o := me
		o.PID, o.Process = c.pid, c.start
		if f, why := p.liveness(o, me); f != c.want {
			t.Errorf("%s: %d (%s), want %d", c.what, f, why, c.want)
		}
	}
}

// TestProcOfAnotherNamespace: a container that sees its host's /proc reads of other processes than its numbers mean: it
// knows nothing of any owner.
func TestProcOfAnotherNamespace(t *testing.T) {
	for what, change := range map[string]func(map[string]string){
		"the host's /proc": func(f map[string]string) {
			f["self/status"] = fmt.Sprintf("Name:\tx\nNSpid:\t%d\t%d\n", 5, os.Getpid())
		},
		"not a number": func(f map[string]string) { f["self/status"] = "Name:\tx\n" },
		"no namespace": func(f map[string]string) { delete(f, "self/ns/pid") },
		"no /proc":     func(f map[string]string) { clear(f) },
	} {
		files := procFiles(os.Getpid())
		change(files)
		p := shownProc(t, files)
		p.signal = func(int) error { return syscall.ESRCH }
		me := p.self()
		if f, why := p.liveness(me, me); f != unknown || why == "" {
			t.Errorf("%s: %d (%s)", what, f, why)
		}
	}
}

const lockEnvironment = "BULKLOAD_TEST_LOCK"

// TestLockChild is the process of the test below: it locks a directory, says how that went, and waits.
func TestLockChild(t *testing.T) {
	dir := os.Getenv(lockEnvironment)
	if dir == "" {
		t.Skip("runs as a child of TestLockInAnotherContainer")
	}
	_, err := Acquire(context.Background(), storage.Local, dir, Request{User: "tina", Lost: func(error) {}})
	fmt.Printf("child: kind %d, %v\n", failure.KindOf(err), err)
	_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed
}

// lockElsewhere runs the child in a PID namespace of its own, on a host of the same name, and gives what it says.
func lockElsewhere(t *testing.T, dir string) (says string, kill func()) {
	t.Helper()
	args := []string{"--pid", "--fork", "--mount-proc", "--kill-child"}
	if os.Geteuid() != 0 {
		args = append(args, "--user", "--map-root-user")
	}
	if out, err := exec.Command("unshare", append(args, "true")...).CombinedOutput(); err != nil {
		testcluster.Without(t, fmt.Sprintf("needs a system that lets this user make PID namespaces: %v: %s", err, out))
	}
	cmd := exec.Command("unshare", append(args, os.Args[0], "-test.run=^TestLockChild$")...)
	cmd.Env = append(os.Environ(), lockEnvironment+"="+dir)
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	kill = sync.OnceFunc(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	t.Cleanup(kill)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "child: ") {
			return lines.Text(), kill
		}
	}
	t.Fatal("the child says nothing")
	return "", nil
}

// TestLockInAnotherContainer: two containers on hosts of one name, which see none of the other's processes, keep each
// other out, and the host that both run on too. When one is killed, its lock is taken over by its age.
func TestLockInAnotherContainer(t *testing.T) {
	dir := t.TempDir()
	says, kill := lockElsewhere(t, dir)
	if says != "child: kind 0, <nil>" {
		t.Fatal(says)
	}
	if says, _ := lockElsewhere(t, dir); !strings.HasPrefix(says, fmt.Sprintf("child: kind %d", failure.Later)) || !strings.Contains(says, "another container") {
		t.Errorf("a second container: %s", says)
	}
	refused := func(what string) {
		t.Helper()
		_, err := Acquire(context.Background(), storage.Local, dir, Request{User: "otto", Lost: func(error) {}})
		if failure.CodeOf(err) != errcode.Locked || !testwords.Names(err, "another container") {
			t.Errorf("%s: %v", what, err)
		}
	}
	refused("the host")
	kill()
	refused("when it was killed just now")
	then := time.Now().Add(-LockStale - time.Second)
	if err := os.Chtimes(filepath.Join(dir, LockName), then, then); err != nil {
		t.Fatal(err)
	}
	if says, _ := lockElsewhere(t, dir); says != "child: kind 0, <nil>" {
		t.Errorf("later: %s", says)
	}
}

// locksOfOneProcess locks a directory twice: the first lock is deleted before the second one is taken.
func locksOfOneProcess(t *testing.T, dir string) (first, second *DirectoryLock) {
	t.Helper()
	take := func() *DirectoryLock {
		l, err := Acquire(t.Context(), storage.Local, dir, Request{User: "tina", Lost: func(error) {}})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	first = take()
	if err := os.Remove(filepath.Join(dir, LockName)); err != nil {
		t.Fatal(err)
	}
	return first, take()
}

// TestLocksOfOneProcess: two locks of one process, taken within a second, are not taken for each other.
func TestLocksOfOneProcess(t *testing.T) {
	first, second := locksOfOneProcess(t, t.TempDir())
	if err := first.Check(); failure.KindOf(err) != failure.Later {
		t.Errorf("the first one's lock is ours still: %v", err)
	}
	if err := errors.Join(first.Release(), second.Check(), second.Release()); err != nil {
		t.Error(err)
	}
}

// leaveOldLock leaves the lock of an owner that has not touched it for so long that others may take it over. It returns
// the lock's path.
func leaveOldLock(t *testing.T, dir string, held Owner) string {
	t.Helper()
	name := filepath.Join(dir, LockName)
	text, err := json.Marshal(held)
	then := time.Now().Add(-LockStale - time.Minute)
	if err := errors.Join(err, os.WriteFile(name, text, 0o600), os.Chtimes(name, then, then)); err != nil {
		t.Fatal(err)
	}
	return name
}

// killedFS is the file system of a process that is killed after its first rename.
type killedFS struct {
	storage.FS
	killed bool
}

func (k *killedFS) Rename(from, to string) error {
	if k.killed {
		return errKilled
	}
	k.killed = true
	return k.FS.Rename(from, to)
}

func (k *killedFS) Open(name string) (storage.File, error) {
	if k.killed {
		return nil, errKilled
	}
	return k.FS.Open(name)
}

var errKilled = errors.New("killed")

// TestTemporaryFilesHaveOwners: who takes a lock removes the temporary files of those that are gone, and no others. Here
// the process that took the lock from its former owner was killed before it did.
func TestTemporaryFilesHaveOwners(t *testing.T) {
	me := newOwner("tina")
	if me.Namespaces == "" {
		testcluster.Without(t, "needs a system with a /proc that names namespaces: without it no owner can be seen")
	}
	dir := t.TempDir()
	folder := func(token string, age time.Duration, o *Owner) string {
		name := filepath.Join(dir, TempDir, token)
		text, err := json.Marshal(o)
		if err == nil {
			err = errors.Join(os.MkdirAll(name, 0o700), os.WriteFile(filepath.Join(name, "file"), nil, 0o600))
		}
		if o != nil {
			err = errors.Join(err, os.WriteFile(filepath.Join(name, OwnerName), text, 0o600))
		}
		then := time.Now().Add(-age)
		if err = errors.Join(err, os.Chtimes(name, then, then)); err != nil {
			t.Fatal(err)
		}
		return name
	}
	hold(t, me.Token)
	living, gone, elsewhere := me, me, me
	gone.PID, elsewhere.Host = 4194305, "elsewhere"
	held := elsewhere
	held.Token = "00000000000000aa"
	stays := map[string]bool{
		folder("0000000000000001", time.Hour, &living):                    true,
		folder("0000000000000002", 0, &gone):                              false,
		folder("0000000000000003", LockStale-time.Minute, &elsewhere):     true,
		folder("0000000000000004", LockStale+time.Minute, &elsewhere):     false,
		folder("0000000000000005", 0, nil):                                true, // which is just being made
		folder("0000000000000006", LockStale+time.Minute, nil):            false,
		folder(held.Token, 0, &held):                                      false, // whose lock is taken over
		folder(gone.Token+".00000000000000cc", 0, &living):                false, // moved away by another process
		folder("not of a run, in a directory of somebody else's", 0, nil): true,
	}
	leaveOldLock(t, dir, held)
	o := Request{User: "tina", Lost: func(error) {}}
	if _, err := Acquire(context.Background(), &killedFS{FS: storage.Local}, dir, o); !errors.Is(err, errKilled) {
		t.Errorf("a process that is killed when it has moved the lock away: %v", err)
	}
	l, err := Acquire(context.Background(), storage.Local, dir, o)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range stays {
		if _, err := os.Stat(name); (err == nil) != want {
			t.Errorf("%s is there: %v, want %v", name, err == nil, want)
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, TempDir, staleName+"*")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if err := l.Release(); err != nil {
		t.Error(err)
	}
}

// listingFS does something before .tmp is listed.
type listingFS struct {
	storage.FS
	before func()
}

func (l listingFS) ReadDir(dir string) ([]storage.Info, error) {
	if filepath.Base(dir) == TempDir {
		l.before()
	}
	return l.FS.ReadDir(dir)
}

// TestTakeoversMeet: a process takes the lock of a living run for the one it saw before, and puts it back after that run
// has looked for temporary files. The run still has its lock.
func TestTakeoversMeet(t *testing.T) {
	dir := t.TempDir()
	name, moved := filepath.Join(dir, LockName), filepath.Join(dir, TempDir, staleName+"00000000000000aa")
	l, err := Acquire(t.Context(), listingFS{storage.Local, func() {
		if err := errors.Join(os.Mkdir(filepath.Dir(moved), 0o700), os.Rename(name, moved)); err != nil {
			t.Error(err)
		}
	}}, dir, Request{User: "tina", Lost: func(error) {}})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Check(); failure.CodeOf(err) != errcode.RunAgain {
		t.Errorf("the run whose lock is moved: %v", err)
	}
	if err := errors.Join(os.Rename(moved, name), l.Check(), l.Release()); err != nil {
		t.Error(err)
	}
}

// swappedFS has another run's lock in place of the one that is renamed first.
type swappedFS struct {
	storage.FS
	text []byte // nil once it is there
}

func (s *swappedFS) Rename(from, to string) error {
	if s.text != nil && filepath.Base(from) == LockName {
		if err := os.WriteFile(from, s.text, 0o600); err != nil {
			return err
		}
		s.text = nil
	}
	return s.FS.Rename(from, to)
}

// TestLockOfAnotherIsPutBack: between a look at the lock of a run that is gone and its removal, another run takes the
// lock.
func TestLockOfAnotherIsPutBack(t *testing.T) {
	dir := t.TempDir()
	gone, other := newOwner("tina"), newOwner("tina")
	gone.Host, other.Host = "elsewhere", "elsewhere"
	name := leaveOldLock(t, dir, gone)
	after, err := json.Marshal(other)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Acquire(t.Context(), &swappedFS{storage.Local, after}, dir, Request{User: "tina", Lost: func(error) {}}); failure.CodeOf(err) != errcode.Locked {
		t.Errorf("locked: %v", err)
	}
	if now, err := os.ReadFile(name); err != nil || !bytes.Equal(now, after) {
		t.Errorf("the lock is %s, %v", now, err)
	}
	if left, err := os.ReadDir(filepath.Join(dir, TempDir)); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestFolderAfterATakeover: a run that is stopped before it has a folder for temporary files gets none when it wakes up
// and another one has its lock, because nobody would move that folder away.
func TestFolderAfterATakeover(t *testing.T) {
	first, second := locksOfOneProcess(t, t.TempDir())
	if temps, err := first.TempFolder(); failure.CodeOf(err) != errcode.RunAgain {
		t.Errorf("the first one's folder: %q, %v", temps, err)
	}
	// A run that renewed its lock while another one took it over has the lock, but not its folder.
	temps, err := second.TempFolder()
	if err := errors.Join(err, os.RemoveAll(temps), second.Check()); err != nil {
		t.Error(err)
	}
	if _, err := os.Create(filepath.Join(temps, "file")); failure.CodeOf(second.Explain(err)) != errcode.RunAgain {
		t.Errorf("a file in a folder that was moved away: %v", second.Explain(err))
	}
	if err := errors.Join(first.Release(), second.Release()); err != nil {
		t.Error(err)
	}
}

// TestRecordOfATakeoverStays: a record that can't be removed could be put back later, so nobody has the lock until it is
// removed. The former owner's files are out of its way in any case.
func TestRecordOfATakeoverStays(t *testing.T) {
	dir := t.TempDir()
	held := newOwner("tina")
	held.Host = "elsewhere"
	temps := filepath.Join(dir, TempDir, held.Token)
	leaveOldLock(t, dir, held)
	if err := os.MkdirAll(temps, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Acquire(t.Context(), stuckFS{storage.Local}, dir, Request{User: "tina", Lost: func(error) {}}); err == nil {
		t.Error("locked")
	}
	if _, err := os.Stat(temps); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the former owner's files: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, TempDir, staleName+"*")); err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
}
