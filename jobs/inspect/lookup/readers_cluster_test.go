package lookup_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/test/livetest"
	"bulkload/internal/test/runtest"
	"bulkload/jobs/inspect/lookup"
)

// TestGetOfSaltsInHBase: a reader who doesn't know the salt finds all rows, by a scan for each.
func TestGetOfSaltsInHBase(t *testing.T) {
	l := livetest.New(t)
	path := filepath.Join(l.Folder, "check.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	salted := strings.Replace(string(text), "salt(check_id, 10) + md5(check_id) + id", "random_salt(20) + check_id + '-' + id", 1)
	if err := os.WriteFile(path, []byte(salted), 0o600); err != nil {
		t.Fatal(err)
	}
	var splits []string
	for i := 1; i < 20; i++ {
		splits = append(splits, fmt.Sprintf("%02d", i))
	}
	l.Ask(t, "create", l.Table, "f", strings.Join(splits, ","))
	const date = "2026-11-20"
	l.Night(t, date, 2000, 1)
	runtest.Must(t, l.Job(t, date), l.Options())
	l.WantRowsOfAKey(t, date)
	if r, err := lookup.Get(context.Background(), l.Job(t, date), l.Options(), []string{"nobody's"}, ""); err != nil || r.Scans != 20 || len(r.Rows) != 0 {
		t.Errorf("get of a key that is not there: %+v, %v", r, err)
	}
}

// TestJavaReaderOfATable: the example for readers in Java finds the rows that get finds.
func TestJavaReaderOfATable(t *testing.T) {
	l := livetest.New(t)
	l.Table10(t)
	l.Night(t, livetest.Night20, 1000, 1)
	runtest.Must(t, l.Job(t, livetest.Night20), l.Options())
	content, err := os.ReadFile(filepath.Join(l.Folder, "in", livetest.Night20, "part-m-00000"))
	if err != nil {
		t.Fatal(err)
	}
	key := strings.Split(string(content), "\x01")[1]
	found, err := lookup.Get(t.Context(), l.Job(t, livetest.Night20), l.Options(), []string{key}, "")
	if err != nil || len(found.Rows) == 0 {
		t.Fatalf("%+v, %v", found, err)
	}
	var want strings.Builder
	for _, row := range found.Rows {
		fmt.Fprintln(&want, row.Row)
		for _, c := range row.Cells {
			fmt.Fprintf(&want, "  %s = %s\n", c.Qualifier, c.Value)
		}
	}
	reader, err := filepath.Abs("../../../docs/java/CheckReader.java")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := l.Cluster.Java(t.Context(), reader, "get", l.Table, key); err != nil || got != want.String() {
		t.Errorf("%v\n%s\nwant\n%s", err, got, &want)
	}
}
