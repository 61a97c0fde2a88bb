package jobs

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"bulkload/cell"
	"bulkload/internal/seal"
	"bulkload/internal/test/simcluster"
	"bulkload/jobs/env/ledger"
	"bulkload/jobs/pipeline/manifest"
)

// record is a manifest or an entry of the ledger, as far as a later command relies on it.
type record struct {
	run, state string
	staging    string   // the path of its staging folder; "": none
	marks      []string // that a load must not lose before it ends
	files      []ledger.LoadedFile
	again      []ledger.LoadedFile // those of them that are to be written again: see with
}

// readRecord reads a manifest or an entry of the ledger; nil: the file is neither.
func readRecord(name string, text []byte) (*record, error) {
	if path.Base(name) == manifest.Name {
		m, err := manifest.Parse(text, name)
		if err != nil {
			return nil, err
		}
		r := &record{run: m.Run.ID, state: m.State, staging: strings.TrimPrefix(m.Staging, simcluster.URI)}
		for mark, found := range map[string]bool{"repeated": m.Repeated, "corrects": m.Corrects != "", "missing": m.Missing != nil} {
			if found {
				r.marks = append(r.marks, mark)
			}
		}
		for _, f := range m.Files() {
			r.files = append(r.files, f.InLedger(f.Path))
		}
		return r, nil
	}
	if !strings.Contains(name, "/ledger/") || path.Ext(name) != ".json" || strings.HasPrefix(path.Base(name), "unserved") {
		return nil, nil
	}
	var e ledger.Entry
	if err := seal.Unmarshal(text, &e); err != nil {
		return nil, err
	}
	r := &record{run: e.Run, state: e.State, staging: strings.TrimPrefix(e.Staging, simcluster.URI), files: e.Files}
	if e.Repeated {
		r.marks = append(r.marks, "repeated")
	}
	return r, nil
}

// lacks says what a record no longer covers that an earlier one of the same run did: rows, cells that the table had
// before the load, or marks. While files are written, those that are to be written again are not in the manifest.
func (r *record) lacks(before *record, corrected bool) string {
	if r.run != before.run { // the correction, or another run of a load that had ended
		if before.state == manifest.Loading && !corrected {
			return "run " + before.run
		}
		return ""
	}
	type place struct{ uri, row, qualifier string }
	known := map[place]bool{} // cells; true: that the table had before. Those of parts are looked for again
	for _, f := range r.files {
		for _, p := range f.Probes {
			known[place{f.URI, p.Row, p.Qualifier}] = p.Before
		}
	}
	for _, f := range before.files {
		for _, row := range strings.Split(markerRow+searchRows, "") {
			covered := row < f.FirstRow || row > f.LastRow || r.state == manifest.Writing
			for _, g := range r.files { // a part of f, if f was cut
				covered = covered || g.Family == f.Family && g.FirstRow <= row && row <= g.LastRow
			}
			if !covered {
				return fmt.Sprintf("row %s of family %s", row, f.Family)
			}
		}
		for _, p := range f.Probes {
			if now, found := known[place{f.URI, p.Row, p.Qualifier}]; found && p.Before && !now {
				return fmt.Sprintf("that the table had row %s of %s before", p.Row, f.URI)
			}
		}
	}
	for _, mark := range before.marks {
		if !slices.Contains(r.marks, mark) && (mark != "missing" || r.state != manifest.Loaded) {
			return mark
		}
	}
	return ""
}

// checkRecords compares the manifests and the ledger's entries with those that were there before.
func (s *search) checkRecords() {
	names := append(s.disk.Names(searchOutputs), s.disk.Names("/user")...)
	maps.DeleteFunc(s.texts, func(name, _ string) bool { return !slices.Contains(names, name) })
	for name, before := range s.records { // a correction removes the records of the load that it replaces
		if before != nil && before.state == manifest.Loading && s.input == 0 && !slices.Contains(names, name) {
			s.wrong = "a record is gone in the middle of a load: " + name
		}
	}
	for _, name := range names {
		if isTemporary := strings.Contains(strings.Replace(name, "/.bulkload/", "/", 1), "/."); isTemporary || path.Ext(name) != ".json" {
			continue
		}
		text, err := s.disk.Read(name)
		if err != nil || string(text) == s.texts[name] {
			continue
		}
		s.texts[name] = string(text)
		key := name + "\x00" + string(text)
		r, known := s.base.read[key]
		if !known {
			if r, err = readRecord(name, text); err == nil {
				if len(s.base.read) == 10000 {
					clear(s.base.read)
				}
				s.base.read[key] = r
			}
		}
		switch before := s.records[name]; {
		case err != nil:
			s.wrong = fmt.Sprintf("a record can't be read: %s: %v", name, err)
		case before != nil && before.staging != "" && (r == nil || r.staging != before.staging) && len(s.disk.Names(before.staging)) > 0:
			s.wrong = fmt.Sprintf("a record no longer names a staging folder: %s, %s, which has %d files", name, before.staging, len(s.disk.Names(before.staging)))
		case r != nil && before != nil && r.lacks(before, s.input > 0) != "":
			s.wrong = fmt.Sprintf("a record is replaced by one that lacks something: %s (%s) by one (%s) without %s", name, before.state, r.state, r.lacks(before, s.input > 0))
		}
		if before := s.records[name]; r != nil && before != nil && r.run != before.run {
			s.past[name+before.run] = true
		}
		if r != nil && s.past[name+r.run] {
			s.wrong = fmt.Sprintf("a record of a run that was replaced comes back: %s of run %s", name, r.run)
		}
		if r != nil {
			s.checkBefore(name, r, s.records[name])
			r = r.with(s.records[name])
		}
		s.records[name] = r
	}
}

// with is the record with the files of the one before it that are written again. They must be in a later one.
func (r *record) with(before *record) *record {
	if before == nil || before.run != r.run || r.state != manifest.Writing {
		return r
	}
	all := *r
	all.files = slices.Clone(r.files)
	for _, f := range before.files {
		if !slices.ContainsFunc(r.files, func(g ledger.LoadedFile) bool { return g.URI == f.URI }) {
			all.files = append(all.files, f)
		}
	}
	all.again = all.files[len(r.files):]
	return &all
}

// isWrittenAgain reports whether a cell of a job's input is in a file that the job will write again.
func (s *search) isWrittenAgain(input int, c cell.Cell) bool {
	r := s.records[path.Join(searchOutputs, searchDates[input].Format(time.DateOnly), manifest.Name)]
	return (s.kind != "load" || input == nextNight) && r != nil && slices.ContainsFunc(r.again, func(f ledger.LoadedFile) bool {
		return f.Family == string(c.Family) && f.FirstRow <= string(c.Row) && string(c.Row) <= f.LastRow
	})
}

// checkBefore checks what a record says of cells that the table had before the load: these, or newer ones that hide them.
// A file's own cells may be among them: a server that hung may take the file for an earlier command just before this one
// looks. Then they no longer prove that the file was loaded. Nor do those of a file that is written again with other rows.
func (s *search) checkBefore(name string, r, before *record) {
	var stored []cell.Cell
	for _, f := range r.files {
		if before != nil && slices.ContainsFunc(before.files, func(g ledger.LoadedFile) bool {
			return g.URI == f.URI && (g.FirstRow != f.FirstRow || g.LastRow != f.LastRow || slices.Equal(g.Probes, f.Probes))
		}) {
			continue
		}
		for _, p := range f.Probes {
			if !p.Before || s.everHarmed {
				continue
			}
			if stored == nil {
				stored = s.sim.Stored("t")
			}
			if !slices.ContainsFunc(stored, func(c cell.Cell) bool {
				return string(c.Row) == p.Row && string(c.Family) == f.Family && string(c.Qualifier) == p.Qualifier && int64(c.Timestamp) >= p.Timestamp
			}) {
				s.wrong = fmt.Sprintf("a record says that the table had a cell before: %s, row %s of %s", name, p.Row, f.URI)
				return
			}
			s.ambiguous = true
		}
	}
}
