package ledger

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/storage"
	"bulkload/internal/test/testfs"
)

// filled is a ledger with an entry, a load of a directory, lost files and a verification.
func filled(t *testing.T) *Ledger {
	t.Helper()
	l, _ := newLedger(t)
	directory := sample()
	directory.Date, directory.JobHash = "", DirectoryKey("hdfs:///other")
	err := errors.Join(l.Write(sample(), ""), l.Write(directory, ""), l.AddUnserved("ns:t", []Unserved{{URI: "u", Row: "a"}}), l.WriteVerification(sample(), map[string]int{"a": 1}))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// ofInput is the entry of the same load with another input.
func ofInput(source string) *Entry {
	e := sample()
	e.Source = source
	return e
}

func never(Unserved) bool { return false }

// TestEveryCallOfTheLedgerFails: whichever call of storage fails, that is said: a ledger that can't be read never looks
// empty, and what was not written never counts as written.
func TestEveryCallOfTheLedgerFails(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]func(*Ledger) error{
		"make":                  (*Ledger).Make,
		"try":                   (*Ledger).Try,
		"make a folder":         func(l *Ledger) error { return l.MakeFolder(filepath.Join(l.dir, "ns=t", "runs", "1")) },
		"read":                  func(l *Ledger) error { _, err := l.Read(sample().Key()); return err },
		"entries":               func(l *Ledger) error { _, _, err := l.Entries("ns:t"); return err },
		"of a directory":        func(l *Ledger) error { _, err := l.OfDirectory("hdfs:///other"); return err },
		"write":                 func(l *Ledger) error { return l.Write(sample(), "") },
		"write another input":   func(l *Ledger) error { return l.Write(ofInput("hdfs:///in2"), "") },
		"unserved":              func(l *Ledger) error { _, err := l.Unserved("ns:t", never); return err },
		"add unserved":          func(l *Ledger) error { return l.AddUnserved("ns:t", []Unserved{{URI: "v"}}) },
		"drop unserved":         func(l *Ledger) error { _, err := l.Unserved("ns:t", func(Unserved) bool { return true }); return err },
		"read verification":     func(l *Ledger) error { _, err := l.ReadVerification(sample(), &map[string]int{}); return err },
		"write verification":    func(l *Ledger) error { return l.WriteVerification(sample(), map[string]int{"b": 2}) },
		"remove verification":   func(l *Ledger) error { return l.RemoveVerification(sample()) },
		"write the first":       func(l *Ledger) error { return Open(l.fsys, l.dir+"2").Write(sample(), "") },
		"try, without a ledger": func(l *Ledger) error { return Open(l.fsys, l.dir+"2").Try() },
	} {
		for n := int64(1); ; n++ {
			whole := filled(t)
			failing := &testfs.Failing{FS: storage.Local, Fault: new(testfs.Fault)}
			failing.Left.Store(n)
			err := do(Open(failing, whole.dir))
			if failing.Failed() == "" {
				if err != nil || n == 1 {
					t.Errorf("%s: %d calls, %v", name, n-1, err)
				}
				break
			}
			if name == "write another input" && (strings.HasPrefix(failing.Failed(), "open ") || strings.HasPrefix(failing.Failed(), "read ")) {
				continue // an entry that can't be read is left
			}
			// Folders that are left are empty: that they can be looked at and removed in the end is not needed.
			if err == nil && !(strings.HasSuffix(name, "without a ledger") && (strings.HasPrefix(failing.Failed(), "remove ") || n > 4 && strings.HasPrefix(failing.Failed(), "stat "))) || err != nil && !errors.Is(err, syscall.EIO) {
				t.Errorf("%s, %s: %v", name, failing.Failed(), err)
			}
			// Whatever fails, the load is known, by its output.
			if e, err := whole.Read(sample().Key()); err != nil || e == nil {
				t.Errorf("%s, %s: the entry is %v, %v", name, failing.Failed(), e, err)
			}
		}
	}
}

// vanishing has files that are gone when they are read, after they were listed.
type vanishing struct{ storage.FS }

func (v vanishing) Open(name string) (storage.File, error) {
	if err := v.Remove(name); err != nil {
		return nil, err
	}
	return v.FS.Open(name)
}

// TestListThatVanishes: a list of files that another run deletes between the look for it and its reading is no error.
func TestListThatVanishes(t *testing.T) {
	t.Parallel()
	l := filled(t)
	if files, err := Open(vanishing{storage.Local}, l.dir).Unserved("ns:t", never); err != nil || files != nil {
		t.Errorf("%v, %v", files, err)
	}
}

// TestLateWriteReplacesNothing: a process is stopped at any call of Write, and another one takes over and writes what is
// true then. The first one neither replaces nor deletes that.
func TestLateWriteReplacesNothing(t *testing.T) {
	t.Parallel()
	for call, over := int64(1), false; !over; call++ {
		l, _ := newLedger(t)
		temps := filepath.Join(l.dir, "temps")
		if err := errors.Join(l.Write(sample(), ""), os.Mkdir(temps, 0o700)); err != nil {
			t.Fatal(err)
		}
		newest := ofInput("hdfs:///in3")
		newest.Run, newest.Time = "newest", newest.Time.Add(time.Second)
		fault := &testfs.Fault{Instead: func() {
			if err := errors.Join(os.RemoveAll(temps), l.Write(newest, "")); err != nil {
				t.Error(err)
			}
		}}
		fault.Left.Store(call)
		err := Open(&testfs.Failing{FS: l.fsys, Fault: fault}, l.dir).Write(ofInput("hdfs:///in2"), temps)
		if over = fault.Failed() == ""; over && (err != nil || call < 8) {
			t.Errorf("undisturbed, with %d calls: %v", call-1, err)
		}
		if e, err2 := l.Read(newest.Key()); !over && (err2 != nil || e == nil || e.Run != "newest") {
			t.Errorf("taken over at %s: %v; then there is %+v, %v", fault.Failed(), err, e, err2)
		}
	}
}
