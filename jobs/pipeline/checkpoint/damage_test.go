package checkpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"bulkload/ingest"
	"bulkload/internal/digest"
	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/internal/test/testwords"
	"bulkload/jobs/base/counts"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/pipeline/source"
	"bulkload/partition"
)

// The run of these tests: three splits of a file, each of which is a checkpoint of its own; an output of two regions.
const checkpoints = 3

var (
	ofRun     = []StoredOutput{{URI: "file:///out", Run: "run", Splits: [][]byte{[]byte("m")}, Regions: 2}}
	inputFile = ingest.SourceFile{Path: "/in/a", Size: 3000}
)

func splitsOfRun() (splits []ingest.Split) {
	for i := range int64(checkpoints) {
		splits = append(splits, ingest.Split{File: inputFile, Start: i * 1000, End: (i + 1) * 1000})
	}
	return splits
}

// openStore opens the store in a work folder, as a process of the run does.
func openStore(t *testing.T, work string, outputs []StoredOutput, o options.Options) (*RunStore, error) {
	t.Helper()
	o.WorkDir = work
	k, err := Open(outputs, &source.Source{FS: storage.Local, Files: []ingest.SourceFile{inputFile}}, splitsOfRun(), o)
	t.Cleanup(func() { _ = k.closeFiles() })
	return k, err
}

// recorder is a goroutine of a run that sorts, and records checkpoints.
type recorder struct {
	t       *testing.T
	store   *RunStore
	shard   *partition.Shard
	rejects *RejectLog
}

func newRecorder(t *testing.T, k *RunStore) *recorder {
	t.Helper()
	regions, err := partition.NewRegions(ofRun[0].Splits)
	if err != nil {
		t.Fatal(err)
	}
	sorter, err := partition.NewSorter(partition.SortOptions{Regions: regions, Memory: 1 << 20, Shards: 1, Persistent: k.PersistentRuns(0)})
	if err = errors.Join(err, k.Begin()); err != nil {
		t.Fatal(err)
	}
	return &recorder{t, k, sorter.NewShard(), NewRejectLog(k, new(gathered), 0)}
}

// spill writes a run of some rows.
func (r *recorder) spill(rows ...string) partition.RunFile {
	r.t.Helper()
	for _, row := range rows {
		if err := r.shard.Commit(append(append(r.shard.Buffer(), row...), "payload"...), len(row), len(row), partition.EntryOrigin{}); err != nil {
			r.t.Fatal(err)
		}
	}
	run, err := r.shard.Spill()
	if err != nil {
		r.t.Fatal(err)
	}
	return run
}

// read records that a split was read: three records, of which one was rejected, and one went into each region.
func (r *recorder) read(split int) (run string) {
	r.t.Helper()
	file := r.spill(fmt.Sprintf("a%d", split), fmt.Sprintf("z%d", split))
	err := r.rejects.Add(&ingest.BadRecord{Position: ingest.PositionIn(storage.Local, inputFile, int64(split), 0), Reason: "no", Raw: []byte{byte(split)}})
	if err != nil {
		r.t.Fatal(err)
	}
	span, err := r.rejects.CutSpan()
	if err != nil {
		r.t.Fatal(err)
	}
	err = r.store.Add(&Checkpoint{Read: 3, Ended: []EndedSplit{{split, 1000}}, Rejects: span, Shares: []RunShare{{Run: file,
		Regions: []regionShare{{0, digest.Sum{Cells: int64(split)}, 2, 9}, {1, digest.Sum{Cells: int64(10 * split)}, 2, 9}}}}})
	if err != nil {
		r.t.Fatal(err)
	}
	return file.Name
}

// kill ends the process.
func (r *recorder) kill() {
	r.t.Helper()
	if err := errors.Join(r.rejects.CloseFile(), r.store.Close(r.t.Context(), errors.New("killed"))); err != nil {
		r.t.Fatal(err)
	}
}

// killedRun returns the work folder of a process that was killed after its checkpoints. If merged is set, the runs of
// the first two checkpoints were merged.
func killedRun(t *testing.T, merged bool) (work string) {
	t.Helper()
	work = t.TempDir()
	k, err := openStore(t, work, ofRun, options.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := newRecorder(t, k)
	var runs []string
	for split := range checkpoints {
		runs = append(runs, r.read(split))
	}
	if merged {
		if err := k.PersistentRuns(0).Replace(runs[:2], r.spill("a0", "a1", "z0", "z1")); err != nil {
			t.Fatal(err)
		}
	}
	r.kill()
	return work
}

// copyOf copies a work folder, with a change.
func copyOf(t *testing.T, work string, change func(kept string)) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(work)); err != nil {
		t.Fatal(err)
	}
	kept, err := filepath.Glob(filepath.Join(to, Prefix+"*"))
	if err != nil || len(kept) != 1 {
		t.Fatal(kept, err)
	}
	if err := os.Chmod(kept[0], 0o700); err != nil {
		t.Fatal(err)
	}
	change(kept[0])
	return to
}

// resumed returns how many checkpoints a process continues with. Its counts, runs, rejects and splits must agree with
// that number; if they don't, the test fails, and the result is -1.
func resumed(t *testing.T, work string) int {
	t.Helper()
	k, err := openStore(t, work, ofRun, options.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, n := k.State, len(k.State.ended)
	var keys int64
	for _, r := range s.Outputs[0].Regions {
		keys += r.Keys
	}
	entries := int64(0)
	for _, run := range s.Outputs[0].runs {
		entries += run.Entries
	}
	if s.Read != int64(3*n) || keys != int64(4*n) || entries != int64(2*n) || len(s.Rejects) != n || len(s.Pieces(k.Splits)) != checkpoints-n {
		t.Errorf("%d splits: %d records, keys of %d bytes, %d entries, %d rejects, %d pieces are left", n, s.Read, keys, entries, len(s.Rejects), len(s.Pieces(k.Splits)))
		return -1
	}
	for _, span := range s.Rejects {
		var g gathered
		if err := k.Replay(span, &g); err != nil || len(g) != 1 {
			t.Errorf("%d rejects are replayed (%v)", len(g), err)
		}
	}
	return n
}

// flip changes a bit of a file.
func flip(t *testing.T, name string, at int64) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err == nil {
		text[at] ^= 0x10
		err = os.WriteFile(name, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// rebooted changes the boot ID in the journal's header, so that all blocks of the runs are read.
func rebooted(t *testing.T, kept string) {
	t.Helper()
	name := filepath.Join(kept, JournalName)
	old, lines, err := OpenJournal(name)
	if err == nil {
		err = errors.Join(old.Close(), os.Remove(name))
	}
	if err != nil {
		t.Fatal(err)
	}
	made, err := CreateJournal(name)
	for i, text := range lines {
		var line any = json.RawMessage(text)
		if i == 0 {
			head := Header{}
			if err = errors.Join(err, json.Unmarshal(text, &head)); err != nil {
				t.Fatal(err)
			}
			head.Boot = "before"
			line = head
		}
		err = errors.Join(err, made.Append(line))
	}
	if err = errors.Join(err, made.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestDamagedCheckpoints: whatever changes in the files of a killed run, the next process continues with the
// checkpoints before the first one that is damaged, or sorts from the beginning. Counts, runs, rejects and splits are
// those of the same checkpoints.
func TestDamagedCheckpoints(t *testing.T) {
	t.Parallel()
	work := killedRun(t, false)
	if n := resumed(t, copyOf(t, work, func(string) {})); n != checkpoints {
		t.Fatalf("without damage: %d checkpoints", n)
	}
	kept, _ := filepath.Glob(filepath.Join(work, Prefix+"*"))
	found, err := os.ReadDir(filepath.Join(kept[0], "0"))
	if err != nil || len(found) != checkpoints {
		t.Fatal(found, err)
	}
	files := map[string]int{JournalName: -1, "rejects-000": -1} // the checkpoint that has the file; -1: all have it
	for i, f := range found {
		files[filepath.Join("0", f.Name())] = i
	}
	for name, of := range files {
		info, err := os.Stat(filepath.Join(kept[0], name))
		if err != nil {
			t.Fatal(err)
		}
		check := func(what string, change func(kept string)) {
			t.Helper()
			n := resumed(t, copyOf(t, work, change))
			if of >= 0 && n != of || n == checkpoints {
				t.Errorf("%s of %s: %d checkpoints", what, name, n)
			}
		}
		for at := int64(0); at < info.Size(); at += 1 + info.Size()/23 {
			check(fmt.Sprintf("byte %d", at), func(kept string) { rebootedUnless(t, kept, name); flip(t, filepath.Join(kept, name), at) })
		}
		check("the end", func(kept string) {
			if err := os.Truncate(filepath.Join(kept, name), info.Size()-1); err != nil {
				t.Fatal(err)
			}
		})
		check("all", func(kept string) {
			if err := os.Remove(filepath.Join(kept, name)); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// rebootedUnless is rebooted, unless the journal itself is to be damaged.
func rebootedUnless(t *testing.T, kept, name string) {
	if name != JournalName {
		rebooted(t, kept)
	}
}

// TestCheckpointsAfterDamage: checkpoints that are recorded after some were lost count. Those that were lost never
// count again, though their runs may exist.
func TestCheckpointsAfterDamage(t *testing.T) {
	t.Parallel()
	work := copyOf(t, killedRun(t, false), func(kept string) {
		found, err := os.ReadDir(filepath.Join(kept, "0"))
		if err == nil {
			err = os.Remove(filepath.Join(kept, "0", found[1].Name()))
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	k, err := openStore(t, work, ofRun, options.Options{})
	if err != nil || k.State.Read != 3 {
		t.Fatalf("%d records, %v", k.State.Read, err)
	}
	r := newRecorder(t, k)
	r.read(2)
	r.kill()
	if n := resumed(t, work); n != 2 {
		t.Errorf("%d checkpoints, want 2", n)
	}
}

// TestDamagedMergedRun: the line of a merge counts only with its run; without it the runs that were merged must still
// be there.
func TestDamagedMergedRun(t *testing.T) {
	t.Parallel()
	work := killedRun(t, true)
	kept, _ := filepath.Glob(filepath.Join(work, Prefix+"*"))
	found, err := os.ReadDir(filepath.Join(kept[0], "0"))
	if err != nil || len(found) != checkpoints+1 {
		t.Fatal(found, err)
	}
	for name, c := range map[string]struct {
		gone []int // the files of runs that are gone: 3 is the merged one
		want int
	}{
		"killed before the merged runs were deleted": {nil, 3},
		"killed after it": {[]int{0, 1}, 3},
		"the merged run is gone, the others are there": {[]int{3}, 3},
		"the merged run is gone, and so are they":      {[]int{0, 1, 3}, 0},
		"a later run is gone":                          {[]int{2}, 2},
		"a later run is gone, and so are the merged":   {[]int{0, 1, 2}, 0},
	} {
		if n := resumed(t, copyOf(t, work, func(kept string) {
			for _, i := range c.gone {
				if err := os.Remove(filepath.Join(kept, "0", found[i].Name())); err != nil {
					t.Fatal(err)
				}
			}
		})); n != c.want {
			t.Errorf("%s: %d checkpoints, want %d", name, n, c.want)
		}
	}
}

// TestRunsOfAnotherRun: sorted runs are used only by the run that made them, for the same outputs with the same
// regions. An output that is complete needs none.
func TestRunsOfAnotherRun(t *testing.T) {
	t.Parallel()
	work := killedRun(t, false)
	for name, c := range map[string]struct {
		change func(*StoredOutput)
		used   bool
	}{
		"the same":      {func(*StoredOutput) {}, true},
		"complete":      {func(o *StoredOutput) { o.Regions = 0 }, true},
		"another run":   {func(o *StoredOutput) { o.Run = "other" }, false},
		"other regions": {func(o *StoredOutput) { o.Splits = [][]byte{[]byte("n")} }, false},
	} {
		outputs := []StoredOutput{ofRun[0]}
		c.change(&outputs[0])
		k, err := openStore(t, copyOf(t, work, func(string) {}), outputs, options.Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = os.Stat(k.dir)
		if used := k.State.Read > 0; used != c.used || used != (err == nil) {
			t.Errorf("%s: used %t, and the files: %v", name, used, err)
		}
	}
}

// TestJournalOfAnotherFormat: sorted runs whose journal has another schema are refused by name, and stay as they are;
// with --force they are deleted. A journal that a kill has left without a whole line is empty, and one whose only line
// is not a journal's is damaged: neither has anything that this run could need.
func TestJournalOfAnotherFormat(t *testing.T) {
	t.Parallel()
	work := killedRun(t, false)
	journalOf := func(first string) func(string) {
		return func(kept string) {
			name := filepath.Join(kept, JournalName)
			j, lines, err := OpenJournal(name)
			if err := errors.Join(err, j.Close(), os.Remove(name)); err != nil {
				t.Fatal(err)
			}
			if j, err = CreateJournal(name); err != nil {
				t.Fatal(err)
			}
			for i, line := range lines {
				if i == 0 {
					line = []byte(first)
				}
				if err := j.Append(json.RawMessage(line)); err != nil {
					t.Fatal(err)
				}
			}
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for what, first := range map[string]string{
		"a later schema":  `{"schema": 2, "outputs": {}}`,
		"no schema":       `{"program": "x"}`,
		"no object":       `["schema", 1]`,
		"a schema's name": `{"schema": "one"}`,
	} {
		to := copyOf(t, work, journalOf(first))
		kept, _ := filepath.Glob(filepath.Join(to, Prefix+"*", "*"))
		k, err := openStore(t, to, ofRun, options.Options{})
		if failure.CodeOf(err) != errcode.ManifestVersion || failure.KindOf(err) != failure.Refused || !testwords.Names(err, filepath.Join(k.dir, JournalName)) {
			t.Errorf("%s: %v", what, err)
		}
		if err := k.Close(t.Context(), err); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if left, _ := filepath.Glob(filepath.Join(to, Prefix+"*", "*")); !reflect.DeepEqual(left, kept) || len(left) < 3 {
			t.Errorf("%s: of %v is left %v", what, kept, left)
		}
		if k, err = openStore(t, to, ofRun, options.Options{Force: true}); err != nil || k.State.Read != 0 {
			t.Errorf("%s, --force: %d records, %v", what, k.State.Read, err)
		}
		if left, _ := filepath.Glob(filepath.Join(to, Prefix+"*")); left != nil {
			t.Errorf("%s, --force: %v is left", what, left)
		}
	}
	for what, c := range map[string]struct{ text, says string }{
		"empty": {"", "nothing is finished"}, "torn": {"0123", "nothing is finished"}, "another file's": {"a journal\n", "damaged"},
	} {
		var said []string
		o, err := options.Options{Say: func(text string) { said = append(said, text) }}.WithDefaults()
		if err != nil {
			t.Fatal(err)
		}
		k, err := openStore(t, copyOf(t, work, func(kept string) {
			if err := os.WriteFile(filepath.Join(kept, JournalName), []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
		}), ofRun, o)
		if err != nil || k.State.Read != 0 || !strings.Contains(strings.Join(said, "\n"), c.says) {
			t.Errorf("%s: %d records, %v; said %q", what, k.State.Read, err, said)
		}
	}
}

// TestStoreInUse: while a process sorts, no other one of the same run uses its files or deletes them, not even with
// --force.
func TestStoreInUse(t *testing.T) {
	t.Parallel()
	work := killedRun(t, false)
	first, err := openStore(t, work, ofRun, options.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, force := range []bool{false, true} {
		if _, err := openStore(t, work, ofRun, options.Options{Force: force}); failure.CodeOf(err) != errcode.Locked {
			t.Errorf("force %t: %v", force, err)
		}
	}
	RemoveOlder(work, 0, false)
	if err := RemoveFinished(work, []string{ofRun[0].URI}); err != nil {
		t.Error(err)
	}
	if err := first.closeFiles(); err != nil {
		t.Fatal(err)
	}
	if n := resumed(t, work); n != checkpoints {
		t.Errorf("afterwards: %d checkpoints", n)
	}
}

// TestWhatStaysAfterARun: files stay for the same command if it can continue with them: after a failure that is not
// their fault, and after an interruption, whatever the error then is.
func TestWhatStaysAfterARun(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx    context.Context
		failed error
		full   bool
		stays  bool
	}{
		"done":                    {t.Context(), nil, false, false},
		"failed":                  {t.Context(), errors.New("no network"), false, true},
		"the disk is full":        {t.Context(), errors.New("no space"), true, false},
		"damaged runs":            {t.Context(), fmt.Errorf("read: %w", partition.ErrDamaged), false, false},
		"missing runs":            {t.Context(), fmt.Errorf("read: %w", partition.ErrStaleRuns), false, false},
		"wrong output":            {t.Context(), errcode.Digest.New("other cells"), false, false},
		"interrupted":             {ended, context.Canceled, false, true},
		"interrupted, and failed": {ended, errcode.Digest.New("other cells"), false, true},
	} {
		k, err := openStore(t, copyOf(t, killedRun(t, false), func(string) {}), ofRun, options.Options{})
		if err != nil {
			t.Fatal(err)
		}
		k.DiscardOnClose = c.full
		if err := k.Close(c.ctx, c.failed); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(k.dir); (err == nil) != c.stays {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestContradictingLines: a line that names what the run does not have is refused, as is a merge of runs that are not
// there: rows would be in two runs, or in none.
func TestContradictingLines(t *testing.T) {
	t.Parallel()
	first := Line{Checkpoint: &Checkpoint{Read: 1, Shares: []RunShare{{Run: partition.RunFile{Name: "1"}}}}}
	for name, line := range map[string]Line{
		"no such split":       {Checkpoint: &Checkpoint{Ended: []EndedSplit{{Split: 3}}}},
		"a split below 0":     {Checkpoint: &Checkpoint{Part: &SplitPart{Split: -1}}},
		"no such output":      {Checkpoint: &Checkpoint{Shares: []RunShare{{Output: 1}}}},
		"no such region":      {Checkpoint: &Checkpoint{Shares: []RunShare{{Regions: []regionShare{{Region: 2}}}}}},
		"merge of no output":  {Merged: &replacement{Output: -1}},
		"merge of no run":     {Merged: &replacement{From: []string{"2"}}},
		"merge of a run more": {Merged: &replacement{From: []string{"1", "2"}}},
	} {
		s := NewResumeState([]int{2})
		if err := s.Apply(first, 3); err != nil {
			t.Fatal(err)
		}
		if err := s.Apply(line, 3); err == nil {
			t.Errorf("%s: applied", name)
		}
	}
	for _, text := range []string{"", "{", "{}", `{"boot":"b","checkpoint":{}}`, `{"merged":null}`, `{"checkpoint":{},"merged":{}}`} {
		if _, err := ParseLine([]byte(text)); err == nil {
			t.Errorf("the line %q is accepted", text)
		}
	}
}

// TestRestOfASplit: a split that was read in part is read again from its start, and its records up to the checkpoint
// are passed over; the last checkpoint counts. A split that has ended is not read.
func TestRestOfASplit(t *testing.T) {
	t.Parallel()
	s := NewResumeState([]int{1})
	for _, c := range []*Checkpoint{{Part: &SplitPart{0, 100, 10}}, {Part: &SplitPart{1, 1100, 20}}, {Part: &SplitPart{0, 300, 30}}, {Ended: []EndedSplit{{1, 1000}}}} {
		if err := s.Apply(Line{Checkpoint: c}, checkpoints); err != nil {
			t.Fatal(err)
		}
	}
	splits := splitsOfRun()
	if got, want := s.Pieces(splits), []Piece{{splits[0], 0, 300}, {splits[2], 2, -1}}; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if all, whole := s.Bytes(); all != 1030 || whole != 1000 {
		t.Errorf("%d bytes, %d of whole splits", all, whole)
	}
}

// TestSharesAreDifferences: the shares of two checkpoints add up to what was sorted, even if a region got rows in only
// one.
func TestSharesAreDifferences(t *testing.T) {
	t.Parallel()
	region := func(keys int64) counts.RegionCounts {
		return counts.RegionCounts{Keys: keys, Bytes: 10 * keys, Digest: digest.Sum{Cells: keys}}
	}
	states := [][]counts.RegionCounts{{region(0), region(0), region(0)}, {region(5), region(0), region(0)}, {region(7), region(2), region(0)}}
	s := NewResumeState([]int{3})
	for i := range 2 {
		shares := SharesSince(states[i], states[i+1])
		if len(shares) != i+1 {
			t.Errorf("checkpoint %d has %d shares", i, len(shares))
		}
		if err := s.Apply(Line{Checkpoint: &Checkpoint{Shares: []RunShare{{Regions: shares}}}}, 1); err != nil {
			t.Fatal(err)
		}
	}
	if !reflect.DeepEqual(s.Outputs[0].Regions, states[2]) {
		t.Errorf("%+v, want %+v", s.Outputs[0].Regions, states[2])
	}
}

// TestRejectsAfterTheLastCheckpoint: rejects that were logged after the last checkpoint are not replayed, since their
// input is read again. A later process logs its rejects after them, in another span.
func TestRejectsAfterTheLastCheckpoint(t *testing.T) {
	t.Parallel()
	files := []ingest.SourceFile{inputFile}
	k := &RunStore{source: &source.Source{FS: storage.Local, Files: files}, dir: t.TempDir(), journal: &Journal{}}
	reason := func(g gathered) string {
		var all []string
		for _, b := range g {
			all = append(all, b.Reason)
		}
		return strings.Join(all, " ")
	}
	add := func(l *RejectLog, reasons ...string) {
		t.Helper()
		for _, text := range reasons {
			if err := l.Add(&ingest.BadRecord{Position: ingest.PositionIn(storage.Local, inputFile, 1, 1), Reason: text, Raw: []byte{}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	cut := func(l *RejectLog, want string) {
		t.Helper()
		span, err := l.CutSpan()
		if err != nil || (span == nil) != (want == "") {
			t.Fatalf("%+v, %v", span, err)
		}
		if span == nil {
			return
		}
		var g gathered
		if err := errors.Join(k.checkRejects(span), k.Replay(span, &g)); err != nil || reason(g) != want {
			t.Errorf("%q are replayed, want %q (%v)", reason(g), want, err)
		}
	}
	killed := NewRejectLog(k, new(gathered), 0)
	add(killed, "1", "2")
	cut(killed, "1 2")
	cut(killed, "")
	add(killed, "3")
	cut(killed, "3")
	add(killed, "4")
	if err := errors.Join(killed.copied.Flush(), killed.CloseFile()); err != nil { // as a kill after a flush leaves it
		t.Fatal(err)
	}
	next := NewRejectLog(k, new(gathered), 0)
	add(next, "5", "6")
	cut(next, "5 6")
	if err := next.CloseFile(); err != nil {
		t.Fatal(err)
	}
}
