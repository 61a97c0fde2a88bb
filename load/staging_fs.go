package load

import (
	"context"
	"fmt"

	"bulkload/internal/storage"
)

// CheckStagingFS refuses (ErrRefused) a folder from which a load would be refused: one that is not on HBase's file system.
// It asks for a staging folder, as a load does, and gives that back.
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
	return fmt.Errorf("look whether %s can be loaded from: %w", uri, classify(ctx, err))
}
