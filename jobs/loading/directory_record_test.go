package loading

import (
	"testing"
	"time"

	"bulkload/internal/storage"
	"bulkload/jobs/ledger"
	"bulkload/jobs/output"
)

// TestEndOfADirectoryLoad: the entry of a load that went on weeks after it was interrupted has the time at which it ended, which it keeps.
func TestEndOfADirectoryLoad(t *testing.T) {
	t.Parallel()
	r := directoryRecord{out: &output.Dir{FS: storage.Local, Path: t.TempDir()}, ledger: ledger.Open(storage.Local, t.TempDir()), table: "t"}
	begun := time.Now().UTC().Truncate(time.Second).AddDate(0, 0, -40)
	end := func(e *ledger.Entry) *ledger.Entry {
		t.Helper()
		e.Table, e.JobHash, e.Books, e.Inputs = "t", r.key(), []byte("{}"), []byte("[]")
		if err := r.end(e); err != nil {
			t.Fatal(err)
		}
		read, err := r.read()
		if err != nil || read == nil || read.State != ledger.Loaded || read.Staging != "" {
			t.Fatalf("%+v, %v", read, err)
		}
		return read
	}
	if e := end(&ledger.Entry{State: ledger.Loading, Staging: "hdfs:///staging/one", Time: begun}); !e.Time.After(begun.AddDate(0, 0, 39)) {
		t.Errorf("a load that began on %v ended on %v", begun, e.Time)
	}
	if e := end(&ledger.Entry{State: ledger.Loaded, Time: begun}); !e.Time.Equal(begun) {
		t.Errorf("a load that had ended on %v ended on %v", begun, e.Time)
	}
}
