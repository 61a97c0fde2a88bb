package jobfile

import (
	"fmt"
	"strings"

	"bulkload/internal/errcode"
	"bulkload/jobs/base/failure"
)

// mistake is what a test wants to be said about one mistake in a job file. The sentences are those of the script
// job_file.txtar of cmd/bulkload.
type mistake struct {
	place string // a file and a line
	code  errcode.Code
	names []string // what else the problem must name
}

// atLine is a mistake in a line of job.yaml.
func atLine(line int, code errcode.Code, names ...string) mistake {
	return inFile(fmt.Sprintf("job.yaml:%d", line), code, names...)
}

// inFile is a mistake at a place such as shared/form.yaml:2.
func inFile(place string, code errcode.Code, names ...string) mistake {
	return mistake{place, code, names}
}

// saidBy reports whether an error is of the job file, and one of its problems is about the mistake.
func (m mistake) saidBy(err error) bool { return m.times(err) > 0 }

// times is how many of an error's problems are about the mistake.
func (m mistake) times(err error) (n int) {
	if failure.KindOf(err) != failure.Usage {
		return 0
	}
	for line := range strings.SplitSeq(failure.TextOf(err), "\n") {
		said := strings.Contains(line, m.place+": ") && strings.HasSuffix(line, fmt.Sprintf(" [%s]", m.code))
		for _, name := range m.names {
			said = said && strings.Contains(line, name)
		}
		if said {
			n++
		}
	}
	return n
}
