package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"bulkload/jobs"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/run/summary"
)

// reportFlag says where to write the page of a run.
type reportFlag struct {
	Report string `placeholder:"FILE.html" help:"Writes what the runs did to an HTML page with charts, even if they failed. Only its owner may read it: it shows row keys and rejected records."`
}

// check refuses a file that can't be written, before anything is done.
func (f reportFlag) check() error { return checkPage("--report", f.Report) }

// checkPage refuses a file for a page that can't be written, or that may not be a page. "" means no page.
func checkPage(flag, name string) error {
	if name == "" {
		return nil
	}
	if strings.Contains(name, "://") {
		return usage(fmt.Errorf("%s %s: the page is a local file; give a path", flag, name))
	}
	if err := checkReplaced(flag, name); err != nil {
		return err
	}
	// otherwise it may be a job file, because the flag's value was forgotten
	if ext := strings.ToLower(filepath.Ext(name)); ext != ".html" && ext != ".htm" {
		return usage(fmt.Errorf("%s %s: the page replaces the file; give a name that ends with .html", flag, name))
	}
	return nil
}

// checkReplaced refuses a file that can't be replaced atomically by one made beside it.
func checkReplaced(flag, name string) error {
	switch info, err := os.Stat(name); {
	case err == nil && !info.Mode().IsRegular():
		return usage(fmt.Errorf("%s %s: is not a regular file; give the path of one", flag, name))
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return usage(fmt.Errorf("%s %s: %w", flag, name, err))
	}
	tried, err := os.CreateTemp(filepath.Dir(name), ".bulkload-*")
	if err == nil {
		err = errors.Join(tried.Close(), os.Remove(tried.Name()))
	}
	if err != nil {
		return usage(fmt.Errorf("%s %s: its folder can't be used: %w", flag, name, err))
	}
	return nil
}

// reported is a requested page.
type reported struct {
	file string
	*summary.RunReport
	wanted []jobs.Series // the requested runs, as far as their job files could be read
}

func (s *session) newReported(f reportFlag) *reported {
	if f.Report == "" {
		return nil
	}
	name, host := whoAmI()
	return &reported{f.Report, summary.NewRunReport(s.tracker.begun, strings.Trim(name+"@"+host, "@")), nil}
}

// add adds a run that has ended; it does nothing if no page is requested.
func (r *reported) add(sum *summary.Summary, took time.Duration) {
	if r != nil {
		r.Add(sum, took)
	}
}

// write writes the page. A failure is logged, and does not fail a completed run.
func (r *reported) write(s *session, out *failure.Outcome, took time.Duration) {
	if err := r.Write(r.file, *out, meaning(out.Exit), slices.Concat(r.wanted...), took); err != nil {
		s.log.Warn(fmt.Sprintf("%v; the run itself is not affected", err))
	}
}

var exitLine = regexp.MustCompile(`(?m)^  ([0-9]+) +(.*)$`)

// meaning is the explanation of an exit code in the help.
func meaning(exit int) string {
	for _, m := range exitLine.FindAllStringSubmatch(exitHelp, -1) {
		if m[1] == strconv.Itoa(exit) {
			return m[2]
		}
	}
	return ""
}

var errCheckReports = errors.New("--check makes no run: leave --report out")
