package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// losingFS fails the first file that is written, in Write or in Close, as HDFS does if a DataNode fails. With left the
// file can't be removed then, as if the NameNode did not answer.
type losingFS struct {
	FS
	inClose, left bool
	created       int
}

type losingWriter struct {
	FileWriter
	inClose, left bool
}

var errLost = fmt.Errorf("%w: %w", ErrUnavailable, ErrDataNode)

func (w losingWriter) Write(p []byte) (int, error) {
	if w.inClose {
		return w.FileWriter.Write(p)
	}
	return 0, errLost
}

func (w losingWriter) Close() error { return errLost }

func (w losingWriter) Abort() error {
	if w.left {
		return errors.Join(w.FileWriter.Close(), ErrUnavailable)
	}
	return w.FileWriter.Abort()
}

func (f *losingFS) Create(name string, perm fs.FileMode) (FileWriter, error) {
	w, err := f.FS.Create(name, perm)
	if f.created++; f.created == 1 && err == nil {
		return losingWriter{w, f.inClose, f.left}, nil
	}
	return w, err
}

// TestSmallFilesAreWrittenAgain: a DataNode that fails costs a second try, and leaves nothing else.
func TestSmallFilesAreWrittenAgain(t *testing.T) {
	t.Parallel()
	for _, failing := range []losingFS{{FS: Local}, {FS: Local, inClose: true}, {FS: Local, left: true}} {
		for what, write := range map[string]func(fsys FS, name string) error{
			"create":  func(fsys FS, name string) error { return CreateFile(fsys, name, []byte("new")) },
			"replace": func(fsys FS, name string) error { return ReplaceFileAs(fsys, name, name+".temp", []byte("new"), 0o600) },
		} {
			t.Run(fmt.Sprint(what, failing.inClose, failing.left), func(t *testing.T) {
				t.Parallel()
				name, fsys := filepath.Join(t.TempDir(), "file"), failing
				if err := write(&fsys, name); err != nil {
					t.Fatal(err)
				}
				content, err := os.ReadFile(name)
				left, err2 := os.ReadDir(filepath.Dir(name))
				if err := errors.Join(err, err2); err != nil || string(content) != "new" || len(left) != 1 {
					t.Errorf("%v, %q, %v", err, content, left)
				}
			})
		}
	}
	if err := CreateFile(Local, t.TempDir(), nil); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a name that is taken: %v", err)
	}
}
