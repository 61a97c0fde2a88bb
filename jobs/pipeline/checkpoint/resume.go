package checkpoint

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"syscall"

	"bulkload/internal/bytesize"
	"bulkload/internal/errcode"
	"bulkload/internal/program"
	"bulkload/internal/seal"
	"bulkload/partition"
)

// openExisting restores the state of an earlier process. Useless files are deleted.
func (k *RunStore) openExisting() error {
	info, err := os.Lstat(k.dir)
	if err != nil {
		return nil // if it is more than a missing folder, the first spill reports it
	}
	if err = partition.CheckPrivateDir(info); err != nil {
		return errcode.Folder.Errorf(
			"the sorted runs of an earlier process can't be read: %w; move %s away, or choose another --work-dir", err, k.dir)
	}
	if k.lock, err = partition.LockFolder(k.dir); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return errcode.Locked.Errorf(
				"%s is in use by another process that writes to the same output; try again when it is done", k.dir)
		}
		return fmt.Errorf("look for sorted runs of an earlier process: %w", err)
	}
	// Only now that the lock is held: --force must not delete the runs of a process that is still sorting.
	if k.options.Force {
		return k.discard()
	}
	if err := k.resume(); errcode.Outermost(err) == errcode.ManifestVersion {
		return err // whatever it has is left to the bulkload that wrote it
	} else if err != nil {
		k.options.Infof("sorting from the beginning: the sorted runs that an earlier process left in %s can't be used: %v",
			k.dir, err)
		k.State = NewResumeState(k.regions)
		return k.discard()
	}
	all, _ := k.State.Bytes()
	k.options.Infof("going on with %d records, %s of the input, that are already sorted",
		k.State.Read, bytesize.Format(all))
	return nil
}

// resume reads the journal and applies the valid part of it. If some of its lines are lost, they are cut off before
// anything new is appended, so that the journal never contains lines after a gap.
//
// All blocks of all runs are read if the machine was booted since, or if that is unknown: the kernel may not have
// written them before it went down. Otherwise the runs' footers are enough, since the files of a killed process are
// in the kernel's hands.
func (k *RunStore) resume() error {
	record, texts, err := OpenJournal(filepath.Join(k.dir, JournalName))
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(texts) == 0 {
		if err == nil {
			err = record.Close()
		}
		return errors.Join(errEmpty, err)
	}
	if err != nil {
		return err
	}
	k.journal = record
	// Another program of this format has merely sorted in vain. Of another format nothing is known, so nothing is deleted.
	if schema := seal.Schema(texts[0]); schema != journalSchema {
		return errcode.ManifestVersion.Errorf("%s has schema %d, this bulkload knows %d; finish or remove that run with "+
			"the bulkload that began it",
			filepath.Join(k.dir, JournalName), schema, journalSchema)
	}
	var head Header
	if err := json.Unmarshal(texts[0], &head); err != nil {
		return err
	}
	if err := k.matches(head); err != nil {
		return err
	}
	boot := head.Boot // the latest that any line confirms: a run that resumes after a reboot appends a line for its own
	lines := make([]Line, len(texts)-1)
	for i, text := range texts[1:] {
		if lines[i], err = ParseLine(text); err != nil {
			return fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		boot = cmp.Or(lines[i].Boot, boot)
	}
	blocks := boot == "" || boot != k.head.Boot
	sound := k.validPrefix(lines, blocks)
	if len(sound) == 0 {
		return errEmpty
	}
	if len(sound) < len(lines) {
		k.options.Warnf("%d of the %d checkpoints that an earlier process recorded in %s are lost",
			len(lines)-len(sound), len(lines), k.dir)
		// Before anything is appended: a line after a gap would be found at the next start, and count.
		if err := k.journal.Cut(texts[:1+len(sound)]); err != nil {
			return err
		}
	}
	for _, line := range sound {
		if err := k.State.Apply(line, len(k.Splits)); err != nil {
			return fmt.Errorf("%w: %w", ErrDamaged, err)
		}
	}
	if blocks && k.head.Boot != "" { // so that the next process need not read all blocks again
		return k.journal.Append(Line{Boot: k.head.Boot})
	}
	return nil
}

// matches checks a journal's header against this run. An output that is complete now may not have been when the
// journal was written, so its regions may differ from "".
func (k *RunStore) matches(head Header) (err error) {
	if k.head.Program, err = program.Hash(); err != nil {
		return err
	}
	want := k.head
	want.Boot = head.Boot
	want.Outputs = append([]outputKey(nil), want.Outputs...)
	if len(head.Outputs) != len(want.Outputs) {
		return errOtherRun
	}
	for i := range want.Outputs {
		if want.Outputs[i].Regions == "" {
			want.Outputs[i].Regions = head.Outputs[i].Regions
		}
		// The same run with other regions: its runs are sorted by the old boundaries.
		if head.Outputs[i].Run == want.Outputs[i].Run && head.Outputs[i] != want.Outputs[i] {
			return errors.New("the table's regions have changed")
		}
	}
	switch {
	case reflect.DeepEqual(head, want):
		return nil
	case head.Program != want.Program:
		return errors.New("another bulkload has made it")
	}
	return errOtherRun
}

// validPrefix returns the lines of a journal before the first one whose runs or rejects are missing or changed. With
// blocks, all blocks of the runs are read.
//
// Every prefix of a journal is a consistent state, since each line adds complete pieces. But a prefix may need runs
// that a later line replaced: once that line is cut off, its source runs must exist again. So the check starts over
// with each shorter prefix, until all its runs are found.
func (k *RunStore) validPrefix(lines []Line, blocks bool) []Line {
	type runName struct { // identifies a run among those of all outputs
		output int
		name   string
	}
	// What came of each run: it is looked at once. No name is used twice in one journal, since a merged run gets a new
	// one.
	checked := map[runName]error{}
	for {
		replaced := map[runName]bool{} // by these lines: they are deleted, and must not be required
		for _, line := range lines {
			if m := line.Merged; m != nil {
				for _, name := range m.From {
					replaced[runName{m.Output, name}] = true
				}
			}
		}
		lacks := func(output int, run partition.RunFile) bool {
			id := runName{output, run.Name}
			if run.Name == "" || replaced[id] || output < 0 || output >= len(k.regions) || k.regions[output] == 0 {
				return false // it has no rows, or is not needed: its output is written, or is none, which Apply refuses
			}
			err, seen := checked[id]
			if !seen {
				err = partition.CheckRun(k.runFolder(output), run, k.regions[output], blocks)
				if checked[id] = err; err != nil {
					k.options.Warnf("a sorted run that an earlier process left can't be used: %v", err)
				}
			}
			return err != nil
		}
		bad := slices.IndexFunc(lines, func(line Line) bool {
			switch {
			case line.Merged != nil:
				return lacks(line.Merged.Output, line.Merged.Run)
			case line.Checkpoint == nil:
				return false
			}
			c := line.Checkpoint
			if slices.ContainsFunc(c.Shares, func(share RunShare) bool { return lacks(share.Output, share.Run) }) {
				return true
			}
			if c.Rejects == nil {
				return false
			}
			err := k.checkRejects(c.Rejects)
			if err != nil {
				k.options.Warnf("the rejects that an earlier process left can't be used: %v", err)
			}
			return err != nil
		})
		if bad < 0 {
			return lines
		}
		lines = slices.Clip(lines[:bad]) // and what was merged in a later line must be there again
	}
}
