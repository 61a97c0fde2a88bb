package output

import (
	"slices"

	"bulkload/internal/digest"
	"bulkload/internal/errcode"
	"bulkload/jobs/base/counts"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/pipeline/sorting"
	"bulkload/jobs/pipeline/writing"
)

// Counts returns the counts of the records that were read. Reconcile adds those of the slices.
func (w *Run) Counts(rows *sorting.Rows) counts.RowCounts {
	return counts.RowCounts{Read: rows.Read, Rejected: rows.Rejected, Filtered: rows.Filtered, Skipped: rows.Skipped,
		Columns: len(w.Job.CellColumns())}
}

// Reconcile checks that every row and cell is accounted for, before anything is loaded: read = written + rejected +
// duplicates + filtered.
func (w *Run) Reconcile(rows *sorting.Rows) error {
	m := w.Manifest
	m.Counts = w.Counts(rows)
	if err := recordContents(w.Manifest, rows); err != nil {
		return err
	}
	m.Digest.Cells, m.Digest.Timed, m.Digest.Timeless = 0, 0, 0
	for _, r := range m.Slices {
		m.Counts.Add(r.Counts)
		m.Digest.Add(r.Digest)
	}
	for region, sum := range manifest.RegionSums(m.Slices, len(rows.Regions)) {
		if err := writing.BalanceRegion(rows, region, sum); err != nil {
			return err
		}
	}
	if m.Digest.Cells != m.Counts.CellsWritten {
		return errcode.Digest.Errorf("the counts do not add up: %d cells written, %d read back",
			m.Counts.CellsWritten, m.Digest.Cells)
	}
	return m.Counts.Check()
}

// recordContents records the contents of the input files, which must add up to the sorted rows.
func recordContents(m *manifest.Manifest, rows *sorting.Rows) error {
	var sum, sorted digest.Sum
	for _, c := range rows.Files {
		sum.Add(c.Digest)
	}
	for i := range rows.Regions {
		sorted.Add(rows.Regions[i].Digest)
	}
	if sum != sorted {
		return errcode.Digest.Errorf("the input files hold %d cells with digest %v, but %d with %v were sorted",
			sum.Cells, sum, sorted.Cells, sorted)
	}
	inputs := slices.Clone(m.Inputs)
	for i := range inputs {
		inputs[i].Content = rows.Files.OfFile(i)
	}
	m.Inputs = inputs
	return nil
}
