package load

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"syscall"

	"bulkload/internal/errcode"
	"bulkload/internal/hbase"
	"bulkload/internal/storage"
)

// ErrUnchecked is the result of a check that was not made because another one failed.
var ErrUnchecked = errors.New("not checked")

// StagingChecks are the results of CheckStaging: nil for success, ErrUnchecked if something could not be checked.
type StagingChecks struct {
	Plain     bool   // there is none: HBase 1's region servers take the files from their places
	Folder    string // its URI; "" if Plain
	Above     string // the path of its parent, which has the staging folders of all loads; "" if the user may not enter it
	Encrypted bool   // it is in an encryption zone
	Right     error  // the user's right to load, or whether HBase answers
	Place     error  // whether the files are on HBase's file system
	Enter     error  // whether the user may enter the folder
	Tracker   error  // whether the table takes files of this user
	Move      error  // whether a file moves into the folder or, if Plain, whether HBase's user may take it
}

// Err is the first failure.
func (s *StagingChecks) Err() error {
	for _, err := range []error{s.Right, s.Place, s.Enter, s.Tracker, s.Move} {
		if err != nil && !errors.Is(err, ErrUnchecked) {
			return err
		}
	}
	return nil
}

// CheckStaging checks whether files below the folder dir of a file system could be loaded. It requests a staging
// folder, as a load does, moves an empty file into it in the way that a region server moves an HFile of the family for
// us, and deletes both; if HBase 1 uses none, it checks the rights of HBase's user. probe is the file's path; it must
// not exist, and its folder must. If it is empty, no file is moved.
//
// It has no hooks and sends no load request. A kill leaves an empty staging folder, as in LoadFrom.
func (c *Cluster) CheckStaging(ctx context.Context, fsys storage.FS, table *Table, family,
	dir, probe string) *StagingChecks {
	l := &loadRun{cluster: c, fs: fsys, regions: table.Regions}
	s := &StagingChecks{Right: ErrUnchecked, Place: ErrUnchecked, Enter: ErrUnchecked,
		Tracker: ErrUnchecked, Move: ErrUnchecked}
	if l.table, s.Right = parseName(table.Name); s.Right != nil {
		return s
	}
	defer l.cancelToken(ctx)
	if s.Right = classify(ctx, l.requestStaging(ctx, table, callTimeout)); s.Right != nil {
		return s
	}
	defer l.cleanup(ctx)
	s.Folder = l.token
	if s.Place = l.checkPlace(fsys.URI(dir)); s.Place != nil {
		return s
	}
	info, err := l.enterStaging()
	if s.Enter = err; err != nil {
		return s
	}
	s.Encrypted = info.Encrypted
	s.Tracker = l.checkTracker(table, info.Owner)
	if s.Plain = l.way == hbase.PlainLoad; s.Plain {
		s.Folder = ""
		if probe != "" {
			s.Move = l.showProbe(probe, info.Owner)
		}
		return s
	}
	_, folder := storage.SplitURI(l.token)
	s.Above = path.Dir(path.Clean(folder))
	if probe != "" {
		s.Move = l.moveProbe(family, probe)
	}
	return s
}

// showProbe checks whether HBase's user could take an empty file from its folder in a plain load.
func (l *loadRun) showProbe(probe, user string) error {
	if err := storage.CreateFile(l.fs, probe, nil); err != nil {
		return fmt.Errorf("write a file to try the load with: %w", err)
	}
	return errors.Join(l.checkPlain(user, probe), l.fs.Remove(probe))
}

// moveProbe moves an empty file to where a region server would stage one of a family.
func (l *loadRun) moveProbe(family, probe string) error {
	_, folder := storage.SplitURI(l.token)
	to := path.Join(folder, family, path.Base(probe))
	if err := storage.CreateFile(l.fs, probe, nil); err != nil {
		return fmt.Errorf("write a file to try the load with: %w", err)
	}
	err := l.fs.MkdirAll(path.Dir(to), 0o777)
	if err == nil {
		err = l.fs.Rename(probe, to)
	}
	if err != nil {
		_ = l.fs.Remove(probe) // err is the one to report
		var fault syscall.Errno
		// What may be tried again, and a quota, say what to do. What follows is about rights.
		isOwnReason := func(c errcode.Code) bool { return c.Kind() == errcode.Later || c == errcode.HDFSQuota }
		if errcode.Of(err, isOwnReason) != "" || errors.Is(err, storage.ErrUnavailable) ||
			errors.As(err, &fault) && !errors.Is(err, fs.ErrPermission) {
			return fmt.Errorf("try to move a file to HBase's staging folder: %w", err)
		}
		return errcode.LoadStaging.Errorf(
			"%w: a file of %s can't be moved to HBase's staging folder %s, through which the files pass: %w",
			ErrRefused, l.fs.URI(path.Dir(probe)), l.token, err)
	}
	return l.fs.Remove(to)
}
