package manifest

import (
	"fmt"
	"slices"
	"strings"

	"bulkload/jobs/env/site"
	"bulkload/jobs/spec/jobfile"
)

// SameJob reports whether two runs are of one job, table and date, so that only their inputs can differ.
func (m *Manifest) SameJob(other *Manifest) bool {
	return m.JobHash == other.JobHash && m.Run.Table == other.Run.Table && m.Run.Date == other.Run.Date
}

// Differences describes how this run differs from another one.
func (m *Manifest) Differences(other *Manifest) []string {
	var out []string
	if m.Run.Date != other.Run.Date {
		out = append(out, fmt.Sprintf("its logical date is %q, not %q", m.Run.Date, other.Run.Date))
	}
	if m.Run.Table != other.Run.Table {
		out = append(out, fmt.Sprintf("its table is %s, not %s", m.Run.Table, other.Run.Table))
	} else if m.JobHash != other.JobHash {
		out = append(out, m.changedJob(other)...)
	}
	return append(out, inputDifferences(m.Inputs, other.Inputs)...)
}

// changedJob describes that the job file has changed, and in which parts if that is recorded.
func (m *Manifest) changedJob(other *Manifest) []string {
	var changed []string
	for part, sum := range other.JobParts {
		switch was, ok := m.JobParts[part]; {
		case !ok || was == sum:
		case part == jobfile.TimestampPart && m.Run.Date != other.Run.Date: // it mostly follows from the date
		default:
			changed = append(changed, part)
		}
	}
	switch {
	case changed != nil:
		slices.Sort(changed)
		return []string{"the job file has changed since: " + strings.Join(changed, "; ")}
	case m.JobParts != nil && m.Run.Date != other.Run.Date:
		return nil
	}
	return []string{"the job file has changed since"}
}

// ChangedProperties lists the site properties whose values differ from those that the files were made with.
func (m *Manifest) ChangedProperties(other *Manifest) []string {
	var out []string
	for _, name := range site.ByteProperties {
		if was, is := m.Site[name], other.Site[name]; was != is {
			out = append(out, fmt.Sprintf("property %s was %q and is %q", name, was, is))
		}
	}
	return out
}

// mostFiles bounds how many differences are listed; all are counted.
const mostFiles = 5

// inputDifferences describes how the input files of two runs differ, and by how many records if both counts are
// known.
func inputDifferences(before, after []RecordedInput) []string {
	var out []string
	was, is := inputsByPath(before), inputsByPath(after)
	for i := range after {
		in := &after[i]
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
	for i := range before {
		if in := &before[i]; is[in.Path] == nil {
			out = append(out, fmt.Sprintf("the input file %s is gone%s", in.Path, in.amount()))
		}
	}
	if len(out) > mostFiles {
		out = append(out[:mostFiles], fmt.Sprintf("and %s more", jobfile.Plural(len(out)-mostFiles, "difference")))
	}
	if then, known := records(before); known && len(out) > 0 {
		if now, known := records(after); known {
			out = append(out, fmt.Sprintf("the input had %d records and has %d, %s", then, now, moreOrFewer(now-then)))
		}
	}
	return out
}

// changed describes how a file differs from before; "" if it was only touched and has the same records.
func changed(old, in *RecordedInput) string {
	switch {
	case old.Content == nil || in.Content == nil:
		return fmt.Sprintf("the input file %s was changed: %d bytes of %s then, %d bytes of %s now", in.Path, old.Size,
			old.ModTime, in.Size, in.ModTime)
	case *old.Content == *in.Content:
		return ""
	case old.Content.Read == in.Content.Read:
		return fmt.Sprintf("the input file %s was changed: %s still, but not the same ones", in.Path,
			jobfile.Plural(int(in.Content.Read), "record"))
	}
	return fmt.Sprintf("the input file %s was changed: %d records then, %d now", in.Path,
		old.Content.Read, in.Content.Read)
}

func (in *RecordedInput) amount() string {
	if in.Content == nil {
		return ""
	}
	return fmt.Sprintf(" (%s)", jobfile.Plural(int(in.Content.Read), "record"))
}

// records adds up the records of an input; false if some file's count is unknown.
func records(inputs []RecordedInput) (n int64, known bool) {
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
