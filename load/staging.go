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

// Settle brings back to where they were what an interrupted load has left in its staging folder, whose URI is folder. It
// waits until nothing moves any more: a region server may still be at it. Then a file that is not at its place is in the
// table, or was never there.
func (c *Cluster) Settle(ctx context.Context, fs storage.FS, folder string, files []HFile) error {
	l := &loading{cluster: c, fs: fs, token: folder, goneIsLoaded: true}
	_, staging := splitURI(folder)
	for _, f := range files {
		_, at := splitURI(f.URI)
		l.left = append(l.left, &handover{HFile: f, path: at, staged: path.Join(staging, f.Family, path.Base(at))})
	}
	if _, _, err := l.recover(ctx, l.left, true); err != nil {
		return fmt.Errorf("settle an interrupted load: %w", err)
	}
	return ctx.Err()
}

// recover finds out which files HBase took and brings those that it left in staging back to where they were. Where a
// server may still be at it (unclear), it first waits until nothing moves any more; files that are left are adrift
// then, because even so the server may come back to them. With an error it is not known where all of them are.
func (l *loading) recover(ctx context.Context, files []*handover, unclear bool) (loaded, left []*handover, err error) {
	var places []place
	if unclear {
		places, err = l.settle(ctx, files)
	} else {
		places, err = l.look(files)
	}
	if err != nil {
		adrift(files)
		return nil, files, err
	}
	for i, f := range files {
		switch places[i] {
		case gone:
			loaded = append(loaded, f)
			continue
		case inStaging:
			if failed := l.fs.Rename(f.staged, f.path); failed != nil {
				f.adrift = true
				err = errors.Join(err, fmt.Errorf("move file %s back from staging folder %s: %w", f.URI, l.token, failed))
			}
		}
		left = append(left, f)
	}
	if unclear {
		adrift(left)
	}
	return loaded, left, err
}

func adrift(files []*handover) {
	for _, f := range files {
		f.adrift = true
	}
}

// settle looks until two looks show the same, or all files are gone.
func (l *loading) settle(ctx context.Context, files []*handover) ([]place, error) {
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

func (l *loading) look(files []*handover) ([]place, error) {
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
func (l *loading) where(f *handover) (place, error) {
	for _, at := range []struct {
		path  string
		place place
	}{{f.path, atSource}, {f.staged, inStaging}, {f.path, atSource}} {
		_, err := l.fs.Stat(at.path)
		if err == nil {
			return at.place, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return 0, err
		}
	}
	if !l.goneIsLoaded {
		return 0, errors.New("it is neither at its place nor in the staging folder; with this store file tracker that does not mean that it was loaded")
	}
	return gone, nil
}
