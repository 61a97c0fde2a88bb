package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"bulkload/cell"
	"bulkload/internal/bytesize"
	"bulkload/internal/printable"
	"bulkload/jobs"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/inspect/lookup"
	"bulkload/jobs/inspect/verify"
	"bulkload/jobs/loading"
	"bulkload/jobs/run/summary"
	"bulkload/jobs/spec/jobfile"
	"bulkload/jobs/stats"
)

// answers is where the answers of plan, inspect and get go: stdout, or nowhere with --json, because stdout then has
// only the object. A failed write is reported when the answer is flushed at the end.
func (s *session) answers() io.Writer {
	if s.JSON.wanted() {
		return io.Discard
	}
	return s.answer
}

// writeSummary describes the result of a run.
func writeSummary(w io.Writer, s *summary.Summary, took time.Duration, verbose bool) {
	title := fmt.Sprintf("%s into table %s", s.Run.Job, s.Run.Table)
	if s.Run.Date != "" {
		title = fmt.Sprintf("%s for %s into table %s", s.Run.Job, s.Run.Date, s.Run.Table)
	}
	if s.Status == failure.StatusNothing && !verbose {
		fmt.Fprintf(w, "%s: %s; %s\n", title, s.Status, doneBefore(s))
		return
	}
	fmt.Fprintf(w, "%s: %s%s\n", title, s.Status, dropped(s))
	if s.Status == failure.StatusFailed {
		for _, out := range s.Outputs {
			line(w, "table", "%s: %s", out.Run.Table, out.Status)
		}
		writeRejects(w, s)
		return
	}
	for _, out := range s.Outputs {
		fmt.Fprintf(w, "table %s: %s\n", out.Run.Table, out.Status)
		writeOutput(w, &out.OutputSummary, out.Status)
		writeLoadLine(w, &out.OutputSummary, out.Status, verbose)
	}
	if s.OutputSummary == nil {
		fmt.Fprintln(w, "together")
		writeRejects(w, s)
		writePhases(w, s, took, verbose)
		return
	}
	writeOutput(w, s.OutputSummary, s.Status)
	writeRejects(w, s)
	writePhases(w, s, took, verbose)
	writeLoadLine(w, s.OutputSummary, s.Status, verbose)
}

// summaries are the summaries of all outputs of a run.
func summaries(s *summary.Summary) (all []*summary.OutputSummary) {
	if s.OutputSummary != nil {
		return []*summary.OutputSummary{s.OutputSummary}
	}
	for _, out := range s.Outputs {
		all = append(all, &out.OutputSummary)
	}
	return all
}

// doneBefore describes work that an earlier run had completed, so that this run had nothing to do.
func doneBefore(s *summary.Summary) string {
	var rows, bytes int64
	files, loaded, places := 0, false, ""
	for _, out := range summaries(s) {
		rows += out.Counts.Written
		files += len(out.Files)
		for _, f := range out.Files {
			bytes += f.Bytes
		}
		loaded = loaded || out.Load.Requested
		if out.Output != "" && files > 0 {
			places += ", " + place(out.Output)
		}
	}
	text := plural(rows, "row")
	if files > 0 {
		text += fmt.Sprintf(" in %s, %s, under %s", plural(int64(files), "file"), bytesize.Format(bytes),
			strings.TrimPrefix(places, ", "))
	}
	if loaded && rows > 0 {
		text += "; loaded before"
	}
	return text
}

// dropped is the end of a title if a run has dropped records that were not copies. The job file may want this, but a
// key that is too short looks the same.
func dropped(s *summary.Summary) string {
	var n int64
	for _, out := range summaries(s) {
		n += out.Counts.Differing
	}
	if n == 0 || s.Status != failure.StatusDone {
		return ""
	}
	return fmt.Sprintf(", but %s dropped whose values differ from those kept under the same row key", plural(n, "record"))
}

// plural is a count with commas and its noun.
func plural(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return count(n) + " " + what + "s"
}

// writeSeveral sums up several runs, with a line for each.
func writeSeveral(w io.Writer, r *jobs.Several, all []jobs.Series) {
	wanted := 0
	for _, one := range all {
		wanted += len(one)
	}
	ended := map[string]int{}
	var order []string
	var rows int64
	for _, run := range r.Runs {
		if ended[run.Status] == 0 {
			order = append(order, run.Status)
		}
		ended[run.Status]++
		rows += rowsWritten(run)
	}
	text := ""
	for _, status := range order {
		text += fmt.Sprintf(", %d %s", ended[status], status)
	}
	if left := wanted - len(r.Runs); left > 0 {
		text += fmt.Sprintf(", %d not begun", left)
	}
	fmt.Fprintf(w, "%s%s; %s written\n", jobfile.Plural(wanted, "run"), text, plural(rows, "row"))
}

// rowsWritten is the number of rows that this run has written.
func rowsWritten(s *summary.Summary) (rows int64) {
	if s.OutputSummary != nil && s.Status == failure.StatusDone {
		return s.Counts.Written
	}
	for _, out := range s.Outputs {
		if out.Status == failure.StatusDone {
			rows += out.Counts.Written
		}
	}
	return rows
}

// writeOutput describes one output.
func writeOutput(w io.Writer, s *summary.OutputSummary, status string) {
	b := s.Counts
	line(w, "rows", "%s read = %s written + %s rejected + %s + %s filtered",
		count(b.Read), count(b.Written), count(b.Rejected), plural(b.Duplicates, "duplicate"), count(b.Filtered))
	if b.Skipped > 0 {
		line(w, "skipped", "%s of the input: repeated headings, prompts and messages of the client",
			jobfile.Plural(int(b.Skipped), "line"))
	}
	wide, record := "", "row"
	if b.TableRows > 0 {
		wide, record = fmt.Sprintf(", in %s of the table", plural(b.TableRows, "row")), "record"
	}
	line(w, "cells", "%s written + %s = %s × %s%s", count(b.CellsWritten), plural(b.Nulls, "null"),
		plural(b.Written, record), jobfile.Plural(b.Columns, "column"), wide)
	writeDuplicates(w, s)
	writeExisting(w, s)
	var bytes int64
	used := 0
	for _, f := range s.Files {
		bytes += f.Bytes
	}
	for _, r := range s.Regions {
		if r.Files > 0 {
			used++
		}
	}
	if len(s.Files) > 0 || status != failure.StatusNothing { // otherwise only the ledger is left
		line(w, "files", "%s, %s, in %d of %s, under %s", count(int64(len(s.Files))), bytesize.Format(bytes), used,
			jobfile.Plural(len(s.Regions), "region"), place(s.Output))
	}
	how := "the sorted cells and the files read back agree"
	if status == failure.StatusNothing {
		how = "recorded when the files were written; bulkload verify reads them again"
	}
	line(w, "digest", "%v; %s", s.Digest, how)
}

// place writes a local file's URI as a path, relative to the current folder if it is inside.
func place(uri string) string { return printable.Name(relative(uri)) }

func relative(uri string) string {
	path, local := strings.CutPrefix(uri, "file://")
	if !local {
		return uri
	}
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(here, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

func line(w io.Writer, name, format string, args ...any) {
	fmt.Fprintf(w, "  %-8s "+format+"\n", append([]any{name}, args...)...)
}

func writeRejects(w io.Writer, s *summary.Summary) {
	for _, r := range s.Rejects {
		line(w, "rejects", "%s in %s", count(r.Records), place(r.Path))
	}
}

func writeDuplicates(w io.Writer, s *summary.OutputSummary) {
	if s.Counts.Differing == 0 {
		return
	}
	differ := "differ"
	if s.Counts.Differing == 1 {
		differ = "differs"
	}
	line(w, "differ", "%s %s from the record that was kept, which is the last by file and offset",
		plural(s.Counts.Differing, "duplicate"), differ)
	for _, d := range s.Duplicates {
		line(w, "", "row %s: kept %v; dropped %v", d.Row, d.Kept, d.Lost)
	}
}

// writeExisting says which of the rows the table had before the load.
func writeExisting(w io.Writer, s *summary.OutputSummary) {
	e := s.Existing
	if e == nil {
		return
	}
	if e.Found == 0 {
		line(w, "existing", "the table had none of %s on %s", plural(e.Rows, "row"), e.Asked.Format(askedLayout))
		return
	}
	line(w, "existing", "the table had %s of %s on %s; they were loaded over", count(e.Found), plural(e.Rows, "row"),
		e.Asked.Format(askedLayout))
	for _, row := range e.Samples {
		line(w, "", "row %s", row)
	}
}

// askedLayout is how the time of look-ups is shown.
const askedLayout = "2006-01-02 15:04 MST"

// writePhases shows how long the stages took and, with verbose, their parts, whose times are summed over all cores.
func writePhases(w io.Writer, s *summary.Summary, took time.Duration, verbose bool) {
	for i, p := range s.Phases {
		parts := ""
		if verbose && i+1 < len(s.Phases) && s.Phases[i+1].Of == p.Name {
			parts = "; its parts, on all cores together:"
		}
		if p.Of == "" {
			if p.Output != "" {
				parts = " for " + p.Output + parts
			}
			line(w, p.Name, "%.2f s, %s, %s/s%s", float64(hundredths(p.Seconds))/100, bytesize.Format(p.Bytes),
				bytesize.Format(int64(p.Rate)), parts)
		} else if verbose {
			line(w, "", "%-8s %.2f s, %s, %s/s", p.Name, p.Seconds, bytesize.Format(p.Bytes), bytesize.Format(int64(p.Rate)))
		}
	}
	if s.Status != failure.StatusNothing {
		writeTook(w, s, took)
	}
	if r := s.Resumed; r != nil {
		line(w, "resumed", "%s, %s of the input, sorted already", plural(r.Records, "record"), bytesize.Format(r.Bytes))
	}
	if s.Sort != nil && s.Sort.Runs > 0 {
		avoid := ""
		if s.Sort.Memory > 0 {
			avoid = "; --memory " + bytesize.Exact(s.Sort.Memory) + " avoids that"
		}
		line(w, "spilled", "%s, %s%s", jobfile.Plural(s.Sort.Runs, "sorted run"), bytesize.Format(s.Sort.Spilled), avoid)
	}
}

// writeTook ends the list of times. The times of the consecutive stages and of everything else add up to the total
// time, to the precision shown.
func writeTook(w io.Writer, s *summary.Summary, took time.Duration) {
	stages := 0
	for _, p := range s.Phases {
		if p.Of == "" {
			stages += hundredths(p.Seconds)
		}
	}
	waited := hundredths(s.Waited)
	all := max(hundredths(took.Seconds()), stages+waited)
	if waited > 0 {
		line(w, "waited", "%.2f s, for the input or other loads", s.Waited)
	}
	line(w, "other", "%.2f s", float64(all-stages-waited)/100)
	largest := ""
	if b := s.Bound; b != nil && all >= boundAfter {
		largest = fmt.Sprintf("; %.0f%% of the work was %s", 100*b.Share, limitOf(b))
	}
	line(w, "took", "%.2f s%s", float64(all)/100, largest)
}

// boundAfter is how long, in hundredths of a second, a run must have taken before its largest part is worth naming.
const boundAfter = 100

func hundredths(seconds float64) int { return int(math.Round(seconds * 100)) }

// limitOf is the largest part of a run and its limit.
func limitOf(b *summary.Bound) string {
	switch b.Phase {
	case "read":
		return "reading (limit: the input's disk or network)"
	case "write":
		return "writing (limit: the output's disk or network)"
	case "spill":
		return "spilling (limit: the disk of --work-dir; more --memory avoids it)"
	case "load":
		return "loading (limit: HBase)"
	case "probe":
		return "asking for the loaded rows (limit: HBase)"
	}
	return fmt.Sprintf("%s (limit: CPU; %s were %.0f%% busy)", b.Phase, jobfile.Plural(b.Cores, "core"), 100*b.Busy)
}

// writeLoadLine shows the loaded files of an output and, with verbose, its regions.
func writeLoadLine(w io.Writer, s *summary.OutputSummary, status string, verbose bool) {
	if verbose {
		defer writeRegions(w, s)
	}
	switch {
	case !s.Load.Requested:
		line(w, "load", "off (load: false, or --no-load)")
	case status == failure.StatusEmpty || s.Counts.Written == 0:
		line(w, "load", "nothing to load: there are no rows")
	case status == failure.StatusNothing:
		line(w, "load", "done before")
	case len(s.Files) == 0:
		line(w, "load", "nothing to load: there are no cells")
	default:
		writeLoaded(w, s.Load)
	}
	if s.Load.Staging != "" {
		line(w, "staging", "%s is still there; look into it before deleting it", s.Load.Staging)
	}
}

func writeRegions(w io.Writer, s *summary.OutputSummary) {
	for _, r := range s.Regions {
		line(w, fmt.Sprintf("region %d", r.Region), "[%s, %s): %s, %s, %s, %s",
			r.Start, r.End, plural(r.Rows, "row"), plural(r.Cells, "cell"),
			jobfile.Plural(r.Files, "file"), bytesize.Format(r.Bytes))
	}
	for _, f := range s.Files {
		line(w, "file", "%s: %s, %s, %s", f.Path, plural(f.Rows, "row"), plural(f.Cells, "cell"), bytesize.Format(f.Bytes))
	}
}

// count formats a number with commas.
func count(n int64) string {
	return stats.Count(n)
}

func writeLoad(w io.Writer, r *loading.LoadReport) {
	fmt.Fprintf(w, "%s into table %s: %s\n", r.Directory, r.Table, r.Status)
	if r.Status != failure.StatusNothing {
		writeLoaded(w, r.Load)
	}
}

func writeLoaded(w io.Writer, l loading.LoadResult) {
	line(w, "loaded", "%s into %s in %s", jobfile.Plural(l.Files, "file"), jobfile.Plural(l.Regions, "region"),
		jobfile.Plural(l.Rounds, "round"))
}

func writeVerification(w io.Writer, r *verify.Verification, verbose bool) {
	for _, out := range r.Outputs {
		writeVerification(w, out, verbose)
	}
	if r.Outputs != nil {
		return
	}
	fmt.Fprintf(w, "verify %s: %s\n", place(r.Against), r.Status)
	for _, d := range r.Differences {
		line(w, d.What, "%v", d)
	}
	if r.Status == failure.StatusDone || r.Rows > 0 {
		line(w, "rows", "%s, %s", count(r.Rows), plural(r.Cells, "cell"))
	}
	if r.Resumed != nil {
		line(w, "read",
			"%s of these rows by an interrupted verification, from %s on; deletions since then are not noticed",
			count(r.Resumed.Rows), r.Resumed.Since.Format(time.DateTime+" MST"))
	}
	extra := r.Extra + r.ExtraRows
	if r.Stale != nil { // r.Stale has a message
		extra = 0
	}
	if r.Missing+r.Different+extra+r.Rejected > 0 {
		line(w, "found", "%s missing, %s different, %s extra; %s not of this source; %s rejected",
			plural(r.Missing, "cell"), count(r.Different), count(r.Extra), plural(r.ExtraRows, "row"),
			plural(r.Rejected, "record"))
	}
	if r.Superseded > 0 {
		line(w, "newer", "%s superseded: readers get newer versions; these don't show that this run's cells were ever there",
			plural(r.Superseded, "cell"))
	}
	if r.Stale != nil {
		line(w, "stale", "not in the source: %s with this timestamp; of %s it has no cell; see %s",
			plural(r.Stale.Cells, "cell"), plural(r.Stale.Rows, "row"), r.Stale.File)
	}
	if r.Files != nil && r.Status == failure.StatusDone {
		line(w, "files", "%d", len(r.Files))
		line(w, "digest", "%v", r.Digest)
	}
	if verbose && r.Status == failure.StatusDone {
		for _, f := range r.Files {
			line(w, "file", "%s: %s, %s, %s, %s, [%s, %s]", f.Path, plural(f.Rows, "row"),
				plural(f.Cells, "cell"), plural(f.Blocks, "block"),
				bytesize.Format(f.Bytes), f.FirstRow, f.LastRow)
		}
	}
}

func writeInspection(w io.Writer, r *lookup.InspectReport) {
	fmt.Fprintf(w, "%s\n", place(r.File))
	line(w, "file", "HFile %s, %s; compression %s, encoding %s, checksums %s", r.Version, bytesize.Format(r.Bytes),
		r.Compression, r.Encoding, r.Checksum)
	line(w, "cells", "%s in %s; %.1f bytes per cell on disk%s", count(r.Cells), plural(r.Rows, "row"),
		float64(r.Bytes)/float64(max(r.Cells, 1)), unencoded(r))
	line(w, "rows", "[%s, %s]", r.FirstRow, r.LastRow)
	fmt.Fprintf(w, "  %-26s %8s %12s %12s %6s %10s %10s\n", "blocks", "number", "on disk", "raw",
		"ratio", "entries", "a block")
	for _, t := range r.Types {
		fmt.Fprintf(w, "  %-26s %8s %12s %12s %6.2f %10s %10.1f\n", t.Type, count(t.Blocks), count(t.Stored),
			count(t.Raw), t.Ratio, count(t.Entries),
			float64(t.Entries)/float64(t.Blocks))
	}
	line(w, "index", "%s", plural(r.IndexLevels, "level"))
	if b := r.Bloom; b != nil {
		line(w, "bloom", "%s: %s keys, room for %s, in %s, %s; %d hashes, %.1f%% of the bits set, %.2f%% false "+
			"positives expected", b.Kind, count(b.Keys),
			count(b.Capacity), jobfile.Plural(b.Chunks, "chunk"), bytesize.Format(b.Bytes), b.Hashes,
			100*float64(b.BitsSet)/float64(max(8*b.Bytes, 1)), 100*b.FalsePositives)
	} else {
		line(w, "bloom", "none")
	}
	for _, key := range r.Samples {
		line(w, "key", "%s", key)
	}
	for _, f := range r.Trailer {
		line(w, "trailer", "%s = %d", f.Name, f.Value)
	}
	for _, i := range r.Info {
		line(w, "info", "%s = %s", i.Name, i.Value)
	}
	for _, b := range r.Blocks {
		line(w, "block", "%d %s, %d bytes on disk, %d raw, %d entries %s", b.Offset, b.Type, b.Stored,
			b.Raw, b.Entries, b.FirstKey)
	}
}

func unencoded(r *lookup.InspectReport) string {
	if r.Unencoded == 0 {
		return ""
	}
	return fmt.Sprintf(", %.1f without encoding", float64(r.Unencoded)/float64(max(r.Cells, 1)))
}

// writeCell writes a cell as a line that no other cell has, because Printable leaves no tab, and a value is quoted.
func writeCell(w io.Writer, c *cell.Cell) error {
	_, err := fmt.Fprintf(w, "%s\t%s:%s\t%d\ttype=%d\t%q\n", printable.Bytes(c.Row), printable.Bytes(c.Family),
		printable.Bytes(c.Qualifier),
		c.Timestamp, c.Type, c.Value)
	return err
}

func writeRows(w io.Writer, r *lookup.GetReport) {
	for _, row := range r.Rows {
		fmt.Fprintln(w, row.Row)
		for _, c := range row.Cells {
			value := oneLine(c.Value)
			if c.Base64 != "" && c.Type == "" {
				value = "base64 " + c.Base64
			}
			fmt.Fprintf(w, "  %s:%s = %s\n", c.Family, c.Qualifier, value)
		}
	}
	fmt.Fprintf(w, "%s from %s\n", plural(int64(len(r.Rows)), "row"), place(r.From))
}

// oneLine shows control characters as escapes, so that a value stays on its line.
func oneLine(text string) string {
	if strings.IndexFunc(text, func(r rune) bool { return unicode.IsControl(r) || r == unicode.ReplacementChar }) < 0 {
		return text
	}
	return fmt.Sprintf("%q", text)
}
