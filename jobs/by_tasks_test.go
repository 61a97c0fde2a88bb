package jobs

import (
	"os"
	"testing"

	"bulkload/internal/test/runtest"
	"bulkload/jobs/base/options"
	"bulkload/jobs/run"
)

// storedSame runs a stored job here and by tasks.
func storedSame(t *testing.T, name string) {
	unpackStored(t, name)
	j := storedJob(t)
	if err := os.RemoveAll("out"); err != nil { // that of an older program
		t.Fatal(err)
	}
	runtest.Must(t, j, options.Options{Memory: options.MinMemory, WorkDir: "work"})
	if err := os.Rename("out", "here"); err != nil {
		t.Fatal(err)
	}
	e := &runtest.InProcess{Options: options.Options{WorkDir: "work"}}
	if _, err := RunBy(t.Context(), &run.ByTasks{Engine: e, Sizes: runtest.SmallTasks}, storedJob(t), options.Options{}); err != nil {
		t.Fatal(err)
	}
	runtest.EqualManifests(t, name, storedManifests(t, j, "here"), storedManifests(t, j, "out"))
	runtest.SameFiles(t, name, "here", "out")
}

// TestTasksWriteTheSameForms: every form of input, several outputs and wide tables come to the same by tasks.
func TestTasksWriteTheSameForms(t *testing.T) {
	for _, name := range storedNames(t) {
		t.Run(name, func(t *testing.T) { storedSame(t, name) })
	}
}
