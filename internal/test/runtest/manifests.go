package runtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"bulkload/internal/storage"
	"bulkload/jobs/pipeline/manifest"
)

// ManifestOf is the manifest of an output, without the time at which it was finished.
func ManifestOf(t *testing.T, dir string) []*manifest.Manifest {
	t.Helper()
	m, err := manifest.Read(storage.Local, dir)
	if err != nil || m == nil {
		t.Fatalf("%s: %v, %v", dir, m, err)
	}
	m.Finished = time.Time{}
	return []*manifest.Manifest{m}
}

// EqualManifests requires manifests to be equal.
func EqualManifests(t *testing.T, what string, want, got []*manifest.Manifest) {
	t.Helper()
	SameManifests(t, what, want, got)
	SameManifests(t, what+", the other way round", got, want)
}

// SameManifests requires the current manifests to contain everything in the stored ones, except the schema. They may
// contain more.
func SameManifests(t *testing.T, what string, want, got []*manifest.Manifest) {
	t.Helper()
	if len(want) != len(got) {
		t.Fatalf("%s: %d manifests, want %d", what, len(got), len(want))
	}
	for i := range want {
		got[i].Schema = want[i].Schema
		var said, says any
		err1, err2 := json.Unmarshal([]byte(mustJSON(t, want[i])), &said), json.Unmarshal([]byte(mustJSON(t, got[i])), &says)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		wantWithin(t, what, said, says)
	}
}

// wantWithin requires one JSON value to contain another.
func wantWithin(t *testing.T, at string, small, large any) {
	t.Helper()
	switch s := small.(type) {
	case map[string]any:
		l, _ := large.(map[string]any)
		for key, value := range s {
			wantWithin(t, at+"."+key, value, l[key])
		}
	case []any:
		l, _ := large.([]any)
		if len(l) != len(s) {
			t.Errorf("%s: %d, and %d in the stored manifest", at, len(l), len(s))
			return
		}
		for i := range s {
			wantWithin(t, fmt.Sprintf("%s[%d]", at, i), s[i], l[i])
		}
	default:
		if small != large {
			t.Errorf("%s: %v, and %v in the stored manifest", at, large, small)
		}
	}
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
