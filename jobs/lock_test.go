package jobs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bulkload/internal/storage"
)

func TestLockKeepsOthersOut(t *testing.T) {
	dir := t.TempDir()
	ctx := context.Background()
	l, err := takeLock(ctx, storage.Local, dir, "tina", func(error) {})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := takeLock(ctx, storage.Local, dir, "other", func(error) {}); KindOf(err) != Later || !strings.Contains(err.Error(), "user tina") {
		t.Errorf("a second lock: %v", err)
	}
	if err := l.release(); err != nil {
		t.Fatal(err)
	}
	again, err := takeLock(ctx, storage.Local, dir, "other", func(error) {})
	if err != nil {
		t.Fatal(err)
	}
	if err := again.release(); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left in the directory: %v", left)
	}
}

// brokenFS fails to write what it has created.
type brokenFS struct{ storage.FS }

func (b brokenFS) Create(name string, perm os.FileMode) (storage.Writer, error) {
	w, err := b.FS.Create(name, perm)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(name, nil, perm); err != nil { // as HDFS shows it: there, and empty
		return nil, err
	}
	return brokenWriter{w}, nil
}

type brokenWriter struct{ storage.Writer }

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("no datanode takes it") }

// TestFailedLockIsRemoved: a lock whose writing failed keeps nobody out.
func TestFailedLockIsRemoved(t *testing.T) {
	dir := t.TempDir()
	if _, err := takeLock(context.Background(), brokenFS{storage.Local}, dir, "tina", func(error) {}); err == nil {
		t.Fatal("a lock that can't be written is taken")
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left in the directory: %v", left)
	}
	l, err := takeLock(context.Background(), storage.Local, dir, "tina", func(error) {})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.release(); err != nil {
		t.Error(err)
	}
}

func TestStaleLocks(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	me := os.Getpid()
	cases := map[string]struct {
		text  string
		age   time.Duration
		taken bool
	}{
		"living process":                 {fmt.Sprintf(`{"host":%q,"pid":%d,"process":%q}`, host, me, processStart(me)), 0, false},
		"living process, untouched":      {fmt.Sprintf(`{"host":%q,"pid":%d,"process":%q}`, host, me, processStart(me)), time.Hour, false},
		"dead process":                   {fmt.Sprintf(`{"host":%q,"pid":4194305}`, host), 0, true},
		"reused process number":          {fmt.Sprintf(`{"host":%q,"pid":%d,"process":"1@before"}`, host, me), 0, true},
		"another machine":                {`{"host":"elsewhere","pid":1}`, 9 * time.Minute, false},
		"another machine, gone":          {`{"host":"elsewhere","pid":1}`, 11 * time.Minute, true},
		"empty, from a crash":            {"", 2 * time.Minute, true},
		"damaged":                        {`{"host":"else`, 2 * time.Minute, true},
		"empty, perhaps just being made": {"", 0, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, lockName)
			if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			then := time.Now().Add(-c.age)
			if err := os.Chtimes(file, then, then); err != nil {
				t.Fatal(err)
			}
			l, err := takeLock(context.Background(), storage.Local, dir, "tina", func(error) {})
			if (err == nil) != c.taken || err != nil && KindOf(err) != Later {
				t.Errorf("taken over: %v, want %v (%v)", err == nil, c.taken, err)
			}
			if err == nil {
				if err := l.release(); err != nil {
					t.Error(err)
				}
			}
			left, _ := filepath.Glob(file + "_*")
			if len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func TestBooksCheck(t *testing.T) {
	good := Books{Read: 10, Written: 6, Rejected: 1, Duplicates: 2, Filtered: 1, CellsWritten: 11, Nulls: 1, Columns: 2}
	if err := good.check(); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*Books){
		"a row lost":        func(b *Books) { b.Written-- },
		"a reject too many": func(b *Books) { b.Rejected++ },
		"a cell lost":       func(b *Books) { b.CellsWritten-- },
		"a null too many":   func(b *Books) { b.Nulls++ },
	} {
		b := good
		change(&b)
		if err := b.check(); KindOf(err) != Differs {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestZombieHoldsNoLock: a killed process whose parent has not asked for it is gone, though its number is still there.
func TestZombieHoldsNoLock(t *testing.T) {
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	me := thisProcess("")
	o := owner{Host: me.Host, PID: child.Process.Pid, Process: processStart(child.Process.Pid)}
	if o.dead(me) || o.Process == "" {
		t.Errorf("%+v is taken for dead", o)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); !o.dead(me); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("a process that was killed and not waited for is taken for alive")
		}
	}
	_ = child.Wait() // it was killed
}
