package load

import (
	"bytes"
	"cmp"
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

// Probe is one cell of an HFile. A region that returns it has the file, or has had an equal cell before.
type Probe struct {
	Row       []byte
	Qualifier []byte
	Timestamp int64
	Type      byte // KeyValue.Type's code
	Value     ValueSum
	// AnyCell is for a file of which only the row and its timestamp are known: each cell of its family counts.
	AnyCell bool
}

// ValueSum identifies a cell's value: the first half of its SHA-256.
type ValueSum [16]byte

// SumValue is the sum of a value.
func SumValue(value []byte) ValueSum {
	sum := sha256.Sum256(value)
	return ValueSum(sum[:16])
}

// Serving is what the open regions show of a file.
type Serving int

const (
	// Served: the region returns a cell of the file.
	Served Serving = iota
	// Superseded: there are so many newer versions that the table does not keep the cells any more.
	Superseded
	// Deleted: a delete marker hides the cells.
	Deleted
	// Expired: the cells are older than the family's TTL.
	Expired
	// Missing: the region does not return the cells and shows no reason.
	Missing
)

// Readable tells whether a reader finds the file's rows as they were loaded, or newer ones.
func (s Serving) Readable() bool { return s <= Superseded }

// Finding is what the open region that holds a file's rows shows of it.
type Finding struct {
	HFile
	Serving Serving
	Region  string // for people
	Why     string // for people; "" where the file is served
	// Reopened says that the region was opened again before it was asked, so that it knows every file in its folder.
	Reopened bool

	regions []Region // that hold the rows of its probes
}

// String says for people what was found.
func (f *Finding) String() string { return fmt.Sprintf("%s in %s: %s", f.URI, f.Region, f.Why) }

// Probe asks the open regions of a table for cells of files that were loaded into it. It waits for regions that move or
// whose server has died, and believes an answer only if the region was not opened anew in between: a server that hung and
// woke up may answer for regions that are open elsewhere. A file without probes is an error.
//
// It needs the permission to read. Deleted and expired cells are looked for too, so that the result says whether rows can
// be read, not just whether they are stored.
func (c *Cluster) Probe(ctx context.Context, name string, files []HFile) ([]Finding, error) {
	p, err := c.newProbing(ctx, name)
	if err != nil {
		return nil, notAsked(ctx, name, err)
	}
	return p.probe(ctx, files)
}

// ProbeTable is Probe for a table that was just looked up, which saves another look.
func (c *Cluster) ProbeTable(ctx context.Context, table *Table, files []HFile) ([]Finding, error) {
	p, err := c.probingOf(table)
	if err != nil {
		return nil, notAsked(ctx, table.Name, err)
	}
	return p.probe(ctx, files)
}

func notAsked(ctx context.Context, table string, err error) error {
	return fmt.Errorf("look up the files' rows in table %s: %w", table, classify(ctx, err))
}

// CheckRead refuses (ErrRefused) families of a table that the user may not read: without reading nobody can tell that a file is served.
func (c *Cluster) CheckRead(ctx context.Context, table *Table, families []string) error {
	limited, cancel := c.limit(ctx)
	defer cancel()
	p := &probing{cluster: c}
	err := p.tryRead(limited, &table.Regions[0], families)
	if hbase.IsRemote(err, "AccessDeniedException") {
		return errcode.HBasePermission.Errorf("%w: user %s may not read table %s, by which a load is checked: grant '%s', 'R', '%s' in the HBase shell (%w)",
			ErrRefused, c.user, table.Name, c.user, table.Name, err)
	}
	return classify(ctx, err)
}

// probing asks one table.
type probing struct {
	cluster  *Cluster
	id       hbase.TableName
	families []Family
	now      int64    // epoch milliseconds
	atOnce   int      // probes in one call
	regions  []Region // where the next round asks; nil: where hbase:meta says then
	seen     []Region // as they were after the last round
}

// probingOf asks a table that was just looked up.
func (c *Cluster) probingOf(t *Table) (*probing, error) {
	id, err := parseName(t.Name)
	return &probing{cluster: c, id: id, families: t.Families, now: time.Now().UnixMilli(), atOnce: probesAtOnce, regions: t.Regions}, err
}

// probe is run with an error that names the table.
func (p *probing) probe(ctx context.Context, files []HFile) ([]Finding, error) {
	findings, err := p.run(ctx, files)
	if err != nil {
		return nil, notAsked(ctx, p.id.String(), err)
	}
	return findings, nil
}

func (c *Cluster) newProbing(ctx context.Context, name string) (*probing, error) {
	id, err := parseName(name)
	if err != nil {
		return nil, err
	}
	p := &probing{cluster: c, id: id, now: time.Now().UnixMilli(), atOnce: probesAtOnce}
	limited, cancel := context.WithTimeout(ctx, c.limits.outage)
	defer cancel()
	pause := c.servers.backoff("reading the families")
	for {
		if err = p.describe(limited); err == nil || !p.mayPass(err) || !pause.wait(limited) {
			return p, err
		}
	}
}

// describe reads the families' settings.
func (p *probing) describe(ctx context.Context) error {
	limited, cancel := p.cluster.limit(ctx)
	defer cancel()
	if err := p.cluster.usable(limited, p.id); err != nil {
		return err
	}
	schema, err := p.cluster.schema(limited, p.id)
	if err != nil {
		return err
	}
	p.families = nil
	for _, f := range schema.Families {
		family, err := parseFamily(f)
		if err != nil {
			return err
		}
		p.families = append(p.families, family)
	}
	return nil
}

// tryRead reads from a region a row that hardly exists. A region that is not where it was is no reason for an error.
func (p *probing) tryRead(ctx context.Context, region *Region, families []string) error {
	question := hbase.RegionGets{Region: region.Name}
	for _, f := range families {
		question.Gets = append(question.Gets, hbase.RawGet{Row: []byte{0}, Family: f, From: 0, To: 1, Limit: 1})
	}
	answers, err := p.ask(ctx, region.Server, []hbase.RegionGets{question})
	if err != nil {
		return err
	}
	for _, a := range answers[0] {
		if a.Err != nil && !isPassing(a.Err) {
			return a.Err
		}
	}
	return nil
}

// question is a probe that a region is being asked for.
type question struct {
	*Probe
	family string
	file   int // in the caller's list
	region Region
	// thorough asks by three reads. One read decides nearly always: see quickGet.
	thorough bool
	serving  Serving
	why      string
}

const (
	probesAtOnce = 500 // in one call
	getsPerProbe = 3   // of a thorough one
	cellsAsked   = 8   // of a column, with values, in the one read that decides nearly always
	markersAsked = 64  // newer versions and delete markers of a column that are looked at
)

// run asks until every probe has an answer that can be believed, as long as there is one now and then.
func (p *probing) run(ctx context.Context, files []HFile) ([]Finding, error) {
	findings := make([]Finding, len(files))
	var left []*question
	for i, f := range files {
		if len(f.Probes) == 0 {
			return nil, fmt.Errorf("no cells of file %s are known", f.URI)
		}
		findings[i].HFile = f
		for k := range f.Probes {
			left = append(left, &question{Probe: &f.Probes[k], family: f.Family, file: i, thorough: f.Probes[k].AnyCell})
		}
	}
	pause := p.cluster.servers.backoff("asking for the rows of files")
	progress := time.Now()
	for len(left) > 0 {
		answered, err := p.round(ctx, left)
		if answered, err = p.confirm(ctx, answered, err); err != nil && !p.mayPass(err) {
			return nil, err
		}
		done := map[*question]bool{}
		for _, q := range answered {
			findings[q.file].add(q)
			done[q] = true
		}
		left = slices.DeleteFunc(left, func(q *question) bool { return done[q] })
		if len(answered) > 0 {
			pause.next, progress = 0, time.Now()
		}
		switch {
		case len(left) == 0:
		case time.Since(progress) > p.cluster.limits.outage:
			return nil, fmt.Errorf("%w: no answer for the rows of %s and %d others: %w", ErrUnavailable, files[left[0].file].URI, len(left)-1, orTimeout(err))
		case !pause.wait(ctx):
			return nil, ctx.Err()
		}
	}
	return findings, nil
}

// add takes up the answer for one probe: the worst one counts.
func (f *Finding) add(q *question) {
	f.regions = append(f.regions, q.region)
	if q.serving >= f.Serving {
		f.Serving, f.Why, f.Region = q.serving, q.why, q.region.String()
	}
}

func orTimeout(err error) error {
	if err == nil {
		return errors.New("their regions keep moving")
	}
	return err
}

// mayPass tells whether asking again may help.
func (p *probing) mayPass(err error) bool {
	var conn *hbase.ConnError
	return isPassing(err) || errors.As(err, &conn) || errors.Is(err, ErrUnavailable) || errors.Is(err, context.DeadlineExceeded)
}

// round asks for each probe once, several servers and calls at a time. It returns those whose region answered, with an
// error that kept others from an answer.
func (p *probing) round(ctx context.Context, all []*question) (answered []*question, err error) {
	limited, cancel := context.WithTimeout(ctx, p.cluster.limits.outage)
	defer cancel()
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
	for _, batch := range batches(all, regions, p.atOnce) {
		group.Go(func() error {
			got, err := p.askBatch(limited, batch)
			mu.Lock()
			defer mu.Unlock()
			answered = append(answered, got...)
			if err != nil && (failed == nil || !p.mayPass(err)) {
				failed = err
			}
			return nil
		})
	}
	_ = group.Wait() // the errors are in failed
	var lost *hbase.ConnError
	if errors.As(failed, &lost) && lost.Sent {
		p.atOnce = max(p.atOnce/2, 1) // perhaps the values are so large that their answer is refused
	}
	return answered, failed
}

// confirm keeps the answers of regions that are open as they were when they were asked.
func (p *probing) confirm(ctx context.Context, answered []*question, before error) ([]*question, error) {
	if len(answered) == 0 {
		return nil, before
	}
	limited, cancel := context.WithTimeout(ctx, p.cluster.limits.outage)
	defer cancel()
	regions, err := p.cluster.regionsThrough(limited, p.id)
	if err != nil {
		return nil, err
	}
	p.seen = regions
	byName := make(map[string]*Region, len(regions))
	for i := range regions {
		byName[string(regions[i].Name)] = &regions[i]
	}
	moved := func(q *question) bool {
		r := byName[string(q.region.Name)]
		return r == nil || !r.sameOpening(&q.region)
	}
	return slices.DeleteFunc(answered, moved), before
}

// batches puts together the probes that one call asks for: of one server, in the order of regions.
func batches(all []*question, regions []Region, size int) [][]*question {
	byServer := map[string][]*question{}
	for _, q := range all {
		q.region = *regionOf(regions, q.Row)
		byServer[q.region.Server] = append(byServer[q.region.Server], q)
	}
	var cut [][]*question
	for _, server := range slices.Sorted(maps.Keys(byServer)) {
		list := byServer[server]
		slices.SortStableFunc(list, func(a, b *question) int { return bytes.Compare(a.region.Start, b.region.Start) })
		cut = slices.AppendSeq(cut, slices.Chunk(list, size))
	}
	return cut
}

// regionOf is the region that holds a row, of all regions in order.
func regionOf(regions []Region, row []byte) *Region {
	i := sort.Search(len(regions), func(i int) bool { return bytes.Compare(regions[i].Start, row) > 0 })
	return &regions[max(i-1, 0)]
}

// askBatch asks one server: each probe by one read, and by three where that does not decide.
func (p *probing) askBatch(ctx context.Context, batch []*question) (answered []*question, err error) {
	answered, undecided, err := p.askOnce(ctx, batch)
	for more := range slices.Chunk(undecided, max(p.atOnce/getsPerProbe, 1)) {
		again, _, failed := p.askOnce(ctx, more)
		answered = append(answered, again...)
		err = cmp.Or(failed, err)
	}
	return answered, err
}

// askOnce makes one call. Of the probes that it leaves undecided thorough is set.
func (p *probing) askOnce(ctx context.Context, batch []*question) (answered, undecided []*question, err error) {
	var asked []hbase.RegionGets
	for i, q := range batch {
		if i == 0 || !bytes.Equal(batch[i-1].region.Name, q.region.Name) {
			asked = append(asked, hbase.RegionGets{Region: q.region.Name})
		}
		r := &asked[len(asked)-1]
		r.Gets = append(r.Gets, q.gets()...)
	}
	byRegion, err := p.ask(ctx, batch[0].region.Server, asked)
	if err != nil {
		return nil, nil, err
	}
	answers := slices.Concat(byRegion...)
	for _, q := range batch {
		n := len(q.gets())
		decided, failed := p.judge(q, answers[:n])
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
	return answered, undecided, err
}

func (p *probing) ask(ctx context.Context, server string, questions []hbase.RegionGets) (answers [][]hbase.GetAnswer, err error) {
	conn, err := p.cluster.servers.region(ctx, server)
	if err != nil {
		return nil, err
	}
	if p.cluster.asking != nil {
		p.cluster.asking(server, questions)
	}
	err = p.cluster.withTimeout(ctx, conn, func(ctx context.Context) (err error) {
		answers, err = conn.MultiGet(ctx, questions)
		return err
	})
	return answers, err
}

// gets are the reads that the next call makes.
func (q *question) gets() []hbase.RawGet {
	if q.thorough {
		return q.Probe.gets(q.family)
	}
	return []hbase.RawGet{q.quickGet(q.family)}
}

// quickGet reads the first few of all cells that say something of a probe that is not AnyCell: the delete markers of the
// family, then the delete markers and newer versions of its column, then the cell itself. HBase gives them in this order,
// so none is missing before the cell, nor anywhere where there are fewer than the read asks for.
func (b *Probe) quickGet(family string) hbase.RawGet {
	return hbase.RawGet{Row: b.Row, Family: family, Qualifier: append([]byte{}, b.Qualifier...), Markers: true,
		From: b.Timestamp, To: math.MaxInt64, Limit: cellsAsked}
}

// apart sorts the answer to a quickGet into those to gets.
func (b *Probe) apart(cells []hbase.StoredCell) []hbase.GetAnswer {
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

// gets are the reads of a thorough look at a probe: for the cell, for newer versions and delete markers of its column, and for delete
// markers of the whole family.
func (b *Probe) gets(family string) []hbase.RawGet {
	qualifier := b.Qualifier
	if b.AnyCell {
		qualifier = nil
	} else if qualifier == nil {
		qualifier = []byte{}
	}
	one := hbase.RawGet{Row: b.Row, Family: family, Qualifier: qualifier, From: b.Timestamp, To: b.Timestamp + 1}
	if b.AnyCell {
		one.Limit = markersAsked
	}
	newer := hbase.RawGet{Row: b.Row, Family: family, Qualifier: qualifier, From: b.Timestamp + 1, To: math.MaxInt64, Limit: markersAsked, KeysOnly: qualifier != nil}
	markers := hbase.RawGet{Row: b.Row, Family: family, Qualifier: []byte{}, From: b.Timestamp, To: math.MaxInt64, Limit: markersAsked, KeysOnly: true}
	return []hbase.RawGet{one, newer, markers}
}

// judge decides what the answers for a probe say, if they are enough to decide. The error is one that kept the region from
// an answer.
func (p *probing) judge(q *question, answers []hbase.GetAnswer) (decided bool, err error) {
	for _, answer := range answers {
		if answer.Err != nil {
			return false, answer.Err
		}
	}
	if !q.thorough {
		cells := answers[0].Cells
		if len(cells) >= cellsAsked && !slices.ContainsFunc(cells, q.matches) {
			return false, nil
		}
		answers = q.apart(cells)
	}
	q.serving, q.why = p.cell(q.family, q.Probe, answers)
	return true, nil
}

// cell says what is known of one cell: whether the region returns it, and if not, or not to other readers, why.
func (p *probing) cell(family string, b *Probe, answers []hbase.GetAnswer) (Serving, string) {
	at := cell.Printable(b.Row)
	f := p.family(family)
	if ttl := f.number("TTL"); ttl > 0 && ttl < math.MaxInt32 && p.now-b.Timestamp > ttl*1000 {
		return Expired, fmt.Sprintf("row %s has timestamp %d, which is older than the family's TTL of %d s", at, b.Timestamp, ttl)
	}
	for _, cells := range [][]hbase.StoredCell{answers[0].Cells, answers[1].Cells, answers[2].Cells} {
		if marker := b.hiddenBy(cells); marker != nil {
			return Deleted, fmt.Sprintf("row %s with timestamp %d is hidden by a delete marker of timestamp %d", at, b.Timestamp, marker.Timestamp)
		}
	}
	if slices.ContainsFunc(answers[0].Cells, b.matches) {
		return Served, ""
	}
	newer := int64(0)
	for _, c := range answers[1].Cells {
		if c.Type == byte(cell.Put) {
			newer++
		}
	}
	if versions := max(f.number("VERSIONS"), 1); newer >= versions {
		return Superseded, fmt.Sprintf("row %s has %d newer versions, and the family keeps %d", at, newer, versions)
	}
	if len(answers[0].Cells) > 0 {
		return Missing, fmt.Sprintf("row %s has another value with timestamp %d", at, b.Timestamp)
	}
	return Missing, fmt.Sprintf("row %s with timestamp %d is not served, cause unknown", at, b.Timestamp)
}

// matches tells whether a stored cell is the probe's.
func (b *Probe) matches(c hbase.StoredCell) bool {
	if c.Timestamp != b.Timestamp {
		return false
	}
	return b.AnyCell || c.Type == b.Type && bytes.Equal(c.Qualifier, b.Qualifier) && SumValue(c.Value) == b.Value
}

// hiddenBy finds a delete marker for the probe's cell, which itself is none.
func (b *Probe) hiddenBy(cells []hbase.StoredCell) *hbase.StoredCell {
	if b.AnyCell || b.Type != byte(cell.Put) {
		return nil
	}
	for i := range cells {
		c := &cells[i]
		if c.Type == byte(cell.Put) {
			continue
		}
		ofCell := c.Type == deleteOne || c.Type == deleteFamilyVersion
		if ofFamily := c.Type == deleteFamily || c.Type == deleteFamilyVersion; !ofFamily && !bytes.Equal(c.Qualifier, b.Qualifier) {
			continue
		}
		if ofCell && c.Timestamp == b.Timestamp || !ofCell && c.Timestamp >= b.Timestamp {
			return c
		}
	}
	return nil
}

// KeyValue.Type's codes of delete markers, beside DeleteColumn's 12.
const (
	deleteOne           = 8
	deleteFamilyVersion = 10
	deleteFamily        = 14
)

func (p *probing) family(name string) *Family {
	for i := range p.families {
		if p.families[i].Name == name {
			return &p.families[i]
		}
	}
	return &Family{}
}

// number is an attribute as a number; 0 where it is missing. TTL may be written FOREVER.
func (f *Family) number(attribute string) int64 {
	n, err := strconv.ParseInt(f.Attributes[attribute], 10, 64)
	if err != nil {
		return 0
	}
	return n
}
