package verify

import (
	"fmt"
	"slices"

	"bulkload/internal/printable"
	"bulkload/internal/storage"
	"bulkload/jobs/existing"
	"bulkload/jobs/jobfile"
	"bulkload/jobs/manifest"
	"bulkload/jobs/site"
	"bulkload/jobs/target"
)

// leftOut are the rows that a run did not write because the table had them (duplicates.live: skip). They are not compared.
type leftOut struct {
	fs    storage.FS
	dir   string
	found *manifest.Existing // nil: all rows are compared
	owned bool               // fs is to be closed
}

// open finds them in an output, if the run has left out any. Their keys are kept by the run's regions, so the comparison
// has the same.
func (l *leftOut) open(fsys storage.FS, dir string, m *manifest.Manifest, t *target.Target) error {
	if !m.Existing.LeftOut() {
		return nil
	}
	if !slices.Equal(m.Splits, printable.All(t.Splits)) {
		splits, err := m.Boundaries()
		if err != nil {
			return err
		}
		if err := t.SetSplits(splits, t.Layout.Wide); err != nil {
			return err
		}
	}
	l.fs, l.dir, l.found = fsys, dir, m.Existing
	return existing.Check(fsys, dir, m.Existing)
}

// of opens the keys of a region; nil if there are none.
func (l *leftOut) of(region int) (*existing.Keys, error) {
	if l.found == nil {
		return nil, nil
	}
	return existing.Open(l.fs, l.dir, l.found, region)
}

func (l *leftOut) close() error {
	if !l.owned {
		return nil
	}
	return l.fs.Close()
}

// openLeftOut finds the rows that the job's last run has left out, for a comparison with the table.
func (v *outputVerifier) openLeftOut(s *site.Site) error {
	if v.job.Live != jobfile.LiveSkip {
		return nil
	}
	fsys, dir, err := s.Resolve(v.job.Output, v.job.Dir)
	if err != nil {
		return fmt.Errorf("open the output %s: %w", v.job.Output, err)
	}
	v.leftOut.fs, v.leftOut.owned = fsys, true
	m, err := manifest.Read(fsys, dir)
	if err != nil || m == nil || m.JobHash != v.job.Hash() || m.Run.Date != v.job.DateText() {
		return err
	}
	return v.leftOut.open(fsys, dir, m, v.target)
}
