package runtest

import (
	"context"
	"fmt"
	"testing"

	"bulkload/cell"
	"bulkload/internal/storage"
	"bulkload/jobs/pipeline/hfiles"
)

// Cells are all cells of a directory of HFiles, as lines in the oracle's format.
func Cells(t *testing.T, output string) []string {
	t.Helper()
	d, err := hfiles.OpenDirectory(storage.Local, output)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	err = d.Scan(context.Background(), nil, nil, func(c *cell.Cell) error {
		all = append(all, fmt.Sprintf("%x\t%s\t%x\t%d\tPut\t%x", c.Row, c.Family, c.Qualifier, c.Timestamp, c.Value))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
