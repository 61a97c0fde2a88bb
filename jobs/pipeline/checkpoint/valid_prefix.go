package checkpoint

import (
	"cmp"
	"fmt"
	"slices"

	"bulkload/partition"
)

// parseLines parses the lines of a journal after its header.
func parseLines(texts [][]byte) (lines []Line, err error) {
	for _, text := range texts {
		line, err := ParseLine(text)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		lines = append(lines, line)
	}
	return lines, nil
}

// bootID is the boot of the machine since which everything that a journal names is known to be on disk; "" if it is
// not known.
func bootID(head Header, lines []Line) string {
	boot := head.Boot
	for _, line := range lines {
		boot = cmp.Or(line.Boot, boot)
	}
	return boot
}

// validPrefix returns the lines of a journal before the first one whose runs or rejects are missing or changed.
//
// Every prefix of a journal is a consistent state, since each line adds complete pieces. But a prefix may need runs
// that a later line replaced: once that line is cut off, its source runs must exist again. So the check starts over
// with each shorter prefix, until all its runs are found.
func (k *Store) validPrefix(lines []Line, blocks bool) []Line {
	c := runCheck{store: k, blocks: blocks, checked: map[runName]error{}}
	for {
		// Runs that were replaced are deleted, and must not be required.
		c.replaced = replacedRuns(lines)
		bad := slices.IndexFunc(lines, func(line Line) bool { return !c.checkLine(line) })
		if bad < 0 {
			return lines
		}
		lines = slices.Clip(lines[:bad]) // and what was merged in a later line must be there again
	}
}

// runName identifies a run among those of all outputs.
type runName struct {
	output int
	name   string
}

// runCheck checks that persistent runs and rejects are unchanged.
type runCheck struct {
	store    *Store
	blocks   bool // all blocks are read
	replaced map[runName]bool
	checked  map[runName]error // what came of it: each run is looked at once
}

// replacedRuns are the runs that were replaced by others, according to some lines of a journal.
func replacedRuns(lines []Line) map[runName]bool {
	replaced := map[runName]bool{}
	for _, line := range lines {
		if m := line.Merged; m != nil {
			for _, name := range m.From {
				replaced[runName{m.Output, name}] = true
			}
		}
	}
	return replaced
}

// checkLine reports whether everything that a line names is there.
func (c *runCheck) checkLine(line Line) bool {
	if m := line.Merged; m != nil {
		return c.checkRun(m.Output, m.Run)
	}
	if line.Checkpoint == nil {
		return true
	}
	for _, share := range line.Checkpoint.Shares {
		if !c.checkRun(share.Output, share.Run) {
			return false
		}
	}
	span := line.Checkpoint.Rejects
	if span == nil {
		return true
	}
	err := c.store.checkRejects(span)
	if err != nil {
		c.store.options.Warnf("the rejects that an earlier process left can't be used: %v", err)
	}
	return err == nil
}

// checkRun reports whether a run is there. Runs that were replaced are not checked, nor those of an output that is
// already written.
func (c *runCheck) checkRun(output int, run partition.RunFile) bool {
	id, regions := runName{output, run.Name}, c.store.regions
	if run.Name == "" || c.replaced[id] || output < 0 || output >= len(regions) || regions[output] == 0 {
		return true
	}
	// The cache is keyed by name: no name is used twice in one journal, since a merged run gets a new one.
	err, seen := c.checked[id]
	if !seen {
		err = partition.CheckRun(c.store.runFolder(output), run, regions[output], c.blocks)
		c.checked[id] = err
	}
	if err != nil && !seen {
		c.store.options.Warnf("a sorted run that an earlier process left can't be used: %v", err)
	}
	return err == nil
}
