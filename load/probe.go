package load

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"
	"strconv"
	"sync"
	"time"

	"bulkload/cell"
	"bulkload/internal/errcode"
	"bulkload/internal/hbase"

	"golang.org/x/sync/errgroup"
)

// Probe is one cell of an HFile. A region that returns it has the file, unless it had an equal cell before.
type Probe struct {
	Row       []byte
	Qualifier []byte
	Timestamp int64
	Type      byte // KeyValue.Type's code
	Value     ValueSum
	// Before says that the table returned an equal cell before the file was loaded, so this one proves nothing about
	// the file.
	Before bool
}

// ValueSum identifies a cell's value: the first half of its SHA-256.
type ValueSum [16]byte

// SumValue returns the sum of a value.
func SumValue(value []byte) ValueSum {
	sum := sha256.Sum256(value)
	return ValueSum(sum[:16])
}

// Serving says how the open regions serve a file.
type Serving int

const (
	// Served means that the region returns a cell of the file.
	Served Serving = iota
	// Superseded means that there are so many newer versions that the table no longer keeps the cells, or they are delete
	// markers, which a major compaction removes.
	Superseded
	// Deleted means that a delete marker hides the cells.
	Deleted
	// Expired means that the cells are older than the family's TTL.
	Expired
	// Missing means that the region does not return the cells, and no reason is known.
	Missing
)

// Readable reports whether a reader finds the file's rows as they were loaded, or newer ones.
func (s Serving) Readable() bool { return s <= Superseded }

// ProbeResult says how the open regions that hold a file's rows serve it.
type ProbeResult struct {
	HFile
	Serving Serving
	Region  string // for people
	Why     string // for people; "" if the file is served
	// Reopened: the region was opened again before this probe, so it knows every file in its folder.
	Reopened bool
	// Answers are the answers to the file's probes, in the same order.
	Answers []Answer

	regions []Region // that hold the rows of its probes
}

// Answer is what a region returned for one cell of a file.
type Answer struct {
	Serving Serving
	Region  []byte // its name
}

// Proves reports whether the i-th probe proves that its region has the file, because the region returns the cell and
// did not return it before the load.
func (f *ProbeResult) Proves(i int) bool {
	return f.Answers[i].Serving == Served && !f.Probes[i].Before
}

// OnlyMarkers reports whether only delete markers of the file are known. If the table no longer has them, that says
// nothing: a major compaction removes a marker together with the cells it hides, and leaves no trace that a client
// could ask for.
func (f *HFile) OnlyMarkers() bool {
	return len(f.Probes) > 0 && !slices.ContainsFunc(f.Probes, func(p Probe) bool { return !p.isMarker() })
}

func (b *Probe) isMarker() bool { return b.Type != byte(cell.Put) }

// String describes the finding for people.
func (f *ProbeResult) String() string { return fmt.Sprintf("%s in %s: %s", f.URI, f.Region, f.Why) }

// Probe asks the open regions of a table for cells of files that were loaded into it. It waits for regions that move
// or whose server has died.
//
// An answer counts only if hbase:meta shows the same opening of the region before and after it. A server that hung past
// its ZooKeeper session may wake up and answer for regions that are meanwhile open elsewhere, so it would see a file
// that no reader can see. A file without probes is an error.
//
// It needs the permission to read. Deleted and expired cells are looked for too, so the result reports whether rows can
// be read, not just whether they are stored.
func (c *Cluster) Probe(ctx context.Context, name string, files []HFile) ([]ProbeResult, error) {
	limited, cancel := context.WithTimeout(ctx, c.limits.outage)
	defer cancel()
	pause := c.servers.backoff("reading the families")
	for {
		once, cancel := c.limit(limited)
		table, err := c.describe(once, name)
		cancel()
		if err == nil {
			return c.ProbeTable(ctx, table, files, nil) // it looks up the regions
		}
		if !mayProbeAgain(err) || !pause.wait(limited) {
			return nil, wrapProbe(ctx, name, err)
		}
	}
}

// ProbeTable is Probe for a table that was just looked up, which saves a look-up. watch gets the number of files whose
// rows were answered for since its last call, from one goroutine at a time; it may be nil.
//
// It asks until every probe has a valid answer, and gives up after some time without any.
func (c *Cluster) ProbeTable(ctx context.Context, table *Table, files []HFile, watch func(files int)) (
	findings []ProbeResult, err error) {
	defer func() {
		if err != nil {
			findings, err = nil, wrapProbe(ctx, table.Name, err)
		}
	}()
	p := &prober{cluster: c, families: table.Families, now: time.Now().UnixMilli(), batchSize: probesPerCall,
		regions: table.Regions, watch: watch, open: make([]int, len(files))}
	if p.id, err = parseName(table.Name); err != nil {
		return nil, err
	}
	findings = make([]ProbeResult, len(files))
	var left []*pendingProbe
	for i, f := range files {
		if len(f.Probes) == 0 {
			return nil, fmt.Errorf("no cells of file %s are known", f.URI)
		}
		findings[i].HFile, findings[i].Answers, p.open[i] = f, make([]Answer, len(f.Probes)), len(f.Probes)
		for k := range f.Probes {
			left = append(left, &pendingProbe{Probe: &f.Probes[k], family: f.Family, file: i, index: k})
		}
	}
	pause := c.servers.backoff("asking for the rows of files")
	progress := time.Now()
	for len(left) > 0 {
		answered, err := p.round(ctx, left)
		if err != nil && !mayProbeAgain(err) {
			return nil, err
		}
		done := map[*pendingProbe]bool{}
		for _, q := range answered {
			findings[q.file].add(q)
			done[q] = true
		}
		left = slices.DeleteFunc(left, func(q *pendingProbe) bool { return done[q] })
		if len(answered) > 0 {
			pause.next, progress = 0, time.Now()
		}
		switch {
		case len(left) == 0:
		case time.Since(progress) > c.limits.outage:
			if err == nil {
				err = errors.New("their regions keep moving")
			}
			return nil, fmt.Errorf("%w: no answer for the rows of %s and %d others: %w",
				ErrUnavailable, files[left[0].file].URI, len(left)-1, err)
		case !pause.wait(ctx):
			return nil, ctx.Err()
		}
	}
	return findings, nil
}

// mayProbeAgain reports whether asking again may help.
func mayProbeAgain(err error) bool {
	var conn *hbase.ConnError
	return isTransient(err) || errors.As(err, &conn) || errors.Is(err, ErrUnavailable) ||
		errors.Is(err, context.DeadlineExceeded)
}

func wrapProbe(ctx context.Context, table string, err error) error {
	return fmt.Errorf("look up the files' rows in table %s: %w", table, classify(ctx, err))
}

// CheckRead refuses (ErrRefused) families of a table that the user may not read, because without reading nobody can
// determine whether a file is served, or whether a row exists. A right to some of the columns is not enough, because
// HBase then hides the other cells. The error is ErrUnchecked if HBase can't answer now, for example because the region
// has moved.
func (c *Cluster) CheckRead(ctx context.Context, table *Table, families []string) error {
	limited, cancel := c.limit(ctx)
	defer cancel()
	denied, err := c.tryRead(limited, &table.Regions[0], families)
	if err == nil {
		denied, err = c.askRights(limited, table, families)
	}
	var remote *hbase.RemoteError
	switch {
	case hbase.IsRemote(err, "AccessDeniedException"):
		return errcode.HBasePermission.Errorf("%w: user %s may not read family %s of table %s, which is needed to check "+
			"the load: grant '%s', 'R', '%s' in the HBase shell (%w)",
			ErrRefused, c.user, denied, table.Name, c.user, table.Name, err)
	case errors.As(err, &remote):
		return fmt.Errorf("whether user %s may read family %s of table %s is %w: %w", c.user, denied,
			table.Name, ErrUnchecked, err)
	}
	return classify(ctx, err)
}

// askRights asks the AccessController, if HBase has one. After an error, family is the family that it concerns.
func (c *Cluster) askRights(ctx context.Context, table *Table, families []string) (family string, err error) {
	id, err := parseName(table.Name)
	if err != nil {
		return "", err
	}
	region := &table.Regions[0]
	conn, err := c.servers.region(ctx, region.Server)
	if err != nil {
		return "", err
	}
	for _, family := range families {
		err := c.withTimeout(ctx, conn,
			func(ctx context.Context) error { return conn.CheckRead(ctx, region.Name, id, family) })
		if hbase.IsRemote(err, "UnknownProtocolException") {
			return "", nil
		}
		if err != nil {
			return family, err
		}
	}
	return "", nil
}

// EnsureRead looks up a table and calls CheckRead, until HBase answers whether the user may read the families. It
// returns nil only if the user may. It waits as long as Exist for a region server's death, and tries again a few times
// after an exception that may pass.
func (c *Cluster) EnsureRead(ctx context.Context, name string, families []string) error {
	tries := c.reader.newTries()
	tries.timeout, tries.pause = max(c.limits.outage, c.limits.idle), c.servers.backoff("the right to read")
	for {
		limited, cancel := tries.limit(ctx, tries.timeout)
		table, err := c.Table(limited, name) // anew, since its regions may have moved
		if err == nil {
			err = c.CheckRead(limited, table, families)
		}
		cancel()
		if err == nil {
			return nil
		}
		if errors.Is(err, ErrUnchecked) && remedyOf(err) == noRetry {
			return errcode.HBasePermission.Errorf("%w: HBase does not say what user %s may read: %w", ErrRefused, c.user, err)
		}
		if err = tries.wait(ctx, err); err != nil {
			return classify(ctx, err)
		}
	}
}

// prober sends probes to one table.
type prober struct {
	cluster   *Cluster
	id        hbase.TableName
	families  []Family
	now       int64    // epoch milliseconds
	batchSize int      // probes in one call; halved when an answer may be too large
	regions   []Region // for the next round; nil: to be looked up

	watch func(files int) // see ProbeTable
	open  []int           // probes of each file without an answer; for watch
}

// tryRead reads from a region, at a row that is unlikely to exist. After an error, family is the family that it
// concerns.
func (c *Cluster) tryRead(ctx context.Context, region *Region, families []string) (family string, err error) {
	question := hbase.RegionGets{Region: region.Name}
	for _, f := range families {
		question.Gets = append(question.Gets, hbase.RawGet{Row: []byte{0}, Family: f, From: 0, To: 1, Limit: 1})
	}
	answers, err := c.multiGet(ctx, region.Server, []hbase.RegionGets{question})
	if err != nil {
		return "", err
	}
	for i, a := range answers[0] {
		if a.Err != nil {
			return families[i], a.Err
		}
	}
	return "", nil
}

// pendingProbe is a probe without an answer yet.
type pendingProbe struct {
	*Probe
	family string
	file   int // in the caller's list
	index  int // among the file's probes
	region Region
	// thorough says to use three reads. One read almost always decides: see quickGet.
	thorough bool
	serving  Serving
	why      string
	counted  bool // by prober.count
	before   *firstAnswer
}

const (
	probesPerCall = 500 // in one call
	getsPerProbe  = 3   // of a thorough probe
	quickLimit    = 8   // cells of a column, with values, in the single read that almost always decides
	markerLimit   = 64  // newer versions and delete markers of a column that are read
)

// add applies the answer to one probe. The worst answer counts: a file is served only if all of its probes are.
//
// So all known rows must be returned. After a split they may be in several regions, each of which may have lost its
// part of the file.
func (f *ProbeResult) add(q *pendingProbe) {
	f.regions = append(f.regions, q.region)
	f.Answers[q.index] = Answer{q.serving, q.region.Name}
	// Serving's values are ordered from best to worst.
	if q.serving >= f.Serving {
		f.Serving, f.Why, f.Region = q.serving, q.why, q.region.String()
	}
}

// round asks for each probe once, with several servers and calls at a time, between two looks at hbase:meta. It returns
// the probes with valid answers, and an error that prevented other answers.
//
// An answer is valid if the region is still open as it was when it was asked. Discarded probes are asked again.
func (p *prober) round(ctx context.Context, all []*pendingProbe) (answered []*pendingProbe, err error) {
	limited, cancel := context.WithTimeout(ctx, p.cluster.limits.outage)
	defer cancel()
	// Only the first round may use regions that were known before. Later ones repeat probes whose answers were
	// discarded or missing, most likely because the regions have moved.
	regions := p.regions
	if p.regions = nil; regions == nil {
		if regions, err = p.cluster.regionsThrough(limited, p.id); err != nil {
			return nil, err
		}
	}
	var mu sync.Mutex
	var failed error
	var group errgroup.Group
	group.SetLimit(p.cluster.limits.parallel)
	for _, batch := range batches(all, regions, p.batchSize) {
		group.Go(func() error {
			got, err := p.ask(limited, batch)
			mu.Lock()
			defer mu.Unlock()
			answered = append(answered, got...)
			p.count(got)
			if err != nil && (failed == nil || !mayProbeAgain(err)) {
				failed = err
			}
			return nil
		})
	}
	_ = group.Wait() // the errors are in failed
	var lost *hbase.ConnError
	if errors.As(failed, &lost) && lost.Sent {
		p.batchSize = max(p.batchSize/2, 1) // perhaps the values are so large that the answer is refused
	}
	if len(answered) == 0 {
		return nil, failed
	}
	limited, cancel = context.WithTimeout(ctx, p.cluster.limits.outage)
	defer cancel()
	if regions, err = p.cluster.regionsThrough(limited, p.id); err != nil {
		return nil, err
	}
	byName := make(map[string]*Region, len(regions))
	for i := range regions {
		byName[string(regions[i].Name)] = &regions[i]
	}
	// Even another opening by the same server makes the answer invalid, because it may have read a folder with other
	// files.
	invalid := func(q *pendingProbe) bool {
		r := byName[string(q.region.Name)]
		if r == nil || !r.sameOpening(&q.region) {
			q.before = nil
			return true
		}
		return p.cluster.era.Load() == 1 && !q.again()
	}
	return slices.DeleteFunc(answered, invalid), failed
}

// again reports whether the same opening of a region has given the same answer before. HBase 1 can have a region open
// on two servers, each of which believes that it is alone. So the one that hbase:meta names is asked twice, and
// hbase:meta before, between and after.
func (q *pendingProbe) again() bool {
	if b := q.before; b != nil && b.region.sameOpening(&q.region) && b.serving == q.serving {
		return true
	}
	q.before = &firstAnswer{q.region, q.serving}
	return false
}

// firstAnswer is an answer that is to be given again.
type firstAnswer struct {
	region  Region
	serving Serving
}

// count reports how many files now have an answer to all of their probes. An answer that round discards counts, too;
// its replacement does not count again.
func (p *prober) count(answered []*pendingProbe) {
	files := 0
	for _, q := range answered {
		if q.counted {
			continue
		}
		q.counted = true
		if p.open[q.file]--; p.open[q.file] == 0 {
			files++
		}
	}
	if p.watch != nil && files > 0 {
		p.watch(files)
	}
}

// batches groups the probes into calls: for one server, in the order of regions.
func batches(all []*pendingProbe, regions []Region, size int) [][]*pendingProbe {
	byServer := map[string][]*pendingProbe{}
	for _, q := range all {
		q.region = regions[regionOf(regions, q.Row)]
		byServer[q.region.Server] = append(byServer[q.region.Server], q)
	}
	var cut [][]*pendingProbe
	for _, server := range slices.Sorted(maps.Keys(byServer)) {
		list := byServer[server]
		slices.SortStableFunc(list, func(a, b *pendingProbe) int { return bytes.Compare(a.region.Start, b.region.Start) })
		cut = slices.AppendSeq(cut, slices.Chunk(list, size))
	}
	return cut
}

// regionOf is the index of the region that holds a row. Regions are in order and without gaps (checkChain), so it is
// the last one that begins at or before the row.
func regionOf(regions []Region, row []byte) int {
	i := sort.Search(len(regions), func(i int) bool { return bytes.Compare(regions[i].Start, row) > 0 })
	return max(i-1, 0)
}

// ask asks one server for a batch of probes: one read for each and, in further calls, three for those that the first
// read does not decide.
//
// Answers count even if another call fails; the other probes are asked again.
func (p *prober) ask(ctx context.Context, batch []*pendingProbe) (answered []*pendingProbe, err error) {
	for calls := [][]*pendingProbe{batch}; len(calls) > 0; calls = calls[1:] {
		call := calls[0]
		var questions []hbase.RegionGets
		for i, q := range call {
			if i == 0 || !bytes.Equal(call[i-1].region.Name, q.region.Name) {
				questions = append(questions, hbase.RegionGets{Region: q.region.Name})
			}
			r := &questions[len(questions)-1]
			r.Gets = append(r.Gets, q.gets()...)
		}
		byRegion, failed := p.cluster.multiGet(ctx, batch[0].region.Server, questions)
		if failed != nil {
			err = failed
			continue
		}
		answers := slices.Concat(byRegion...)
		var undecided []*pendingProbe
		for _, q := range call {
			n := len(q.gets())
			decided, failed := p.decide(q, answers[:n])
			answers = answers[n:]
			switch {
			case failed != nil:
				err = failed
			case decided:
				answered = append(answered, q)
			default:
				q.thorough = true
				undecided = append(undecided, q)
			}
		}
		calls = slices.AppendSeq(calls, slices.Chunk(undecided, max(p.batchSize/getsPerProbe, 1)))
	}
	return answered, err
}

// multiGet makes one call of a region server.
func (c *Cluster) multiGet(ctx context.Context, server string, questions []hbase.RegionGets) (
	answers [][]hbase.GetAnswer, err error) {
	conn, err := c.servers.region(ctx, server)
	if err != nil {
		return nil, err
	}
	if c.onProbeCall != nil {
		c.onProbeCall(server, questions)
	}
	err = c.withTimeout(ctx, conn, func(ctx context.Context) (err error) {
		answers, err = conn.MultiGet(ctx, questions)
		return err
	})
	return answers, err
}

// gets returns the reads of the next call.
func (q *pendingProbe) gets() []hbase.RawGet {
	if q.thorough {
		return q.Probe.gets(q.family)
	}
	return []hbase.RawGet{q.quickGet(q.family)}
}

// quickGet reads the first few cells that matter to a probe: the delete markers of the family, then the delete markers
// and newer versions of its column, then the cell itself. HBase returns them in this order.
// So if the answer has the cell, it has everything before it, and an answer with fewer cells than the limit is
// complete; any other answer decides nothing.
func (b *Probe) quickGet(family string) hbase.RawGet {
	return hbase.RawGet{Row: b.Row, Family: family, Qualifier: append([]byte{}, b.Qualifier...), Markers: true,
		From: b.Timestamp, To: math.MaxInt64, Limit: quickLimit}
}

// splitAnswer distributes the answer to a quickGet over the answers to gets.
func (b *Probe) splitAnswer(cells []cell.Cell) []hbase.GetAnswer {
	answers := make([]hbase.GetAnswer, getsPerProbe)
	for _, c := range cells {
		i := 0
		switch {
		case !bytes.Equal(c.Qualifier, b.Qualifier):
			i = 2
		case c.Timestamp != b.Timestamp:
			i = 1
		}
		answers[i].Cells = append(answers[i].Cells, c)
	}
	return answers
}

// gets returns the reads of a thorough probe: the cell, newer versions and delete markers of its column, and delete
// markers of the whole family.
func (b *Probe) gets(family string) []hbase.RawGet {
	qualifier := append([]byte{}, b.Qualifier...) // not nil, which would mean all columns
	one := hbase.RawGet{Row: b.Row, Family: family, Qualifier: qualifier, From: b.Timestamp, To: b.Timestamp + 1}
	newer := hbase.RawGet{Row: b.Row, Family: family, Qualifier: qualifier, From: b.Timestamp + 1, To: math.MaxInt64,
		Limit: markerLimit, KeysOnly: true}
	markers := hbase.RawGet{Row: b.Row, Family: family, Qualifier: []byte{}, From: b.Timestamp, To: math.MaxInt64,
		Limit: markerLimit, KeysOnly: true}
	return []hbase.RawGet{one, newer, markers}
}

// decide evaluates the answers to a probe, if they are enough to decide. The error is one that kept the region from
// answering.
//
// A probe with an error stays undecided and is asked again. It must not count as Missing, or a file would be declared
// lost because a region was busy.
func (p *prober) decide(q *pendingProbe, answers []hbase.GetAnswer) (decided bool, err error) {
	for _, answer := range answers {
		if answer.Err != nil {
			return false, answer.Err
		}
	}
	if !q.thorough {
		cells := answers[0].Cells
		if len(cells) >= quickLimit && !slices.ContainsFunc(cells, q.matches) {
			return false, nil
		}
		answers = q.splitAnswer(cells)
	}
	q.serving, q.why = p.cell(q.family, q.Probe, answers)
	return true, nil
}

// cell evaluates one cell: whether the region returns it and, if it or other readers do not see it, why.
//
// The order matters. Raw reads return cells that no reader sees, so what hides a cell is looked for before the cell
// itself; and only a cell that is neither hidden nor returned can be Superseded or Missing.
func (p *prober) cell(family string, b *Probe, answers []hbase.GetAnswer) (Serving, string) {
	at := cell.Printable(b.Row)
	f := p.family(family)
	newer := int64(0) // versions that readers find, without those deleted by their timestamp alone
	for _, c := range answers[1].Cells {
		deleted := func(m cell.Cell) bool {
			return (m.Type == cell.Delete || m.Type == cell.DeleteFamilyVersion) && m.Timestamp == c.Timestamp
		}
		if c.Type == cell.Put && !slices.ContainsFunc(answers[1].Cells, deleted) &&
			!slices.ContainsFunc(answers[2].Cells, deleted) {
			newer++
		}
	}
	// HBase keeps the newest MIN_VERSIONS of a cell, however old they are.
	if ttl, expired := f.expired(b.Timestamp, p.now); expired && newer >= f.number("MIN_VERSIONS") {
		return Expired, fmt.Sprintf("row %s has timestamp %d, which is older than the family's TTL of %d s",
			at, b.Timestamp, ttl)
	}
	for _, cells := range [][]cell.Cell{answers[0].Cells, answers[1].Cells, answers[2].Cells} {
		if marker := b.hiddenBy(cells); marker != nil {
			return Deleted, fmt.Sprintf("row %s with timestamp %d is hidden by a delete marker of timestamp %d",
				at, b.Timestamp, marker.Timestamp)
		}
	}
	if slices.ContainsFunc(answers[0].Cells, b.matches) {
		return Served, ""
	}
	if b.isMarker() {
		return Superseded, fmt.Sprintf("row %s no longer has the delete marker of timestamp %d, as after a major compaction",
			at, b.Timestamp)
	}
	if versions := max(f.number("VERSIONS"), 1); newer >= versions {
		return Superseded, fmt.Sprintf("row %s has %d newer versions, and the family keeps %d", at, newer, versions)
	}
	if len(answers[0].Cells) > 0 {
		return Missing, fmt.Sprintf("row %s has another value with timestamp %d", at, b.Timestamp)
	}
	return Missing, fmt.Sprintf("row %s with timestamp %d is not served, cause unknown", at, b.Timestamp)
}

// expired compares a timestamp with the family's TTL, in seconds. Both times are epoch milliseconds.
func (f *Family) expired(timestamp, now int64) (ttl int64, expired bool) {
	ttl = f.number("TTL")
	return ttl, ttl > 0 && ttl < math.MaxInt32 && now-timestamp > ttl*1000
}

// HasExpired reports whether readers no longer find a cell because it is older than the family's TTL. Both times are
// epoch milliseconds. Of a column in a family with MIN_VERSIONS, they find the newest version for ever.
func (t *Table) HasExpired(family []byte, timestamp, now int64) bool {
	for i := range t.Families {
		if f := &t.Families[i]; f.Name == string(family) {
			_, expired := f.expired(timestamp, now)
			return expired && f.number("MIN_VERSIONS") == 0
		}
	}
	return false
}

// Expired reports whether readers no longer find all of a file's cells because the oldest is older than the family's
// TTL: now is in epoch milliseconds. A family with MIN_VERSIONS keeps some of them, so only reading them tells.
func (t *Table) Expired(f *HFile, now int64) (finding ProbeResult, expired bool) {
	i := slices.IndexFunc(t.Families, func(family Family) bool { return family.Name == f.Family })
	oldest := f.oldest()
	if i < 0 || oldest <= 0 || t.Families[i].number("MIN_VERSIONS") > 0 {
		return finding, false
	}
	ttl, expired := t.Families[i].expired(oldest, now)
	return ProbeResult{HFile: *f, Serving: Expired, Region: t.Overlapping(f.FirstRow, f.FirstRow)[0].String(),
			Why: fmt.Sprintf("its oldest cell has timestamp %d, which is older than the family's TTL of %d s", oldest, ttl)},
		expired
}

// oldest is the least timestamp of a file's cells; 0 if it is not known.
func (f *HFile) oldest() (least int64) {
	if f.Oldest > 0 {
		return f.Oldest
	}
	for i := range f.Probes {
		if p := &f.Probes[i]; !p.isMarker() && (least == 0 || p.Timestamp < least) {
			least = p.Timestamp
		}
	}
	return least
}

// matches reports whether a stored cell is the probe's.
//
// The value is compared by its sum, which is all that manifest and ledger have of it.
func (b *Probe) matches(c cell.Cell) bool {
	if c.Timestamp != b.Timestamp {
		return false
	}
	return byte(c.Type) == b.Type && bytes.Equal(c.Qualifier, b.Qualifier) && SumValue(c.Value) == b.Value
}

// hiddenBy returns a delete marker that hides the probe's cell; nil if the probe is a delete marker itself.
//
// A marker hides a cell with its timestamp, or up to it, even if the cell is put later: the rule of HBase, which is why
// rows can't be loaded again over a deletion.
func (b *Probe) hiddenBy(cells []cell.Cell) *cell.Cell {
	if b.isMarker() {
		return nil
	}
	for i := range cells {
		c := &cells[i]
		if c.Type == cell.Put {
			continue
		}
		ofCell := c.Type == cell.Delete || c.Type == cell.DeleteFamilyVersion
		if ofFamily := c.Type == cell.DeleteFamily || c.Type == cell.DeleteFamilyVersion; !ofFamily &&
			!bytes.Equal(c.Qualifier, b.Qualifier) {
			continue
		}
		if ofCell && c.Timestamp == b.Timestamp || !ofCell && c.Timestamp >= b.Timestamp {
			return c
		}
	}
	return nil
}

func (p *prober) family(name string) *Family {
	for i := range p.families {
		if p.families[i].Name == name {
			return &p.families[i]
		}
	}
	return &Family{}
}

// number is an attribute as a number; 0 if it is missing. TTL may be FOREVER.
func (f *Family) number(attribute string) int64 {
	n, err := strconv.ParseInt(f.Attributes[attribute], 10, 64)
	if err != nil {
		return 0
	}
	return n
}
