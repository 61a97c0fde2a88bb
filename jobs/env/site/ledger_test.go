package site

import (
	"io/fs"
	"path/filepath"
	"syscall"
	"testing"

	"bulkload/internal/storage"
	"bulkload/internal/test/testwords"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/spec/jobfile"
)

// noFolders is a file system in which no folder can be made.
type noFolders struct {
	storage.FS
	err error
}

func (f noFolders) MkdirAll(name string, _ fs.FileMode) error {
	return &fs.PathError{Op: "mkdir", Path: name, Err: f.err}
}

// TestLedgerThatCannotBeOpened: where a person must do something, the error names the property; a failing disk is a
// failure.
func TestLedgerThatCannotBeOpened(t *testing.T) {
	for cause, want := range map[syscall.Errno]failure.Kind{
		syscall.EACCES: failure.Refused, syscall.EROFS: failure.Refused, syscall.ENOTDIR: failure.Refused, syscall.ENOSPC: failure.Refused, syscall.EIO: failure.Failed,
	} {
		o := options.Options{Properties: map[string]string{ledgerProperty: filepath.Join(t.TempDir(), "ledger")},
			Storage: func(fsys storage.FS) storage.FS { return noFolders{fsys, cause} }}
		s, err := Open(o, jobfile.HBase{}, false)
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.OpenLedger()
		kind := failure.KindOf(err)
		if kind != want || testwords.Names(err, "-D "+ledgerProperty) != (want == failure.Refused) {
			t.Errorf("%v: kind %d, want %d: %v", cause, kind, want, err)
		}
	}
}
