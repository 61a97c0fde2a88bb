package main

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"bulkload/jobs"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/run/summary"

	"github.com/alecthomas/kong"
)

// jsonForm is how much JSON is wanted: none, all, or a summary short enough for the field in which a scheduler keeps
// results.
type jsonForm string

const (
	fullJSON  jsonForm = "full"
	shortJSON jsonForm = "summary"
)

func (f jsonForm) wanted() bool { return f != "" }

// IsBool lets kong accept --json without a value.
func (*jsonForm) IsBool() bool { return true }

// Decode reads --json and --json=summary.
func (f *jsonForm) Decode(ctx *kong.DecodeContext) error {
	*f = fullJSON
	if ctx.Scan.Peek().Type != kong.FlagValueToken {
		return nil
	}
	switch value := ctx.Scan.Pop().Value; value {
	case "summary":
		*f = shortJSON
	case "true", true:
	case "false", false:
		*f = ""
	default:
		return errors.New("write --json, or --json=summary")
	}
	return nil
}

// jsonOf finds the flag in a command line that can't be parsed.
func jsonOf(args []string) jsonForm {
	switch {
	case slices.Contains(args, "--json=summary"):
		return shortJSON
	case slices.Contains(args, "--json"):
		return fullJSON
	}
	return ""
}

const (
	shortBytes = 2048 // limit of a short summary, with its newline
	shortText  = 300  // limit of a text in it, in bytes, before it is quoted
)

// shortSummary is what a scheduler needs to know about a command. It uses the names of the full object where that has
// the field.
type shortSummary struct {
	failure.Outcome
	Job         string  `json:"job,omitempty"`
	Date        string  `json:"date,omitempty"`
	Seconds     float64 `json:"seconds"`
	RejectsFile string  `json:"rejects,omitempty"`
	*shortOutput
	Outputs []shortOutput `json:"outputs,omitempty"`
	LeftOut int           `json:"outputs_left_out,omitempty"`
}

// shortOutput is a table's part of the summary.
type shortOutput struct {
	Job         string `json:"output_job,omitempty"` // if there are several runs
	Date        string `json:"output_date,omitempty"`
	Table       string `json:"table"`
	TableStatus string `json:"table_status,omitempty"` // if there are several
	Run         string `json:"run"`
	Read        int64  `json:"rows_read"`
	Written     int64  `json:"rows_written"`
	Rejected    int64  `json:"rows_rejected"`
	Duplicates  int64  `json:"rows_duplicate"`
	Filtered    int64  `json:"rows_filtered"`
	Files       int    `json:"files"`
	Bytes       int64  `json:"bytes"`
	Loaded      int    `json:"files_loaded"`
	Output      string `json:"output,omitempty"`
}

// shorten makes the short form of a report, which fits into shortBytes.
func shorten(r report, seconds float64) *shortSummary {
	short := &shortSummary{Outcome: *r.Result(), Seconds: seconds}
	short.Error = cut(short.Error, 2*shortText)
	if s, ok := r.(*summary.Summary); ok {
		short.Job, short.Date = cut(s.Run.Job, shortText/2), s.Run.Date
		for _, f := range s.Rejects {
			short.RejectsFile = cut(f.Path, shortText)
		}
		if s.OutputSummary != nil {
			short.shortOutput = newShortOutput(s.Run.Table, s.Run.ID, s.OutputSummary)
		}
		for _, out := range s.Outputs {
			one := newShortOutput(out.Run.Table, out.Run.ID, &out.OutputSummary)
			one.TableStatus = out.Status
			short.Outputs = append(short.Outputs, *one)
		}
	}
	if several, ok := r.(*jobs.Several); ok {
		for _, run := range several.Runs {
			short.Outputs = append(short.Outputs, shortRun(run)...)
		}
	}
	for n := len(short.Outputs) - 1; n >= 0 && short.size() > shortBytes; n-- {
		short.LeftOut++
		short.Outputs = short.Outputs[:n]
	}
	return short
}

// shortRun returns the tables of one of several runs.
func shortRun(s *summary.Summary) []shortOutput {
	one := shorten(s, 0)
	outputs := one.Outputs
	if one.shortOutput != nil {
		one.TableStatus = s.Status
		outputs = []shortOutput{*one.shortOutput}
	}
	for i := range outputs {
		outputs[i].Job, outputs[i].Date = one.Job, one.Date
	}
	return outputs
}

func newShortOutput(table, run string, s *summary.OutputSummary) *shortOutput {
	b := s.Counts
	short := &shortOutput{Table: cut(table, shortText), Run: run, Read: b.Read, Written: b.Written,
		Rejected: b.Rejected, Duplicates: b.Duplicates,
		Filtered: b.Filtered, Files: len(s.Files), Loaded: s.Load.Files, Output: cut(s.Output, shortText)}
	for _, f := range s.Files {
		short.Bytes += f.Bytes
	}
	return short
}

// size is the size of the summary's line.
func (s *shortSummary) size() int {
	text, err := json.Marshal(s)
	if err != nil { // never: it consists of texts and numbers
		return 0
	}
	return len(text) + 1
}

// cut shortens a text to n bytes of JSON.
func cut(text string, n int) string {
	const mark = "…"
	var b strings.Builder
	size := 0
	for _, r := range text {
		quoted, err := json.Marshal(string(r))
		if err != nil || size+len(quoted)-2 > n-len(mark) {
			return b.String() + mark
		}
		size += len(quoted) - 2
		b.WriteRune(r)
	}
	return text
}
