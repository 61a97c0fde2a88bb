package tasks_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"bulkload/internal/storage"
	"bulkload/internal/test/livetest"
	"bulkload/internal/test/runtest"
	"bulkload/jobs"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/run"
	"bulkload/jobs/tasks"
)

// TestTasksOnHDFS: tasks read their input from HDFS and leave runs and files there. The files are those of one process,
// and the same command loads them.
func TestTasksOnHDFS(t *testing.T) {
	l := livetest.New(t)
	l.Ask(t, "create", l.Table, "f", "1,2,3,4,5,6,7,8,9", "COMPRESSION=SNAPPY", "DATA_BLOCK_ENCODING=FAST_DIFF", "BLOOMFILTER=ROW")
	const date = "2026-11-20"
	l.Night(t, date, 6000, 1)
	fsys, _ := l.HDFS(t, l.Out)
	in := "/user/test/in_" + strings.ReplaceAll(l.Table, ":", "_")
	text, err := os.ReadFile(filepath.Join(l.Folder, "in", date, "part-m-00000"))
	if err == nil {
		err = fsys.MkdirAll(in+"/"+date, 0)
	}
	for i, part := range strings.SplitAfter(string(text), "\x10") {
		if err == nil && i < 3 { // three files of a record each, and the rest in one
			err = storage.CreateFile(fsys, fmt.Sprintf("%s/%s/part-%d", in, date, i), []byte(part))
			text = text[len(part):]
		}
	}
	if err == nil {
		err = storage.CreateFile(fsys, in+"/"+date+"/part-3", text)
	}
	job, read := filepath.Join(l.Folder, "check.yaml"), []byte(nil)
	if err == nil {
		read, err = os.ReadFile(job)
	}
	if err == nil {
		err = os.WriteFile(job, []byte(strings.Replace(string(read), "path: in/", "path: hdfs://"+in+"/", 1)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	here := l.Job(t, date)
	here.Output = l.Out + "-here"
	o := l.Options()
	o.NoLoad = true
	runtest.Must(t, here, o)

	// no site files: the plan has what it needs of them
	e := &runtest.InProcess{Options: options.Options{WorkDir: t.TempDir()}}
	e.Options.Properties = map[string]string{"fs.defaultFS": strings.TrimSuffix(fsys.URI("/"), "/")}
	s, err := run.Job(t.Context(), (&run.TaskEngine{Engine: e, Sizes: runtest.SmallTasks}).Always(), l.Job(t, date), l.Options())
	if err != nil {
		t.Fatal(err)
	}
	if s.Load.Files != 10 || s.Counts.Written != 6000 || len(e.Ran) < 10 {
		t.Errorf("%d files are loaded, %v, by %v", s.Load.Files, s.Counts, e.Ran)
	}
	_, dir, _ := strings.Cut(l.Out, "hdfs://")
	m, err := manifest.Read(fsys, dir+"/"+date)
	if err != nil {
		t.Fatal(err)
	}
	n, err := manifest.Read(fsys, dir+"-here")
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(digestsOf(m), digestsOf(n)) {
		t.Errorf("the files are %v, and %v by one process", digestsOf(m), digestsOf(n))
	}
	if _, err := fsys.Stat(dir + "/" + date + "/" + manifest.TasksDir); err == nil {
		t.Error("the tasks' folder is left")
	}
	l.WantTable(t, "loaded", l.Expected(t, date))
}

// digestsOf are the sizes and digests of the files that a manifest names.
func digestsOf(m *manifest.Manifest) map[string]string {
	all := map[string]string{}
	for _, f := range m.Files() {
		all[f.Path] = fmt.Sprint(f.Bytes, f.Digest)
	}
	return all
}

// TestFinishedAgain: task finish may be repeated by the plan alone: after it stopped before the load, and after the
// load. It says that there is nothing to do only if the table serves the files.
func TestFinishedAgain(t *testing.T) {
	l := livetest.New(t)
	l.Ask(t, "create", l.Table, "f", "1,2,3,4,5,6,7,8,9", "COMPRESSION=SNAPPY", "DATA_BLOCK_ENCODING=FAST_DIFF", "BLOOMFILTER=ROW")
	const date = "2026-11-20"
	l.Night(t, date, 300, 1)
	planned, err := jobs.PlanTasks(t.Context(), l.Job(t, date), l.Options(), runtest.SmallTasks)
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(err)
	for _, task := range planned.Tasks {
		check(tasks.Map(t.Context(), planned.Document, task, l.Options()))
	}
	gathered, err := jobs.GatherTasks(t.Context(), planned.Document, l.Options(), runtest.SmallTasks)
	check(err)
	for _, task := range gathered.Tasks {
		check(tasks.Reduce(t.Context(), gathered.Document, task, l.Options()))
	}
	later := l.Options()
	later.NoLoad = true
	s, err := jobs.FinishTasks(t.Context(), planned.Document, later)
	if err != nil || s.Status != failure.StatusDone {
		t.Fatal(s.Status, err)
	}
	if again, err := jobs.GatherTasks(t.Context(), planned.Document, l.Options(), runtest.SmallTasks); err != nil || again.Status != failure.StatusNothing || len(again.Tasks) > 0 {
		t.Errorf("gathered again: %+v, %v", again, err)
	}
	var over *tasks.WrittenError
	if err := tasks.Map(t.Context(), planned.Document, 0, l.Options()); !errors.As(err, &over) {
		t.Errorf("a task of a written run: %v", err)
	}
	s, err = jobs.FinishTasks(t.Context(), planned.Document, l.Options())
	if err != nil || s.Status != failure.StatusDone || s.Load.Files != 10 {
		t.Fatal(s.Status, err)
	}
	l.WantTable(t, "loaded", l.Expected(t, date))
	fsys, _ := l.HDFS(t, l.Out)
	dir := strings.TrimPrefix(l.Out, "hdfs://") + "/" + date
	if _, err := fsys.Stat(dir + "/" + manifest.TasksDir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the tasks' folder is left: %v", err)
	}
	s, err = jobs.FinishTasks(t.Context(), planned.Document, l.Options())
	if err != nil || s.Status != failure.StatusNothing || s.Run.ID != planned.Run.ID {
		t.Errorf("finished again: %s of %+v, %v", s.Status, s.Run, err)
	}
	l.Ask(t, "truncate", l.Table, "-preserve")
	if s, err = jobs.FinishTasks(t.Context(), planned.Document, l.Options()); err == nil {
		t.Errorf("with an empty table: %s", s.Status)
	}
}
