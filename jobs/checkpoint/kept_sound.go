package checkpoint

import (
	"cmp"
	"fmt"
	"slices"

	"bulkload/jobs/journal"
	"bulkload/partition"
)

// linesOf reads the lines of a journal behind its head.
func linesOf(texts [][]byte) (lines []Line, err error) {
	for _, text := range texts {
		line, err := ParseLine(text)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", journal.ErrDamaged, err)
		}
		lines = append(lines, line)
	}
	return lines, nil
}

// bootOf is the boot of the machine since which all that a journal names is known to be on the disk; "" where it is not
// known.
func bootOf(head Head, lines []Line) string {
	boot := head.Boot
	for _, line := range lines {
		boot = cmp.Or(line.Boot, boot)
	}
	return boot
}

// sound gives the lines of a journal up to the first whose runs and rejects are not what they were. What is before it is
// what was kept at an earlier time, and holds by itself.
func (k *Keeper) sound(lines []Line, blocks bool) []Line {
	c := runCheck{keeper: k, blocks: blocks, checked: map[runName]error{}}
	for {
		c.replaced = replacedRuns(lines)
		bad := slices.IndexFunc(lines, func(line Line) bool { return !c.line(line) })
		if bad < 0 {
			return lines
		}
		lines = slices.Clip(lines[:bad]) // and what was merged in a later line must be there again
	}
}

// runName names a run among those of all outputs.
type runName struct {
	output int
	name   string
}

// runCheck looks whether kept runs and rejects are what they were.
type runCheck struct {
	keeper   *Keeper
	blocks   bool // all blocks are read
	replaced map[runName]bool
	checked  map[runName]error // what came of it: each run is looked at once
}

// replacedRuns are those in whose place others have come, by some lines of a journal.
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

// line tells whether what a line records is there.
func (c *runCheck) line(line Line) bool {
	if m := line.Merged; m != nil {
		return c.run(m.Output, m.Run)
	}
	if line.Checkpoint == nil {
		return true
	}
	for _, share := range line.Checkpoint.Shares {
		if !c.run(share.Output, share.Run) {
			return false
		}
	}
	span := line.Checkpoint.Rejects
	if span == nil {
		return true
	}
	err := c.keeper.checkRejects(span)
	if err != nil {
		c.keeper.options.Warnf("the rejects that an earlier process left can't be used: %v", err)
	}
	return err == nil
}

// run tells whether a run is there. Those in whose place others have come are not looked at, nor those of an output that is
// written.
func (c *runCheck) run(output int, run partition.RunFile) bool {
	id, regions := runName{output, run.Name}, c.keeper.regions
	if run.Name == "" || c.replaced[id] || output < 0 || output >= len(regions) || regions[output] == 0 {
		return true
	}
	err, seen := c.checked[id]
	if !seen {
		err = partition.CheckRun(c.keeper.store(output), run, regions[output], c.blocks)
		c.checked[id] = err
	}
	if err != nil && !seen {
		c.keeper.options.Warnf("a sorted run that an earlier process left can't be used: %v", err)
	}
	return err == nil
}
