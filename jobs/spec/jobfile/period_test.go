package jobfile_test

import (
	"path/filepath"
	"testing"

	"bulkload/internal/errcode"
	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/runtest"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/spec/jobfile"
)

// TestTableOfAPeriod: a date in the table's name, which plan, run and get need then.
func TestTableOfAPeriod(t *testing.T) {
	path := jobdir.Example(t, "keys/monthly-table.yaml")
	for _, o := range []jobfile.ReadOptions{{}, {DateOptional: true}} {
		if _, err := jobfile.Read(path, o); failure.CodeOf(err) != errcode.CommandDate {
			t.Errorf("without a date: %v", err)
		}
	}
	day, err := jobfile.ParseText("2018-12-01")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []jobfile.ReadOptions{{Date: day}, {Date: day, DateOptional: true}} {
		j, err := jobfile.Read(path, o)
		if err != nil || j.Table != "shop:orders_201812" || filepath.Base(j.Output) != "201812" {
			t.Fatalf("%+v, %v", j, err)
		}
		j.Output = t.TempDir()
		if s := runtest.Must(t, j, options.Options{}); s.Run.Table != "shop:orders_201812" {
			t.Errorf("run %+v", s.Run)
		}
	}
}
