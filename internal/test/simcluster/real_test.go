package simcluster_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"os/user"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
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
)

// These tests do the same to a real cluster and to a simulated one, and compare all answers as package hbase reads
// them.
//
// What must differ is masked: servers and their start codes, regions' names (each gets a number when it is first seen),
// timestamps that HBase gives (only whether they have changed), the names of staging folders, and the texts of
// exceptions. Three more things are out of the model, because chores of HBase do them at times that no client knows:
//   - A split's parent stays in hbase:meta until the master's janitor comes. It goes here when a half is compacted, so
//     these rows are not compared, and the master is not asked for the parent.
//   - The halves of a split and a merged region are compacted at once, so these steps end with a compaction.
//   - A merged region can't be merged again before the janitor comes, so it is not tried.

// side is one of the two clusters, and what a client knows of it.
type side struct {
	livetable.Changes
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

// zooKeeper finds the servers of a real cluster, each once: none ends.
type zooKeeper struct {
	addr  string
	found sync.Map
}

func (z *zooKeeper) find(name string) (string, error) {
	if addr, ok := z.found.Load(name); ok {
		return addr.(string), nil
	}
	session, _, err := zk.Connect([]string{z.addr}, 20*time.Second, zk.WithLogInfo(false))
	if err != nil {
		return "", err
	}
	defer session.Close()
	data, _, err := session.Get("/hbase/" + name)
	if err != nil {
		return "", err
	}
	addr, err := hbase.ParseServerZNode(data)
	if err == nil {
		z.found.Store(name, addr)
	}
	return addr, err
}

func (z *zooKeeper) Master(context.Context) (string, error) { return z.find("master") }
func (z *zooKeeper) Meta(context.Context) (string, error)   { return z.find("meta-region-server") }

func (*zooKeeper) TableState(context.Context, string) ([]byte, int64, error) {
	return nil, 0, errors.ErrUnsupported
}

func (z *zooKeeper) Dial(ctx context.Context, addr string) (net.Conn, error) {
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

func newSide(t *testing.T, table, me string, c livetable.Changes, network load.Network, files storage.FS, folder string) *side {
	t.Helper()
	s := &side{Changes: c, ctx: t.Context(), table: table, user: me, network: network, fs: files, folder: folder,
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
	for _, kind := range []error{load.ErrUnavailable, load.ErrNotFound, load.ErrRefused, load.ErrExists,
		load.ErrStraddles, load.ErrUnchecked, fs.ErrNotExist} {
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
	answer, err := s.meta().Scan(s.ctx, hbase.OpenScanner(region, &pb.Scan{StartRow: []byte(s.table + ",,"),
		StopRow: []byte(s.table + " ,,"),
		Column: []*pb.Column{{Family: []byte("info"), Qualifier: [][]byte{[]byte("regioninfo"), []byte("server"),
			[]byte("serverstartcode"),
			[]byte("seqnumDuringOpen"), []byte("state")}}}}, 1000))
	if err != nil {
		return []string{"hbase:meta: " + said(err)}
	}
	lines = append(lines, fmt.Sprintf("hbase:meta: more %t, in the region %t, partial %t", answer.More,
		answer.MoreInRegion, answer.Partial))
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
	return []string{fmt.Sprintf("  region %d [%q, %q) %s, opened again: %t, with %q, number %t", label, info.Start,
		info.End, cells["state"], again,
		slices.Sorted(maps.Keys(cells)), len(cells["seqnumDuringOpen"]) == 8 &&
			binary.BigEndian.Uint64(cells["seqnumDuringOpen"]) > 0)}
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
	head := fmt.Sprintf("scan: %d cells, more %t, in the region %t, partial %t, with an id: %t", len(cells), answer.More,
		answer.MoreInRegion,
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
	to := must(hfilewriter.NewWriter(&text, hfilewriter.Settings{Compression: hfilewriter.CompressNone,
		Encoding: hfilewriter.EncodeNone,
		Bloom:    hfilewriter.BloomRow}, hfilewriter.Provenance{}))
	for i := range f.cells {
		must(0, to.Append(&f.cells[i]))
	}
	must(to.Close())
	must(0, errors.Join(s.fs.MkdirAll(path.Dir(s.path(f)), 0), storage.CreateFile(s.fs, s.path(f), text.Bytes())))
}

func (s *side) hfile(f *file) load.HFile {
	h := load.HFile{Family: f.family, URI: s.fs.URI(s.path(f)), FirstRow: f.first(), LastRow: f.last()}
	for _, c := range []cell.Cell{f.cells[0], f.cells[len(f.cells)-1]} {
		h.Probes = append(h.Probes, load.Probe{Row: c.Row, Qualifier: c.Qualifier, Timestamp: c.Timestamp,
			Type: byte(c.Type), Value: load.SumValue(c.Value)})
	}
	return h
}

// where says whether a file is at its source, and in a staging folder ("": none is looked at).
func (s *side) where(f *file, token string) string {
	is := func(name string) bool {
		_, err := s.fs.Stat(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			panic(notDone{err})
		}
		return err == nil
	}
	text := fmt.Sprintf("  %s: at its source %t", f.name, is(s.path(f)))
	if token == "" {
		return text
	}
	_, folder := storage.SplitURI(token)
	return text + fmt.Sprintf(", staged %t, the family's folder %t", is(path.Join(folder, f.family, f.name)),
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
	halved    map[int]bool        // labels of regions that were split
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
	notDone := func(line string) bool { return strings.HasPrefix(line, "NOT DONE") }
	if !slices.Equal(got, want) || slices.ContainsFunc(want, notDone) {
		p.Errorf("after\n  %s\nHBase answers\n%s\nand the simulated cluster\n%s\ndiffering in\n%s",
			strings.Join(p.log, "\n  "), strings.Join(want, "\n"), strings.Join(got, "\n"), differing(want, got))
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
	return simcluster.Family{Name: name, Attributes: map[string]string{"VERSIONS": strconv.Itoa(versions),
		"hbase.hstore.compaction.min": "1000"}}
}

// seedsOfSequences are BULKLOAD_HISTORIES random ones; in make test a few that are always the same, because it is not
// there to search.
func seedsOfSequences(t *testing.T) (seeds []uint64) {
	t.Helper()
	text := os.Getenv("BULKLOAD_HISTORIES")
	if text == "" {
		return []uint64{1, 2, 3}
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	for rng := testrand.New(t); len(seeds) < n; {
		seeds = append(seeds, rng.Uint64())
	}
	return seeds
}

// TestAnswersAsHBase: a simulated cluster answers every request as a real one to which the same was done.
func TestAnswersAsHBase(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Use(t)
	longest, workers := 12, 3 // as many as the oracle has JVMs
	if testcluster.In("search-cluster") {
		longest = 20
	}
	seeds := seedsOfSequences(t)
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
	files, folder, err := storage.ResolveAs(cluster.FS()+"/asHBase/"+table.Name, "/", conf,
		storage.Identity{User: me.Username})
	if err != nil {
		t.Fatal(err)
	}
	sim := simcluster.New(2)
	sim.WithDisk(simcluster.NewDisk())
	client := sim.Client(me.Username, func() {})
	quorum := net.JoinHostPort(conf.Get("hbase.zookeeper.quorum", ""), conf.Get("hbase.zookeeper.property.clientPort", ""))
	p := &pair{T: t, rng: rng, merged: map[int]bool{}, halved: map[int]bool{},
		real: newSide(t, table.Name, me.Username, table, &zooKeeper{addr: quorum}, files, folder),
		sim:  newSide(t, table.Name, me.Username, likeReal{sim}, client, client.FS(), "/asHBase")}
	for _, s := range []*side{p.real, p.sim} {
		if err := s.fs.MkdirAll(s.folder, storage.DirPerm); err != nil {
			t.Fatal(err)
		}
	}
	defer func() {
		sim.Close()
		left := []error{table.Close(), files.RemoveAll(folder)}
		for _, token := range p.real.staging {
			_, staged := storage.SplitURI(token)
			left = append(left, files.RemoveAll(staged))
		}
		if err := errors.Join(append(left, files.Close())...); err != nil {
			t.Error(err)
		}
	}()
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
