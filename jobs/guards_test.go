package jobs

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"bulkload/internal/test/testcluster"
)

// guard is a part of the program that prevents a false "done", a loss of rows or a refusal without need, with a change
// that removes it.
type guard struct {
	file     string // below the module's root
	old, new string // old occurs once in the file
	found    string // the test that finds the removal, of package jobs unless it names another
	with     string // another guard that is removed as well, because one of them suffices
}

// guards are removed one by one by make search-guards. Each removal must be found: by the search, or by a test of its own
// if other parts repair the harm, or the harm needs several faults between two calls.
var guards = map[string]guard{
	"the table is asked for every file after a load": {"jobs/loading/proof.go",
		"\tv, err := p.look(ctx, c, true, from, to)\n\tif err != nil {\n\t\treturn nil, err\n\t}\n",
		"\tif true {\n\t\treturn site.LookUp(ctx, p.cluster, c.table)\n\t}\n\tv, err := p.look(ctx, c, true, from, to)\n\tif err != nil {\n\t\treturn nil, err\n\t}\n",
		"TestSearch", ""},
	"the table is asked whether it has files that are gone": {"load/reopen.go",
		"\tif len(files) == 0 {\n\t\treturn nil, nil, nil\n\t}\n\tfor _, f := range files {\n\t\tif len(f.Probes)",
		"\tif true {\n\t\treturn files, nil, nil\n\t}\n\tfor _, f := range files {\n\t\tif len(f.Probes)",
		"load.TestSimulatedLostAnswers", ""},
	"what is recorded of the table is what was asked": {"jobs/loading/output_load.go",
		"\treturn l.record.end(table)\n", "\tif table, err = site.LookUp(ctx, l.cluster, l.table()); err != nil {\n\t\treturn err\n\t}\n\treturn l.record.end(table)\n", "TestSearch", ""},
	"hbase:meta is read again after the table was asked": {"jobs/loading/proof.go",
		"if !changed(table, now, chosen) {", "if true {", "jobs/loading.TestProofHistories", ""},
	"hbase:meta is where it was read": {"load/regions.go",
		"err = c.reader.checkMeta(ctx)", "err = nil", "TestSearch", ""},
	"a yes is void if the region is open elsewhere": {"load/rounds.go",
		"if err == nil && elsewhere {", "if false && elsewhere {", "load.TestYesOfARegionThatMoved", ""},
	"the lock is checked before a request": {"load/rounds.go",
		"if l.hooks.Before != nil {", "if false {", "load.TestNoRequestWithoutLeave", ""},
	"the lock is checked before a rename": {"jobs/env/lock/temps.go",
		"\treturn g.lock.Check()\n", "\treturn nil\n", "jobs/env/lock.TestLockTakenOver", ""},
	"an owner whose lock is taken over has nothing left to rename": {"jobs/env/lock/temps.go",
		"func (l *DirectoryLock) clearTemps() error {\n", "func (l *DirectoryLock) clearTemps() error {\n\tif true {\n\t\treturn nil\n\t}\n", "jobs/env/lock.TestRunWithoutLockRenamesNothing", ""},
	"a folder for temporary files that is made after its lock was taken over is not used": {"jobs/env/lock/temps.go",
		"\tif err := l.checkOwner(); err != nil {\n\t\treturn \"\", err\n\t}\n\tl.temps", "\tl.temps", "jobs/env/lock.TestFolderAfterATakeover", ""},
	"an owner whose turn is taken over writes nothing into the ledger": {"jobs/loading/output_record.go",
		"l.Write(e, temps)", "l.Write(e, temps[:0])", "TestSearch", ""},
	"the lock is checked before something is recorded": {"jobs/pipeline/output/dir.go",
		"func (w *Dir) CheckLock() error { return w.Lock.Check() }", "func (w *Dir) CheckLock() error { return nil }", "jobs/env/lock.TestLockTakenOver", ""},
	"a lock that may be taken over is lost": {"jobs/env/lock/lock.go",
		"age > LockStale/2 {", "age < 0 {", "jobs/env/lock.TestTrueCauses", ""},
	"files of an interrupted load are brought back": {"jobs/loading/recover.go",
		"if !m.Interrupted() {", "if true {", "TestSearch", ""},
	"files of an interrupted load of a directory are brought back": {"jobs/loading/recover.go",
		"if e == nil || err != nil || e.State", "if true || e.State", "TestSearch", ""},
	"the staging folder is recorded before the first request": {"jobs/loading/output_record.go",
		"r.out.Manifest.Staging = folder\n", "folder = \"\"\n\t\t\tr.out.Manifest.Staging = folder\n", "jobs/loading.TestStagingIsSavedBeforeRequests", ""},
	"the staging folder of a load that has not ended is kept": {"load/bulk.go",
		"l.way == hbase.PlainLoad || l.keep {", "l.way == hbase.PlainLoad {", "TestSearch", ""},
	"the staging folder of an interrupted load is used again": {"load/bulk.go",
		"if l.reused, err = l.reuseStaging(); err != nil || l.reused {", "if false {", "load.TestStagingIsUsedAgain", ""},
	"a staging folder with files is not deleted": {"load/recover_staging.go",
		"l.fs.Remove(name)", "l.fs.RemoveAll(name)", "load.TestStagingIsUsedAgain", ""},
	"servers that the master takes for dead have no regions": {"load/regions.go",
		"err = c.checkLive(ctx, regions)", "err = nil", "TestSearch", ""},
	"a region that can't be opened again now loses nothing": {"load/reopen.go",
		"if errors.Is(classifyBy(ctx, err, isTransient), ErrUnavailable) ||", "if false &&", "TestSearch", ""},
	"a file that can't be seen is not gone": {"load/recover_staging.go",
		"\t\tif !errors.Is(err, fs.ErrNotExist) {\n\t\t\treturn 0, err", "\t\tif false {\n\t\t\treturn 0, err", "load.TestUnseenIsNotGone", ""},
	"a file is looked for at its source once more": {"load/recover_staging.go",
		"{f.path, atSource}, {f.staged, inStaging}, {f.path, atSource}}", "{f.path, atSource}, {f.staged, inStaging}}", "load.TestMovedBackWhileItIsLookedFor", ""},
	"a small file is replaced as a whole": {"internal/storage/small_files.go",
		"if _, err := createOnce(fsys, temp, content, perm); err != nil {\n\t\t\treturn err\n\t\t}\n\t\treturn fsys.Replace(temp, name)",
		"if err := RemoveIfThere(fsys, name); err != nil {\n\t\t\treturn err\n\t\t}\n\t\t_, err := createOnce(fsys, name, content, perm)\n\t\treturn err", "TestSearch", ""},
	"a small file is complete before it takes its name": {"internal/storage/small_files.go",
		"err = w.Close()\n", "err = nil\n", "TestSearch", ""},
	"the table's identity": {"jobs/loading/proof.go",
		"c.identity != \"\" && c.identity == t.Identity() && f.Opening == t.OpeningsOf(f)", "c.identity != \"\"", "jobs/loading.TestProofHistories", ""},
	"the openings of a file's regions": {"jobs/loading/proof.go",
		"c.identity == t.Identity() && f.Opening == t.OpeningsOf(f)", "c.identity == t.Identity()", "jobs/loading.TestProofHistories", ""},
	"newer versions prove nothing after a change": {"jobs/loading/proof.go",
		"!v.ambiguous && f.Proves(i) && isHere", "f.Answers[i].Serving.Readable() && isHere", "jobs/loading.TestProofHistories", ""},
	"a cell proves only its row in a region of others": {"jobs/loading/proof.go",
		"r.CameFrom(f.Opening)", "true", "jobs/loading.TestVerdicts", ""},
	"a cell proves a region that had its file": {"jobs/loading/proof.go",
		"r.CameFrom(f.Opening)", "false", "TestSearch", ""},
	"delete markers prove nothing": {"jobs/pipeline/hfiles/probes.go",
		"\t\tif c.Type != cell.Put {\n\t\t\tdeleted", "\t\tif false {\n\t\t\tdeleted", "jobs/pipeline/hfiles.TestPickProbesAmongMarkers", ""},
	"a delete marker that is gone was compacted away": {"load/probe.go",
		"\tif b.isMarker() {\n\t\treturn Superseded", "\tif false {\n\t\treturn Superseded", "TestSearch", "delete markers prove nothing"},
	"each family of a region is asked": {"jobs/loading/proof.go",
		"at := place{f.Family, string(", "at := place{\"\", string(", "jobs/loading.TestProofHistories", ""},
	"no cell proves a file that is written again with other rows": {"jobs/pipeline/manifest/manifest.go",
		"\t\t\t\t\tf.Probes[k].Before = true\n", "\t\t\t\t\tf.Probes[k].Before = false\n", "jobs/pipeline/manifest.TestRewrittenFiles", ""},
	"a file that is written again keeps the marks of its cells": {"jobs/pipeline/manifest/manifest.go",
		"f.Probes = slices.Clone(old.Probes)", "_ = old", "jobs/pipeline/manifest.TestRewrittenFiles", ""},
	"an older output does not undo a correction": {"jobs/loading/output_load.go",
		"func (l *OutputLoad) checkHistory() error {\n", "func (l *OutputLoad) checkHistory() error {\n\tif true {\n\t\treturn nil\n\t}\n", "TestSearch", ""},
	"the ledger's entry has the files that an interrupted load took": {"jobs/loading/directory_record.go",
		"if old != nil && old.State == ledger.Loading {", "if false {", "TestSearch", ""},
	"what a directory lost is for a person": {"jobs/loading/directory_load.go",
		"\tif !errors.As(err, &lost) {\n\t\treturn err\n\t}", "\tif true {\n\t\treturn err\n\t}", "TestSearch", ""},
	"an interrupted load of a directory opens regions again": {"jobs/loading/directory.go",
		"if !begun {", "if begun = false; !begun {", "TestSearch", ""},
}

// What a search prints of a schedule or history that goes wrong.
var (
	foundBy  = regexp.MustCompile(`\{"Order":.*\}: .*|history \d+: .*`)    // which it is
	playedOf = regexp.MustCompile(`after \d+ tests|history \d+`)           // how many were played before
	replays  = regexp.MustCompile(`wrong in (\d+) of 100 replays.*: (.*)`) // how often a schedule does, and the schedule
)

// TestGuards removes one guard after another (BULKLOAD_GUARD: those that match it), and wants each removal to be found,
// by the search within 10,000 schedules or histories. A schedule that finds it must be right with the guard. In make test
// it only checks that each removal still fits the code.
func TestGuards(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	chosen, err := regexp.Compile(os.Getenv("BULKLOAD_GUARD"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(guards)) {
		g, removed := guards[name], map[string][]byte{}
		if n := g.remove(t, root, removed); n != 1 {
			t.Errorf("%s: the text to replace occurs %d times in %s, and not once; update the guard: %s", name, n, g.file, g.old)
		}
		if !testcluster.In("search-guards") || !chosen.MatchString(name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			if g.with != "" && guards[g.with].remove(t, root, removed) != 1 {
				t.Fatalf("%q can't be removed as well", g.with)
			}
			folder, name, other := strings.Cut(g.found, ".")
			if !other {
				folder, name = "jobs", g.found
			}
			test := exec.Command("go", "test", "-overlay", overlayOf(t, removed), "-count=1", "-v", "-timeout=2h", "-vet=off",
				"-pgo=off", "-run", "^"+name+"$", "./"+folder)
			if name == "TestSearch" {
				test.Args = append(test.Args, "-rapid.checks=10000", "-rapid.nofailfile", "-rapid.shrinktime=10s")
			}
			test.Dir = root
			test.Env = append(os.Environ(), "BULKLOAD_HISTORIES=10000", "BULKLOAD_SUITE=search")
			out, err := test.CombinedOutput()
			found, again := foundBy.Find(out), replays.FindSubmatch(out)
			if isDirect := name != "TestSearch" && name != "TestProofHistories"; isDirect {
				found = regexp.MustCompile(`--- FAIL: ` + name + `.*`).Find(out)
			}
			if err == nil || found == nil {
				t.Fatalf("not found: %v\n%s", err, out[max(0, len(out)-3000):])
			}
			t.Logf("found %s: %s", playedOf.Find(out), found)
			if name != "TestSearch" {
				return
			}
			if again == nil {
				t.Fatalf("it was not played again:\n%s", out[max(0, len(out)-3000):])
			}
			if n, err := strconv.Atoi(string(again[1])); err != nil || n < 99 {
				t.Errorf("fails again in %s of 100 replays", again[1])
			}
			input, err := hex.DecodeString(string(again[2]))
			if err != nil {
				t.Fatal(err)
			}
			mustBeRight(t, newSearchBase(t), decodeSchedule(input)) // with the guard
		})
	}
}

// remove adds the guard's file without the guard to the changed files below root, if its old text occurs exactly once. It
// returns how often it occurs.
func (g guard) remove(t *testing.T, root string, changed map[string][]byte) (times int) {
	t.Helper()
	source := filepath.Join(root, g.file)
	text, again := changed[source]
	if !again {
		var err error
		if text, err = os.ReadFile(source); err != nil {
			t.Fatal(err)
		}
	}
	if times = bytes.Count(text, []byte(g.old)); times == 1 {
		changed[source] = bytes.Replace(text, []byte(g.old), []byte(g.new), 1)
	}
	return times
}

// overlayOf writes what the go command reads instead of some files, and returns the name of its list.
func overlayOf(t *testing.T, contents map[string][]byte) string {
	t.Helper()
	dir, replace := t.TempDir(), map[string]string{}
	for file, content := range contents {
		changed := filepath.Join(dir, strconv.Itoa(len(replace))+".go")
		replace[file] = changed
		if err := os.WriteFile(changed, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	overlay := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlay, list, 0o600); err != nil {
		t.Fatal(err)
	}
	return overlay
}

// TestGuardsCompile: the program compiles without the guards. As many are removed at a time as don't touch the same
// lines.
func TestGuardsCompile(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	for left := slices.Sorted(maps.Keys(guards)); len(left) > 0; {
		removed, later := map[string][]byte{}, []string(nil)
		for _, name := range left {
			if guards[name].remove(t, root, removed) != 1 {
				later = append(later, name)
			}
		}
		if len(removed) == 0 {
			t.Fatalf("they don't fit the code: %q", later)
		}
		build := exec.Command("go", "build", "-overlay", overlayOf(t, removed))
		for source := range removed {
			build.Args = append(build.Args, filepath.Dir(source))
		}
		build.Dir = root
		if out, err := build.CombinedOutput(); err != nil {
			t.Errorf("without %q: %v\n%s", slices.DeleteFunc(left, func(n string) bool { return slices.Contains(later, n) }), err, out)
		}
		left = later
	}
}
