package yarn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"os/user"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/pause"
	"bulkload/internal/storage"
	"bulkload/jobs/tasks"
)

// Runner runs phases on YARN.
type Runner struct {
	Settings
	// Program is the file of this program, which is shipped with each job.
	Program string
	// ConfDirs are the folders of the site files, for Hadoop's commands.
	ConfDirs []string
	// Principal and Keytab are for Hadoop's commands; "": they use the ticket cache.
	Principal, Keytab string
	// WorkDir is a folder for small temporary files.
	WorkDir string
	Log     *slog.Logger
	// Kill is called when a run is interrupted while a job is running. If it returns true, the job is killed;
	// otherwise, or if Kill is nil, the job continues.
	Kill func(application string) bool

	tools     tools
	tickets   tickets
	forgotten int // number of jobs that YARN has forgotten
}

var _ tasks.Engine = (*Runner)(nil)

// folder is the name of the engine's own folder in a phase's folder.
const folder = "_yarn"

// jobName returns the name of a phase's job, by which another process finds it.
func jobName(p tasks.Phase) string { return "bulkload-" + p.Run + "-" + p.Name }

// Run submits a phase's tasks as one job and follows it. If an earlier process has submitted tasks of the phase, and
// their job still runs, it follows that job first. If the context ends, the job continues, unless Kill returns true.
func (e *Runner) Run(ctx context.Context, p tasks.Phase) error {
	if len(p.Tasks) == 0 {
		return nil
	}
	var err error
	if e.tools, err = e.find(); err != nil {
		return err
	}
	if !strings.HasPrefix(p.FS.URI(p.Dir), "hdfs:") {
		return errcode.YarnSubmit.Errorf("run tasks on YARN: the output %s is not in HDFS, where all nodes reach it",
			p.FS.URI(p.Dir))
	}
	last, err := submissions(p)
	if err != nil {
		return err
	}
	followed, err := e.followEarlier(ctx, p)
	if followed && last == 0 && hasFailed(err) {
		e.Log.Info("the job that was found is that of another plan of the run, and has ended")
		err = nil
	}
	if err != nil {
		return err
	}
	if followed { // its reduce tasks may have other slices than those of this phase
		return tasks.ErrAgain
	}
	return e.submit(ctx, p, last+1)
}

// hasFailed reports whether a job has failed or was killed. A failed job whose list of tasks is missing, because it is
// deleted when a run begins anew, belongs to an old plan, whose tasks are refused.
func hasFailed(err error) bool {
	return errcode.Of(err, func(c errcode.Code) bool { return c == errcode.YarnFailed }) != ""
}

// followEarlier follows the live job of an earlier process to its end, if there is one.
func (e *Runner) followEarlier(ctx context.Context, p tasks.Phase) (followed bool, err error) {
	var application string
	err = e.retryUntil(ctx, func() (err error) {
		application, err = e.live(ctx, jobName(p))
		return err
	})
	if err != nil || application == "" {
		return false, err
	}
	e.Log.Info(fmt.Sprintf("the %s tasks run on YARN already, as %s", p.Name, application))
	f := e.newFollower(ctx, p)
	defer f.stop()
	f.application = application
	return true, f.poll(ctx)
}

// submissions returns the number of a phase's last submission; 0 if there was none.
func submissions(p tasks.Phase) (last int, err error) {
	dir := path.Join(p.Dir, folder)
	entries, err := p.FS.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	for _, e := range entries {
		if n, err := strconv.Atoi(strings.TrimPrefix(e.Name, "tasks-")); err == nil {
			last = max(last, n)
		}
	}
	return last, err
}

func taskList(n int) string { return fmt.Sprintf("tasks-%04d", n) }

// writeTasks writes the input of a job: the index of a task in each line.
func writeTasks(p tasks.Phase, n int) (name string, err error) {
	dir := path.Join(p.Dir, folder)
	if err := p.FS.MkdirAll(dir, 0); err != nil {
		return "", err
	}
	name = path.Join(dir, taskList(n))
	w, err := p.FS.Create(name, 0)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	for _, task := range p.Tasks {
		fmt.Fprintln(&b, task)
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return "", errors.Join(err, w.Abort())
	}
	return name, w.Close()
}

// submit submits the tasks as submission n, and follows the job. It writes the list of tasks first, because a job
// without one belongs to another plan.
func (e *Runner) submit(ctx context.Context, p tasks.Phase, n int) error {
	input, err := writeTasks(p, n)
	if err != nil {
		return fmt.Errorf("write the list of tasks: %w", err)
	}
	settings := e.Settings
	if kerberos(p.FS) {
		e.Log.Info(tokenNote)
	} else if settings.User == "" {
		settings.User = hadoopUser()
	}
	args, err := settings.args(e.tools, p, e.submission(p, input))
	if err != nil {
		return err
	}
	cmd := exec.Command(e.tools.hadoop, args...)
	if err := e.prepare(ctx, cmd); err != nil {
		return err
	}
	e.Log.Debug("run " + quoted(cmd.Args))
	f := e.newFollower(ctx, p)
	defer f.stop()
	return f.run(ctx, cmd)
}

// tokenNote warns what happens to a job that waits for very long.
const tokenNote = "the tasks use delegation tokens, which YARN renews for at most " +
	"dfs.namenode.delegation.token.max-lifetime (7 days, unless the cluster has another): " +
	"a job that waits and runs for longer fails, and the same command then redoes what is missing"

// kerberos reports whether tasks need tokens for a file system.
func kerberos(fsys storage.FS) bool {
	d, ok := storage.DelegatorOf(fsys)
	return ok && d.Delegates()
}

// hadoopUser returns the name of this process's user on a cluster without Kerberos.
func hadoopUser() string {
	if name := os.Getenv("HADOOP_USER_NAME"); name != "" {
		return name
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return ""
}

func (e *Runner) submission(p tasks.Phase, input string) submission {
	return submission{name: jobName(p), input: p.FS.URI(input),
		output: p.FS.URI(path.Join(p.Dir, folder, "output")), program: e.Program}
}

// Commands returns the commands that would submit the phases of a run with this output, for people. memory is a task's,
// in bytes. Values that are known only when the run has begun are in capital letters.
func (s Settings) Commands(output, program string, memory int64, cores int) (commands []string, err error) {
	t, err := s.find()
	if err != nil {
		return nil, err
	}
	home := strings.TrimRight(output, "/") + "/.tasks/RUN/"
	for _, phase := range []struct{ name, document string }{{tasks.MapPhase, "plan.json"},
		{tasks.ReducePhase, "units-HASH.json"}} {
		p := tasks.Phase{Name: phase.name, Run: "RUN", Document: home + phase.document, Memory: memory, Cores: cores}
		own := home + phase.name + "/" + folder
		args, err := s.args(t, p, submission{name: jobName(p), input: own + "/" + taskList(1),
			output: own + "/output", program: program})
		if err != nil {
			return nil, err
		}
		commands = append(commands, quoted(append([]string{t.hadoop}, args...)))
	}
	return commands, nil
}

// quoted returns a command quoted for a shell.
func quoted(args []string) string {
	var b strings.Builder
	for i, a := range args {
		if i > 0 {
			b.WriteByte(' ')
		}
		if a != "" && !strings.ContainsFunc(a, func(r rune) bool {
			return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%", r)
		}) {
			b.WriteString(a)
			continue
		}
		b.WriteString("'" + strings.ReplaceAll(a, "'", `'\''`) + "'")
	}
	return b.String()
}

// prepare sets the environment of a command of Hadoop: its configuration, a log that we can read, and a ticket.
func (e *Runner) prepare(ctx context.Context, cmd *exec.Cmd) error {
	env := append(os.Environ(), "HADOOP_ROOT_LOGGER=INFO,console")
	for _, dir := range slices.Backward(e.ConfDirs) {
		if _, err := os.Stat(filepath.Join(dir, "yarn-site.xml")); err == nil {
			env = append(env, "HADOOP_CONF_DIR="+dir)
			break
		}
	}
	cache, err := e.tickets.cache(ctx, e)
	if err != nil {
		return err
	}
	if cache != "" {
		env = append(env, "KRB5CCNAME="+cache)
	}
	cmd.Env = env
	return nil
}

// Close deletes the ticket cache that was made for Hadoop's commands.
func (e *Runner) Close() error { return e.tickets.remove() }

// maxUnavailable is how long YARN may be out of reach before a run ends.
const maxUnavailable = 10 * time.Minute

// retryUntil repeats a request to YARN until it is answered. The error has errcode.YarnDown if that takes longer than
// maxUnavailable.
func (e *Runner) retryUntil(ctx context.Context, ask func() error) error {
	begun := time.Now()
	for first := true; ; first = false {
		err := ask()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Since(begun) > maxUnavailable:
			return errcode.YarnDown.Errorf("ask YARN for the job: %w; the job goes on; run the same command again to follow it",
				err)
		case first:
			e.Log.Warn(fmt.Sprintf("YARN does not answer, trying again for %v: %v", maxUnavailable, err))
		}
		if err := pause.For(ctx, pollPause); err != nil {
			return err
		}
	}
}
