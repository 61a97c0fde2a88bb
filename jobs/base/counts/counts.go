// Package counts counts a run's rows and cells, in total, for each region and for each input file, and checks that the
// counts agree.
package counts

import (
	"fmt"

	"bulkload/internal/errcode"
)

// RowCounts account for every row and cell of a run.
type RowCounts struct {
	Read         int64 `json:"rows_read"`
	Written      int64 `json:"rows_written"`
	Rejected     int64 `json:"rows_rejected"`
	Duplicates   int64 `json:"rows_duplicate"` // identical and differing ones
	Differing    int64 `json:"rows_differing"` // the duplicates whose columns differ from the winner's
	Filtered     int64 `json:"rows_filtered"`
	CellsWritten int64 `json:"cells_written"`
	Nulls        int64 `json:"nulls_omitted"`
	// Skipped counts lines of the input that are not rows: repeated headings, prompts, messages.
	Skipped   int64 `json:"lines_skipped,omitempty"`
	Columns   int   `json:"columns"`              // the columns that become cells
	TableRows int64 `json:"table_rows,omitempty"` // of a wide table: the rows that the written records went into
}

// Written has the counts of a slice.
type Written struct {
	Rows       int64 `json:"rows"`
	Duplicates int64 `json:"rows_duplicate"`
	Differing  int64 `json:"rows_differing"`
	Cells      int64 `json:"cells"`
	Nulls      int64 `json:"nulls"`
	TableRows  int64 `json:"table_rows,omitempty"`
}

// Add adds a slice.
func (b *RowCounts) Add(r Written) {
	b.Written += r.Rows
	b.Duplicates += r.Duplicates
	b.Differing += r.Differing
	b.CellsWritten += r.Cells
	b.Nulls += r.Nulls
	b.TableRows += r.TableRows
}

// Check returns an error if the counts do not add up.
func (b RowCounts) Check() error {
	if sum := b.Written + b.Rejected + b.Duplicates + b.Filtered; b.Read != sum {
		return errcode.Digest.Errorf("the counts do not add up: %d rows read, but %d written + %d rejected + %d duplicates "+
			"+ %d filtered = %d",
			b.Read, b.Written, b.Rejected, b.Duplicates, b.Filtered, sum)
	}
	if b.CellsWritten+b.Nulls != b.Written*int64(b.Columns) {
		return errcode.Digest.Errorf("the counts do not add up: %d cells written + %d nulls are not %d rows × %d columns",
			b.CellsWritten, b.Nulls, b.Written, b.Columns)
	}
	return nil
}

// String formats the counts in one line.
func (b RowCounts) String() string {
	return fmt.Sprintf("%d rows read = %d written + %d rejected + %d duplicates + %d filtered; %d cells + %d nulls = %d "+
		"rows × %d columns",
		b.Read, b.Written, b.Rejected, b.Duplicates, b.Filtered, b.CellsWritten, b.Nulls, b.Written, b.Columns)
}
