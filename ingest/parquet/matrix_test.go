package parquet

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/test/testcluster"
)

const pyarrow = "pyarrow==26.0.1"

// described is the description that matrix.py writes beside a file.
type described struct {
	Columns []string
	Form    FlatForm
	Rows    []row
}

func describe(t testing.TB, name string) described {
	t.Helper()
	raw, err := os.ReadFile(strings.TrimSuffix(name, ".parquet") + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var d described
	if err := json.Unmarshal(raw, &d); err != nil {
		t.Fatal(err)
	}
	d.Form.Columns = d.Columns
	return d
}

// latin1 returns the bytes of a binary value from its form in JSON.
func latin1(s string) string {
	b := make([]byte, 0, len(s))
	for _, r := range s {
		b = append(b, byte(r))
	}
	return string(b)
}

// TestEveryWayToWrite reads what pyarrow writes in every combination of types, encodings, codecs, page versions, page
// and row group sizes, dictionaries and nulls. The expected values come from Python.
func TestEveryWayToWrite(t *testing.T) {
	if testing.Short() {
		t.Skip("reads many files")
	}
	python := testcluster.Python(t, pyarrow)
	dir := t.TempDir()
	if out, err := exec.Command(python, "testdata/matrix.py", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*.parquet"))
	if err != nil || len(names) < 80 {
		t.Fatalf("%d files: %v", len(names), err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".parquet"), func(t *testing.T) {
			t.Parallel()
			compareFile(t, name)
		})
	}
}

// compareFile compares a file with its description: whole, and in small splits.
func compareFile(t *testing.T, name string) {
	want := describe(t, name)
	for _, size := range []int64{0, 1} {
		rows, bad, err := readAll(&want.Form, listed(t, name), size)
		if err != nil {
			t.Fatal(err)
		}
		if len(bad) > 0 {
			t.Fatalf("%d bad records, the first: %v", len(bad), bad[0])
		}
		compareRows(t, want, rows)
	}
}

func compareRows(t *testing.T, want described, got []row) {
	t.Helper()
	if len(got) != len(want.Rows) {
		t.Fatalf("%d rows, want %d", len(got), len(want.Rows))
	}
	wrong := 0
	for i := range got {
		for j, name := range want.Columns {
			w := want.Rows[i][j]
			if w != nil && (strings.HasPrefix(name, "binary") || name == "fixed") {
				s := latin1(*w)
				w = &s
			}
			if g := got[i][j]; (g == nil) != (w == nil) || g != nil && *g != *w {
				if wrong++; wrong < 10 {
					t.Errorf("row %d, column %s: %s, want %s", i, name, quote(g), quote(w))
				}
			}
		}
	}
	if wrong > 0 {
		t.Fatalf("%d values differ", wrong)
	}
}

func quote(s *string) string {
	if s == nil {
		return "null"
	}
	return fmt.Sprintf("%q", *s)
}

// TestProjection reads some of the columns, in a different order.
func TestProjection(t *testing.T) {
	rows, _, err := readAll(&FlatForm{Columns: []string{"text", "id"}}, listed(t, "testdata/small.parquet"), 0)
	if err != nil {
		t.Fatal(err)
	}
	if r := rows[299]; len(rows) != 300 || *r[0] != "value 20" || *r[1] != "300" {
		t.Errorf("%d rows, the last %s", len(rows), quote(r[0]))
	}
}
