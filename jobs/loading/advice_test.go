package loading

import (
	"bytes"
	"path"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/errcode"
	"bulkload/internal/test/testwords"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/load"
)

// TestAdviceOfEachCommand: what is wrong with an output is said by the job's run and by load DIR. Only run has --force,
// so load DIR names the command that writes the files again.
func TestAdviceOfEachCommand(t *testing.T) {
	t.Parallel()
	const command = "bulkload run payments.yaml --date 2026-11-20 --force"
	for name, c := range map[string]struct {
		want errcode.Code
		find func(s *simulation, l *Loader) error
	}{
		"rows are lost": {errcode.LoadLost, func(s *simulation, l *Loader) error {
			s.do(s.sim.TruncateRegion("t", []byte("h")))
			return l.CheckServed(s.Context())
		}},
		"nobody knows": {errcode.LoadUnsure, func(s *simulation, l *Loader) error {
			l.Out.Manifest.SetMissing([]load.RowRange{{First: []byte("a"), Last: []byte("z")}})
			return l.CheckServed(s.Context())
		}},
		"another run was loaded since": {errcode.LoadOther, func(s *simulation, l *Loader) error {
			e, err := l.Entry()
			s.do(err)
			e.Run = "another"
			s.do(l.Ledger.Write(e, ""))
			return l.CheckServed(s.Context())
		}},
		"a changed byte": {errcode.HFileCorrupt, func(s *simulation, l *Loader) error {
			return s.verified(l, func(name string) {
				text := bytes.Clone(s.read(name))
				text[strings.Index(string(text), "\x01h\x01fq")+1] ^= 1
				s.write(name, text)
			})
		}},
		"another file": {errcode.HFileCorrupt, func(s *simulation, l *Loader) error {
			return s.verified(l, func(name string) {
				s.write(name, s.read(path.Join(l.Out.Path, l.Out.Manifest.Files()[0].Path)))
			})
		}},
		"an altered family": {errcode.OutputChanged, func(s *simulation, l *Loader) error {
			l.Out.Manifest.Files()[1].Loaded = false
			l.Out.Manifest.Families["f"] = "other settings"
			return checkSettings(l.Out, s.table())
		}},
		"too many files": {errcode.FilesLimit, func(s *simulation, l *Loader) error {
			first := &l.Out.Manifest.Slices[0]
			first.Files[0].Loaded = false
			first.Files = slices.Repeat(first.Files, 1000)
			return newOutputLoad(l, nil).checkUnloadedCounts(s.table())
		}},
	} {
		for how, byJob := range map[string]bool{"run": true, "load DIR": false} {
			t.Run(name+"/"+how, func(t *testing.T) {
				simulated(t, func(s *simulation) {
					s.out.Manifest.Run.Job, s.out.Manifest.Run.Date = "payments.yaml", "2026-11-20"
					if name == "a changed byte" || name == "another file" {
						s.do(s.out.Save())
					} else {
						_, err := s.load(s.loader())
						s.do(err)
					}
					l := s.loader()
					l.Out.ByJob = byJob
					err := c.find(s, l)
					if failure.CodeOf(err) != c.want || testwords.Names(err, "payments.yaml") == byJob ||
						!testwords.Names(err, "--force") {
						s.Errorf("%v, want %s", err, c.want)
					}
					if text := strings.ReplaceAll(err.Error(), command, ""); !byJob && strings.Contains(text, "--force") {
						s.Errorf("--force of another command than %s: %v", command, err)
					}
				})
			})
		}
	}
}

// verified damages the output's second file and verifies all of them, as before a load.
func (s *simulation) verified(l *Loader, damage func(name string)) error {
	s.Helper()
	if l.Out.Manifest.State != manifest.Written {
		s.Fatal("the files are loaded")
	}
	damage(path.Join(l.Out.Path, l.Out.Manifest.Files()[1].Path))
	return VerifyBeforeLoad(s.Context(), l.Out)
}
