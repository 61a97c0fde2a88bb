package jobs

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"bulkload/hfilewriter"
	"bulkload/internal/printable"
	"bulkload/jobs/failure"
	"bulkload/jobs/ledger"
	"bulkload/load"
)

// probeCell is a cell of a file as the manifest and the ledger record it: load.Probe.
type probeCell = ledger.Cell

// probesOf picks the first cell of a file's first row and the first cell of its last row.
func probesOf(r *hfilewriter.Reader) ([]probeCell, error) {
	rows := [][]byte{bytes.Clone(r.FirstRow()), bytes.Clone(r.LastRow())}
	if bytes.Equal(rows[0], rows[1]) {
		rows = rows[:1]
	}
	var probes []probeCell
	for _, row := range rows {
		scan := r.Seek(row)
		if !scan.Next() {
			return nil, errors.Join(fmt.Errorf("the row %s of its index is not in it", printable.Bytes(row)), scan.Err())
		}
		c := scan.Cell()
		sum := load.SumValue(c.Value)
		probes = append(probes, probeCell{Row: printable.Bytes(c.Row), Qualifier: printable.Bytes(c.Qualifier), Timestamp: c.Timestamp, Type: int(c.Type),
			Value: hex.EncodeToString(sum[:])})
	}
	return probes, nil
}

// probeOf is a recorded cell as the cluster is asked for it.
func probeOf(p *probeCell) (load.Probe, error) {
	row, err1 := printable.Parse(p.Row)
	qualifier, err2 := printable.Parse(p.Qualifier)
	sum, err3 := hex.DecodeString(p.Value)
	if err3 == nil && len(sum) != len(load.ValueSum{}) {
		err3 = fmt.Errorf("%q is no sum of a value", p.Value)
	}
	if err := errors.Join(err1, err2, err3); err != nil {
		return load.Probe{}, err
	}
	return load.Probe{Row: row, Qualifier: qualifier, Timestamp: p.Timestamp, Type: byte(p.Type), Value: load.ValueSum(sum)}, nil
}

// hfile is a recorded file as the load package has it, without its URI. For one that an older bulkload recorded, any cell
// with its first and last row and their timestamps counts.
func (f *FileSummary) hfile() (load.HFile, error) {
	first, err1 := printable.Parse(f.FirstRow)
	last, err2 := printable.Parse(f.LastRow)
	if err := errors.Join(err1, err2); err != nil {
		return load.HFile{}, err
	}
	h := load.HFile{Family: f.Family, FirstRow: first, LastRow: last, Known: f.ServedBefore}
	for i := range f.Probes {
		p, err := probeOf(&f.Probes[i])
		if err != nil {
			return h, err
		}
		h.Probes = append(h.Probes, p)
	}
	if h.Probes == nil {
		h.Probes = []load.Probe{{Row: first, Timestamp: f.First, AnyCell: true}, {Row: last, Timestamp: f.Last, AnyCell: true}}
	}
	return h, nil
}

// checkServed asks whether the table serves the files that were loaded into it, all of them or, where nothing hints at a
// change of the table, one in each region. Rows that can't be read are refused: only a person knows why they are gone.
func (w *workplace) checkServed(ctx context.Context, name string) error {
	loaded, err := w.manifest.hfiles(w.fsys, w.dir, func(f *FileSummary) bool { return f.Loaded })
	if err != nil || len(loaded) == 0 {
		return err
	}
	identity := ""
	if w.manifest.State == stateLoaded {
		identity = w.manifest.Table
	}
	return w.askServed(ctx, name, identity, loaded)
}

// oneOfEachRegion picks a file of each region.
func oneOfEachRegion(files []load.HFile, table *load.Table) []load.HFile {
	splits := table.Splits()
	seen := map[int]bool{}
	return slices.DeleteFunc(slices.Clone(files), func(f load.HFile) bool {
		region, found := slices.BinarySearchFunc(splits, f.FirstRow, bytes.Compare)
		if found {
			region++
		}
		again := seen[region]
		seen[region] = true
		return again
	})
}

// refuseUnreadable refuses files whose rows can't be read in the table now.
func (w *workplace) refuseUnreadable(table string, findings []load.Finding) error {
	all := len(findings)
	lost := slices.DeleteFunc(findings, func(f load.Finding) bool { return f.Serving.Readable() })
	if len(lost) == 0 {
		return nil
	}
	return failure.Refusef("table %s does not serve %d of the %d files asked for: %s. %s", table, len(lost), all, lost[0].String(), adviceFor(lost[0].Serving))
}

// adviceFor says what to do about rows that can't be read.
func adviceFor(s load.Serving) string {
	switch s {
	case load.Deleted:
		return "Rows were deleted in the table. The marker hides whatever is loaded with these timestamps until a major compaction removes both; after that --force loads the rows again"
	case load.Expired:
		return "The family's TTL hides them; only a longer TTL makes them readable"
	}
	return "Most likely the table was truncated, made anew or restored since they were loaded, or their rows were deleted, or written again with the same timestamps by another load, which --force would undo; --force writes and loads them again"
}

// checkKnown refuses, of a table that may not be the one it was, to take cells for proof that an earlier load had put there
// before: a snapshot of that time has them too.
func checkKnown(table string, files []load.HFile) error {
	known := slices.IndexFunc(files, func(f load.HFile) bool { return f.Known })
	if known < 0 {
		return nil
	}
	return failure.Refusef("table %s was changed since the load (made anew, restored, disabled or split), and had cells like the first and last ones of %s before that load: they don't show whether the load is in it still; compare the table with bulkload verify --live, or write and load again with --force",
		table, files[known].URI)
}
