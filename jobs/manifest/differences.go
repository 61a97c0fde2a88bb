package manifest

import (
	"fmt"

	"bulkload/jobs/jobfile"
)

// SameJob tells whether two runs are of one job, table and date, so that only their inputs can differ.
func (m *Manifest) SameJob(other *Manifest) bool {
	return m.JobHash == other.JobHash && m.Run.Table == other.Run.Table && m.Run.Date == other.Run.Date
}

// mostFiles bounds how many input files are listed; all are counted.
const mostFiles = 5

// inputDifferences says in words how the input files of two runs differ, and by how many records where both are known.
func (m *Manifest) inputDifferences(other *Manifest) []string {
	var out []string
	was, is := inputsByPath(m.Inputs), inputsByPath(other.Inputs)
	for i := range other.Inputs {
		in := &other.Inputs[i]
		old := was[in.Path]
		switch {
		case old == nil:
			out = append(out, fmt.Sprintf("the input has a new file %s%s", in.Path, in.amount()))
		case !old.SameFile(in):
			if how := changed(old, in); how != "" {
				out = append(out, how)
			}
		}
	}
	for i := range m.Inputs {
		if in := &m.Inputs[i]; is[in.Path] == nil {
			out = append(out, fmt.Sprintf("the input file %s is gone%s", in.Path, in.amount()))
		}
	}
	if len(out) > mostFiles {
		out = append(out[:mostFiles], fmt.Sprintf("and %s more", jobfile.Plural(len(out)-mostFiles, "difference")))
	}
	if then, known := records(m.Inputs); known && len(out) > 0 {
		if now, known := records(other.Inputs); known {
			out = append(out, fmt.Sprintf("the input had %d records and has %d, %s", then, now, moreOrFewer(now-then)))
		}
	}
	return out
}

// changed says how a file differs from what it was; "" where it was touched and has the same records.
func changed(old, in *Input) string {
	switch {
	case old.Content == nil || in.Content == nil:
		return fmt.Sprintf("the input file %s was changed: %d bytes of %s then, %d bytes of %s now", in.Path, old.Size, old.ModTime, in.Size, in.ModTime)
	case *old.Content == *in.Content:
		return ""
	case old.Content.Read == in.Content.Read:
		return fmt.Sprintf("the input file %s was changed: %s still, but not the same ones", in.Path, jobfile.Plural(int(in.Content.Read), "record"))
	}
	return fmt.Sprintf("the input file %s was changed: %d records then, %d now", in.Path, old.Content.Read, in.Content.Read)
}

func (in *Input) amount() string {
	if in.Content == nil {
		return ""
	}
	return fmt.Sprintf(" (%s)", jobfile.Plural(int(in.Content.Read), "record"))
}

// records adds up the records of an input; false where that of some file is not known.
func records(inputs []Input) (n int64, known bool) {
	for i := range inputs {
		if inputs[i].Content == nil {
			return 0, false
		}
		n += inputs[i].Content.Read
	}
	return n, true
}

func moreOrFewer(n int64) string {
	switch {
	case n > 0:
		return fmt.Sprintf("%d more", n)
	case n < 0:
		return fmt.Sprintf("%d fewer", -n)
	}
	return "as many"
}
