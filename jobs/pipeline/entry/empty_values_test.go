package entry_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/runtest"
	"bulkload/jobs/base/options"
	"bulkload/jobs/spec/jobfile"
	"bulkload/values"
)

// normalValues has a value of each type, and nothing of a type that has no empty value.
var normalValues = map[string]struct {
	text  string
	empty bool // an empty text is a value of the type
}{
	"":          {"x", true},
	"text":      {"x", true},
	"bytes":     {"x", true},
	"hex":       {"0aff", true},
	"int16":     {"7", false},
	"int32":     {"7", false},
	"int64":     {"7", false},
	"decimal":   {"1.5", false},
	"float32":   {"1.5", false},
	"float64":   {"1.5", false},
	"boolean":   {"true", false},
	"date":      {"2026-11-20", false},
	"timestamp": {"2026-11-20 01:02:03", false},
}

// emptyFiles is how many files the input has: each begins with an empty value, so that whichever goroutine reads it,
// and whatever that goroutine has read before, an empty value is its first one.
const emptyFiles = 12

// emptyFile is a file of one column a beside the key: empty, a null, a value, and empty again.
func emptyFile(file int, value string) string {
	var b strings.Builder
	for i, v := range []string{"", `\N`, value, ""} {
		fmt.Fprintf(&b, "%02d%d|%s\n", file, i, v)
	}
	return b.String()
}

// readEmptyJob makes a job over emptyFiles files whose column a has a type, a form and a rule for nulls.
func readEmptyJob(t *testing.T, kind, store, null string) *jobfile.Job {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "in"), 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range emptyFiles {
		if err := os.WriteFile(filepath.Join(dir, "in", fmt.Sprintf("%02d", i)), []byte(emptyFile(i, normalValues[kind].text)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rule := "store: " + store + ", null: " + null
	if kind != "" {
		rule += ", type: " + kind
	}
	if k, _ := values.ParseKind(kind); k.Moment() {
		rule += ", zone: UTC"
	}
	job := strings.NewReplacer("in.txt", "in", "[id, a, b]", "[id, a]", "max_rejects: 9", "max_rejects: 100%").Replace(jobdir.RuleJob)
	job += "columns_map: {id: {skip: true}, a: {" + rule + "}, c: {constant: ''}}\n"
	name := filepath.Join(dir, "job.yaml")
	if err := os.WriteFile(name, []byte(job), 0o600); err != nil {
		t.Fatal(err)
	}
	j, err := jobfile.Read(name, jobfile.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// wantEmpty is which cells of column a the input must give, without their values: "" for an empty one, "x" for another.
func wantEmpty(kind, null string) (want []string) {
	for file := range emptyFiles {
		row := func(i int, values ...string) {
			for _, v := range values {
				want = append(want, fmt.Sprintf("%02d%d %s", file, i, v))
			}
		}
		if normalValues[kind].empty {
			row(0, "a", "c")
		}
		switch null {
		case "omit":
			row(1, "c")
		case "empty":
			row(1, "a", "c")
		}
		row(2, "a=", "c")
		if normalValues[kind].empty {
			row(3, "a", "c")
		}
	}
	return want
}

// shortCells says of each cell its row and qualifier, and whether it has a value.
func shortCells(cells []string) (short []string) {
	for _, c := range cells {
		row, rest, _ := strings.Cut(c, " f:")
		qualifier, value, _ := strings.Cut(rest, " @1000 =")
		if value != "" {
			qualifier += "="
		}
		short = append(short, row+" "+qualifier)
	}
	return short
}

// TestEmptyIsNotNull: an empty value, a null and another value are three things, for every type, form and rule for
// nulls, and whatever the number of goroutines that read.
func TestEmptyIsNotNull(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	manyCores := []int{1, 2, 8}
	if testing.Short() {
		manyCores = manyCores[2:]
	}
	for kind := range normalValues {
		for _, store := range []string{"text", "binary"} {
			if kind == "" && store == "binary" {
				continue
			}
			for _, null := range []string{"omit", "empty", "error"} {
				t.Run(kind+" "+store+" "+null, func(t *testing.T) {
					j := readEmptyJob(t, kind, store, null)
					digests := map[string]bool{}
					for _, cores := range manyCores {
						runtime.GOMAXPROCS(cores)
						j.Output = fmt.Sprintf("out%d", cores)
						s := runtest.Must(t, j, options.Options{})
						if got, want := shortCells(cellsIn(t, filepath.Join(j.Dir, j.Output))), wantEmpty(kind, null); !slices.Equal(got, want) {
							t.Errorf("%d cores: cells %q,\nwant %q", cores, got, want)
						}
						digests[fmt.Sprint(s.Digest)] = true
						wantVerified(t, j, s)
					}
					if len(digests) != 1 {
						t.Errorf("digests %v", digests)
					}
				})
			}
		}
	}
}
