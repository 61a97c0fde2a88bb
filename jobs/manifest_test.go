package jobs

import (
	"encoding/json"
	"reflect"
	"testing"

	"bulkload/jobs/hfile"
	"bulkload/jobs/manifest"
)

// The manifest is put together of pieces that were written before: it must be what it would be without them.
func TestManifestIsWrittenInPieces(t *testing.T) {
	m := &manifest.Manifest{Schema: manifest.Schema, State: `a "slices": null in a string`}
	same := func(what string) {
		t.Helper()
		text, err := m.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		var got manifest.Manifest
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatalf("%s: %v in\n%s", what, err, text)
		}
		plain, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		var want manifest.Manifest
		if err := json.Unmarshal(plain, &want); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v\nwant %+v", what, got, want)
		}
	}
	same("no slice")
	for i := range 3 {
		m.Add(manifest.Slice{Region: i, Files: []hfile.Summary{{Path: "f/a"}, {Path: "f/b", Rows: int64(i)}}})
		same("a slice more")
	}
	m.Slices[1].Files[0].Loaded = true
	same("a file loaded")
}
