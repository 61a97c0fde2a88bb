package loading

import (
	"cmp"
	"testing"

	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/internal/test/testwords"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/ledger"
	"bulkload/jobs/env/lock"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/output"
	"bulkload/jobs/spec/jobfile"
)

// newRun is the run "new" of a job in an output, which has done nothing yet.
func newRun(out *output.Dir, j *jobfile.Job) *output.Run {
	m := &manifest.Manifest{JobHash: "0123456789abcdef", Run: jobfile.RunInfo{ID: "new", Table: "t", Date: "2026-11-20"}}
	return &output.Run{Output: output.New(out, m), Job: j, Present: m}
}

// TestLoadedFromAnotherOutput: if the ledger has a load from an output that is gone, and the load was interrupted or
// had another input, a new load is refused.
func TestLoadedFromAnotherOutput(t *testing.T) {
	t.Parallel()
	file := []ledger.LoadedFile{{URI: "hdfs:///old/f/1", Family: "f", FirstRow: "a", LastRow: "b"}}
	for name, c := range map[string]struct {
		state    string
		files    []ledger.LoadedFile
		onChange options.OnChange
		want     errcode.Code // "" for a load that may begin
	}{
		"another input":             {ledger.Loaded, file, options.Fail, errcode.LoadOther},
		"another input, wanted":     {ledger.Loaded, file, options.Reload, ""},
		"interrupted":               {ledger.Loading, file, options.Fail, errcode.OutputUnfinished},
		"interrupted, other wanted": {ledger.Loading, file, options.Reload, errcode.OutputUnfinished},
		"an empty export":           {ledger.Loaded, nil, options.Fail, ""},
		"none":                      {"", nil, options.Fail, ""},
	} {
		out := localOutput(t, options.Options{OnChange: c.onChange})
		w := newRun(out, &jobfile.Job{Table: "t"})
		l := &Loader{Out: w.Output, Ledger: ledger.Open(storage.Local, t.TempDir())}
		if c.state != "" {
			e := &ledger.Entry{State: c.state, JobHash: "0123456789abcdef", Table: "t", Date: "2026-11-20", Run: "old", Output: "file:///gone", Files: c.files, Counts: []byte("{}"),
				Inputs: []byte(`[{"path":"/in/a"}]`)}
			if err := l.Ledger.Write(e, ""); err != nil {
				t.Fatal(err)
			}
		}
		done, err := l.LoadedElsewhere(t.Context(), w)
		if done || (err == nil) != (c.want == "") || err != nil && failure.CodeOf(err) != c.want {
			t.Errorf("%s: done %t, %v", name, done, err)
		}
	}
}

// TestALaterRunIsNotUndone: files are not loaded over those of another run of the job and date, unless their run was
// begun to replace that one, or the command says so. Nothing is sent before.
func TestALaterRunIsNotUndone(t *testing.T) {
	t.Parallel()
	file := []ledger.LoadedFile{{}}
	for name, c := range map[string]struct {
		entry    ledger.Entry
		corrects string
		onChange options.OnChange
		code     errcode.Code
	}{
		"another run":          {ledger.Entry{Run: "another", Files: file}, "", "", errcode.LoadOther},
		"one that is not done": {ledger.Entry{Run: "another", Files: file, State: ledger.Loading}, "", "", errcode.LoadOther},
		"its own":              {ledger.Entry{Run: "run", Files: file}, "", "", ""},
		"the one it corrects":  {ledger.Entry{Run: "another", Files: file}, "another", "", ""},
		"an empty run":         {ledger.Entry{Run: "another"}, "", "", ""},
		"as the command says":  {ledger.Entry{Run: "another", Files: file}, "", options.Reload, ""},
	} {
		t.Run(name, func(t *testing.T) {
			simulated(t, func(s *simulation) {
				m := s.out.Manifest
				m.Run.ID, m.Corrects, s.out.Options.OnChange = "run", c.corrects, c.onChange
				c.entry.State = cmp.Or(c.entry.State, ledger.Loaded)
				c.entry.Table, c.entry.Date, c.entry.JobHash = "t", m.Run.Date, m.JobHash
				c.entry.Counts, c.entry.Inputs = []byte("{}"), []byte("[]")
				s.do(s.ledger.Write(&c.entry, ""))
				_, err := s.load(s.loader())
				if c.code == "" {
					s.do(err)
				}
				if failure.CodeOf(err) != c.code && err != nil || (c.code != "") != (err != nil && s.requests == 0) {
					s.Errorf("%d requests, %v; want %q", s.requests, err, c.code)
				}
			})
		})
	}
}

// TestWhatIsCorrected: a new run records which run of its job and date it replaces, if the command may replace that
// one. A run that does not load records the same: its files may be loaded later.
func TestWhatIsCorrected(t *testing.T) {
	t.Parallel()
	begun := &manifest.Manifest{State: manifest.Writing, Run: jobfile.RunInfo{ID: "old"}, Slices: []manifest.RecordedSlice{{}}}
	loaded := &manifest.Manifest{State: manifest.Loaded, Run: jobfile.RunInfo{ID: "before"}, Slices: []manifest.RecordedSlice{{}}}
	for name, c := range map[string]struct {
		state     string // of the ledger's entry, of run "old"
		options   options.Options
		replaced  *manifest.Manifest
		continues bool // a run that an earlier process began
		want      string
	}{
		"nothing was loaded":                         {"", options.Options{}, nil, false, ""},
		"loaded, and the output is gone":             {ledger.Loaded, options.Options{}, nil, false, ""},
		"loaded, gone, and a reload is wanted":       {ledger.Loaded, options.Options{OnChange: options.Reload}, nil, false, "old"},
		"loaded, gone, and forced":                   {ledger.Loaded, options.Options{Force: true}, nil, false, "old"},
		"interrupted, gone, and a reload is wanted":  {ledger.Loading, options.Options{OnChange: options.Reload}, nil, false, ""},
		"interrupted, gone, and forced":              {ledger.Loading, options.Options{Force: true}, nil, false, "old"},
		"loaded, and the output's run is replaced":   {ledger.Loaded, options.Options{OnChange: options.Reload}, begun, false, "old"},
		"loaded, and known by the output alone":      {"", options.Options{OnChange: options.Reload}, loaded, false, "before"},
		"not loaded, and known by the output alone":  {"", options.Options{OnChange: options.Reload}, begun, false, ""},
		"of the output and the ledger's, the latter": {ledger.Loaded, options.Options{OnChange: options.Reload}, loaded, false, "old"},
		"loaded, and the forced run goes on":         {ledger.Loaded, options.Options{Force: true}, nil, true, ""},
	} {
		for _, load := range []bool{true, false} {
			dir := t.TempDir()
			c.options.NoLoad, c.options.Properties = !load, map[string]string{"bulkload.ledger.dir": "file://" + dir}
			out := localOutput(t, c.options)
			w := newRun(out, &jobfile.Job{Table: "t", Output: "hdfs:///out", Load: true})
			if w.Continues = c.continues; c.replaced != nil {
				w.Present = c.replaced
			}
			l := &Loader{Out: w.Output}
			known := ledger.Open(storage.Local, dir)
			if load { // with the ledger that the run has, and not that which the site names by now
				known = ledger.Open(storage.Local, t.TempDir())
				l.Ledger = known
			}
			if c.state != "" {
				e := &ledger.Entry{State: c.state, JobHash: "0123456789abcdef", Table: "t", Date: "2026-11-20", Run: "old", Output: "file:///gone", Files: []ledger.LoadedFile{{}},
					Counts: []byte("{}"), Inputs: []byte("[]")}
				if err := known.Write(e, ""); err != nil {
					t.Fatal(err)
				}
			}
			if err := l.Corrects(w); err != nil || w.Manifest.Corrects != c.want {
				t.Errorf("%s, load %t: it corrects %q, want %q, %v", name, load, w.Manifest.Corrects, c.want, err)
			}
		}
	}
}

// TestLoadedFromAnotherOutputNow: while a load of the job and date from another output is under way, this one is to be
// tried again later. When that process has ended without an end of its load, the load was interrupted.
func TestLoadedFromAnotherOutputNow(t *testing.T) {
	t.Parallel()
	out := localOutput(t, options.Options{})
	w := newRun(out, &jobfile.Job{Table: "t"})
	other := t.TempDir()
	l := &Loader{Out: w.Output, Ledger: ledger.Open(storage.Local, t.TempDir())}
	e := &ledger.Entry{State: ledger.Loading, JobHash: "0123456789abcdef", Table: "t", Date: "2026-11-20", Run: "old", Output: storage.Local.URI(other),
		Files: []ledger.LoadedFile{{URI: "file:///other/f/1", Family: "f", FirstRow: "a", LastRow: "b"}}, Counts: []byte("{}"), Inputs: []byte("[]")}
	if err := l.Ledger.Write(e, ""); err != nil {
		t.Fatal(err)
	}
	wantCode := func(what string, want errcode.Code, by string) {
		t.Helper()
		done, err := l.LoadedElsewhere(t.Context(), w)
		if done || failure.CodeOf(err) != want || !testwords.Names(err, e.Output, by) {
			t.Errorf("%s: done %t, %v", what, done, err)
		}
	}
	wantCode("no output", errcode.OutputUnfinished, "interrupted")
	lock, err := lock.Acquire(t.Context(), storage.Local, other, lock.Request{User: "tina", Lost: func(error) {}})
	if err != nil {
		t.Fatal(err)
	}
	wantCode("a process works there", errcode.TableBusy, "user tina")
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	wantCode("no load", errcode.OutputUnfinished, "interrupted")
	ended := *e
	ended.State = ledger.Loaded
	if err := l.Ledger.Write(&ended, ""); err != nil {
		t.Fatal(err)
	}
	err = l.refuseUnfinished(e)
	if failure.CodeOf(err) != errcode.TableBusy || !testwords.Names(err, e.Output, "ended") {
		t.Errorf("ends meanwhile: %v", err)
	}
}
