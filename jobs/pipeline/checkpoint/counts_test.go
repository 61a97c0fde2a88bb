package checkpoint_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"testing"

	"bulkload/internal/digest"
	"bulkload/jobs/base/counts"
	"bulkload/jobs/pipeline/checkpoint"
)

// TestCheckpointHasTheCounts: no field of the counts is forgotten on the way to the journal and back.
func TestCheckpointHasTheCounts(t *testing.T) {
	sum := digest.Sum{Cells: 1, Timed: 2, Timeless: 3}
	full := counts.RegionCounts{Digest: sum, Keys: 4, Bytes: 5}
	for i := range reflect.TypeFor[counts.RegionCounts]().NumField() {
		if reflect.ValueOf(full).Field(i).IsZero() {
			t.Errorf("%s is not tested", reflect.TypeFor[counts.RegionCounts]().Field(i).Name)
		}
	}
	shares := checkpoint.SharesSince(make([]counts.RegionCounts, 3), []counts.RegionCounts{{}, full, {}})
	text, err := json.Marshal(checkpoint.Line{Checkpoint: &checkpoint.Checkpoint{Read: 9, Shares: []checkpoint.RunShare{{Output: 0, Regions: shares}}}})
	if err != nil {
		t.Fatal(err)
	}
	state := checkpoint.NewResumeState([]int{3})
	line, err := checkpoint.ParseLine(text)
	if err := errors.Join(err, state.Apply(line, 1)); err != nil || state.Read != 9 || !slices.Equal(state.Outputs[0].Regions, []counts.RegionCounts{{}, full, {}}) {
		t.Errorf("%+v, %v", state.Outputs[0].Regions, err)
	}
}

// FuzzJournalLine holds that no line makes a panic.
func FuzzJournalLine(f *testing.F) {
	f.Add([]byte(`{"checkpoint":{"read":5,"ended":[{"split":0,"bytes":7}],"shares":[{"output":0,"regions":[{"region":1}]}]}}`))
	f.Add([]byte(`{"merged":{"output":0,"from":["a"],"run":{"name":"b"}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		line, err := checkpoint.ParseLine(text)
		if err != nil {
			return
		}
		if state := checkpoint.NewResumeState([]int{2, 0}); state.Apply(line, 3) == nil {
			state.Pieces(nil)
			state.Bytes()
		}
	})
}
