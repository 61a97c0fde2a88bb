package tasks

import (
	"errors"
	"fmt"
	"strconv"
)

// account is the document that a task writes last.
type account interface {
	whose() *identity
}

func (a *mapAccount) whose() *identity    { return &a.identity }
func (a *reduceAccount) whose() *identity { return &a.identity }

// accounts reads the sound accounts of a phase, by task. A task has one of each completed attempt, in the order of the
// attempts' names. fresh makes an empty account.
func accounts[A account](w *Work, phase string, fresh func() A) (map[int][]A, error) {
	all := map[int][]A{}
	at := w.home().in(phase)
	names, err := at.folders()
	if err != nil {
		return nil, fmt.Errorf("look what the tasks have done: %w", err)
	}
	for _, name := range names {
		task, err := strconv.Atoi(name)
		if err != nil {
			continue // the engine's folder
		}
		attempts, err := at.in(name).folders()
		if err != nil {
			return nil, fmt.Errorf("look what the tasks have done: %w", err)
		}
		for _, attempt := range attempts {
			found := fresh()
			err := at.in(name, attempt).read(accountName, found)
			if err != nil && !errors.Is(err, errNoDocument) {
				return nil, err
			}
			if i := found.whose(); err == nil && i.Plan == w.id && i.Phase == phase && i.Task == task && i.Attempt == attempt {
				all[task] = append(all[task], found)
			}
		}
	}
	return all, nil
}

// lastWords returns the latest failure report of a task, and who began its latest attempt; nil if there is none.
func (w *Work) lastWords(phase string, task int) (report *failureReport, last *identity) {
	at := w.home().in(phase, taskFolder(task))
	attempts, err := at.folders()
	if err != nil {
		return nil, nil // the error is reported without them
	}
	for _, attempt := range attempts {
		said, who := new(failureReport), new(identity)
		if at.in(attempt).read(failureName, said) == nil && said.Plan == w.id && (report == nil || !said.Begun.Before(report.Begun)) {
			report = said
		}
		if at.in(attempt).read(attemptName, who) == nil && who.Plan == w.id && (last == nil || !who.Begun.Before(last.Begun)) {
			last = who
		}
	}
	return report, last
}
