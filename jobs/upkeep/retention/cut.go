package retention

import (
	"path"
	"time"

	"bulkload/internal/storage"
	"bulkload/jobs/env/ledger"
	"bulkload/jobs/env/lock"
	"bulkload/jobs/pipeline/manifest"
)

// A load of another tool's directory keeps the files that it had to cut, because bulkload could not write them again.
// When the table has served their parts for long enough, they are no longer needed.

// describeCut describes a directory of another tool.
func describeCut(fsys storage.FS, dir string, content []storage.Info) (*OutputDir, error) {
	out := &OutputDir{URI: fsys.URI(dir), fsys: fsys, dir: dir, State: Cut}
	for _, f := range content {
		out.Locked = out.Locked || f.Name == lock.LockName
	}
	return out, out.measureCut()
}

// measureCut adds up the originals, and notes what in the directory forbids deleting them.
func (out *OutputDir) measureCut() error {
	out.Files, out.Bytes, out.unloaded, out.cut = 0, 0, "", time.Time{}
	content, err := out.fsys.ReadDir(out.dir)
	if err != nil {
		return err
	}
	for _, f := range content {
		if !f.Dir || f.Name[0] == '.' || f.Name[0] == '_' {
			continue
		}
		left, err := storage.List(out.fsys, path.Join(out.dir, f.Name))
		if err != nil {
			return err
		}
		if len(left) > 0 {
			out.unloaded = "files in it were not loaded"
		}
	}
	return out.addOriginals(path.Join(out.dir, manifest.CutsDir), 0)
}

// addOriginals adds up the files of a folder and those below it.
func (out *OutputDir) addOriginals(dir string, depth int) error {
	all, err := storage.List(out.fsys, dir)
	for _, f := range all {
		if f.Dir && f.ModTime.After(out.cut) {
			out.cut = f.ModTime
		}
		switch {
		case f.Name == manifest.CutsName:
			out.unloaded = "a cut of its files is under way: the same load goes on with it"
		case f.Dir && depth < maxDepth:
			if err := out.addOriginals(path.Join(dir, f.Name), depth+1); err != nil {
				return err
			}
		case !f.Dir:
			out.Files, out.Bytes = out.Files+1, out.Bytes+f.Size
		}
	}
	return err
}

// readAgain reads again what decides whether the output may be deleted.
func (out *OutputDir) readAgain() error {
	if out.State == Cut {
		return out.measureCut()
	}
	return out.readManifest()
}

// keepsCut returns why originals must stay; "" if they may be deleted.
func (c *cleaner) keepsCut(out *OutputDir) (reason string, err error) {
	if out.unloaded != "" {
		return out.unloaded, nil
	}
	if c.rules.Outputs <= 0 {
		return "no --older-than was given", nil
	}
	if err := c.openLedger(); err != nil {
		return "", err
	}
	loads, err := c.ledger.OfDirectory(out.URI)
	if err != nil {
		return "", err
	}
	out.Loaded = time.Time{}
	for _, e := range loads {
		if e.State != ledger.Loaded {
			return "its load into table " + e.Table + " is under way: the same load goes on with it", nil
		}
		if e.Time.After(out.Loaded) {
			out.Table, out.Loaded = e.Table, e.Time
		}
	}
	switch {
	case len(loads) == 0:
		return "the ledger does not remember its load", nil
	case out.cut.Sub(out.Loaded) > clockSlack: // another user's ledger may have that load
		return "files were cut on " + out.cut.Format(time.DateOnly) + ", after the last load that this ledger has", nil
	case c.rules.Now.Sub(out.Loaded) < c.rules.Outputs:
		return "it was loaded on " + out.Loaded.Format(time.DateOnly), nil
	}
	return "", nil
}

// clockSlack is how much the clocks of a load and of the file system may differ.
const clockSlack = time.Hour
