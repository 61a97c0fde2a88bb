package yarn

import (
	"path"
	"strconv"
	"strings"

	"bulkload/internal/seal"
	"bulkload/internal/storage"
	"bulkload/jobs/tasks"
)

// word has what an attempt says about itself, in the documents of its folder TASK/ATTEMPT-RANDOM in its phase's folder.
// The engine needs it only for messages.
type word struct {
	Task int    `json:"task"`
	Host string `json:"host"`
	Text string `json:"text"` // of a failure
}

// maxWord bounds the document that is read, in bytes.
const maxWord = 1 << 20

// wordOf returns the word of an attempt with YARN's name id; false if the attempt never began.
func wordOf(p tasks.Phase, id string) (w word, found bool) {
	for _, task := range p.Tasks {
		dir := path.Join(p.Dir, tasks.TaskFolder(task))
		entries, err := p.FS.ReadDir(dir)
		if err != nil {
			continue // no attempt at this task has begun
		}
		for _, e := range entries {
			if strings.HasPrefix(e.Name, id+"-") {
				return readWord(p.FS, path.Join(dir, e.Name), word{Task: task}), true
			}
		}
	}
	return word{}, false
}

// readWord completes w from an attempt's documents. A killed attempt has no failure report.
func readWord(fsys storage.FS, dir string, w word) word {
	for _, name := range []string{tasks.AttemptName, tasks.FailureName} {
		if text, err := storage.ReadFile(fsys, path.Join(dir, name), maxWord); err == nil {
			_ = seal.Unmarshal(text, &w) // a damaged document is ignored
		}
	}
	return w
}

// survey counts, by their folders, a phase's tasks that are done and those that are running. It remembers the tasks
// that are done.
type survey struct{ done map[int]bool }

func (s *survey) look(p tasks.Phase) (done, running int, err error) {
	folders, err := p.FS.ReadDir(p.Dir)
	if err != nil {
		return 0, 0, err
	}
	begun := map[int]bool{}
	for _, f := range folders {
		if task, err := strconv.Atoi(f.Name); err == nil && f.Dir {
			begun[task] = true
		}
	}
	for _, task := range p.Tasks {
		switch {
		case !begun[task]:
		case s.isDone(p, task):
			done++
		default:
			running++
		}
	}
	return done, running, nil
}

func (s *survey) isDone(p tasks.Phase, task int) bool {
	if s.done[task] {
		return true
	}
	dir := path.Join(p.Dir, tasks.TaskFolder(task))
	attempts, err := p.FS.ReadDir(dir)
	if err != nil {
		return false
	}
	for _, a := range attempts {
		if _, err := p.FS.Stat(path.Join(dir, a.Name, tasks.ResultName)); err == nil {
			s.done[task] = true
			return true
		}
	}
	return false
}
