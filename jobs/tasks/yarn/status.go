package yarn

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// report is what YARN says about an application.
type report struct {
	state       string // NEW, SUBMITTED, ACCEPTED, RUNNING, FINISHED, FAILED, KILLED
	final       string // UNDEFINED, SUCCEEDED, FAILED, KILLED
	diagnostics string
	tracking    string
}

func (r report) ended() bool {
	return r.state == "FINISHED" || r.state == "FAILED" || r.state == "KILLED"
}

func (r report) succeeded() bool { return r.state == "FINISHED" && r.final == "SUCCEEDED" }

// parseReport reads the output of `yarn application -status`.
func parseReport(text string) (report, error) {
	var r report
	inDiagnostics := false
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(line, " : ")
		value = strings.TrimSpace(value)
		known := true
		switch strings.TrimSpace(name) {
		case "State":
			r.state = value
		case "Final-State":
			r.final = value
		case "Tracking-URL":
			r.tracking = value
		case "Diagnostics":
			r.diagnostics, inDiagnostics = value, true
			continue
		case "Unmanaged Application", "Application Node Label Expression",
			"AM container Node Label Expression", "TimeoutType":
		default:
			known = false
		}
		if known && ok {
			inDiagnostics = false
		} else if inDiagnostics {
			r.diagnostics += "\n" + strings.TrimSpace(line)
		}
	}
	r.diagnostics = strings.TrimSpace(r.diagnostics)
	if r.state == "" {
		return r, fmt.Errorf("the report of the application has no state: %q", abridged(text))
	}
	return r, nil
}

// abridged returns the end of a text, for an error.
func abridged(text string) string {
	const most = 1000
	text = strings.TrimSpace(text)
	return text[max(0, len(text)-most):]
}

// liveStates are the states of an application that has not ended.
const liveStates = "NEW,NEW_SAVING,SUBMITTED,ACCEPTED,RUNNING"

// parseList reads the output of `yarn application -list`, and returns the applications of a name.
func parseList(text, name string) (ids []string) {
	for line := range strings.Lines(text) {
		columns := strings.Split(line, "\t")
		for i := range columns {
			columns[i] = strings.TrimSpace(columns[i])
		}
		if len(columns) > 1 && strings.HasPrefix(columns[0], "application_") && columns[1] == name {
			ids = append(ids, columns[0])
		}
	}
	return ids
}

// yarn runs a command of yarn and returns its output.
func (e *Runner) yarn(ctx context.Context, args ...string) (string, error) {
	cmd := exec.Command(e.tools.yarn, args...)
	if err := e.prepare(ctx, cmd); err != nil {
		return "", err
	}
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	e.Log.Debug("run " + strings.Join(cmd.Args, " "))
	ownGroup(cmd)
	if err := cmd.Start(); err != nil {
		return "", err
	}
	stop := context.AfterFunc(ctx, func() { end(cmd) })
	defer stop()
	if err := cmd.Wait(); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return out.String(), fmt.Errorf("yarn %s: %w: %s", strings.Join(args, " "), err, abridged(out.String()+errs.String()))
	}
	return out.String(), nil
}

// live returns the application of a name that has not ended; "" if there is none.
func (e *Runner) live(ctx context.Context, name string) (string, error) {
	out, err := e.yarn(ctx, "application", "-list", "-appTypes", "MAPREDUCE", "-appStates", liveStates)
	if err != nil {
		return "", err
	}
	ids := parseList(out, name)
	if len(ids) == 0 {
		return "", nil
	}
	return ids[0], nil
}

// noSuchJob is in YARN's answer about a job that it does not know. Either its ResourceManager was restarted since then
// without recovery, which is the default, or the job ended so long ago that YARN has forgotten it. In both cases the
// job no longer runs.
const noSuchJob = "doesn't exist in RM"

// stateForgotten is the state of a job that YARN has forgotten.
const stateForgotten = "forgotten"

func (e *Runner) status(ctx context.Context, application string) (report, error) {
	out, err := e.yarn(ctx, "application", "-status", application)
	if err != nil {
		out = err.Error()
	}
	switch {
	case strings.Contains(out, noSuchJob):
		return report{state: stateForgotten}, nil
	case err != nil:
		return report{}, err
	}
	return parseReport(out)
}

func (e *Runner) kill(ctx context.Context, application string) error {
	_, err := e.yarn(ctx, "application", "-kill", application)
	if err != nil && strings.Contains(err.Error(), noSuchJob) {
		return nil
	}
	return err
}
