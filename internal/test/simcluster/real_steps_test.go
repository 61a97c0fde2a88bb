package simcluster_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"time"

	"bulkload/cell"
	"bulkload/internal/hbase"
	"bulkload/internal/storage"
	"bulkload/internal/test/simcluster"
	"bulkload/load"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"
)

// aRow is any row; aRegion the label of any region that the table has, or with stale, had.
func (p *pair) aRow() byte { return byte('a' + p.rng.IntN(24)) }

func (p *pair) aRegion(stale bool) int {
	if stale || len(p.sim.now) == 0 {
		return p.rng.IntN(len(p.sim.regions))
	}
	return p.sim.now[p.rng.IntN(len(p.sim.now))]
}

func (p *pair) aFamily() string {
	if p.rng.IntN(8) == 0 {
		return "none"
	}
	return p.families[p.rng.IntN(len(p.families))].Name
}

// rowIn is a row of a region.
func (p *pair) rowIn(label int) byte {
	from, to := byte('a'), byte('x')
	if r := p.sim.regions[label]; r.start != "" {
		from = r.start[0]
	}
	if r := p.sim.regions[label]; r.end != "" {
		to = r.end[0] - 1
	}
	return from + byte(p.rng.IntN(int(to-from)+1))
}

// cells are those of a file with some of the rows from one to another.
func (p *pair) cells(family string, from, to byte) (all []cell.Cell) {
	for r := from; r <= to; r++ {
		if r == from || r == to || p.rng.IntN(2) == 0 {
			n := p.rng.IntN(1000)
			all = append(all, cell.Cell{Row: row(r), Family: []byte(family), Qualifier: []byte("c"),
				Timestamp: int64(1_700_000_000_000 + n), Type: cell.Put,
				Value: fmt.Appendf(nil, "%c%s%d", r, family, len(p.files))})
		}
	}
	return all
}

func (p *pair) newFile(family string, from, to byte) *file {
	f := &file{family, fmt.Sprintf("%032x", len(p.files)), p.cells(family, from, to)}
	p.files = append(p.files, f)
	return f
}

// fileIn is a new file with rows of a region.
func (p *pair) fileIn(label int, family string) *file {
	a, b := p.rowIn(label), p.rowIn(label)
	return p.newFile(family, min(a, b), max(a, b))
}

// draw makes the next step.
func (p *pair) draw() step {
	for {
		n := p.rng.IntN(100)
		switch {
		case p.exists || n >= 60:
		case p.saved != nil && n < 30:
			return p.restore()
		default:
			return p.create()
		}
		for _, k := range []struct {
			share int
			draw  func() (step, bool)
		}{{30, p.drawChange}, {25, p.drawLoad}, {30, p.drawRead}, {15, p.drawQuestion}} {
			if n -= k.share; n < 0 {
				if st, ok := k.draw(); ok {
					return st
				}
				break
			}
		}
	}
}

func (p *pair) create() step {
	var splits [][]byte
	for r := byte('b'); r <= 'w'; r++ {
		if p.rng.IntN(6) == 0 {
			splits = append(splits, row(r))
		}
	}
	families := []simcluster.Family{family("f", 1), family("g", 2)}
	var wanted []load.Family
	for _, f := range families {
		wanted = append(wanted, load.Family{Name: f.Name, Attributes: f.Attributes})
	}
	again := p.exists // it is refused
	if !again {
		p.exists, p.enabled, p.families = true, true, families
	}
	return step{fmt.Sprintf("create with splits %q, again %t", splits, again), func(s *side) []string {
		made, err := s.client.Create(s.ctx, s.table, wanted, splits)
		return []string{made, kinds(err)}
	}}
}

func (p *pair) restore() step {
	p.exists, p.enabled, p.families = true, true, p.saved
	return change("restore")(func(s *side) error { return s.Restore("s") })
}

// drawChange draws what people do to the table.
func (p *pair) drawChange() (step, bool) {
	if !p.exists {
		return step{}, false
	}
	label := p.aRegion(false)
	at := p.rowIn(label)
	closed := !p.enabled
	switch p.rng.IntN(15) {
	case 0, 1:
		if closed || p.sim.regions[label].start == string(at) || at == 'a' {
			return step{}, false
		}
		p.halved[label] = true
		return change("split at %c", at)(func(s *side) error {
			return errors.Join(s.Split(s.table, row(at)), s.Compact(s.table, nil, 0, true))
		}), true
	case 2, 3:
		i := slices.Index(p.sim.now, label)
		if closed || i < 0 || i+1 == len(p.sim.now) || p.merged[label] || p.merged[p.sim.now[i+1]] {
			return step{}, false
		}
		p.merged[len(p.sim.regions)] = true
		return change("merge the region of %c", at)(func(s *side) error {
			return errors.Join(s.Merge(s.table, row(at)), s.Compact(s.table, nil, 0, true))
		}), true
	case 4, 5:
		return change("move the region of %c", at)(func(s *side) error { return s.Move(s.table, row(at)) }), !closed
	case 6:
		return change("compact")(func(s *side) error { return s.Compact(s.table, nil, 0, true) }), !closed
	case 7:
		keep := p.rng.IntN(2) == 0
		p.enabled = true
		return change("truncate, keep splits %t", keep)(func(s *side) error { return s.Truncate(s.table, keep) }), true
	case 8:
		return change("truncate the region of %c", at)(func(s *side) error { return s.TruncateRegion(s.table, row(at)) }),
			!closed
	case 9:
		return p.alter(), true
	case 10:
		if p.enabled = closed; closed {
			return change("enable")(func(s *side) error { return s.Enable(s.table) }), true
		}
		return change("disable")(func(s *side) error { return s.Disable(s.table) }), true
	case 11:
		p.saved = p.families
		return change("snapshot")(func(s *side) error { return s.Snapshot(s.table, "s") }), true
	case 12:
		if p.saved == nil {
			return step{}, false
		}
		return p.restore(), true
	case 13:
		p.exists, p.enabled = false, false
		return change("drop")(func(s *side) error { return s.Drop(s.table) }), true
	}
	c := cell.Cell{Row: row(at), Family: []byte(p.families[0].Name), Timestamp: 1_700_000_000_500, Type: cell.DeleteFamily}
	if p.rng.IntN(2) == 0 {
		c.Qualifier, c.Type, c.Value = []byte("c"), cell.Put, fmt.Appendf(nil, "%cput", at)
	}
	return change("put %c, type %v", at, c.Type)(func(s *side) error { return s.Put(s.table, c) }), !closed
}

// alter removes a family, adds one, or changes how many versions one keeps.
func (p *pair) alter() step {
	p.families = slices.Clone(p.families)
	i := p.rng.IntN(len(p.families))
	name := []string{"f", "g", "h"}[p.rng.IntN(3)]
	known := slices.ContainsFunc(p.families, func(f simcluster.Family) bool { return f.Name == name })
	switch {
	case !known:
		p.families = append(p.families, family(name, 1))
	case len(p.families) > 1 && p.rng.IntN(2) == 0:
		p.families = slices.Delete(p.families, i, i+1)
	default:
		p.families[i] = family(p.families[i].Name, 1+p.rng.IntN(3))
	}
	wanted := p.families
	return change("alter to %v", wanted)(func(s *side) error { return s.Alter(s.table, wanted...) })
}

// drawLoad draws a request of a load, or a load.
func (p *pair) drawLoad() (step, bool) {
	label := p.aRegion(p.rng.IntN(5) == 0)
	kind := p.rng.IntN(10)
	switch {
	case kind == 0:
		return step{fmt.Sprintf("check staging of region %d", label), func(s *side) []string {
			table, err := s.client.Table(s.ctx, s.table)
			if err != nil {
				return []string{kinds(err)}
			}
			c := s.client.CheckStaging(s.ctx, s.fs, table, "f", s.folder, path.Join(s.folder, "probe"))
			return []string{kinds(c.Right), kinds(c.Place), kinds(c.Enter), kinds(c.Tracker), kinds(c.Move),
				fmt.Sprint(c.Encrypted, c.Folder != "")}
		}}, true
	case kind == 1 && p.stagings > 0:
		which := p.rng.IntN(p.stagings)
		return step{fmt.Sprintf("clean up staging folder %d by region %d", which, label), func(s *side) []string {
			err := s.server(label).CleanupBulkLoad(s.ctx, hbase.StagedLoad, s.staging[which], s.regions[label].name)
			_, folder := storage.SplitURI(s.staging[which])
			_, gone := s.fs.Stat(folder)
			return []string{said(err), fmt.Sprintf("folder: %s", kinds(gone))}
		}}, true
	case kind <= 3 || p.stagings == 0:
		if slices.Contains(p.sim.now, label) && p.enabled {
			p.stagings++
		}
		return step{fmt.Sprintf("prepare by region %d", label), func(s *side) []string {
			token, err := s.server(label).PrepareBulkLoad(s.ctx, hbase.StagedLoad, s.id(), s.regions[label].name)
			if err == nil {
				s.staging = append(s.staging, token)
			}
			return []string{said(err)}
		}}, true
	case kind == 4:
		return p.wholeLoad(), true
	}
	return p.request(label), true
}

// request draws a load request of one region.
func (p *pair) request(label int) step {
	family := p.aFamily()
	files := []*file{p.fileIn(label, family)}
	what := "a file"
	var missing *file
	switch p.rng.IntN(7) {
	case 0:
		what = "two files"
		files = append(files, p.fileIn(label, p.families[0].Name))
		if files[0].family == files[1].family { // which of two equal cells counts depends on the files' sizes
			files = files[:1]
		}
	case 1:
		what = "a file across a boundary"
		files[0].cells = p.cells(family, 'a', 'x')
	case 2:
		what = "the same file twice"
		files = append(files, files[0])
	case 3:
		what = "a file, and one that is missing"
		missing = p.fileIn(label, p.families[0].Name)
		files = append(files, missing)
	}
	which := p.rng.IntN(p.stagings)
	text := fmt.Sprintf("load %s into region %d by staging folder %d:", what, label, which)
	for _, f := range files {
		text += fmt.Sprintf(" %s of %s, %s to %s;", f.name[28:], f.family, f.first(), f.last())
	}
	return step{text, func(s *side) (lines []string) {
		r := &hbase.BulkLoadHFileRequest{Region: s.regions[label].name, Bulk: s.staging[which]}
		for i, f := range files {
			if f != missing && slices.Index(files, f) == i {
				s.write(f)
			}
			r.Files = append(r.Files, hbase.FamilyPath{Family: f.family, Path: s.fs.URI(s.path(f))})
		}
		loaded, err := s.server(label).BulkLoadHFile(s.ctx, r)
		lines = append(lines, fmt.Sprintf("loaded %t, %s", loaded, said(err)))
		for _, f := range files {
			lines = append(lines, s.where(f, r.Bulk))
		}
		return lines
	}}
}

// wholeLoad draws a load by package load.
func (p *pair) wholeLoad() step {
	var files []*file
	for _, f := range p.families {
		label := p.aRegion(false)
		files = append(files, p.fileIn(label, f.Name))
		if p.rng.IntN(6) == 0 {
			files[len(files)-1].cells = p.cells(f.Name, 'a', 'x')
		}
	}
	return step{fmt.Sprintf("load %d files", len(files)), func(s *side) (lines []string) {
		var all []load.HFile
		for _, f := range files {
			s.write(f)
			all = append(all, s.hfile(f))
		}
		before := 0
		report, err := s.client.LoadFrom(s.ctx, s.fs, s.table, all,
			load.Hooks{ServedBefore: func(f []load.HFile) error { before = len(f); return nil }})
		lines = append(lines, kinds(err),
			fmt.Sprintf("%d files, %d requests, %d rounds, %d were served before, staging left %t", report.Files, report.Regions,
				report.Rounds, before, report.Staging != ""))
		for _, f := range files {
			lines = append(lines, s.where(f, ""))
		}
		return lines
	}}
}

// drawRead draws a read of one or two regions, or one that package load makes of the table.
func (p *pair) drawRead() (step, bool) {
	label, at, fam := p.aRegion(p.rng.IntN(5) == 0), p.aRow(), p.aFamily()
	columns := []*pb.Column{{Family: []byte(fam)}}
	if p.rng.IntN(2) == 0 {
		columns = nil
	}
	var times *pb.TimeRange
	if p.rng.IntN(3) == 0 {
		from := uint64(1_700_000_000_000 + p.rng.IntN(900))
		times = &pb.TimeRange{From: proto.Uint64(from), To: proto.Uint64(from + 200)}
	}
	switch p.rng.IntN(8) {
	case 0:
		return step{fmt.Sprintf("get %c of region %d, family %s, times %v", at, label, fam, times), func(s *side) []string {
			cells, err := s.server(label).Get(s.ctx, s.regions[label].name, &pb.Get{Row: row(at), Column: columns,
				TimeRange: times})
			return append([]string{said(err)}, shown(cells)...)
		}}, true
	case 1, 2:
		return p.openScan(label, at, columns, times), true
	case 3:
		return p.nextScan()
	case 4:
		return p.multi(label, fam), true
	case 5:
		rows := []load.Lookup{{Row: row(at), Other: -1}, {Row: row(p.aRow()), Other: 1_700_000_000_100}, {Row: row(p.aRow()),
			Columns: []load.Columns{{Family: []byte(fam)}}, Other: -1}}
		return step{fmt.Sprintf("do rows %c, %c, %c exist, family %s", at, rows[1].Row[0], rows[2].Row[0], fam),
			func(s *side) []string {
				found, err := s.client.Exist(s.ctx, s.table, rows)
				return []string{fmt.Sprint(found), kinds(err)}
			}}, true
	case 6:
		r := load.Range{Start: row(at), Families: []string{fam}, From: 1_700_000_000_300, To: math.MaxInt64,
			Reversed: p.rng.IntN(2) == 0}
		return step{fmt.Sprintf("scan the table from %c, family %s, reversed %t", at, fam, r.Reversed),
			func(s *side) (lines []string) {
				err := s.client.Scan(s.ctx, s.table, r, func(c *cell.Cell) error {
					lines = append(lines, shown([]cell.Cell{*c})...)
					return nil
				})
				return append(lines, kinds(err))
			}}, true
	}
	return p.probe()
}

// openScan begins a scan, which later steps go on with.
func (p *pair) openScan(label int, at byte, columns []*pb.Column, times *pb.TimeRange) step {
	scan := &pb.Scan{StartRow: row(at), Column: columns, TimeRange: times}
	how := ""
	if p.rng.IntN(2) == 0 {
		scan.Reversed, how = proto.Bool(true), " backwards"
	}
	if p.rng.IntN(2) == 0 {
		stop := p.aRow()
		scan.StopRow, how = row(stop), fmt.Sprintf("%s to %c", how, stop)
	}
	if p.rng.IntN(4) == 0 {
		scan.StartRow, how = nil, how+", but from the region's begin"
	}
	rows := uint32(p.rng.IntN(5))
	p.scanning = true
	return step{fmt.Sprintf("scan region %d from %c%s, columns %v, times %v, %d rows", label, at, how, columns, times, rows),
		func(s *side) []string {
			s.scanner = nil
			conn := s.server(label)
			answer, err := conn.Scan(s.ctx, hbase.OpenScanner(s.regions[label].name, scan, rows))
			if err == nil {
				s.scanner = &openScanner{conn, answer.Scanner, 1}
			}
			return scanned(answer, err)
		}}
}

// nextScan goes on with a scan, or closes it.
func (p *pair) nextScan() (step, bool) {
	rows, skip, closing := uint32(1+p.rng.IntN(4)), uint64(p.rng.IntN(8)/7), p.rng.IntN(5) == 0
	return step{fmt.Sprintf("go on with the scan, %d rows, %d numbers skipped, close %t", rows, skip, closing),
		func(s *side) []string {
			if s.scanner == nil {
				return []string{"there is none"}
			}
			if closing {
				return scanned(s.scanner.conn.Scan(s.ctx, hbase.CloseOf(s.scanner.id)))
			}
			request := hbase.NextOf(s.scanner.id, rows, s.scanner.number+skip)
			s.scanner.number++
			return scanned(s.scanner.conn.Scan(s.ctx, request))
		}}, p.scanning
}

// multi draws a call with many reads, of a region that serves and of one that may not.
func (p *pair) multi(label int, fam string) step {
	gets := func(label int) (gets []hbase.RawGet, rows []hbase.RowGet) {
		for range 1 + p.rng.IntN(3) {
			g := hbase.RawGet{Row: row(p.rowIn(label)), Family: fam, To: math.MaxInt64}
			if p.rng.IntN(2) == 0 {
				g.Qualifier, g.Markers, g.KeysOnly = []byte("c"), p.rng.IntN(2) == 0, p.rng.IntN(2) == 0
			}
			g.Limit = p.rng.IntN(3)
			if p.rng.IntN(3) == 0 {
				g.From, g.To = 1_700_000_000_200, 1_700_000_000_700
			}
			gets = append(gets, g)
			rows = append(rows, hbase.RowGet{Row: g.Row, Columns: []hbase.FamilyColumns{{Family: []byte(fam)}},
				First: p.rng.IntN(2) == 0, To: g.To, From: g.From})
		}
		return gets, rows
	}
	raw, rows := gets(label)
	other := p.aRegion(true)
	rawOther, rowsOther := gets(other)
	return step{fmt.Sprintf("read %v of region %d and %v of region %d", raw, label, rawOther, other),
		func(s *side) []string {
			conn := s.server(label)
			lines := answered(conn.MultiGet(s.ctx, []hbase.RegionGets{{Region: s.regions[label].name, Gets: raw}}))
			lines = append(lines, answered(s.server(other).MultiGet(s.ctx, []hbase.RegionGets{{Region: s.regions[other].name,
				Gets: rawOther}}))...)
			lines = append(lines, answered(conn.MultiRows(s.ctx, []hbase.RegionRows{{Region: s.regions[label].name,
				Gets: rows}}))...)
			return append(lines, answered(s.server(other).MultiRows(s.ctx, []hbase.RegionRows{{Region: s.regions[other].name,
				Gets: rowsOther}}))...)
		}}
}

// probe asks for the cells of the files that were written so far.
func (p *pair) probe() (step, bool) {
	var files []*file
	for _, f := range p.files {
		if slices.ContainsFunc(p.families, func(have simcluster.Family) bool { return have.Name == f.family }) {
			files = append(files, f)
		}
	}
	return step{fmt.Sprintf("probe %d files", len(files)), func(s *side) (lines []string) {
		var all []load.HFile
		for _, f := range files {
			all = append(all, s.hfile(f))
		}
		findings, err := s.client.Probe(s.ctx, s.table, all)
		lines = append(lines, kinds(err))
		for i := range findings {
			lines = append(lines, fmt.Sprintf("  %s: %d", files[i].name, findings[i].Serving))
			for _, a := range findings[i].Answers {
				lines = append(lines, fmt.Sprintf("    %d by region %d", a.Serving, s.labels[string(a.Region)]))
			}
		}
		return lines
	}}, len(files) > 0 && p.enabled
}

// drawQuestion draws a question to the master, to hbase:meta, or to a server that does not have a region.
func (p *pair) drawQuestion() (step, bool) {
	label, at := p.aRegion(p.rng.IntN(3) == 0), p.aRow()
	switch p.rng.IntN(8) {
	case 0:
		return step{fmt.Sprintf("locate %c", at), func(s *side) []string { return []string{s.locate(at)} }}, true
	case 1:
		return step{"status", (*side).status}, true
	case 2:
		return step{fmt.Sprintf("the right to read region %d", label), func(s *side) []string {
			return []string{said(s.server(label).CheckRead(s.ctx, s.regions[label].name, s.id(), "f"))}
		}}, true
	case 3:
		name := []string{"default", "hbase", "no_such_namespace"}[p.rng.IntN(3)]
		return step{"namespace " + name, func(s *side) []string {
			exists, err := s.master().NamespaceExists(s.ctx, name)
			return []string{fmt.Sprint(exists), said(err)}
		}}, true
	case 4:
		return p.create(), p.enabled // which is refused
	case 5:
		return step{fmt.Sprintf("have the master move region %d to where it is", label), func(s *side) []string {
			return []string{said(s.master().MoveRegion(s.ctx, s.encoded(label), s.serverName(s.regions[label].server)))}
		}}, !p.halved[label] // the janitor decides whether the master still knows it
	case 6:
		if p.sim.regions[label].moves() != p.real.regions[label].moves() {
			return step{}, false
		}
		return step{fmt.Sprintf("have the other server serve region %d", label), func(s *side) []string {
			cells, err := s.conn(s.other(label).Addr(), hbase.ClientService).Get(s.ctx, s.regions[label].name,
				&pb.Get{Row: row('a')})
			return append([]string{said(err)}, shown(cells)...)
		}}, true
	}
	return step{fmt.Sprintf("have the master move region %d", label), func(s *side) []string {
		return []string{said(s.master().MoveRegion(s.ctx, s.encoded(label), s.other(label)))}
	}}, !p.halved[label]
}

func (s *side) encoded(label int) string {
	r := load.Region{Name: s.regions[label].name}
	return r.EncodedName()
}

// other is a server that does not have a region.
func (s *side) other(label int) hbase.ServerName {
	for _, live := range must(s.master().ClusterStatus(s.ctx)).Servers {
		if live.Server.Addr() != s.regions[label].server {
			return live.Server
		}
	}
	panic(notDone{errors.New("there is one server only")})
}

func (s *side) serverName(addr string) hbase.ServerName {
	for _, live := range must(s.master().ClusterStatus(s.ctx)).Servers {
		if live.Server.Addr() == addr {
			return live.Server
		}
	}
	panic(notDone{fmt.Errorf("no server %s lives", addr)})
}

// locate finds the region of a row as package load does.
func (s *side) locate(at byte) string {
	scan := &pb.Scan{StartRow: fmt.Appendf(nil, "%s,%c,:", s.table, at), Reversed: proto.Bool(true),
		Column: []*pb.Column{{Family: []byte("info"),
			Qualifier: [][]byte{[]byte("regioninfo")}}}}
	answer, err := s.meta().Scan(s.ctx, hbase.ScanOnce([]byte("hbase:meta,,1"), scan, 3))
	if err != nil {
		return said(err)
	}
	for {
		var c cell.Cell
		if more := must(answer.Next(&c)); !more {
			return "no region"
		}
		info := must(hbase.ParseRegionInfo(c.Value))
		if info.Table == s.id() && !info.Split && !info.Offline {
			return fmt.Sprintf("region %d", s.labels[string(c.Row)])
		}
	}
}

// status shows what servers report about the table's regions. Reports come late, so they are waited for.
func (s *side) status() []string {
	var last []string
	for range 4 {
		status := must(s.master().ClusterStatus(s.ctx))
		lines := []string{fmt.Sprintf("%d servers, each with a time %t, a version %t", len(status.Servers),
			!slices.ContainsFunc(status.Servers, func(l hbase.ServerLoad) bool { return l.Reported == 0 }),
			status.Version != "")}
		for _, label := range s.now {
			i := slices.IndexFunc(status.Regions, func(r hbase.RegionLoad) bool {
				return bytes.Equal(r.Region,
					s.regions[label].name)
			})
			if i < 0 {
				lines = append(lines, fmt.Sprintf("  region %d is not reported", label))
				continue
			}
			r := status.Regions[i]
			lines = append(lines, fmt.Sprintf("  region %d: %d files, %d MB, %d MB in memory", label, r.StoreFiles, r.FileMB,
				r.MemstoreMB))
		}
		last = lines
		time.Sleep(400 * time.Millisecond) // servers report every half second
	}
	return last
}
