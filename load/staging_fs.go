package load

import (
	"context"
	"fmt"

	"bulkload/internal/storage"
)

// CheckStagingFS refuses (ErrRefused) a folder whose files a load would refuse, because it is not on HBase's file
// system. It requests a staging folder, as a load does, and deletes it again.
//
// It has no hooks and sends no file. A kill leaves an empty staging folder, as in prepare.
func (c *Cluster) CheckStagingFS(ctx context.Context, fs storage.FS, table *Table, uri string) error {
	l := &loadRun{cluster: c, fs: fs, regions: table.Regions, left: []*pendingFile{{HFile: HFile{URI: uri}}}}
	var err error
	if l.table, err = parseName(table.Name); err != nil {
		return err
	}
	defer func() { l.cancelToken(ctx) }()
	if err = l.prepare(ctx, table, callTimeout); err == nil {
		l.cleanup(ctx)
		return nil
	}
	return fmt.Errorf("check whether HBase can load from %s: %w", uri, classify(ctx, err))
}
