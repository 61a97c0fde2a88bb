package loading

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"bulkload/internal/storage"
)

// statFails is a file system on which looking at one file fails.
type statFails struct {
	storage.FS
	name string // how the file's name ends
	err  error
}

func (f *statFails) Stat(name string) (storage.Info, error) {
	if strings.HasSuffix(name, f.name) {
		return storage.Info{}, &fs.PathError{Op: "stat", Path: name, Err: f.err}
	}
	return f.FS.Stat(name)
}

// TestAFileThatCantBeSeenIsNotGone: "nothing to do" wants to know that no file came back from an interrupted load. A look at a file that
// fails does not say so, whichever file it is, even if the table serves the rows of all of them.
func TestAFileThatCantBeSeenIsNotGone(t *testing.T) {
	simulated(t, func(s *simulation) {
		files := s.out.Manifest.Files()
		s.out.Manifest = nil
		l := newDirectoryLoad(s.out, "t", s.client, s.ledger, nil)
		d, err := l.recovered(s.Context())
		s.do(err)
		_, err = l.load(s.Context(), d)
		s.do(err)
		s.do(l.checkServed(s.Context()))
		for _, f := range files {
			for _, cause := range []error{syscall.EACCES, syscall.EIO, storage.ErrUnavailable} {
				s.out.FS = &statFails{storage.Local, f.Path, cause}
				if err := l.checkServed(s.Context()); !errors.Is(err, cause) || !strings.Contains(err.Error(), f.Path) {
					s.Errorf("looking at %s fails, %v: %v", f.Path, cause, err)
				}
			}
		}
	})
}
