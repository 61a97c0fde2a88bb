package site

import (
	"errors"
	"fmt"
	"syscall"

	"bulkload/internal/errcode"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/env/ledger"
)

// ledgerProperty names the ledger's folder; by default it is .bulkload/ledger in the user's home folder in HDFS.
const ledgerProperty = "bulkload.ledger.dir"

// OpenLedger opens the ledger of loads for writing. A run must be able to write it before it loads anything.
func (s *Site) OpenLedger() (*ledger.Ledger, error) { return s.openLedger((*ledger.Ledger).Make) }

// ReadLedger opens the ledger of loads for reading. It makes no folder; if there is none, no load is known.
func (s *Site) ReadLedger() (*ledger.Ledger, error) {
	return s.openLedger(func(*ledger.Ledger) error { return nil })
}

// TryLedger opens the ledger of loads for reading, after a test that it can be written. It leaves nothing behind.
func (s *Site) TryLedger() (*ledger.Ledger, error) { return s.openLedger((*ledger.Ledger).Try) }

func (s *Site) openLedger(prepare func(*ledger.Ledger) error) (*ledger.Ledger, error) {
	dir := s.Conf.Get(ledgerProperty, "hdfs:///user/"+s.User+"/.bulkload/ledger")
	fsys, name, err := s.Resolve(dir, "/")
	if err != nil {
		return nil, fmt.Errorf("open the ledger of loads: %w", err)
	}
	l := ledger.Open(fsys, name)
	err = prepare(l)
	if err != nil && !errors.Is(err, syscall.EIO) { // another folder does not help against a failing disk
		err = failure.Early(errcode.Folder.Errorf("%w; choose another folder with -D %s=hdfs:///…", err, ledgerProperty))
	}
	if err != nil {
		return nil, errors.Join(err, fsys.Close())
	}
	return l, nil
}
