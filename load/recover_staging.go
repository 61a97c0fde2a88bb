package load

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"bulkload/internal/errcode"
	"bulkload/internal/hbase"
	"bulkload/internal/pause"
	"bulkload/internal/storage"
)

// location is where a file is. HBase moves a file twice, from the source to its staging folder and from there into
// the region's folder, and moves it back if a load fails. Each move is a rename, so a file is always in exactly one
// of the three places.
type location int

const (
	atSource  location = iota // where the load found it: not loaded
	inStaging                 // not loaded: HBase began, and failed or is still working
	gone                      // HBase renamed it: loaded, unless the server that did it had lost the region
)

// RecoverStaging moves files of an interrupted load from its staging folder, whose URI is folder, back to their
// sources. folder may be empty if it is unknown. RecoverStaging waits until nothing moves any more, because a region
// server may still be working on the files. Of the files that are then not at their source, it returns those that the
// table serves; the error is a *LostError if it does not serve all of them.
//
// forget records that the folder is no longer used. It is called just before HBase is asked to delete the folder. If
// files are left, neither happens, and the next load must use the folder again (Hooks.Folder). nil: the files are about
// to be deleted, and the folder stays.
//
// The returned files are in the table, whatever the error. After an error other than *LostError, nothing is known of
// the others. RecoverStaging may then be called again: it moves only the files that it finds in the folder.
func (c *Cluster) RecoverStaging(ctx context.Context, fsys storage.FS, table, folder string, files []HFile,
	forget func() error) (loaded []HFile, err error) {
	l := newLoadRun(c, fsys)
	l.token = folder
	if l.table, err = parseName(table); err != nil {
		return nil, err
	}
	_, staging := storage.SplitURI(folder)
	switch old, err := l.cluster.isHBase1(ctx, l.table); {
	case err != nil:
		return nil, fmt.Errorf("recover an interrupted load: %w", classify(ctx, err))
	case isPlain(folder):
		l.way, folder = hbase.PlainLoad, "" // no file can be in it
	case old:
		l.way = hbase.EndpointLoad
	}
	for _, f := range files {
		_, at := storage.SplitURI(f.URI)
		p := &pendingFile{HFile: f, path: at}
		if folder != "" {
			p.staged = path.Join(staging, f.Family, path.Base(at))
		}
		l.left = append(l.left, p)
	}
	found, err := l.recover(ctx, l.left, true)
	if err != nil {
		return nil, fmt.Errorf("recover an interrupted load: %w", classify(ctx, err))
	}
	loaded = hfilesOf(found.loaded)
	if ctx.Err() != nil {
		return loaded, ctx.Err()
	}
	if folder != "" {
		err = l.endStaging(ctx, staging, forget, len(found.left)+len(found.lost) > 0)
	}
	if err != nil {
		return loaded, fmt.Errorf("recover an interrupted load: %w", classify(ctx, err))
	}
	if len(found.lost) > 0 {
		return loaded, &LostError{Table: table, Files: found.lost}
	}
	return loaded, nil
}

// endStaging ends the use of an interrupted load's staging folder, unless files are left. The folder is forgotten
// before it is deleted.
func (l *loadRun) endStaging(ctx context.Context, staging string, forget func() error, left bool) error {
	if err := l.checkStaged(); err != nil {
		return err
	}
	if forget == nil || left {
		return nil
	}
	empty, err := l.emptyStaging(staging)
	if err == nil {
		err = forget()
	}
	if err == nil && empty { // what else is there belongs to nobody, such as a file that was cut meanwhile
		l.cleanup(ctx)
	}
	return err
}

// emptyStaging deletes the families' folders in the staging folder. It is called when no file is left to load. The
// folders are empty, unless a server that hung has staged a file since they were looked at. Then Remove refuses, and
// the file stays.
func (l *loadRun) emptyStaging(staging string) (empty bool, err error) {
	families, err := storage.List(l.fs, staging)
	if err != nil {
		return false, fmt.Errorf("look at staging folder %s: %w", l.token, err)
	}
	empty = true
	for _, family := range families {
		name := path.Join(staging, family.Name)
		if err := l.fs.Remove(name); err == nil || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		files, err := storage.List(l.fs, name)
		if err != nil || len(files) == 0 {
			return false, errors.Join(err, fmt.Errorf("%w: staging folder %s can't be emptied", ErrUnavailable, l.token))
		}
		empty = false
	}
	return empty, nil
}

// goesOn is the error for a file that a region server stages while its load is recovered.
func (l *loadRun) goesOn() error {
	return fmt.Errorf("%w: a region server goes on with an interrupted load: a file has come into staging folder %s "+
		"since its files were moved back; run this again", ErrUnavailable, l.token)
}

// checkStaged returns an error if a file is in staging again. One that is at its source, too, is refused: HBase only
// renames, so somebody has put it into the directory again, and only a person knows which of the two is wanted.
// checkStaged looks in staging twice, because a server may move the file back between two looks.
func (l *loadRun) checkStaged() error {
	isThere := func(name string) bool { _, err := l.fs.Stat(name); return err == nil }
	for _, f := range l.left {
		switch {
		case !isThere(f.staged):
		case !isThere(f.path):
			return l.goesOn()
		case isThere(f.staged):
			return errcode.LoadFiles.Errorf("%w: file %s was put there again after an interrupted load had moved it to %s: "+
				"delete one of the two, and run this again", ErrRefused, f.URI, l.fs.URI(f.staged))
		}
	}
	return nil
}

// recover finds the files that HBase took, and moves back those that it left in staging. If a server may still be
// working (unclear), it waits until nothing moves any more. The files that remain are then in doubt, because the server
// may still return to them. After an error the place of some files is unknown, and all of them stay in doubt. The
// outcome's own errors are not set.
//
// "Gone" alone does not mean loaded: resolve asks the table. A server that lost the region while it hung moves files
// into a folder that the open region has not read.
//
// Looking must precede asking. A file found at its source or in staging can't be in the table by this request, so the
// table is asked only about the others.
func (l *loadRun) recover(ctx context.Context, files []*pendingFile, unclear bool) (o outcome, err error) {
	places, err := l.locate(ctx, files, unclear)
	if err != nil {
		markInDoubt(files)
		return outcome{left: files}, err
	}
	var away []*pendingFile
	for i, f := range files {
		if places[i] == gone {
			away = append(away, f)
			continue
		}
		o.left = append(o.left, f)
		if places[i] == atSource {
			continue
		}
		// A rename is one step: the file is in one of the two places even if it fails or the process is killed. The
		// source's name is free, because HBase only moves the file away and back. Should it be taken after all, Rename
		// refuses to overwrite. If it fails, for example because the server renames the file first, the file stays in
		// left, so the load has not ended, and the staging folder is kept.
		if failed := l.fs.Rename(f.staged, f.path); failed != nil {
			f.inDoubt = true
			if _, at := l.fs.Stat(f.staged); errors.Is(at, fs.ErrNotExist) {
				failed = fmt.Errorf("%w: a region server that hung goes on with an earlier request, and has moved the file since "+
					"it was looked for; run this again: %w", ErrUnavailable, failed)
			}
			err = errors.Join(err, fmt.Errorf("move file %s back from staging folder %s: %w", f.URI, l.token, failed))
		}
	}
	if unclear {
		markInDoubt(o.left)
	}
	// For files that are gone only the table can tell.
	loaded, lost, undecided := l.resolve(ctx, away)
	if undecided != nil {
		markInDoubt(away)
		o.left = append(o.left, away...)
	}
	o.loaded, o.lost = loaded, lost
	return o, errors.Join(err, undecided)
}

// markInDoubt records that it is unknown where these files are, or that a server may still move them. While a file is
// in doubt the token is not cancelled, because a server that wakes up without it would fail halfway.
func markInDoubt(files []*pendingFile) {
	for _, f := range files {
		f.inDoubt = true
	}
}

// locate finds out where files are. If a server may still be moving them (unclear), it looks until two consecutive
// looks agree, or all files are gone: a single look shows a moment, not the end, because HBase moves a request's files
// one by one. It can't prove that a server is idle, so files stay in doubt even then.
func (l *loadRun) locate(ctx context.Context, files []*pendingFile, unclear bool) ([]location, error) {
	var before []location
	for {
		places := make([]location, len(files))
		for i, f := range files {
			var err error
			if places[i], err = l.locateFile(f); err != nil {
				return nil, fmt.Errorf("find out where file %s is: %w", f.URI, err)
			}
		}
		settled := slices.Equal(places, before) || !slices.ContainsFunc(places, func(p location) bool { return p != gone })
		if !unclear || settled || pause.For(ctx, l.cluster.limits.quiescence) != nil {
			return places, nil
		}
		before = places
	}
}

// locateFile looks for a file at the source, in staging, and at the source again. The third look is necessary: HBase
// may move the file back between the first two, and it would seem to be gone.
//
// Any error other than "not there" ends the search. A file that can't be seen must not count as gone, because then the
// table is asked, and declares it lost if it does not serve it.
func (l *loadRun) locateFile(f *pendingFile) (location, error) {
	for _, at := range []struct {
		path  string
		place location
	}{{f.path, atSource}, {f.staged, inStaging}, {f.path, atSource}} {
		if at.path == "" { // no staging folder is known
			continue
		}
		_, err := l.fs.Stat(at.path)
		if err == nil {
			return at.place, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return 0, err
		}
	}
	return gone, nil
}
