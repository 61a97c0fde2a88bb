package loading

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bulkload/cell"
	"bulkload/internal/siteconf"
	"bulkload/internal/test/livetable"
	"bulkload/internal/test/simcluster"
	"bulkload/internal/test/testrand"
	"bulkload/load"
)

// These tests drive the proof with random histories of a table: loads of several days, corrections and backfills, and
// what people and HBase do to the table between them and in the middle of one. Whenever the proof says that a load is
// done, the truth is compared.

// world is a cluster to which things happen.
type world interface {
	livetable.Changes
	BulkLoad(name string, cells []cell.Cell) error
	Restart(server int)
	// Interrupt calls a function once, after so many more calls of clients; nil: never.
	Interrupt(calls int, do func())
	// Unreadable are those of some cells that readers find neither as they are nor in so many newer versions.
	Unreadable(name string, enough int, cells []cell.Cell) []cell.Cell
}

// step is one event of a history. Its details follow from the number, and from what was before, so that a history
// without some of its steps is one, too.
type step struct {
	kind string
	x    uint64
}

// Kinds of steps, and how often each is drawn.
var (
	// harmless steps never lose rows.
	harmless = map[string]int{"begin": 6, "hand over": 3, "confirm": 5, "check": 5, "split": 3, "merge": 3, "move": 2, "restart": 1, "compact": 4, "put": 1, "feed": 3}
	// harmful ones may.
	harmful = map[string]int{"truncate": 2, "truncate region": 2, "drop and create": 1, "remove and add a family": 2, "ttl": 1, "versions": 1,
		"snapshot": 3, "restore": 3, "disable and enable": 1, "delete a region's rows": 1, "delete a row": 1, "wait": 1}
)

// drawHistory draws steps of some of the kinds, since with all of them in each history few would come in a certain
// order. A history ends with the end of the load that is under way, and with a look at all loads.
func drawHistory(rng *rand.Rand, longest int, kinds ...map[string]int) (steps []step) {
	var names []string
	share := 1 + rng.IntN(3) // of six kinds
	for _, m := range kinds {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			often := m[name]
			if loading := name == "begin" || name == "confirm" || name == "check"; !loading && rng.IntN(6) >= share {
				continue
			}
			names = append(names, slices.Repeat([]string{name}, often)...)
		}
	}
	for range longest/5 + rng.IntN(longest*4/5) {
		steps = append(steps, step{names[rng.IntN(len(names))], rng.Uint64()})
	}
	return append(steps, step{"confirm", 0}, step{"check all", rng.Uint64()})
}

// theRows are all rows that a history knows.
var theRows = func() (rows [][]byte) {
	for c := byte('a'); c <= 'x'; c++ {
		rows = append(rows, []byte{c})
	}
	return rows
}()

// history is what happens to a table, and what the proof says about it.
type history struct {
	table  string
	world  world
	client *load.Cluster
	day0   time.Time // whose midnight is the timestamp of day 0
	sane   bool      // only harmless things happen
	source bool      // the source of each load is there whenever the proof asks for it
	splits [][]byte
	// changes are the kinds of steps that may happen while the table is asked for files.
	changes []string

	families  []simcluster.Family
	values    map[string]string // of each cell, as it was written last
	written   int               // different values
	loads     []*pastLoad       // that were confirmed
	pending   *pastLoad
	snapshots map[string]bool
	excused   map[string]bool // rows in which people deleted cells, which the proof need not see
	// rows of a region that were deleted together, which it must see until a later load hides them
	deleted  []string
	hides    bool // something may hide cells that are loaded again: a TTL, or a delete marker
	last     int  // day of the last load
	log      []string
	wrong    string // the first lie or needless alarm; the history ends with it
	verdicts []bool // of each question: whether the load is done
	checks   int
	done     int
	asked    int // checks that needed all rows of a load
}

// pastLoad is a load as its manifest records it.
type pastLoad struct {
	name  string
	day   int
	cells []cell.Cell
	left  []int // files that the table was not given yet
	claim claim
	// families and rows that people deleted, whose region had no recorded cell of the load
	unseen []string
}

func (h *history) note(format string, args ...any) {
	h.log = append(h.log, fmt.Sprintf(format, args...))
}

// play plays a history, until something is wrong.
func (h *history) play(ctx context.Context, steps []step) error {
	h.values, h.snapshots, h.excused = map[string]string{}, map[string]bool{}, map[string]bool{}
	h.families = []simcluster.Family{{Name: "f", Attributes: map[string]string{"VERSIONS": "1"}}, {Name: "g", Attributes: map[string]string{"VERSIONS": "2"}}}
	h.splits = [][]byte{[]byte("g"), []byte("m"), []byte("s")}
	if err := h.world.Create(h.table, h.splits, h.families...); err != nil {
		return err
	}
	for _, s := range steps {
		if err := h.step(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", strings.Join(h.log, "\n"), err)
		}
		if h.wrong != "" {
			return nil
		}
	}
	return nil
}

// step does one step. The error is one of the test.
func (h *history) step(ctx context.Context, s step) error {
	rng := rand.New(rand.NewPCG(s.x, 1))
	row := theRows[rng.IntN(len(theRows))]
	name := s.kind
	note := func(format string, args ...any) { h.note(name+": "+format, args...) }
	switch w := h.world; s.kind {
	case "begin":
		if h.pending == nil {
			return h.begin(ctx, rng)
		}
		return nil
	case "hand over":
		if h.pending != nil {
			h.handOver(1 + rng.IntN(4))
		}
	case "confirm":
		if h.pending != nil {
			return h.confirm(ctx)
		}
	case "check":
		if len(h.loads) > 0 {
			l := h.loads[rng.IntN(len(h.loads))]
			source := h.source || rng.IntN(2) == 0
			if len(h.changes) > 0 && rng.IntN(3) == 0 {
				change := step{h.changes[rng.IntN(len(h.changes))], rng.Uint64()}
				w.Interrupt(rng.IntN(16), func() {
					h.note("while the table is asked:")
					if err := h.step(ctx, change); err != nil {
						h.wrong = err.Error()
					}
				})
				defer w.Interrupt(0, nil)
			}
			return h.check(ctx, l, source)
		}
	case "check all":
		for _, l := range slices.Clone(h.loads) {
			if h.wrong == "" {
				if err := h.check(ctx, l, h.source || rng.IntN(2) == 0); err != nil {
					return err
				}
			}
		}
	case "split":
		note("%s: %v", row, w.Split(h.table, row))
	case "merge":
		note("%s: %v", row, w.Merge(h.table, row))
	case "move":
		note("%s", row)
		return w.Move(h.table, row)
	case "restart":
		note("")
		w.Restart(rng.IntN(2))
	case "compact":
		files, major := rng.IntN(3), rng.IntN(2) == 0
		note("region of %s, %d files, major %t", row, files, major)
		return w.Compact(h.table, row, files, major)
	case "put":
		note("%s", row)
		h.excuse(h.deleted...)
		return w.Put(h.table, cell.Cell{Row: row, Family: []byte("f"), Qualifier: []byte("c"), Timestamp: time.Now().UnixMilli(), Type: cell.Put, Value: []byte("put")})
	case "feed":
		return h.feed(rng)
	case "truncate":
		preserve := rng.IntN(2) == 0
		note("preserve %t", preserve)
		return w.Truncate(h.table, preserve)
	case "truncate region":
		note("%s", row)
		return w.TruncateRegion(h.table, row)
	case "drop and create":
		note("")
		return errors.Join(w.Drop(h.table), w.Create(h.table, h.splits[rng.IntN(len(h.splits)):], h.families...))
	case "remove and add a family":
		i := rng.IntN(2)
		note("%s", h.families[i].Name)
		return errors.Join(w.Alter(h.table, h.families[1-i]), w.Alter(h.table, h.families...))
	case "ttl":
		days := []int{3, 10, 60}[rng.IntN(3)]
		note("%d days", days)
		h.hides = h.hides || days < 60
		return h.alter(rng.IntN(2), "TTL", strconv.Itoa(days*24*3600))
	case "versions":
		n := 1 + rng.IntN(3)
		note("%d", n)
		return h.alter(rng.IntN(2), "VERSIONS", strconv.Itoa(n))
	case "snapshot":
		snapshot := fmt.Sprint("s", rng.IntN(2))
		note("%s", snapshot)
		h.snapshots[snapshot] = true
		return w.Snapshot(h.table, snapshot)
	case "restore":
		snapshot := fmt.Sprint("s", rng.IntN(2))
		if !h.snapshots[snapshot] {
			return nil
		}
		drop := rng.IntN(3) == 0
		note("%s, drop %t", snapshot, drop)
		if drop {
			return errors.Join(w.Drop(h.table), w.Restore(snapshot))
		}
		return errors.Join(w.Disable(h.table), w.Restore(snapshot))
	case "disable and enable":
		note("")
		return errors.Join(w.Disable(h.table), w.Enable(h.table))
	case "delete a row":
		note("%s", row)
		h.hides = true
		h.excuse(string(row))
		return w.Put(h.table, h.marker(rng, row))
	case "delete a region's rows":
		return h.deleteRegion(ctx, rng, row)
	case "wait":
		note("a day")
		time.Sleep(24 * time.Hour)
	default:
		return fmt.Errorf("no step %q", s.kind)
	}
	return nil
}

func (h *history) excuse(rows ...string) {
	for _, row := range rows {
		h.excused[row] = true
	}
}

// alter changes an attribute of a family, as far as the table and later tables of its name have it.
func (h *history) alter(family int, attribute, value string) error {
	f := &h.families[family]
	changed := map[string]string{}
	for name, old := range f.Attributes {
		changed[name] = old
	}
	changed[attribute] = value
	f.Attributes = changed
	return h.world.Alter(h.table, h.families...)
}

// marker deletes all cells of a row in a family, as they are now.
func (h *history) marker(rng *rand.Rand, row []byte) cell.Cell {
	return cell.Cell{Row: row, Family: []byte(h.families[rng.IntN(2)].Name), Timestamp: time.Now().UnixMilli(), Type: cell.DeleteFamily}
}

// deleteRegion deletes all rows of a region, in one family. The proof must see that, unless regions have split so that a load
// has rows in this one and no recorded cell.
func (h *history) deleteRegion(ctx context.Context, rng *rand.Rand, row []byte) error {
	table, err := h.client.Table(ctx, h.table)
	if err != nil {
		return err
	}
	region := table.Overlapping(row, row)[0]
	h.hides = true
	h.note("delete a region's rows: %q to %q", region.Start, region.End)
	m := h.marker(rng, nil)
	var rows []string
	for _, row := range theRows {
		if bytes.Compare(row, region.Start) >= 0 && (len(region.End) == 0 || bytes.Compare(row, region.End) < 0) {
			m.Row = row
			if err := h.world.Put(h.table, m); err != nil {
				return err
			}
			rows = append(rows, string(row))
		}
	}
	h.deleted = append(h.deleted, rows...)
	for _, l := range append(slices.Clone(h.loads), h.pending) {
		if l == nil {
			continue
		}
		loaded := slices.ContainsFunc(l.cells, func(c cell.Cell) bool {
			return string(c.Family) == string(m.Family) && slices.Contains(rows, string(c.Row))
		})
		recorded := slices.ContainsFunc(l.claim.files, func(f load.HFile) bool {
			return f.Family == string(m.Family) && slices.ContainsFunc(f.Probes, func(p load.Probe) bool { return slices.Contains(rows, string(p.Row)) })
		})
		if loaded && !recorded {
			for _, row := range rows {
				l.unseen = append(l.unseen, string(m.Family)+row)
			}
		}
	}
	return nil
}

// feed lets a client write some cells of the next day, as the load of that day may have them. After that load it would
// be another load of its cells, from which the proof can't tell it.
func (h *history) feed(rng *rand.Rand) error {
	if h.pending != nil {
		return nil
	}
	h.excuse(h.deleted...)
	every := 1 + rng.IntN(3)
	var cells []cell.Cell
	for i, row := range theRows {
		// The rows at which files begin and end.
		edge := slices.ContainsFunc(h.splits, func(s []byte) bool { return bytes.Equal(s, row) || i+1 < len(theRows) && bytes.Equal(s, theRows[i+1]) })
		if edge || i == 0 || i == len(theRows)-1 || i%3 == 0 && i%every == 0 {
			cells = append(cells, h.cell("f", row, h.last+2, false), h.cell("g", row, h.last+2, false))
		}
	}
	if err := h.world.Put(h.table, cells...); err != nil {
		return err
	}
	h.note("feed: day %d", h.last+2)
	return nil
}

// cell is the cell of a row and a day as it was written last, or with another value.
func (h *history) cell(family string, row []byte, day int, another bool) cell.Cell {
	ts := h.day0.AddDate(0, 0, day).UnixMilli()
	key := fmt.Sprintf("%s %s %d", row, family, day)
	if h.values[key] == "" || another {
		h.written++
		h.values[key] = fmt.Sprintf("%s %d", key, h.written)
	}
	return cell.Cell{Row: row, Family: []byte(family), Qualifier: []byte("c"), Timestamp: ts, Type: cell.Put, Value: []byte(h.values[key])}
}

// begin begins a load: of the next day, of an earlier one that was not loaded, or again of one that was, with other
// cells.
func (h *history) begin(ctx context.Context, rng *rand.Rand) error {
	table, err := h.client.Table(ctx, h.table)
	if err != nil {
		return err
	}
	h.excuse(h.deleted...)
	if rng.IntN(4) == 0 { // as a backup
		h.note("snapshot: s0")
		h.snapshots["s0"] = true
		if err := h.world.Snapshot(h.table, "s0"); err != nil {
			return err
		}
	}
	l := &pastLoad{day: h.last + 2}
	correction := false
	switch kind := rng.IntN(10); {
	case kind < 3 && h.last > 0:
		l.day = 2 * (1 + rng.IntN(h.last/2))
		correction = true
	case kind < 5 && h.last > 0:
		l.day = 2*rng.IntN(h.last/2+1) + 1
	default:
		h.last = l.day
	}
	for _, old := range h.loads { // the ledger's entry of that day is replaced
		l.claim.repeated = l.claim.repeated || old.day == l.day
	}
	h.loads = slices.DeleteFunc(h.loads, func(old *pastLoad) bool { return old.day == l.day })
	rows := slices.Clone(theRows)
	switch rng.IntN(4) {
	case 0:
		from := rng.IntN(len(rows) - 1)
		rows = rows[from : from+1+rng.IntN(len(rows)-from)]
	case 1:
		if len(h.loads) > 0 { // what proves an earlier load, and little else
			old := h.loads[rng.IntN(len(h.loads))]
			rows = slices.DeleteFunc(rows, func(row []byte) bool { return rng.IntN(8) > 0 && !old.proves(row) })
		}
	case 2:
		rows = slices.DeleteFunc(rows, func([]byte) bool { return rng.IntN(2) == 0 })
	}
	// whether the recorded cells of each file are as they were before; whether a region may have two slices
	same, two := rng.IntN(2) == 0, rng.IntN(2) == 0
	// Drawn for all rows, so that what is drawn later does not depend on the regions.
	draws := map[string]int{}
	for _, row := range theRows {
		draws["f"+string(row)], draws["g"+string(row)] = rng.IntN(4), rng.IntN(4)
	}
	left := rng.IntN(10)
	l.name = fmt.Sprintf("day %d, %d rows, correction %t", l.day, len(rows), correction)
	for _, family := range []string{"f", "g"} {
		if left == 0 && family == "f" || left == 1 && family == "g" {
			continue
		}
		another := func(row []byte, recorded bool) bool { return draws[family+string(row)]&1 > 0 && !(recorded && same) }
		for _, r := range table.Regions {
			var in [][]byte
			for _, row := range rows {
				if bytes.Compare(row, r.Start) >= 0 && (len(r.End) == 0 || bytes.Compare(row, r.End) < 0) {
					in = append(in, row)
				}
			}
			if len(in) > 3 && two && draws[family+string(in[0])]&2 > 0 {
				l.add(h, family, in[:len(in)/2], another)
				in = in[len(in)/2:]
			}
			l.add(h, family, in, another)
		}
	}
	if len(l.cells) == 0 {
		return nil
	}
	h.note("begin: %s, repeated %t", l.name, l.claim.repeated)
	h.pending = l
	l.claim.table, l.claim.identity = h.table, table.Identity()
	for i := range l.claim.files {
		l.left = append(l.left, i)
	}
	return h.mark(ctx, table, l)
}

// add adds a file with a cell in each row to a load. Its recorded cells lie as hfiles.PickProbes would pick them, but
// are fewer, so that many rows lie between them. Cells for which another is true have another value than that day's
// before.
func (l *pastLoad) add(h *history, family string, rows [][]byte, another func(row []byte, recorded bool) bool) {
	if len(rows) == 0 {
		return
	}
	f := load.HFile{URI: fmt.Sprintf("%d/%s/%d", l.day, family, len(l.claim.files)), Family: family, FirstRow: rows[0], LastRow: rows[len(rows)-1]}
	for i, row := range rows {
		recorded := i == 0 || i == len(rows)-1 || i == len(rows)/2 && len(rows) > 4
		c := h.cell(family, row, l.day, another(row, recorded))
		l.cells = append(l.cells, c)
		if recorded {
			f.Probes = append(f.Probes, load.Probe{Row: row, Qualifier: c.Qualifier, Timestamp: c.Timestamp, Type: byte(cell.Put), Value: load.SumValue(c.Value)})
		}
	}
	l.claim.files = append(l.claim.files, f)
}

// proves reports whether a cell of a row is recorded.
func (l *pastLoad) proves(row []byte) bool {
	return slices.ContainsFunc(l.claim.files, func(f load.HFile) bool {
		return slices.ContainsFunc(f.Probes, func(p load.Probe) bool { return bytes.Equal(p.Row, row) })
	})
}

// mark notes, for the files that the table was not given yet, which cells it has already, and the openings of their
// regions: what package load and the manifest do before a load's first request.
func (h *history) mark(ctx context.Context, table *load.Table, l *pastLoad) error {
	var files []load.HFile
	for _, i := range l.left {
		f := &l.claim.files[i]
		f.Opening = table.OpeningsOf(f)
		files = append(files, *f) // shares the probes
	}
	findings, err := h.client.Probe(ctx, h.table, files)
	for i := range findings {
		for k, a := range findings[i].Answers {
			if a.Serving != load.Missing {
				findings[i].Probes[k].Before = true
			}
		}
	}
	return err
}

// handOver gives the table some of a load's files. A load that fails is forgotten: it is not said to be done.
func (h *history) handOver(files int) {
	l := h.pending
	for ; files > 0 && len(l.left) > 0; files-- {
		f := &l.claim.files[l.left[0]]
		in := slices.DeleteFunc(slices.Clone(l.cells), func(c cell.Cell) bool {
			return string(c.Family) != f.Family || bytes.Compare(c.Row, f.FirstRow) < 0 || bytes.Compare(c.Row, f.LastRow) > 0
		})
		if err := h.world.BulkLoad(h.table, in); err != nil {
			h.note("%s failed: %v", l.name, err)
			h.pending = nil
			return
		}
		h.note("hand over: %s to %s of %s, %s", f.FirstRow, f.LastRow, f.Family, l.name)
		l.left = l.left[1:]
	}
}

// confirm ends a load. Files that were lost are written and loaded again, as a run does it, and then the load is done, unless
// something hides their cells.
func (h *history) confirm(ctx context.Context) error {
	l := h.pending
	for range 3 {
		if h.handOver(len(l.left)); h.pending == nil {
			return nil
		}
		table, err := h.proof(l, true).confirm(ctx, l.claim, 0, 1)
		h.said("confirm", l, err)
		if err == nil {
			h.record(l, table)
			h.loads, h.pending = append(h.loads, l), nil
			return nil
		}
		var lost *load.LostError
		var missing *missingError
		if !errors.As(err, &lost) {
			break
		}
		if errors.As(err, &missing) {
			l.claim.missing = missing.ranges
		}
		again := slices.Clone(lost.Files) // that are written and loaded again
		gone := func(f load.HFile) bool {
			return slices.ContainsFunc(again, func(g load.ProbeResult) bool { return g.URI == f.URI })
		}
		if table, err = h.client.Table(ctx, h.table); err != nil {
			break
		}
		for looks := 0; looks < 2; looks++ {
			rest := l.claim
			if rest.files = slices.DeleteFunc(slices.Clone(rest.files), gone); len(rest.files) == 0 {
				break
			}
			p := h.proof(l, true)
			p.rewrite = true
			if rest.identity == table.Identity() {
				_, err = p.confirm(ctx, rest, 0, 1)
			} else {
				err = p.check(ctx, rest)
			}
			var unproven *unprovenError
			if !errors.As(err, &unproven) {
				break
			}
			again, err = append(again, unproven.lost.Files...), nil
		}
		if err != nil {
			break
		}
		h.record(l, table)
		for i, f := range l.claim.files {
			if gone(f) {
				l.left = append(l.left, i)
			}
		}
		if err := h.mark(ctx, table, l); err != nil {
			break
		}
	}
	h.note("%s is given up", l.name)
	if !h.hides {
		h.wrong = "a lost file was not written and loaded again, although nothing hides its cells"
	}
	h.pending = nil
	return nil
}

// record notes what the table is like when it serves the files.
func (h *history) record(l *pastLoad, table *load.Table) {
	l.claim.identity = table.Identity()
	for i := range l.claim.files {
		l.claim.files[i].Opening = table.OpeningsOf(&l.claim.files[i])
	}
}

// check asks the proof for a load that is done.
func (h *history) check(ctx context.Context, l *pastLoad, source bool) error {
	err := h.proof(l, source).check(ctx, l.claim)
	// a region was opened while all rows were asked for: the next command asks again
	if errors.Is(err, load.ErrUnavailable) {
		h.note("check of %s: %v", l.name, err)
		err = h.proof(l, source).check(ctx, l.claim)
	}
	h.said("check", l, err)
	return nil
}

func (h *history) proof(l *pastLoad, source bool) proof {
	p := proof{cluster: h.client, again: "load it again"}
	if source {
		p.rows = func(ctx context.Context, ranges []load.RowRange) (found RowsFound, err error) {
			h.asked++
			in := slices.DeleteFunc(slices.Clone(l.cells), func(c cell.Cell) bool {
				return !slices.ContainsFunc(ranges, func(r load.RowRange) bool {
					return bytes.Compare(c.Row, r.First) >= 0 && bytes.Compare(c.Row, r.Last) <= 0
				})
			})
			found.Rows, found.Missing = int64(len(in)), int64(len(h.world.Unreadable(h.table, 1, in)))
			_, err = h.client.Table(ctx, h.table) // some calls, in which the table may change
			return found, err
		}
	}
	return p
}

// said compares what the proof said of a load with the truth.
func (h *history) said(what string, l *pastLoad, err error) {
	h.checks++
	h.verdicts = append(h.verdicts, err == nil)
	if err != nil {
		h.note("%s of %s: %v", what, l.name, err)
		if h.sane {
			h.wrong = "an alarm although nothing was lost"
		}
		return
	}
	h.done++
	lost := slices.DeleteFunc(h.world.Unreadable(h.table, 1, l.cells), func(c cell.Cell) bool {
		return h.excused[string(c.Row)] || slices.Contains(l.unseen, string(c.Family)+string(c.Row))
	})
	h.note("%s of %s: done, %d cells are lost", what, l.name, len(lost))
	if len(lost) > 0 {
		h.wrong = fmt.Sprintf("%s of %s: said to be done, and %d of %d cells can't be read, such as %s:%s", what, l.name, len(lost), len(l.cells), lost[0].Row, lost[0].Family)
	}
}

// newHistory begins a history. The days of its loads end half a day before now, so that no cell expires while it is
// played.
func newHistory(table string, w world, client *load.Cluster) *history {
	return &history{table: table, world: w, client: client, day0: time.Now().Add(-(30*24 + 12) * time.Hour)}
}

// simulate plays a history on a simulated cluster, in a bubble of its own; tandem: as a real cluster can, too.
func simulate(t *testing.T, steps []step, sane, tandem bool) (h *history) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		sim := simcluster.New(2)
		defer sim.Close()
		client, err := load.Connect(t.Context(), new(siteconf.Conf), load.Caller{User: "tina"}, sim)
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		h = newHistory("t", sim, client)
		h.sane, h.source, h.changes = sane, sane || tandem, []string{"move", "split", "merge", "restart", "compact"}
		if tandem {
			h.world = likeReal{sim}
			h.changes = nil
		} else if !sane {
			h.changes = append(h.changes, "truncate", "truncate region", "restore", "remove and add a family")
		}
		if err := h.play(t.Context(), steps); err != nil {
			t.Error(err)
		}
	})
	return h
}

// minimised takes steps away as long as what is left is wrong.
func minimised(t *testing.T, steps []step, sane bool) []step {
	for n := 0; n < len(steps); {
		if fewer := slices.Delete(slices.Clone(steps), n, n+1); simulate(t, fewer, sane, false).wrong != "" {
			steps, n = fewer, 0
		} else {
			n++
		}
	}
	return steps
}

// histories is how many histories a test plays: BULKLOAD_HISTORIES, or some.
func histories(t *testing.T, some int) int {
	t.Helper()
	if text := os.Getenv("BULKLOAD_HISTORIES"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if testing.Short() {
		return some / 10
	}
	return some
}

// TestProofHistories: whatever happens to a table, the proof says that a load is done only if readers find each of its
// cells, or newer ones; and if nothing is lost it says so. The histories of make test are always the same, so that what
// one finds by chance does not fail another change; make search draws new ones.
func TestProofHistories(t *testing.T) {
	t.Parallel()
	for name, sane := range map[string]bool{"harmless": true, "any": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rng := testrand.New(t)
			if os.Getenv("BULKLOAD_HISTORIES") == "" && os.Getenv(testrand.Variable) == "" {
				rng = rand.New(rand.NewPCG(1, 1))
			}
			begun := time.Now()
			kinds := []map[string]int{harmless, harmful}
			if sane {
				kinds = kinds[:1]
			}
			checks, done, asked := 0, 0, 0
			n := histories(t, 1000)
			for i := range n {
				steps := drawHistory(rng, 25, kinds...)
				h := simulate(t, steps, sane, false)
				if checks, done, asked = checks+h.checks, done+h.done, asked+h.asked; h.wrong != "" {
					h = simulate(t, minimised(t, steps, sane), sane, false)
					t.Fatalf("history %d: %s\n%s", i, h.wrong, strings.Join(h.log, "\n"))
				}
				if t.Failed() {
					t.FailNow()
				}
			}
			t.Logf("%d histories in %s: %d questions, %d times done, %d times all rows were asked for", n, time.Since(begun).Round(time.Second), checks, done, asked)
		})
	}
}
