package output

import (
	"encoding/json"
	"fmt"
	"path"
	"time"

	"bulkload/ingest"
	"bulkload/internal/storage"
	"bulkload/jobs/base/options"
	"bulkload/jobs/pipeline/manifest"
)

// Output is a directory with the manifest of the run that writes or wrote it.
type Output struct {
	*Dir
	Manifest *manifest.Manifest
	ByJob    bool // the command has the job, so it can write files again

	earlier map[string]bool // the files that the manifest named at first; other processes have written them
}

// New returns the output of the run that a manifest describes, for a command that does not have the run's job.
func New(d *Dir, m *manifest.Manifest) *Output {
	w := &Output{Dir: d}
	w.begin(m)
	return w
}

// begin sets the manifest. Earlier processes have written the files that it names.
func (w *Output) begin(m *manifest.Manifest) {
	w.Manifest, w.earlier = m, map[string]bool{}
	for _, f := range m.Files() {
		w.earlier[f.Path] = true
	}
}

// Unverified lists the files that an earlier process has written and that are not loaded. The write stage has read back
// the files of this process.
func (w *Output) Unverified() (files manifest.Files) {
	for _, f := range w.Manifest.Files() {
		if !f.Loaded && w.earlier[f.Path] {
			files = append(files, f)
		}
	}
	return files
}

// Save saves the manifest. It fails if the output may belong to another run by now.
func (w *Output) Save() error { return w.save(w.Manifest) }

// FinishCuts completes the cuts that the manifest records: it deletes files that were replaced by their parts, and
// parts of files that were not replaced. Afterwards the manifest has no cuts.
func (w *Output) FinishCuts() error {
	m := w.Manifest
	if len(m.Cuts) == 0 {
		return nil
	}
	if err := w.CheckLock(); err != nil {
		return err
	}
	known := map[string]bool{}
	for _, f := range m.Files() {
		known[f.Path] = true
	}
	for _, c := range m.Cuts {
		surplus := []string{c.Of}
		if known[c.Of] {
			surplus = nil
			for _, p := range c.Parts {
				surplus = append(surplus, p.Path)
			}
		}
		for _, name := range surplus {
			if err := storage.RemoveIfThere(w.FS, w.Path, name); err != nil {
				return fmt.Errorf("finish the cut of %s: %w", w.URI(c.Of), err)
			}
		}
	}
	w.Options.Failpoint.Reached(options.CutCleaned)
	m.Cuts = nil
	return w.Save()
}

// Succeed marks the output as complete.
func (w *Output) Succeed() error {
	w.Manifest.State = manifest.Written
	w.Manifest.Finished = time.Now().UTC().Truncate(time.Second)
	if err := w.Save(); err != nil {
		return err
	}
	w.Options.Failpoint.Reached(options.Written)
	return w.MarkSuccess()
}

// MarkSuccess writes _SUCCESS if it is missing: a run may have been killed after the manifest was finished and before
// this.
func (w *Output) MarkSuccess() error {
	name := path.Join(w.Path, ingest.SuccessName)
	if _, err := w.FS.Stat(name); err == nil {
		return nil
	}
	temps, err := w.TempFolder()
	var text []byte
	if err == nil {
		text, err = json.Marshal(w.Manifest.Run)
	}
	if err == nil {
		err = storage.ReplaceFile(w.FS, name, path.Join(temps, ingest.SuccessName), append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", ingest.SuccessName, err)
	}
	return nil
}
