package load

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"time"

	"bulkload/internal/storage"
)

// place is where a file is.
type place int

const (
	atSource  place = iota // not loaded
	inStaging              // not loaded: HBase began and gave up, or is at it
	gone                   // HBase has renamed it: loaded
)

// RecoverStaging brings back to where they were what an interrupted load has left in its staging folder, whose URI is
// folder, and has HBase delete the folder. It may be empty where none is known. It waits until nothing moves any more: a region server may still be at it. Of
// the files that are not at their place then, loaded are those that the table serves; an error is a *LostError where it
// does not serve all of them.
func (c *Cluster) RecoverStaging(ctx context.Context, fsys storage.FS, table, folder string, files []HFile) (loaded []HFile, err error) {
	l := newLoading(c, fsys)
	l.token = folder
	if l.table, err = parseName(table); err != nil {
		return nil, err
	}
	_, staging := splitURI(folder)
	for _, f := range files {
		_, at := splitURI(f.URI)
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
	for _, f := range found.loaded {
		loaded = append(loaded, f.HFile)
	}
	if ctx.Err() != nil {
		return loaded, ctx.Err()
	}
	if folder != "" {
		l.left = nil // all are accounted for
		l.cleanup(ctx)
	}
	if len(found.lost) > 0 {
		return loaded, &LostError{Table: table, Files: found.lost}
	}
	return loaded, nil
}

// recovered is where files were found after a request that did not end well.
type recovered struct {
	loaded []*pendingFile
	left   []*pendingFile // at their place
	lost   []Finding
}

// recover finds out which files HBase took and brings those that it left in staging back to where they were. Where a
// server may still be at it (unclear), it first waits until nothing moves any more; files that are left are adrift
// then, because even so the server may come back to them. With an error it is not known where all of them are.
func (l *loading) recover(ctx context.Context, files []*pendingFile, unclear bool) (found recovered, err error) {
	var places []place
	if unclear {
		places, err = l.settle(ctx, files)
	} else {
		places, err = l.look(files)
	}
	if err != nil {
		adrift(files)
		return recovered{left: files}, err
	}
	var away []*pendingFile
	for i, f := range files {
		if places[i] == gone {
			away = append(away, f)
			continue
		}
		if places[i] == inStaging {
			err = errors.Join(err, l.bringBack(f))
		}
		found.left = append(found.left, f)
	}
	if unclear {
		adrift(found.left)
	}
	loaded, lost, undecided := l.decide(ctx, away)
	if undecided != nil {
		adrift(away)
		found.left = append(found.left, away...)
	}
	found.loaded, found.lost = loaded, lost
	return found, errors.Join(err, undecided)
}

// bringBack moves a file from the staging folder to its place.
func (l *loading) bringBack(f *pendingFile) error {
	err := l.fs.Rename(f.staged, f.path)
	if err == nil {
		return nil
	}
	f.adrift = true
	return fmt.Errorf("move file %s back from staging folder %s: %w", f.URI, l.token, err)
}

func adrift(files []*pendingFile) {
	for _, f := range files {
		f.adrift = true
	}
}

// settle looks until two looks show the same, or all files are gone.
func (l *loading) settle(ctx context.Context, files []*pendingFile) ([]place, error) {
	places, err := l.look(files)
	for err == nil && slices.ContainsFunc(places, func(p place) bool { return p != gone }) {
		select {
		case <-time.After(l.cluster.limits.settle):
		case <-ctx.Done():
			return places, nil
		}
		before := places
		if places, err = l.look(files); slices.Equal(places, before) {
			break
		}
	}
	return places, err
}

func (l *loading) look(files []*pendingFile) ([]place, error) {
	places := make([]place, len(files))
	for i, f := range files {
		var err error
		if places[i], err = l.where(f); err != nil {
			return nil, fmt.Errorf("find out where file %s is: %w", f.URI, err)
		}
	}
	return places, nil
}

// where looks for a file. The source is looked at twice because HBase, too, moves files back.
func (l *loading) where(f *pendingFile) (place, error) {
	for _, at := range []struct {
		path  string
		place place
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
