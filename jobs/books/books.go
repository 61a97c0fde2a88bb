// Package books counts a run's rows and cells, in total, for each region and for each input file, and checks that the
// counts agree.
package books

import (
	"fmt"

	"bulkload/internal/errcode"
)

// Books account for every row and cell of a run.
type Books struct {
	Read         int64 `json:"rows_read"`
	Written      int64 `json:"rows_written"`
	Rejected     int64 `json:"rows_rejected"`
	Duplicates   int64 `json:"rows_duplicate"` // identical and differing ones
	Differing    int64 `json:"rows_differing"` // of the duplicates, those whose columns differ from the winner's
	Filtered     int64 `json:"rows_filtered"`
	Existing     int64 `json:"rows_existing,omitempty"` // that the table had already, and that were left out for that reason
	CellsWritten int64 `json:"cells_written"`
	Nulls        int64 `json:"nulls_omitted"`
	Columns      int   `json:"columns"`              // that become cells
	TableRows    int64 `json:"table_rows,omitempty"` // of a wide table: the rows that the records above went into
}

// Written is a region's share.
type Written struct {
	Rows       int64 `json:"rows"`
	Duplicates int64 `json:"rows_duplicate"`
	Differing  int64 `json:"rows_differing"`
	Existing   int64 `json:"rows_existing,omitempty"`
	Cells      int64 `json:"cells"`
	Nulls      int64 `json:"nulls"`
	TableRows  int64 `json:"table_rows,omitempty"`
}

// Add adds a slice.
func (b *Books) Add(r Written) {
	b.Written += r.Rows
	b.Duplicates += r.Duplicates
	b.Differing += r.Differing
	b.Existing += r.Existing
	b.CellsWritten += r.Cells
	b.Nulls += r.Nulls
	b.TableRows += r.TableRows
}

// Check returns what does not add up.
func (b Books) Check() error {
	if sum := b.Written + b.Rejected + b.Duplicates + b.Filtered + b.Existing; b.Read != sum {
		return errcode.Books.Errorf("the counts do not add up: %d rows read, but %d written + %d rejected + %d duplicates + %d filtered%s = %d",
			b.Read, b.Written, b.Rejected, b.Duplicates, b.Filtered, b.existing(), sum)
	}
	if b.CellsWritten+b.Nulls != b.Written*int64(b.Columns) {
		return errcode.Books.Errorf("the counts do not add up: %d cells written + %d nulls are not %d rows × %d columns",
			b.CellsWritten, b.Nulls, b.Written, b.Columns)
	}
	return nil
}

// existing is the term for rows that the table had; "" if there are none.
func (b Books) existing() string {
	if b.Existing == 0 {
		return ""
	}
	return fmt.Sprintf(" + %d existing", b.Existing)
}

// String formats the counts in one line.
func (b Books) String() string {
	return fmt.Sprintf("%d rows read = %d written + %d rejected + %d duplicates + %d filtered%s; %d cells + %d nulls = %d rows × %d columns",
		b.Read, b.Written, b.Rejected, b.Duplicates, b.Filtered, b.existing(), b.CellsWritten, b.Nulls, b.Written, b.Columns)
}
