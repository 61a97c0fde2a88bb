package loading

import (
	"testing"

	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/jobs/failure"
	"bulkload/jobs/jobfile"
	"bulkload/jobs/ledger"
	"bulkload/jobs/manifest"
	"bulkload/jobs/options"
)

// TestLoadedFromAnotherOutput: if the ledger has a load from an output that is gone, and the load was interrupted or had
// another input, a new load is refused.
func TestLoadedFromAnotherOutput(t *testing.T) {
	t.Parallel()
	file := []ledger.File{{URI: "hdfs:///old/f/1", Family: "f", FirstRow: "a", LastRow: "b"}}
	for name, c := range map[string]struct {
		state    string
		files    []ledger.File
		onChange options.OnChange
		want     errcode.Code // "" for a load that may begin
	}{
		"another input":             {ledger.Loaded, file, options.Fail, errcode.LoadOther},
		"another input, wanted":     {ledger.Loaded, file, options.Reload, ""},
		"interrupted":               {ledger.Loading, file, options.Fail, errcode.LoadInterrupted},
		"interrupted, other wanted": {ledger.Loading, file, options.Reload, errcode.LoadInterrupted},
		"an empty export":           {ledger.Loaded, nil, options.Fail, ""},
		"none":                      {"", nil, options.Fail, ""},
	} {
		out := localOutput(t, options.Options{OnChange: c.onChange})
		out.Job = &jobfile.Job{Table: "t"}
		out.Manifest = &manifest.Manifest{JobHash: "0123456789abcdef", Run: jobfile.RunInfo{ID: "new", Table: "t", Date: "2026-11-20"}}
		l := &Loader{Out: out, Ledger: ledger.Open(storage.Local, t.TempDir())}
		if c.state != "" {
			e := &ledger.Entry{State: c.state, JobHash: "0123456789abcdef", Table: "t", Date: "2026-11-20", Run: "old", Files: c.files, Books: []byte("{}"),
				Inputs: []byte(`[{"path":"/in/a"}]`)}
			if err := l.Ledger.Write(e); err != nil {
				t.Fatal(err)
			}
		}
		done, err := l.LoadedElsewhere(t.Context())
		if done || (err == nil) != (c.want == "") || err != nil && failure.CodeOf(err) != c.want {
			t.Errorf("%s: done %t, %v", name, done, err)
		}
	}
}
