// Package livetable changes a table of a real cluster by methods like those of simcluster.Cluster, so that a test can
// do the same to both.
package livetable

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"bulkload/cell"
	"bulkload/internal/hbase"
	"bulkload/internal/test/testcluster"
)

// Changes are what people do to a table: methods of Table and of simcluster.Cluster.
type Changes interface {
	Create(name string, splits [][]byte, families ...hbase.FamilySchema) error
	Drop(name string) error
	Disable(name string) error
	Enable(name string) error
	Truncate(name string, preserve bool) error
	TruncateRegion(name string, row []byte) error
	Alter(name string, families ...hbase.FamilySchema) error
	Snapshot(name, snapshot string) error
	Restore(snapshot string) error
	Split(name string, row []byte) error
	Merge(name string, row []byte) error
	Move(name string, row []byte) error
	Compact(name string, row []byte, files int, major bool) error
	Put(name string, cells ...cell.Cell) error
}

// Table is a table of a real cluster. The first argument of most methods, the table's name, is not used.
type Table struct {
	Name     string
	Families []string // of now

	oracle    *testcluster.Oracle
	snapshots map[string]string // HBase's names
	taken     int
}

// New returns a table that may not exist yet.
func New(oracle *testcluster.Oracle, name string) *Table {
	return &Table{Name: name, oracle: oracle, snapshots: map[string]string{}}
}

func (t *Table) run(args ...string) error {
	_, err := t.oracle.Run(args...)
	return err
}

// Close deletes the snapshots.
func (t *Table) Close() (err error) {
	for _, name := range t.snapshots {
		err = errors.Join(err, t.run("delete-snapshot", name))
	}
	return err
}

// Create makes the table. Its stores compact only where a test says so: one that compacted by itself would forget
// delete markers.
func (t *Table) Create(_ string, splits [][]byte, families ...hbase.FamilySchema) error {
	settings := []string{"TABLE:hbase.hstore.compaction.min=1000"}
	var names []string
	for _, f := range families {
		names = append(names, f.Name)
		for k, v := range f.Attributes {
			settings = append(settings, fmt.Sprintf("%s:%s=%s", f.Name, k, v))
		}
	}
	var keys []string
	for _, s := range splits {
		keys = append(keys, string(s))
	}
	t.Families = names
	return t.run(append([]string{"create", t.Name, strings.Join(names, ","), strings.Join(keys, ",")}, settings...)...)
}

// Drop deletes the table.
func (t *Table) Drop(string) error { return t.run("drop", t.Name) }

// Disable closes the table.
func (t *Table) Disable(string) error { return t.run("disable", t.Name) }

// Enable opens the table.
func (t *Table) Enable(string) error { return t.run("enable", t.Name) }

// Truncate makes the table empty, with the same splits if preserve is set.
func (t *Table) Truncate(_ string, preserve bool) error {
	if preserve {
		return t.run("truncate", t.Name, "-preserve")
	}
	return t.run("truncate", t.Name)
}

// TruncateRegion makes the region of a row empty.
func (t *Table) TruncateRegion(_ string, row []byte) error {
	return t.run("truncate-region", t.Name, string(row))
}

// Alter removes families, adds them, or sets attributes of those that stay.
func (t *Table) Alter(_ string, families ...hbase.FamilySchema) error {
	for _, name := range t.Families {
		if !slices.ContainsFunc(families, func(f hbase.FamilySchema) bool { return f.Name == name }) {
			if err := t.run("delete-family", t.Name, name); err != nil {
				return err
			}
		}
	}
	before := t.Families
	t.Families = nil
	for _, f := range families {
		t.Families = append(t.Families, f.Name)
		args := []string{"alter", t.Name, f.Name}
		if !slices.Contains(before, f.Name) {
			args[0] = "add-family"
		} else if len(families) != len(before) {
			continue // another one came or went
		}
		for k, v := range f.Attributes {
			args = append(args, k+"="+v)
		}
		if err := t.run(args...); err != nil {
			return err
		}
	}
	return nil
}

// Snapshot saves the table's state, in place of an earlier one with that name.
func (t *Table) Snapshot(_, snapshot string) error {
	if old := t.snapshots[snapshot]; old != "" {
		if err := t.run("delete-snapshot", old); err != nil {
			return err
		}
	}
	t.taken++
	t.snapshots[snapshot] = fmt.Sprintf("%s_%d", t.Name, t.taken)
	return t.run("snapshot", t.snapshots[snapshot], t.Name)
}

// Restore restores a table, or makes it again if it was dropped. The oracle deletes the snapshot, so it is taken again.
// The caller sets Families, if they are others.
func (t *Table) Restore(snapshot string) error {
	name := t.snapshots[snapshot]
	delete(t.snapshots, snapshot)
	how := "restore"
	if out, err := t.oracle.Run("regions", t.Name); err != nil || out == "" {
		how = "reclone"
	}
	if err := t.run(how, name, t.Name); err != nil {
		return err
	}
	return t.Snapshot("", snapshot)
}

// Split splits the region of a row at that row.
func (t *Table) Split(_ string, row []byte) error { return t.run("split", t.Name, string(row)) }

// Merge merges the region of a row with the next one. It first compacts the table: regions that have split shortly
// before could not be merged otherwise.
func (t *Table) Merge(_ string, row []byte) error {
	next, err := t.after(string(row))
	if err != nil {
		return err
	}
	if err := t.run("compact", t.Name); err != nil {
		return err
	}
	return t.run("merge", t.Name, string(row), next)
}

// after is the first row of the region after that of a row.
func (t *Table) after(row string) (string, error) {
	all, err := t.oracle.Run("regions", t.Name)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(all) {
		if bounds := strings.Split(line, "\t"); bounds[0] <= row && bounds[1] > row {
			return bounds[1], nil
		}
	}
	return "", fmt.Errorf("there is no region after that of row %q", row)
}

// Move moves the region of a row to another server.
func (t *Table) Move(_ string, row []byte) error { return t.run("move", t.Name, string(row)) }

// Compact compacts the whole table, whatever the row.
func (t *Table) Compact(string, []byte, int, bool) error { return t.run("compact", t.Name) }

// Put writes cells as a client does, and has them flushed.
func (t *Table) Put(_ string, cells ...cell.Cell) error {
	args := []string{"put", t.Name}
	for _, c := range cells {
		if c.Type == cell.DeleteFamily {
			args = append(args, fmt.Sprintf("%s,%s,,%d", c.Row, c.Family, c.Timestamp))
		} else {
			args = append(args, fmt.Sprintf("%s,%s,%s,%d,%s", c.Row, c.Family, c.Qualifier, c.Timestamp, c.Value))
		}
	}
	return t.run(args...)
}
