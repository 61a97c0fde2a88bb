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

// openExisting restores the state of an earlier process, and deletes files that can't be used.
func (k *RunStore) openExisting() error {
	info, err := os.Lstat(k.dir)
	if err != nil {
		return nil // usually the folder is missing; the first spill reports any other error
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
	// Done under the lock, because --force must not delete the runs of a process that is still sorting.
	if k.options.Force {
		return k.discard()
	}
	if err := k.resume(); errcode.Outermost(err) == errcode.ManifestVersion {
		return err // its files are left to the bulkload that wrote them
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
// written them before it went down. Otherwise the runs' footers are enough, because the kernel keeps what a killed
// process has written.
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
	// If another program of this format wrote it, its sorting is merely lost. A journal of another format can't be
	// interpreted, so nothing is deleted.
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
	boot := head.Boot // the last that a line confirms: a run that resumes after a reboot appends a line for it
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
		// Cut before anything is appended: otherwise the next start would find a line after a gap, and count it.
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

// matches checks a journal's header against this run. An output that is complete now, with regions "", may not have
// been when the journal was written.
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
		// The same run with other regions: its rows were sorted by the old boundaries.
		if head.Outputs[i].Run == want.Outputs[i].Run && head.Outputs[i] != want.Outputs[i] {
			return errors.New("the table's regions have changed")
		}
	}
	switch {
	case reflect.DeepEqual(head, want):
		return nil
	case head.Program != want.Program:
		return errors.New("another bulkload made it")
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
	type runName struct { // identifies a sorted run among those of all outputs
		output int
		name   string
	}
	// The result for each run, so that it is checked only once. No name is used twice in one journal, because a merged
	// run gets a new one.
	checked := map[runName]error{}
	for {
		replaced := map[runName]bool{} // runs that these lines replace: they are deleted, so they must not be required
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
				return false // no rows, or an output that needs none or is unknown, which Apply refuses
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
		lines = slices.Clip(lines[:bad]) // runs that a line cut off here replaced must exist again
	}
}
