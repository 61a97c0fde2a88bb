package simcluster

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"bulkload/cell"
	"bulkload/internal/hbase"
)

// Create creates a table with regions that begin with the splits, and enables it.
func (c *Cluster) Create(name string, splits [][]byte, families ...Family) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	id, err := hbase.ParseTableName(name)
	if err != nil {
		return err
	}
	return c.create(id, splits, families)
}

func (c *Cluster) create(id hbase.TableName, splits [][]byte, families []Family) error {
	if c.tables[id.String()] != nil {
		return refusal{class: exceptions + "TableExistsException", why: id.String()}
	}
	t := &table{name: id, families: byName(families)}
	c.makeRegions(t, splits)
	c.tables[id.String()] = t
	c.enable(t)
	return nil
}

// byName sorts families as HBase's descriptors do.
func byName(families []Family) []Family {
	return slices.SortedFunc(slices.Values(families), func(a, b Family) int { return strings.Compare(a.Name, b.Name) })
}

// makeRegions gives a table new regions without files.
func (c *Cluster) makeRegions(t *table, splits [][]byte) {
	t.regions, t.parents = nil, nil
	bounds := slices.Concat([][]byte{nil}, splits, [][]byte{nil})
	for i := range len(bounds) - 1 {
		t.regions = append(t.regions, c.newRegion(t, bounds[i], bounds[i+1]))
	}
}

// enable opens a table's regions where they were, or in turn.
func (c *Cluster) enable(t *table) {
	for _, r := range t.regions {
		c.open(r, r.server)
	}
	t.state, t.written = hbase.Enabled, c.now()
}

// disable closes a table's regions.
func (c *Cluster) disable(t *table) {
	for _, r := range t.regions {
		r.open = false
	}
	t.state, t.written = hbase.Disabled, c.now()
}

// closable is an error if one of the regions can't be closed now, or hbase:meta can't be written.
func (c *Cluster) closable(regions []*region) error {
	switch {
	case c.servers[0].down:
		return errors.New("the master does not answer")
	case !c.metaServer.alive():
		return errors.New("the server of hbase:meta does not answer")
	}
	for _, r := range regions {
		if err := r.wait(); err != nil {
			return err
		}
	}
	return nil
}

// change calls a function with a table.
func (c *Cluster) change(name string, do func(*table) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.tables[name]
	if t == nil {
		return fmt.Errorf("there is no table %s", name)
	}
	if err := c.closable(t.regions); err != nil {
		return err
	}
	return do(t)
}

// changeRegion calls a function with an enabled table and the index of a row's region. n is how many regions it changes,
// beginning with that one. They must be open.
func (c *Cluster) changeRegion(name string, row []byte, n int, do func(t *table, i int) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.tables[name]
	switch {
	case t == nil:
		return fmt.Errorf("there is no table %s", name)
	case t.state != hbase.Enabled:
		return fmt.Errorf("table %s is %s", name, t.state)
	}
	i := slices.IndexFunc(t.regions, func(r *region) bool { return r.holds(row) })
	if i+n > len(t.regions) {
		return fmt.Errorf("there is no region after that of row %q", row)
	}
	for _, r := range t.regions[i : i+n] {
		if !r.open {
			return fmt.Errorf("region %q is not open", r.name)
		}
	}
	if err := c.closable(t.regions[i : i+n]); err != nil {
		return err
	}
	return do(t, i)
}

// Drop deletes a table.
func (c *Cluster) Drop(name string) error {
	return c.change(name, func(*table) error { delete(c.tables, name); return nil })
}

// Disable closes a table.
func (c *Cluster) Disable(name string) error {
	return c.change(name, func(t *table) error { c.disable(t); return nil })
}

// Enable opens a table.
func (c *Cluster) Enable(name string) error {
	return c.change(name, func(t *table) error { c.enable(t); return nil })
}

// Truncate makes a table empty, with new regions: one, or with the same boundaries if preserve is set.
func (c *Cluster) Truncate(name string, preserve bool) error {
	return c.change(name, func(t *table) error {
		var splits [][]byte
		if preserve {
			for _, r := range t.regions[1:] {
				splits = append(splits, r.start)
			}
		}
		c.makeRegions(t, splits)
		c.enable(t)
		return nil
	})
}

// TruncateRegion makes the region of a row empty. It keeps its name, and its sequence numbers begin again.
func (c *Cluster) TruncateRegion(name string, row []byte) error {
	return c.changeRegion(name, row, 1, func(t *table, i int) error {
		if c.way != hbase.StagedLoad {
			return errors.New("a region can't be truncated before HBase 2.6")
		}
		r := t.regions[i]
		r.stores, r.orphans, r.seq = map[string][]file{}, map[string][]file{}, 1
		c.open(r, r.server)
		return nil
	})
}

// Alter sets a table's families. The files of removed families are gone. Its regions are opened again.
func (c *Cluster) Alter(name string, families ...Family) error {
	return c.change(name, func(t *table) error { c.alter(t, families); return nil })
}

// EmptyFamily removes one of a table's families, and adds it again before anybody else does something.
func (c *Cluster) EmptyFamily(name, family string) error {
	return c.change(name, func(t *table) error {
		families := t.families
		c.alter(t, slices.DeleteFunc(slices.Clone(families), func(f Family) bool { return f.Name == family }))
		c.alter(t, families)
		return nil
	})
}

func (c *Cluster) alter(t *table, families []Family) {
	t.families = byName(families)
	for _, r := range t.regions {
		for _, files := range []map[string][]file{r.stores, r.orphans} {
			maps.DeleteFunc(files, func(family string, _ []file) bool { return t.family(family) == nil })
		}
		if r.open {
			c.open(r, r.server)
		}
	}
}

func (t *table) family(name string) *Family {
	for i := range t.families {
		if t.families[i].Name == name {
			return &t.families[i]
		}
	}
	return nil
}

// Snapshot saves the current state of a table.
func (c *Cluster) Snapshot(name, snapshot string) error {
	return c.change(name, func(t *table) error { c.snapshots[snapshot] = t.copy(); return nil })
}

// copy is a table whose regions are closed, with the same names, families and files.
func (t *table) copy() *table {
	same := &table{name: t.name, families: slices.Clone(t.families)}
	for _, r := range t.regions {
		r = copyOf(r)
		r.open = false
		same.regions = append(same.regions, r)
	}
	return same
}

// Restore returns a table to the state of the snapshot, including the names and sequence numbers of its regions, and
// enables it. If the table has been dropped since, this is a clone of the snapshot with the table's name.
func (c *Cluster) Restore(snapshot string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept := c.snapshots[snapshot]
	if kept == nil {
		return fmt.Errorf("there is no snapshot %s", snapshot)
	}
	t := kept.copy()
	if old := c.tables[t.name.String()]; old != nil {
		if err := c.closable(old.regions); err != nil {
			return err
		}
	}
	c.tables[t.name.String()] = t
	c.enable(t)
	return nil
}

// Split splits the region of a row at that row, unless it is the region's first row.
func (c *Cluster) Split(name string, row []byte) error {
	return c.changeRegion(name, row, 1, func(t *table, i int) error {
		parent := t.regions[i]
		if bytes.Equal(parent.start, row) {
			return fmt.Errorf("the region begins with row %q", row)
		}
		c.adopt(parent)
		low, high := c.newRegion(t, parent.start, row), c.newRegion(t, row, parent.end)
		for _, daughter := range []*region{low, high} {
			daughter.seq = parent.seq
			for family, files := range parent.stores {
				for _, f := range files {
					if half := f.rows(daughter.start, daughter.end); len(half) > 0 {
						daughter.stores[family] = append(daughter.stores[family], half)
					}
				}
			}
			c.open(daughter, parent.server)
		}
		parent.daughters = []*region{low, high}
		t.regions = slices.Replace(t.regions, i, i+1, low, high)
		t.parents = append(t.parents, parent)
		return nil
	})
}

// Merge merges the region of a row with the next one.
func (c *Cluster) Merge(name string, row []byte) error {
	return c.changeRegion(name, row, 2, func(t *table, i int) error {
		low, high := t.regions[i], t.regions[i+1]
		both := c.newRegion(t, low.start, high.end)
		for _, r := range []*region{low, high} {
			c.adopt(r)
			both.seq = max(both.seq, r.seq)
			for family, files := range r.stores {
				both.stores[family] = append(both.stores[family], files...)
			}
		}
		c.open(both, low.server)
		t.regions = slices.Replace(t.regions, i, i+2, both)
		return nil
	})
}

// Move moves the region of a row to the next server.
func (c *Cluster) Move(name string, row []byte) error {
	return c.changeRegion(name, row, 1, func(t *table, i int) error {
		if s := c.after(t.regions[i].server); s != nil {
			c.move(t.regions[i], s)
		}
		return nil
	})
}

// Compact compacts the region of a row: all files, or only the first n of each family. A major compaction also forgets
// delete markers.
func (c *Cluster) Compact(name string, row []byte, n int, major bool) error {
	return c.changeRegion(name, row, 1, func(t *table, i int) error {
		r := t.regions[i]
		for k := range t.families {
			r.compact(&t.families[k], n, major, c.now())
		}
		before := len(t.parents)
		if t.parents = slices.DeleteFunc(t.parents, func(p *region) bool { return p.holds(row) }); len(t.parents) < before {
			c.reach("hbase:meta forgets a split")
		}
		return nil
	})
}

// Put writes cells, which may be delete markers, one after another, as a client does.
func (c *Cluster) Put(name string, cells ...cell.Cell) error {
	for i := range cells {
		if err := c.BulkLoad(name, cells[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}

// BulkLoad adds one file for each region and family to which the cells belong.
func (c *Cluster) BulkLoad(name string, cells []cell.Cell) error {
	return c.change(name, func(t *table) error {
		if t.state != hbase.Enabled {
			return fmt.Errorf("table %s is %s", name, t.state)
		}
		for i := range cells {
			if family := string(cells[i].Family); t.family(family) == nil {
				return fmt.Errorf("table %s has no family %s", name, family)
			}
		}
		for _, r := range t.regions {
			r.add(t, cells)
		}
		return nil
	})
}

// add adds a file for each family, with those of the cells that belong to the region.
func (r *region) add(t *table, cells []cell.Cell) {
	for _, f := range t.families {
		part := slices.DeleteFunc(slices.Clone(cells), func(c cell.Cell) bool { return string(c.Family) != f.Name || !r.holds(c.Row) })
		if len(part) > 0 {
			r.seq++
			r.stores[f.Name] = append(r.stores[f.Name], newFile(part, r.seq))
		}
	}
}

// Unreadable returns those cells that readers of a table find neither unchanged nor superseded by enough newer
// versions. This is the truth, whatever a client found out. enough is that number of versions; 0: as many as the family
// keeps.
func (c *Cluster) Unreadable(name string, enough int, cells []cell.Cell) (lost []cell.Cell) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.tables[name]
	for _, want := range cells {
		if t == nil || t.state != hbase.Enabled || !t.readable(&want, enough, time.Now().UnixMilli()) {
			lost = append(lost, want)
		}
	}
	return lost
}

// Stored returns all cells in the regions' folders of a table, in any order: also those that no reader sees.
func (c *Cluster) Stored(name string) (cells []cell.Cell) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.tables[name]
	if t == nil {
		return nil
	}
	for _, r := range t.regions {
		for _, stores := range []map[string][]file{r.stores, r.orphans} {
			for _, files := range stores {
				for _, s := range slices.Concat(files...) {
					cells = append(cells, s.Cell)
				}
			}
		}
	}
	return cells
}

// Lost returns the cells of the files that region servers have moved into regions which were replaced meanwhile.
func (c *Cluster) Lost() []cell.Cell {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.lost)
}

// OnDisk returns the cells of the HFiles on the cluster's disk that a function selects by their paths.
func (c *Cluster) OnDisk(which func(name string) bool) (cells []cell.Cell) {
	for _, name := range c.disk.Names("/") {
		if !which(name) {
			continue
		}
		if found, err := c.cellsOf(name); err == nil {
			cells = append(cells, found...)
		}
	}
	return cells
}

func (t *table) readable(want *cell.Cell, enough int, now int64) bool {
	f := t.family(string(want.Family))
	if f == nil {
		return false
	}
	r := t.regions[slices.IndexFunc(t.regions, func(r *region) bool { return r.holds(want.Row) })]
	v := viewOf(f, now)
	if enough == 0 {
		enough = v.versions
	}
	newer := 0
	for _, s := range v.visible(r.stored(f.Name, want.Row, append(bytes.Clone(want.Row), 0))) {
		if !bytes.Equal(s.Qualifier, want.Qualifier) {
			continue
		}
		if s.Timestamp == want.Timestamp && bytes.Equal(s.Value, want.Value) {
			return true
		}
		if s.Timestamp > want.Timestamp {
			newer++
		}
	}
	return newer >= enough
}
