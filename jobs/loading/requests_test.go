package loading

import (
	"path"
	"testing"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/env/lock"
	"bulkload/jobs/pipeline/output"
)

// lookedFS calls looked when the lock has been opened.
type lookedFS struct {
	storage.FS
	looked func()
}

func (l lookedFS) Open(name string) (storage.File, error) {
	f, err := l.FS.Open(name)
	if path.Base(name) == lock.LockName {
		l.looked()
	}
	return f, err
}

// TestNoRequestAfterAStop: a process that is stopped for ten minutes while it looks at the lock sends no request when it
// wakes up, because another one may have its files by now.
func TestNoRequestAfterAStop(t *testing.T) {
	stop := false
	var l *lock.DirectoryLock
	fsys := lookedFS{storage.Local, func() {
		if stop {
			l.SetTouched(time.Now().Add(-lock.LockStale))
		}
	}}
	dir := t.TempDir()
	l, err := lock.Acquire(t.Context(), fsys, dir, lock.Request{User: "tina", Lost: func(error) {}})
	if err != nil {
		t.Fatal(err)
	}
	r := &requests{out: &output.Dir{FS: l.Guarded(), Path: dir, Lock: l}}
	if err := r.check(); err != nil {
		t.Errorf("without a stop: %v", err)
	}
	if stop = true; failure.CodeOf(r.check()) != errcode.RunAgain {
		t.Error("with a stop, a request is sent")
	}
	if err := l.Release(); err != nil {
		t.Error(err)
	}
}
