package simcluster_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"os/user"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"bulkload/cell"
	"bulkload/hfilewriter"
	"bulkload/internal/hbase"
	"bulkload/internal/siteconf"
	"bulkload/internal/storage"
	"bulkload/internal/test/livetable"
	"bulkload/internal/test/simcluster"
	"bulkload/internal/test/testcluster"
	"bulkload/internal/test/testrand"
	"bulkload/load"

	"github.com/go-zookeeper/zk"
	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"
)

// These tests do the same to a real cluster and to a simulated one, and compare all answers as package hbase reads them.
//
// What must differ is masked: servers and their start codes, regions' names (each gets a number when it is first seen),
// timestamps that HBase gives (only whether they have changed), the names of staging folders, and the texts of
// exceptions. Three more things are out of the model, because chores of HBase do them at times that no client knows:
//   - A split's parent stays in hbase:meta until the master's janitor comes. It goes here when a half is compacted, so
//     these rows are not compared.
//   - The halves of a split and a merged region are compacted at once, so these steps end with a compaction.
//   - A merged region can't be merged again before the janitor comes, so it is not tried.

// changes are what people do to a table.
type changes interface {
	Drop(name string) error
	Disable(name string) error
	Enable(name string) error
	Truncate(name string, preserve bool) error
	TruncateRegion(name string, row []byte) error
	Alter(name string, families ...simcluster.Family) error
	Snapshot(name, snapshot string) error
	Restore(snapshot string) error
	Split(name string, row []byte) error
	Merge(name string, row []byte) error
	Move(name string, row []byte) error
	Compact(name string, row []byte, files int, major bool) error
	Put(name string, cells ...cell.Cell) error
}

// side is one of the two clusters, and what a client knows of it.
type side struct {
	changes
	ctx     context.Context
	table   string
	user    string
	network load.Network
	client  *load.Cluster
	fs      storage.FS
	folder  string // of the files to be loaded
	conns   map[string]*hbase.Conn

	labels  map[string]int // of regions, by name
	regions []place        // by label, as last seen
	now     []int          // labels of the table's regions, in order
	written int64          // when the table's state was
	staging []string       // tokens
	scanner *openScanner
}

// place is where a region was seen last.
type place struct {
	name       []byte
	start, end string
	server     string
	history    []string // servers, without repetitions
	opening    string
}

type openScanner struct {
	conn       *hbase.Conn
	id, number uint64
}

// zooKeeper finds the servers of a real cluster.
type zooKeeper struct{ addr string }

func (z zooKeeper) find(name string) (string, error) {
	session, _, err := zk.Connect([]string{z.addr}, 20*time.Second, zk.WithLogInfo(false))
	if err != nil {
		return "", err
	}
	defer session.Close()
	data, _, err := session.Get("/hbase/" + name)
	if err != nil {
		return "", err
	}
	return hbase.ParseServerZNode(data)
}

func (z zooKeeper) Master(context.Context) (string, error) { return z.find("master") }
func (z zooKeeper) Meta(context.Context) (string, error)   { return z.find("meta-region-server") }

func (z zooKeeper) Dial(ctx context.Context, addr string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", addr)
}

// likeReal is a simulated cluster whose compactions are those of a real table: of all regions.
type likeReal struct{ *simcluster.Cluster }

func (c likeReal) Compact(name string, _ []byte, _ int, _ bool) error {
	for row := byte('a'); row <= 'z'; row++ {
		if err := c.Cluster.Compact(name, []byte{row}, 0, true); err != nil {
			return err
		}
	}
	return nil
}

func newSide(t *testing.T, table, me string, c changes, network load.Network, files storage.FS, folder string) *side {
	t.Helper()
	s := &side{changes: c, ctx: t.Context(), table: table, user: me, network: network, fs: files, folder: folder,
		conns: map[string]*hbase.Conn{}, labels: map[string]int{}}
	var err error
	if s.client, err = load.Connect(s.ctx, new(siteconf.Conf), load.Caller{User: me}, network); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.client.Close()
		for _, c := range s.conns {
			c.Close()
		}
	})
	return s
}

// conn is a connection to a server.
func (s *side) conn(addr string, service hbase.Service) *hbase.Conn {
	key := addr + string(service)
	if c := s.conns[key]; c != nil && c.Err() == nil {
		return c
	}
	c, err := hbase.Dial(s.ctx, addr, service, hbase.Options{User: s.user, Dial: s.network.Dial})
	if err != nil {
		panic(notDone{err})
	}
	s.conns[key] = c
	return c
}

// notDone says that a step could not be done: nothing can be compared.
type notDone struct{ error }

func must[T any](v T, err error) T {
	if err != nil {
		panic(notDone{err})
	}
	return v
}

func (s *side) master() *hbase.Conn {
	return s.conn(must(s.network.Master(s.ctx)), hbase.MasterService)
}

func (s *side) meta() *hbase.Conn { return s.conn(must(s.network.Meta(s.ctx)), hbase.ClientService) }

// server is the server that had a region when it was seen last.
func (s *side) server(label int) *hbase.Conn {
	return s.conn(s.regions[label].server, hbase.ClientService)
}

func (s *side) id() hbase.TableName { return must(hbase.ParseTableName(s.table)) }

// said is an error without what must differ.
func said(err error) string {
	var remote *hbase.RemoteError
	switch {
	case err == nil:
		return "done"
	case errors.As(err, &remote):
		text := remote.ShortClass()
		if remote.DoNotRetry {
			text += ", do not retry"
		}
		if remote.Host != "" {
			text += ", with the place"
		}
		return text
	case errors.Is(err, hbase.ErrScannerClosed):
		return "the scanner is closed"
	}
	return "another error: " + err.Error()
}

// kinds are the kinds of an error of package load.
func kinds(err error) string {
	if err == nil {
		return "done"
	}
	text := "error"
	for _, kind := range []error{load.ErrUnavailable, load.ErrNotFound, load.ErrRefused, load.ErrExists, load.ErrStraddles, load.ErrUnchecked, fs.ErrNotExist} {
		if errors.Is(err, kind) {
			text += ", " + kind.Error()
		}
	}
	return text
}

func shown(cells []cell.Cell) (lines []string) {
	for _, c := range cells {
		lines = append(lines, fmt.Sprintf("  %q %s:%q %d %v %q", c.Row, c.Family, c.Qualifier, c.Timestamp, c.Type, c.Value))
	}
	return lines
}

// look asks for everything that a client can know of the table.
func (s *side) look() (lines []string) {
	lines = append(lines, s.lookAtState(), s.lookAtSchema())
	lines = append(lines, s.lookAtMeta()...)
	for _, label := range s.now {
		lines = append(lines, fmt.Sprintf("region %d:", label))
		lines = append(lines, s.scanOnce(label, &pb.Scan{}, 1000)...)
	}
	return lines
}

func (s *side) lookAtState() string {
	row, err := s.meta().Get(s.ctx, []byte("hbase:meta,,1"),
		&pb.Get{Row: []byte(s.table), Column: []*pb.Column{{Family: []byte("table"), Qualifier: [][]byte{[]byte("state")}}}})
	if err != nil || len(row) == 0 {
		s.written = 0
		return fmt.Sprintf("state: %d cells, %s", len(row), said(err))
	}
	state, err := hbase.ParseTableState(row[0].Value)
	anew := row[0].Timestamp != s.written
	s.written = row[0].Timestamp
	return fmt.Sprintf("state: %d cells, %s, %s, written anew: %t", len(row), state, said(err), anew)
}

func (s *side) lookAtSchema() string {
	schema, err := s.master().TableDescriptor(s.ctx, s.id())
	if err != nil || schema == nil {
		return fmt.Sprintf("schema: %v, %s", schema, said(err))
	}
	return fmt.Sprintf("schema: %v", *schema) // maps are printed in the order of their keys
}

// lookAtMeta reads the table's regions and remembers their places.
func (s *side) lookAtMeta() (lines []string) {
	region := []byte("hbase:meta,,1")
	answer, err := s.meta().Scan(s.ctx, hbase.OpenScanner(region, &pb.Scan{StartRow: []byte(s.table + ",,"), StopRow: []byte(s.table + " ,,"),
		Column: []*pb.Column{{Family: []byte("info"), Qualifier: [][]byte{[]byte("regioninfo"), []byte("server"), []byte("serverstartcode"),
			[]byte("seqnumDuringOpen"), []byte("state")}}}}, 1000))
	if err != nil {
		return []string{"hbase:meta: " + said(err)}
	}
	lines = append(lines, fmt.Sprintf("hbase:meta: more %t, in the region %t, partial %t", answer.More, answer.MoreInRegion, answer.Partial))
	s.now = nil
	var row []cell.Cell
	end := func() {
		if len(row) > 0 {
			lines = append(lines, s.see(row)...)
		}
		row = nil
	}
	for {
		var c cell.Cell
		if more := must(answer.Next(&c)); !more {
			end()
			return lines
		}
		if len(row) > 0 && !bytes.Equal(row[0].Row, c.Row) {
			end()
		}
		row = append(row, c)
	}
}

// see remembers and shows a row of hbase:meta.
func (s *side) see(row []cell.Cell) []string {
	cells := map[string][]byte{}
	opened := int64(0)
	for _, c := range row {
		cells[string(c.Qualifier)] = c.Value
		if string(c.Qualifier) == "seqnumDuringOpen" {
			opened = c.Timestamp
		}
	}
	info := must(hbase.ParseRegionInfo(cells["regioninfo"]))
	name := string(row[0].Row)
	if info.Split || info.Offline {
		return nil // see above
	}
	label, known := s.labels[name]
	if !known {
		label = len(s.regions)
		s.labels[name] = label
		s.regions = append(s.regions, place{name: row[0].Row})
	}
	s.now = append(s.now, label)
	p := &s.regions[label]
	p.start, p.end = string(info.Start), string(info.End)
	if addr := string(cells["server"]); addr != p.server {
		p.server = addr
		p.history = append(p.history, addr)
	}
	opening := fmt.Sprintf("%s %x %x %d", cells["server"], cells["serverstartcode"], cells["seqnumDuringOpen"], opened)
	again := opening != p.opening
	p.opening = opening
	return []string{fmt.Sprintf("  region %d [%q, %q) %s, opened again: %t, with %q, number %t", label, info.Start, info.End, cells["state"], again,
		slices.Sorted(maps.Keys(cells)), len(cells["seqnumDuringOpen"]) == 8 && binary.BigEndian.Uint64(cells["seqnumDuringOpen"]) > 0)}
}

// moves shows a region's places as numbers in the order of their first appearance.
func (p *place) moves() (pattern string) {
	var known []string
	for _, addr := range p.history {
		i := slices.Index(known, addr)
		if i < 0 {
			i = len(known)
			known = append(known, addr)
		}
		pattern += strconv.Itoa(i)
	}
	return pattern
}

func (s *side) scanOnce(label int, scan *pb.Scan, rows uint32) []string {
	answer, err := s.server(label).Scan(s.ctx, hbase.ScanOnce(s.regions[label].name, scan, rows))
	return scanned(answer, err)
}

// scanned shows an answer to a scan.
func scanned(answer *hbase.Scanned, err error) []string {
	if err != nil {
		return []string{"scan: " + said(err)}
	}
	var cells []cell.Cell
	for {
		var c cell.Cell
		if more := must(answer.Next(&c)); !more {
			break
		}
		cells = append(cells, c)
	}
	head := fmt.Sprintf("scan: %d cells, more %t, in the region %t, partial %t, with an id: %t", len(cells), answer.More, answer.MoreInRegion,
		answer.Partial, answer.Scanner != 0)
	return append([]string{head}, shown(cells)...)
}

// answered shows the answers to many reads.
func answered(all [][]hbase.GetAnswer, err error) []string {
	lines := []string{said(err)}
	for i, region := range all {
		for k, a := range region {
			lines = append(lines, fmt.Sprintf(" %d.%d: %s", i, k, said(a.Err)))
			lines = append(lines, shown(a.Cells)...)
		}
	}
	return lines
}

// file is an HFile that both sides write.
type file struct {
	family, name string
	cells        []cell.Cell
}

func (f *file) first() []byte { return f.cells[0].Row }
func (f *file) last() []byte  { return f.cells[len(f.cells)-1].Row }

func (s *side) path(f *file) string { return path.Join(s.folder, f.family, f.name) }

func (s *side) write(f *file) {
	var text bytes.Buffer
	to := must(hfilewriter.NewWriter(&text, hfilewriter.Settings{Compression: hfilewriter.CompressNone, Encoding: hfilewriter.EncodeNone,
		Bloom: hfilewriter.BloomRow}, hfilewriter.Provenance{}))
	for i := range f.cells {
		must(0, to.Append(&f.cells[i]))
	}
	must(to.Close())
	must(0, errors.Join(s.fs.MkdirAll(path.Dir(s.path(f)), 0), storage.CreateFile(s.fs, s.path(f), text.Bytes())))
}

func (s *side) hfile(f *file) load.HFile {
	h := load.HFile{Family: f.family, URI: s.fs.URI(s.path(f)), FirstRow: f.first(), LastRow: f.last()}
	for _, c := range []cell.Cell{f.cells[0], f.cells[len(f.cells)-1]} {
		h.Probes = append(h.Probes, load.Probe{Row: c.Row, Qualifier: c.Qualifier, Timestamp: c.Timestamp, Type: byte(c.Type), Value: load.SumValue(c.Value)})
	}
	return h
}

// where says whether a file is at its source and in a staging folder.
func (s *side) where(f *file, token string) string {
	_, folder := storage.SplitURI(token)
	is := func(name string) bool {
		_, err := s.fs.Stat(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			panic(notDone{err})
		}
		return err == nil
	}
	return fmt.Sprintf("  %s: at its source %t, staged %t, the family's folder %t", f.name, is(s.path(f)), is(path.Join(folder, f.family, f.name)),
		is(path.Join(folder, f.family)))
}

// pair are the two sides, and what both know.
type pair struct {
	*testing.T
	rng       *rand.Rand
	real, sim *side
	exists    bool
	enabled   bool
	families  []simcluster.Family
	saved     []simcluster.Family // of the snapshot; nil: none
	merged    map[int]bool        // labels of regions that were made by a merge
	files     []*file             // that were written
	stagings  int
	scanning  bool
	log       []string
}

// step is what is done to both sides, and returns what each answers.
type step struct {
	what string
	do   func(s *side) []string
}

func change(format string, args ...any) func(func(s *side) error) step {
	return func(do func(s *side) error) step {
		return step{fmt.Sprintf(format, args...), func(s *side) []string {
			if err := do(s); err != nil {
				return []string{"refused"}
			}
			return []string{"done"}
		}}
	}
}

func row(r byte) []byte { return []byte{r} }

// compare does a step to both sides.
func (p *pair) compare(st step) bool {
	p.Helper()
	p.log = append(p.log, st.what)
	run := func(s *side) (lines []string) {
		defer func() {
			if e := recover(); e != nil {
				failed, ok := e.(notDone)
				if !ok {
					panic(e)
				}
				lines = append(lines, "NOT DONE: "+failed.Error())
			}
		}()
		lines = st.do(s)
		return append(lines, s.look()...)
	}
	begun := time.Now()
	got, want := run(p.sim), run(p.real)
	if d := time.Since(begun); d > 3*time.Second {
		p.Logf("%v: %s", d.Round(time.Second/10), st.what)
	}
	if !slices.Equal(got, want) || slices.ContainsFunc(want, func(line string) bool { return strings.HasPrefix(line, "NOT DONE") }) {
		p.Errorf("after\n  %s\nHBase answers\n%s\nand the simulated cluster\n%s\ndiffering in\n%s", strings.Join(p.log, "\n  "), strings.Join(want, "\n"),
			strings.Join(got, "\n"), differing(want, got))
		return false
	}
	return true
}

func differing(want, got []string) string {
	var lines []string
	for i := range max(len(want), len(got)) {
		line := func(all []string) string {
			if i < len(all) {
				return all[i]
			}
			return "nothing"
		}
		if a, b := line(want), line(got); a != b {
			lines = append(lines, "HBase:     "+a, "simulated: "+b)
		}
	}
	return strings.Join(lines, "\n")
}

// family is a family with settings by which it does not compact by itself.
func family(name string, versions int) simcluster.Family {
	return simcluster.Family{Name: name, Attributes: map[string]string{"VERSIONS": strconv.Itoa(versions), "hbase.hstore.compaction.min": "1000"}}
}

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
			all = append(all, cell.Cell{Row: row(r), Family: []byte(family), Qualifier: []byte("c"), Timestamp: int64(1_700_000_000_000 + n), Type: cell.Put,
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
		return change("truncate the region of %c", at)(func(s *side) error { return s.TruncateRegion(s.table, row(at)) }), !closed
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
			return []string{kinds(c.Right), kinds(c.Place), kinds(c.Enter), kinds(c.Tracker), kinds(c.Move), fmt.Sprint(c.Encrypted, c.Folder != "")}
		}}, true
	case kind == 1 && p.stagings > 0:
		which := p.rng.IntN(p.stagings)
		return step{fmt.Sprintf("clean up staging folder %d by region %d", which, label), func(s *side) []string {
			err := s.server(label).CleanupBulkLoad(s.ctx, s.staging[which], s.regions[label].name)
			_, folder := storage.SplitURI(s.staging[which])
			_, gone := s.fs.Stat(folder)
			return []string{said(err), fmt.Sprintf("folder: %s", kinds(gone))}
		}}, true
	case kind <= 3 || p.stagings == 0:
		if slices.Contains(p.sim.now, label) && p.enabled {
			p.stagings++
		}
		return step{fmt.Sprintf("prepare by region %d", label), func(s *side) []string {
			token, err := s.server(label).PrepareBulkLoad(s.ctx, s.id(), s.regions[label].name)
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
		report, err := s.client.LoadFrom(s.ctx, s.fs, s.table, all, load.Hooks{ServedBefore: func(f []load.HFile) error { before = len(f); return nil }})
		lines = append(lines, kinds(err), fmt.Sprintf("%d files, %d requests, %d rounds, %d were served before, staging left %t", report.Files, report.Regions,
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
			cells, err := s.server(label).Get(s.ctx, s.regions[label].name, &pb.Get{Row: row(at), Column: columns, TimeRange: times})
			return append([]string{said(err)}, shown(cells)...)
		}}, true
	case 1, 2:
		return p.openScan(label, at, columns, times), true
	case 3:
		return p.nextScan()
	case 4:
		return p.multi(label, fam), true
	case 5:
		rows := []load.Lookup{{Row: row(at), Other: -1}, {Row: row(p.aRow()), Other: 1_700_000_000_100}, {Row: row(p.aRow()), Columns: []load.Columns{{Family: []byte(fam)}}, Other: -1}}
		return step{fmt.Sprintf("do rows %c, %c, %c exist, family %s", at, rows[1].Row[0], rows[2].Row[0], fam), func(s *side) []string {
			found, err := s.client.Exist(s.ctx, s.table, rows)
			return []string{fmt.Sprint(found), kinds(err)}
		}}, true
	case 6:
		return step{fmt.Sprintf("scan the table from %c, family %s", at, fam), func(s *side) (lines []string) {
			err := s.client.ScanSince(s.ctx, s.table, []string{fam}, row(at), nil, 1_700_000_000_300, func(c *cell.Cell) error {
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
	rows := uint32(p.rng.IntN(5))
	p.scanning = true
	return step{fmt.Sprintf("scan region %d from %c, columns %v, times %v, %d rows", label, at, columns, times, rows), func(s *side) []string {
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
	return step{fmt.Sprintf("go on with the scan, %d rows, %d numbers skipped, close %t", rows, skip, closing), func(s *side) []string {
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
			rows = append(rows, hbase.RowGet{Row: g.Row, Columns: []hbase.FamilyColumns{{Family: []byte(fam)}}, First: p.rng.IntN(2) == 0, To: g.To, From: g.From})
		}
		return gets, rows
	}
	raw, rows := gets(label)
	other := p.aRegion(true)
	rawOther, rowsOther := gets(other)
	return step{fmt.Sprintf("read %v of region %d and %v of region %d", raw, label, rawOther, other), func(s *side) []string {
		conn := s.server(label)
		lines := answered(conn.MultiGet(s.ctx, []hbase.RegionGets{{Region: s.regions[label].name, Gets: raw}}))
		lines = append(lines, answered(s.server(other).MultiGet(s.ctx, []hbase.RegionGets{{Region: s.regions[other].name, Gets: rawOther}}))...)
		lines = append(lines, answered(conn.MultiRows(s.ctx, []hbase.RegionRows{{Region: s.regions[label].name, Gets: rows}}))...)
		return append(lines, answered(s.server(other).MultiRows(s.ctx, []hbase.RegionRows{{Region: s.regions[other].name, Gets: rowsOther}}))...)
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
		}}, true
	case 6:
		if p.sim.regions[label].moves() != p.real.regions[label].moves() {
			return step{}, false
		}
		return step{fmt.Sprintf("have the other server serve region %d", label), func(s *side) []string {
			cells, err := s.conn(s.other(label).Addr(), hbase.ClientService).Get(s.ctx, s.regions[label].name, &pb.Get{Row: row('a')})
			return append([]string{said(err)}, shown(cells)...)
		}}, true
	}
	return step{fmt.Sprintf("have the master move region %d", label), func(s *side) []string {
		return []string{said(s.master().MoveRegion(s.ctx, s.encoded(label), s.other(label)))}
	}}, true
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
	scan := &pb.Scan{StartRow: fmt.Appendf(nil, "%s,%c,:", s.table, at), Reversed: proto.Bool(true), Column: []*pb.Column{{Family: []byte("info"),
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
			!slices.ContainsFunc(status.Servers, func(l hbase.ServerLoad) bool { return l.Reported == 0 }), status.Version != "")}
		for _, label := range s.now {
			i := slices.IndexFunc(status.Regions, func(r hbase.RegionLoad) bool { return bytes.Equal(r.Region, s.regions[label].name) })
			if i < 0 {
				lines = append(lines, fmt.Sprintf("  region %d is not reported", label))
				continue
			}
			r := status.Regions[i]
			lines = append(lines, fmt.Sprintf("  region %d: %d files, %d MB, %d MB in memory", label, r.StoreFiles, r.FileMB, r.MemstoreMB))
		}
		last = lines
		time.Sleep(400 * time.Millisecond) // servers report every half second
	}
	return last
}

// sequences is how many sequences are played.
func sequences(t *testing.T) int {
	t.Helper()
	if text := os.Getenv("BULKLOAD_HISTORIES"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	return 9
}

// TestAnswersAsHBase: a simulated cluster answers every request as a real one to which the same was done.
func TestAnswersAsHBase(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Use(t)
	rng := testrand.New(t)
	longest, workers := 12, 3 // as many as the oracle has JVMs
	if testcluster.In("search-cluster") {
		longest = 20
	}
	seeds := make([]uint64, sequences(t))
	for i := range seeds {
		seeds[i] = rng.Uint64()
	}
	for worker := range workers {
		t.Run(fmt.Sprint(worker), func(t *testing.T) {
			t.Parallel()
			for i := worker; i < len(seeds) && !t.Failed(); i += workers {
				begun := time.Now()
				steps := playBoth(t, cluster, rand.New(rand.NewPCG(seeds[i], 1)), longest)
				t.Logf("sequence %d: %d steps in %v", i, steps, time.Since(begun).Round(time.Second/10))
			}
		})
	}
}

// playBoth plays a sequence until the two sides differ, and returns the number of its steps.
func playBoth(t *testing.T, cluster *testcluster.Cluster, rng *rand.Rand, longest int) int {
	t.Helper()
	me, err := user.Current() // who runs the cluster's processes, too
	if err != nil {
		t.Fatal(err)
	}
	conf, err := siteconf.Load(cluster.ConfDir())
	if err != nil {
		t.Fatal(err)
	}
	table := livetable.New(cluster.Oracle(t), cluster.UniqueTable(t))
	files, folder, err := storage.ResolveAs(cluster.FS()+"/asHBase/"+table.Name, "/", conf, storage.Identity{User: me.Username})
	if err != nil {
		t.Fatal(err)
	}
	sim := simcluster.New(2)
	sim.WithDisk(simcluster.NewDisk())
	client := sim.Client(me.Username, func() {})
	t.Cleanup(func() {
		sim.Close()
		if err := errors.Join(table.Close(), files.RemoveAll(folder), files.Close()); err != nil {
			t.Error(err)
		}
	})
	quorum := net.JoinHostPort(conf.Get("hbase.zookeeper.quorum", ""), conf.Get("hbase.zookeeper.property.clientPort", ""))
	p := &pair{T: t, rng: rng, merged: map[int]bool{},
		real: newSide(t, table.Name, me.Username, table, zooKeeper{quorum}, files, folder),
		sim:  newSide(t, table.Name, me.Username, likeReal{sim}, client, client.FS(), "/asHBase")}
	for _, s := range []*side{p.real, p.sim} {
		if err := s.fs.MkdirAll(s.folder, storage.DirPerm); err != nil {
			t.Fatal(err)
		}
	}
	steps := 1
	for ok := p.compare(p.create()); ok && steps < longest; steps++ {
		st := p.draw()
		table.Families = nil // of now, also after a restored snapshot
		for _, f := range p.real.familiesNow() {
			table.Families = append(table.Families, f.Name)
		}
		ok = p.compare(st)
	}
	return steps
}

// familiesNow are the table's families.
func (s *side) familiesNow() []hbase.FamilySchema {
	if schema := must(s.master().TableDescriptor(s.ctx, s.id())); schema != nil {
		return schema.Families
	}
	return nil
}
