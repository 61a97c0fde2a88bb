package jobs

import (
	"fmt"
	"slices"

	"bulkload/partition"
)

// sound gives the lines of a journal up to the first whose runs and rejects are not what they were. What is before it is
// what was kept at an earlier time, and holds by itself.
func (k *keeper) sound(texts [][]byte, blocks bool) ([]journalLine, error) {
	var lines []journalLine
	for _, text := range texts {
		line, err := parseLine(text)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errJournal, err)
		}
		lines = append(lines, line)
	}
	good := map[string]bool{}
	for {
		bad := slices.IndexFunc(lines, k.unsound(lines, blocks, good))
		if bad < 0 {
			return lines, nil
		}
		lines = slices.Clip(lines[:bad]) // and what was merged in a later line must be there again
	}
}

// unsound gives a test of a line among others. Runs in whose place others have come are not looked at, nor those that are
// known to be good.
func (k *keeper) unsound(lines []journalLine, blocks bool, good map[string]bool) func(journalLine) bool {
	replaced := map[string]bool{}
	for _, line := range lines {
		if m := line.Merged; m != nil {
			for _, name := range m.From {
				replaced[fmt.Sprint(m.Output, name)] = true
			}
		}
	}
	check := func(output int, run partition.RunFile) bool {
		id := fmt.Sprint(output, run.Name)
		if run.Name == "" || good[id] || replaced[id] || output < 0 || output >= len(k.regions) || k.regions[output] == 0 {
			return true
		}
		err := partition.CheckRun(k.folder(output), run, k.regions[output], blocks)
		if err != nil {
			sayf(k.run.options, "a sorted run that an earlier process has left is of no use: %v", err)
		}
		good[id] = err == nil
		return err == nil
	}
	return func(line journalLine) bool {
		if m := line.Merged; m != nil {
			return !check(m.Output, m.Run)
		}
		for _, share := range line.Checkpoint.Shares {
			if !check(share.Output, share.Run) {
				return true
			}
		}
		span := line.Checkpoint.Rejects
		if span == nil {
			return false
		}
		err := k.checkRejects(span)
		if err != nil {
			sayf(k.run.options, "the rejects that an earlier process has left are of no use: %v", err)
		}
		return err != nil
	}
}
