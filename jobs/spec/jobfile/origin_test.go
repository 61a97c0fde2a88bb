package jobfile

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

// TestOriginGivesTheSameJob: what a job was read from, as JSON, gives the same job after its files and the environment
// are gone, and holds no variable that the job does not use.
func TestOriginGivesTheSameJob(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"job.yaml": "include: common/all.yaml\ntable: ns:t\ntimestamp: ${date}\nrowkey: id\nregions: {from: file, file: splits}\noutput: out/${date}/${WHERE}\n" +
			"input: {path: 'in/${env.BL_ORIGIN}', columns: [id, a]}\n",
		"common/all.yaml":  "include: more.yaml\nfamily: f\n",
		"common/more.yaml": "hfile: {compression: none}\n",
		"splits":           "b\n\\xFF\\x01\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("BL_ORIGIN", "today")
	t.Setenv("BL_ORIGIN_OTHER", "secret")
	for what, date := range map[string]LogicalDate{
		"day":  {Time: time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)},
		"hour": {Time: time.Date(2026, 11, 20, 5, 0, 0, 0, time.FixedZone("", 8*3600)), Hour: true},
		"UTC":  {Time: time.Date(2026, 11, 20, 5, 0, 0, 0, time.UTC), Hour: true},
	} {
		j, err := Read(filepath.Join(dir, "job.yaml"), ReadOptions{Date: date.Time, Hour: date.Hour, Set: map[string]string{"WHERE": "here"}})
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(j.Origin())
		if err != nil {
			t.Fatal(err)
		}
		var o Origin
		if err := json.Unmarshal(text, &o); err != nil {
			t.Fatal(err)
		}
		if want := map[string]string{"BL_ORIGIN": "today"}; !reflect.DeepEqual(o.Environment, want) {
			t.Errorf("%s: the environment is %v", what, o.Environment)
		}
		t.Cleanup(func() {
			again, err := o.Job()
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			if again.Hash() != j.Hash() || again.RunID(nil) != j.RunID(nil) || again.Output != j.Output || again.Input.Path != j.Input.Path || again.Dir != j.Dir {
				t.Errorf("%s: it is another job:\n%+v\n%+v", what, again, j)
			}
			if a, b := again.Origin(), j.Origin(); !reflect.DeepEqual(a, b) {
				t.Errorf("%s: its origin is another one:\n%+v\n%+v", what, a, b)
			}
		})
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	t.Setenv("BL_ORIGIN", "tomorrow")
}
