package tasks

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sync/errgroup"
)

// taskResult is the document that a task writes last.
type taskResult interface {
	whose() *identity
}

func (a *mapResult) whose() *identity    { return &a.identity }
func (a *reduceResult) whose() *identity { return &a.identity }

// resultsAtOnce is how many tasks are looked at in parallel, because most of the time is spent waiting for a remote
// file system.
const resultsAtOnce = 16

// sideBySide calls look for 0 to n-1, in parallel.
func sideBySide(n int, look func(i int) error) error {
	var group errgroup.Group
	group.SetLimit(resultsAtOnce)
	for i := range n {
		group.Go(func() error { return look(i) })
	}
	return group.Wait()
}

// readResults reads the sound results of a phase, by task. A task has one for each completed attempt, in the order of
// the attempts' names. fresh makes an empty result.
func readResults[A taskResult](w *Work, phase string, fresh func() A) (map[int][]A, error) {
	at := w.home().sub(phase)
	names, err := at.folders()
	if err != nil {
		return nil, fmt.Errorf("find out what the tasks have done: %w", err)
	}
	var mu sync.Mutex
	all := map[int][]A{}
	err = sideBySide(len(names), func(i int) error {
		task, err := strconv.Atoi(names[i])
		if err != nil {
			return nil // the engine's folder
		}
		found, err := resultsOf(at.sub(names[i]), identity{Plan: w.id, Phase: phase, Task: task}, fresh)
		mu.Lock()
		defer mu.Unlock()
		if len(found) > 0 {
			all[task] = found
		}
		return err
	})
	return all, err
}

// resultsOf reads the sound results in the folder of a task. A result counts only if it is of the attempt in whose
// folder it is.
func resultsOf[A taskResult](at folder, of identity, fresh func() A) (sound []A, err error) {
	attempts, err := at.folders()
	if err != nil {
		return nil, fmt.Errorf("find out what the tasks have done: %w", err)
	}
	for _, attempt := range attempts {
		found := fresh()
		err := at.sub(attempt).read(ResultName, found)
		if err != nil && !errors.Is(err, errNoDocument) {
			return nil, err
		}
		if i := found.whose(); err == nil && i.Plan == of.Plan && i.Phase == of.Phase &&
			i.Task == of.Task && i.Attempt == attempt {
			sound = append(sound, found)
		}
	}
	return sound, nil
}

// priorAttempts has the attempts at tasks before an engine runs, by task and name: true for those that have failed.
type priorAttempts map[string]bool

// priorAttempts lists the attempts at some tasks of a phase. If an error leaves some out, that does no harm, because
// they only explain failures.
func (w *Work) priorAttempts(phase string, tasks []int) priorAttempts {
	all := priorAttempts{}
	begun, _ := w.home().sub(phase).folders()
	for _, task := range tasks {
		if !slices.Contains(begun, TaskFolder(task)) {
			continue
		}
		at := w.home().sub(phase, TaskFolder(task))
		attempts, _ := at.folders()
		for _, attempt := range attempts {
			_, err := at.fs.Stat(at.sub(attempt).path(FailureName))
			all[path.Join(TaskFolder(task), attempt)] = err == nil
		}
	}
	return all
}

// latestFailure returns why the latest failed attempt at a task failed, and the identity of the latest attempt; nil if
// missing. Attempts that had failed before (past) are ignored, and so is a failure older than the newest attempt, which
// ended for another reason. An attempt that was running before may have failed since.
func (w *Work) latestFailure(phase string, task int, past priorAttempts) (report *failureReport, last *identity) {
	at := w.home().sub(phase, TaskFolder(task))
	attempts, err := at.folders()
	if err != nil {
		return nil, nil // the error is then reported without them
	}
	for _, attempt := range attempts {
		failed, known := past[path.Join(TaskFolder(task), attempt)]
		if failed {
			continue
		}
		said, who := new(failureReport), new(identity)
		if at.sub(attempt).read(FailureName, said) == nil && said.Plan == w.id &&
			(report == nil || !said.Ended.Before(report.Ended)) {
			report = said
		}
		if !known && at.sub(attempt).read(AttemptName, who) == nil && who.Plan == w.id &&
			(last == nil || !who.Begun.Before(last.Begun)) {
			last = who
		}
	}
	if report != nil && last != nil && last.Begun.After(report.Ended) {
		report = nil
	}
	return report, last
}
