package loading

import (
	"context"
	"errors"
	"path"
	"testing"

	"bulkload/cell"
	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/internal/test/simcluster"
	"bulkload/internal/test/testwords"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/pipeline/hfiles"
)

// killed loads the directory, and is killed after the first file that HBase has taken.
func (s *simulation) killed() {
	s.Helper()
	ctx, kill := context.WithCancel(s.Context())
	s.out.Options.Failpoint = func(p options.Point) {
		if p == options.FilesLoaded {
			kill()
		}
	}
	l := newDirectoryLoad(s.out.Dir, "t", s.client, s.ledger, nil)
	d, err := l.recovered(ctx)
	s.do(err)
	if _, err := l.load(ctx, d); !errors.Is(err, context.Canceled) {
		s.Fatalf("it was not killed: %v", err)
	}
	s.out.Options.Failpoint = nil
}

// directory does what the command does with the directory.
func (s *simulation) directory() (*LoadReport, error) {
	s.Helper()
	c := &directoryCommand{out: s.out.Dir, report: &LoadReport{Table: "t"}, cluster: s.client, ledger: s.ledger, lost: func(error) {}}
	d, err := hfiles.OpenDirectory(s.out.FS, s.out.Path)
	s.do(err)
	l := newDirectoryLoad(s.out.Dir, "t", s.client, s.ledger, nil)
	if begun, err := l.interrupted(); len(d.Files) == 0 && !begun {
		return c.report, errors.Join(err, l.checkServed(s.Context()))
	}
	return c.report, c.loadDirectory(s.Context())
}

// TestOnlyDeleteMarkers: HBase takes a file of delete markers alone, the load is killed, and a compaction removes them
// with what they hide. No client can see then that the region had the file, whether its regions may be opened again or
// not, so a person must act. The error names two ways, and both end it.
func TestOnlyDeleteMarkers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		denied bool // to open a region again
		code   errcode.Code
	}{"opened again": {false, errcode.LoadUnsure}, "not opened again": {true, errcode.LoadLost}} {
		t.Run(name, func(t *testing.T) {
			simulated(t, func(s *simulation) {
				for _, f := range s.out.Manifest.Files() {
					s.do(s.fs.Remove(path.Join(s.out.Path, f.Path)))
				}
				var markers []cell.Cell
				for _, row := range []string{"h", "i"} {
					markers = append(markers, cell.Cell{Row: []byte(row), Family: []byte("f"), Timestamp: 5, Type: cell.DeleteFamily})
				}
				s.do(s.sim.Put("t", cellOf("h")))
				name := path.Join(s.out.Path, writtenFile(t, s.out.Dir, 7, markers...).Path)
				text := s.read(name)
				s.killed()
				s.do(s.sim.Compact("t", []byte("h"), 0, true))
				if lost := s.sim.Unreadable("t", 0, []cell.Cell{cellOf("h")}); len(lost) != 1 {
					s.Fatal("the row is still there")
				}
				s.sim.DenyMoves(c.denied)
				record := newDirectoryLoad(s.out.Dir, "t", s.client, s.ledger, nil).record
				for range 2 {
					_, err := s.directory()
					remedies := []string{"delete marker", "major compaction", "into " + s.out.FS.URI(s.out.Path),
						"delete " + record.uri()}
					if failure.CodeOf(err) != c.code || !testwords.Names(err, remedies...) {
						s.Fatalf("%v, want %s", err, c.code)
					}
				}
				_, entry := storage.SplitURI(record.uri())
				recorded := s.read(entry)
				// Whoever deletes the entry may load the next files from there.
				s.do(s.fs.Remove(entry))
				s.write(name+"1", text)
				if r, err := s.directory(); err != nil || r.Load.Files != 1 {
					s.Errorf("without the entry: %+v, %v", r, err)
				}
				s.write(entry, recorded)
				s.write(name, text)
				if r, err := s.directory(); err != nil || r.Load.Files != 1 {
					s.Errorf("with the file put there once more: %+v, %v", r, err)
				}
				if _, err := s.directory(); err != nil {
					s.Errorf("and again: %v", err)
				}
			})
		})
	}
}

// TestMarkersOfALoadThatEnded: of a load that has ended, a compaction of its delete markers is no loss as long as no
// region was opened again. After that nobody knows.
func TestMarkersOfALoadThatEnded(t *testing.T) {
	simulated(t, func(s *simulation) {
		for _, f := range s.out.Manifest.Files() {
			s.do(s.fs.Remove(path.Join(s.out.Path, f.Path)))
		}
		marker := cell.Cell{Row: []byte("h"), Family: []byte("f"), Timestamp: 5, Type: cell.DeleteFamily}
		writtenFile(t, s.out.Dir, 7, marker)
		_, err := s.directory()
		s.do(err)
		s.do(s.sim.Move("t", []byte("h")))
		_, err = s.directory()
		s.do(err) // the marker is there
		s.do(s.sim.Compact("t", []byte("h"), 0, true))
		_, err = s.directory()
		if failure.CodeOf(err) != errcode.LoadUnsure || !testwords.Names(err, "delete markers") {
			s.Errorf("compacted after it was opened again: %v", err)
		}
	})
}

// TestAnotherDirectoryOfThisName: a directory and a table are made anew under the names of a load that was interrupted.
// The ledger can't tell them from the old ones, so the files that the old table took are missed. Nothing is loaded, and
// the error names the entry to delete.
func TestAnotherDirectoryOfThisName(t *testing.T) {
	simulated(t, func(s *simulation) {
		files := s.out.Manifest.Files()
		texts := map[string][]byte{}
		for _, f := range files {
			texts[f.Path] = s.read(path.Join(s.out.Path, f.Path))
		}
		s.decide = func(*simcluster.Call) (v simcluster.Verdict) {
			if s.requests > 1 {
				return refused
			}
			return v
		}
		_, err := s.directory()
		if err == nil {
			s.Fatal("it was not interrupted")
		}
		s.decide = nil
		s.do(s.sim.Drop("t"))
		s.do(s.sim.Create("t", [][]byte{[]byte("g"), []byte("p")}, simcluster.Family{Name: "f"}))
		for name, text := range texts {
			s.do(storage.RemoveIfThere(s.fs, s.out.Path, name))
			s.write(path.Join(s.out.Path, name+"2"), text)
		}
		record := newDirectoryLoad(s.out.Dir, "t", s.client, s.ledger, nil).record
		s.requests = 0
		for range 2 {
			_, err := s.directory()
			if failure.CodeOf(err) != errcode.LoadLost || !testwords.Names(err, "delete "+record.uri()) || s.requests > 0 {
				s.Fatalf("%d requests, %v", s.requests, err)
			}
		}
		_, entry := storage.SplitURI(record.uri())
		s.do(s.fs.Remove(entry))
		r, err := s.directory()
		if s.do(err); r.Load.Files != 3 {
			s.Errorf("without the entry: %+v", r)
		}
		_, err = s.directory()
		s.do(err)
	})
}
