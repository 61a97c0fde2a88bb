package manifest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"bulkload/internal/errcode"
	"bulkload/internal/seal"
	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/runtest"
	"bulkload/internal/test/testwords"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/inspect/lookup"
	"bulkload/jobs/inspect/verify"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/run"
	"bulkload/jobs/spec/jobfile"
)

// writtenManifest is the text of a finished manifest, with a function that puts another one in its place.
func writtenManifest(t *testing.T, dir string) (text []byte, put func([]byte)) {
	t.Helper()
	name := filepath.Join(dir, manifest.Name)
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text, func(text []byte) {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestEveryByteOfTheManifestCounts flips each bit of a finished manifest, and cuts it at each length: what is read of
// it then is what was written, or an error that says what a person has to do.
func TestEveryByteOfTheManifestCounts(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds, and one goroutine has no race")
	}
	out := runtest.OneRegion(t)
	text, _ := writtenManifest(t, out)
	want, err := manifest.Parse(text, "m")
	if err != nil {
		t.Fatal(err)
	}
	counted := map[failure.Kind]int{}
	for at := range text {
		for bit := range 8 {
			changed := bytes.Clone(text)
			changed[at] ^= 1 << bit
			got, err := manifest.Parse(changed, "m")
			switch kind := failure.KindOf(err); {
			case err == nil && !reflect.DeepEqual(got, want):
				t.Errorf("byte %d, bit %d is believed: %s", at, bit, changed)
			case err != nil && kind != failure.Refused && kind != failure.Differs:
				t.Errorf("byte %d, bit %d: kind %d, %v", at, bit, kind, err)
			case err != nil:
				counted[kind]++
			}
			if '0' <= text[at] && text[at] <= '9' && '0' <= changed[at] && changed[at] <= '9' && json.Valid(changed) && failure.KindOf(err) != failure.Differs {
				t.Errorf("byte %d: the digit %c for %c: %v", at, changed[at], text[at], err)
			}
		}
	}
	if counted[failure.Refused] == 0 || counted[failure.Differs] == 0 {
		t.Errorf("kinds of errors: %v", counted)
	}
	for n := range len(bytes.TrimSpace(text)) {
		if _, err := manifest.Parse(text[:n], "m"); failure.KindOf(err) != failure.Refused {
			t.Errorf("cut at %d: %v", n, err)
		}
	}
}

// TestChangedManifestIsNotBelieved: no command makes use of a manifest with a changed digit, or of one that is cut.
func TestChangedManifestIsNotBelieved(t *testing.T) {
	dir := jobdir.Check(t, jobdir.CheckJob, 400)
	out := filepath.Join(dir, "out")
	job := func() *jobfile.Job { return jobtest.Check(t, dir, out) }
	runtest.Must(t, job(), options.Options{})
	text, put := writtenManifest(t, out)
	before := runtest.Files(t, out)
	commands := map[string]func() error{
		"run": func() error { _, err := run.Job(context.Background(), nil, job(), options.Options{}); return err },
		"run --force": func() error {
			_, err := run.Job(context.Background(), nil, job(), options.Options{Force: true})
			return err
		},
		"verify DIR": func() error { _, err := verify.Dir(context.Background(), out, options.Options{}); return err },
		"verify JOB": func() error { _, err := verify.Job(context.Background(), job(), options.Options{}, false); return err },
		"get --from": func() error {
			_, err := lookup.TableIn(job(), options.Options{}, out)
			return err
		},
	}
	digit := regexp.MustCompile(`"(rows|bytes|cells|region|slice|timed|rows_read|schema|timestamp|entries)": ?"?[0-9a-f]*([0-9])`)
	changes := map[string]func() []byte{"cut": func() []byte { return text[:len(text)/2] }, "empty": func() []byte { return nil },
		"no checksum": func() []byte { return regexp.MustCompile(`,\s*"checksum": "[0-9a-f]*"`).ReplaceAll(text, nil) }}
	for _, m := range digit.FindAllSubmatchIndex(text, -1) {
		changes["a digit of "+string(text[m[2]:m[3]])] = func() []byte {
			changed := bytes.Clone(text)
			changed[m[4]] ^= 1
			return changed
		}
	}
	if len(changes) < 10 {
		t.Fatalf("only %d changes", len(changes))
	}
	for what, change := range changes {
		changed := change()
		if bytes.Equal(changed, text) {
			t.Fatalf("%s: nothing was changed", what)
		}
		put(changed)
		want := errcode.ManifestMalformed
		if strings.HasPrefix(what, "a digit") {
			want = errcode.ManifestChanged
		}
		for command, do := range commands {
			if err := do(); failure.CodeOf(err) != want || !testwords.Names(err, manifest.Name) {
				t.Errorf("%s, %s: %s: %v", command, what, failure.CodeOf(err), err)
			}
		}
		if now, err := os.ReadFile(filepath.Join(out, manifest.Name)); err != nil || !bytes.Equal(now, changed) {
			t.Fatalf("%s: the manifest was written anew (%v)", what, err)
		}
	}
	put(text)
	if now := runtest.Files(t, out); !reflect.DeepEqual(now, before) {
		t.Errorf("the files are now %v", now)
	}
	if s := runtest.Must(t, job(), options.Options{}); s.Status != failure.StatusNothing {
		t.Errorf("with its manifest again: %s", s.Status)
	}
}

// unsealed is a manifest without its checksum.
func unsealed(t *testing.T, text []byte) []byte {
	t.Helper()
	bare := regexp.MustCompile(`,\s*"checksum": "[0-9a-f]{64}"`).ReplaceAll(text, nil)
	if len(bare) > len(text)-64 {
		t.Fatalf("%s", bare)
	}
	return bare
}

// TestManifestOfAnotherFormat: a manifest without a checksum, or of another schema, with or without one, is refused by
// name. It is neither read nor taken for none.
func TestManifestOfAnotherFormat(t *testing.T) {
	dir := jobdir.Check(t, jobdir.CheckJob, 400)
	out := filepath.Join(dir, "out")
	runtest.Must(t, jobtest.Check(t, dir, out), options.Options{})
	text, put := writtenManifest(t, out)
	bare := unsealed(t, text)
	other := bytes.Replace(bare, []byte(`"schema": 1`), []byte(`"schema": 4`), 1)
	sealed, err := seal.Seal(other)
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		text []byte
		want errcode.Code
	}{"no checksum": {bare, errcode.ManifestMalformed}, "another schema": {sealed, errcode.ManifestVersion}, "neither": {other, errcode.ManifestVersion}} {
		put(c.text)
		_, err := run.Job(t.Context(), nil, jobtest.Check(t, dir, out), options.Options{})
		_, verr := verify.Dir(t.Context(), out, options.Options{})
		for _, err := range []error{err, verr} {
			if failure.CodeOf(err) != c.want || failure.KindOf(err) != failure.Refused || !testwords.Names(err, manifest.Name) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if now, _ := writtenManifest(t, out); !bytes.Equal(now, c.text) {
			t.Errorf("%s: the manifest was written anew", what)
		}
	}
}

// TestManifestThatMakesNoSense: of a manifest that a program has written wrongly, what no run writes is refused, and
// named.
func TestManifestThatMakesNoSense(t *testing.T) {
	text, _ := writtenManifest(t, runtest.OneRegion(t))
	old := string(unsealed(t, text))
	for what, c := range map[string]struct{ old, now, says string }{
		"a null for a file":    {`"files":[`, `"files":[null,`, "slice 0 of region 0, entry 0 of the slices: file 0: "},
		"a null for all files": {`"files":[{`, `"files":[null],"x":[{`, "file 0: "},
		"a path out of it":     {`"path":"f/`, `"path":"../`, "is not the family and 32 hex digits"},
		"another family":       {`"family":"f"`, `"family":"..",  "x":"f"`, "not the name of a family"},
		"no bytes":             {`"bytes":`, `"bytes":0,"x":`, "has 0 bytes"},
		"fewer rows than none": {`"books":{"rows":`, `"books":{"rows":-`, "its counts are"},
		"another region":       {`{"region":0`, `{"region":7`, "there are 1 regions"},
		"a state":              {`"state": "written"`, `"state": "wriften"`, `state is "wriften"`},
		"no state":             {`"state": "written"`, `"x": ""`, `state is ""`},
		"a row":                {`"first_row":"`, `"first_row":"\\xz`, "the rows of f/"},
		"no run":               {`"run": {`, `"run": null, "x": {`, "does not name its run"},
		"a type":               {`"rows":`, `"rows":"x", "y":`, "not a manifest of bulkload"},
		"another schema":       {`"schema": 1`, `"schema": 2`, "has schema 2"},
		"nothing":              {old, "", "not a manifest of bulkload"},
		"null":                 {old, "null", "not a manifest of bulkload"},
		"a list":               {old, "[" + old + "]", "not a manifest of bulkload"},
	} {
		changed := strings.Replace(old, c.old, c.now, 1)
		if changed == old {
			t.Fatalf("%s: nothing was changed in\n%s", what, old)
		}
		sealed, err := seal.Seal([]byte(changed))
		if err != nil { // it is no object
			sealed = []byte(changed)
		}
		_, err = manifest.Parse(sealed, "dir/_manifest.json")
		if failure.KindOf(err) != failure.Refused || !testwords.Names(err, c.says, "dir/_manifest.json") {
			t.Errorf("%s: kind %d, %v", what, failure.KindOf(err), err)
		}
	}
}
