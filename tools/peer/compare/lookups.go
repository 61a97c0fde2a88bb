package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/md5"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"bulkload/internal/test/sample"
	"bulkload/internal/test/testcluster"
	"bulkload/tools/peer"

	"golang.org/x/sync/errgroup"
)

// answerer is a process that answers look-ups over HTTP.
type answerer struct {
	name, port, ready string // ready is a path that it answers with 200 once it is ready
	command           func(ctx context.Context) (*exec.Cmd, error)
	log               string
	cmd               *exec.Cmd
}

func (a *answerer) address() string { return "http://" + net.JoinHostPort("127.0.0.1", a.port) }

// start returns when it is ready.
func (a *answerer) start(ctx context.Context) (err error) {
	if a.cmd, err = a.command(ctx); err != nil {
		return err
	}
	log, err := os.OpenFile(a.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	a.cmd.Stdout, a.cmd.Stderr = log, log
	if err := errors.Join(a.cmd.Start(), log.Close()); err != nil {
		return err
	}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		answer, err := http.Get(a.address() + a.ready)
		if err == nil && answer.Body.Close() == nil && answer.StatusCode == http.StatusOK {
			return nil
		}
	}
	return errors.Join(fmt.Errorf("%s is not ready after a minute; its log is %s", a.name, a.log), a.stop())
}

func (a *answerer) stop() error {
	if a.cmd == nil {
		return nil
	}
	err := a.cmd.Process.Kill()
	_ = a.cmd.Wait() // says that it was killed
	a.cmd = nil
	return err
}

// lookups compares look-ups.
type lookups struct {
	*bench
	servers servers
	length  time.Duration // of a measurement
	rate    int           // of open loops

	wanted map[string][][]string // the rows of each check_id, in the order of their ids
	keys   []string              // some check_ids

	serve, rest, files *answerer
	one                []*lookup // with one scan
	salts              []*lookup // with a scan for each of ten salts
}

const (
	spread     = "peer:spread" // the table whose salt a query does not determine
	clients    = 200
	keysOfOne  = 4000
	keysOfMany = 500
	coldKeys   = 2000

	openShare = 0.65 // of the slowest closed loop
)

// compareLookups loads rows into tables, measures look-ups, and prints tables of figures.
func compareLookups(ctx context.Context, b *bench, rows []int, length time.Duration, only string) (err error) {
	chosen, err := regexp.Compile(only)
	if err != nil || len(rows) != 1 {
		return errors.Join(err, errors.New("-serve compares one number of rows"))
	}
	l := &lookups{bench: b, length: length}
	err = b.start(ctx, testcluster.Options{RegionServers: 2, RegionServerJVM: []string{"-Xms2g", "-Xmx2g"},
		Site: map[string]string{"hbase.rest.scan.fetchsize": "50"}}) // all rows in one call, as bulkload has them
	if err != nil {
		return err
	}
	defer b.stop()
	l.servers.cluster = b.cluster
	if err := l.load(ctx, rows[0]); err != nil {
		return err
	}
	if err := l.open(); err != nil {
		return err
	}
	for _, a := range []*answerer{l.serve, l.rest, l.files} {
		if err := a.start(ctx); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, a.stop()) }()
	}
	for _, part := range []struct {
		name string
		run  func(context.Context) error
	}{{"closed", l.closed}, {"open", l.openLoop}, {"salts", l.allSalts}, {"faults", l.faults}, {"cold", l.cold}} {
		if chosen.MatchString(part.name) && ctx.Err() == nil {
			say("%s", part.name)
			if failed := part.run(ctx); failed != nil {
				say("%s: %v", part.name, failed)
				err = errors.Join(err, fmt.Errorf("%s: %w", part.name, failed))
			}
		}
	}
	return err
}

// lookupJob is the job file of a table, or of one salt of it.
const lookupJob = `table: %s
family: ` + family + `
timestamp: ${date}
input:
  path: hdfs:///peer/in/${date}
  columns: [%s]
  field_delimiter: '\x01'
  record_delimiter: '\x10'
  max_rejects: 0
rowkey: "%s + md5(check_id) + id"
query: [check_id]
regions: {from: table}
output: hdfs:///peer/out/%s/${date}
load: %t
`

// load makes the tables, and an output that is not loaded.
func (l *lookups) load(ctx context.Context, rows int) error {
	if err := l.prepare(ctx, rows); err != nil {
		return err
	}
	if err := l.want(rows); err != nil {
		return err
	}
	if err := errors.Join(l.create(ctx, table), l.create(ctx, spread)); err != nil {
		return err
	}
	jobs := [][3]string{{"check", table, "salt(check_id, 10)"}, {"spread", spread, "salt(id, 10)"},
		{"files", table, "salt(check_id, 10)"}}
	for salt := range 10 {
		jobs = append(jobs, [3]string{fmt.Sprintf("salt%d", salt), spread, fmt.Sprintf("'%d'", salt)})
	}
	for _, j := range jobs {
		text := fmt.Sprintf(lookupJob, j[1], strings.Join(sample.CheckColumns, ", "), j[2], j[0], j[0] != "files")
		if err := os.WriteFile(l.job(j[0]), []byte(text), 0o644); err != nil {
			return err
		}
	}
	for _, name := range []string{"check", "spread", "files"} {
		say("loading %s", name)
		_, err := measure(exec.CommandContext(ctx, l.binary, "run", l.job(name), "--date", night, "--memory", l.memory,
			"--work-dir", filepath.Join(l.dir, "work"), "--conf", l.cluster.ConfDir()))
		if err != nil {
			return err
		}
	}
	return nil
}

func (l *lookups) job(name string) string { return filepath.Join(l.dir, name+".yaml") }

// want makes the rows once more, and chooses the keys.
func (l *lookups) want(rows int) error {
	var b bytes.Buffer
	if err := sample.Check(&b, sample.Options{Rows: rows, Seed: 1}); err != nil {
		return err
	}
	l.wanted = map[string][][]string{}
	for record := range strings.SplitSeq(strings.TrimSuffix(b.String(), sample.RecordDelimiter), sample.RecordDelimiter) {
		fields := strings.Split(record, sample.FieldDelimiter)
		l.wanted[fields[1]] = append(l.wanted[fields[1]], fields)
	}
	for key, all := range l.wanted {
		slices.SortFunc(all, slices.Compare)
		if len(all) <= 50 {
			l.keys = append(l.keys, key)
		}
	}
	slices.Sort(l.keys)
	random := rand.New(rand.NewPCG(1, 1))
	random.Shuffle(len(l.keys), func(i, j int) { l.keys[i], l.keys[j] = l.keys[j], l.keys[i] })
	l.keys = l.keys[:min(len(l.keys), keysOfOne)]
	return nil
}

// open says which processes there are, and how they are asked.
func (l *lookups) open() error {
	var ports [4]string
	for i := range ports {
		var err error
		if ports[i], err = freePort(); err != nil {
			return err
		}
	}
	serve := func(name, port string, args ...string) *answerer {
		return &answerer{name: name, port: port, ready: "/readyz", log: filepath.Join(l.dir, name+".log"),
			command: func(ctx context.Context) (*exec.Cmd, error) {
				args := append([]string{"serve", "--listen", "127.0.0.1:" + port, "--conf", l.cluster.ConfDir()}, args...)
				return exec.CommandContext(ctx, l.binary, args...), nil
			}}
	}
	jobs := []string{l.job("check"), l.job("spread")}
	for salt := range 10 {
		jobs = append(jobs, l.job(fmt.Sprintf("salt%d", salt)))
	}
	l.serve = serve("serve", ports[0], jobs...)
	l.files = serve("files", ports[1], l.job("files"), "--date", night, "--cache", "512MiB")
	l.rest = &answerer{name: "rest", port: ports[2], ready: "/version", log: filepath.Join(l.dir, "rest.log"),
		command: func(ctx context.Context) (*exec.Cmd, error) {
			return l.cluster.Program(ctx, peer.RESTFiles(), "2g", peer.REST, "-p", ports[2], "-i", ports[3], "start")
		}}
	of := func(a *answerer, name string) func(string) string {
		return func(key string) string { return a.address() + "/get/" + name + "?check_id=" + url.QueryEscape(key) }
	}
	rest := func(table string, salt func(key string) string) func(string) string {
		return func(key string) string {
			prefix := fmt.Sprintf("%s%x", salt(key), md5.Sum([]byte(key)))
			last := len(prefix) - 1
			end := prefix[:last] + url.QueryEscape(string(prefix[last]+1))
			return l.rest.address() + "/" + table + "/*?limit=50&startrow=" + prefix + "&endrow=" + end
		}
	}
	ofKey := func(key string) string { return string(sample.Salt(key)) }
	ofAny := func(string) string { return anySalt }
	l.one = []*lookup{
		newLookup("bulkload serve", l.serve, of(l.serve, "check"), served),
		newLookup("HBase's REST server", l.rest, rest(table, ofKey), rested),
		newLookup("bulkload serve, from HFiles", l.files, of(l.files, "files"), served),
	}
	l.salts = []*lookup{
		newLookup("bulkload serve, all salts at once", l.serve, of(l.serve, "spread"), served),
		newLookup("bulkload serve, salt after salt", l.serve, of(l.serve, "salt"+anySalt), served),
		newLookup("HBase's REST server, salt after salt", l.rest, rest(spread, ofAny), rested),
	}
	return nil
}

// measure looks keys up, and adds up what that costs.
func (l *lookups) measure(ctx context.Context, of *lookup, o attack) (figures, error) {
	used := func() (all [4]time.Duration, err error) {
		var mine syscall.Rusage
		own, err1 := processCPU(of.by.cmd.Process.Pid)
		regions, err2 := l.servers.cpuOf("rs1", "rs2")
		blocks, err3 := l.servers.cpuOf("dn1")
		err4 := syscall.Getrusage(syscall.RUSAGE_SELF, &mine)
		clients := time.Duration(mine.Utime.Nano() + mine.Stime.Nano())
		return [4]time.Duration{own, regions, blocks, clients}, errors.Join(err1, err2, err3, err4)
	}
	before, err := used()
	if err != nil {
		return nil, err
	}
	found := of.attack(ctx, o)
	after, err := used()
	if err != nil {
		return nil, err
	}
	millis := func(d time.Duration) float64 { return float64(d) / 1e6 }
	f := figures{perSecond: found.Throughput, meanTime: millis(found.Latencies.Mean), time50: millis(found.Latencies.P50),
		time95: millis(found.Latencies.P95), time99: millis(found.Latencies.P99), timeMost: millis(found.Latencies.Max),
		failed: float64(found.Requests) - float64(found.StatusCodes["200"]), wrongRows: float64(found.wrong)}
	for i, name := range []string{ownCPU, regionsCPU, blocksCPU, clientsCPU} {
		f[name] = (after[i] - before[i]).Seconds() / float64(found.Requests)
	}
	say("%s: %v %v %v", of.name, found.StatusCodes, f, found.Errors[:min(len(found.Errors), 3)])
	return f, nil
}

// rounds measures each look-up in each round, every round in another order, and prints the medians.
func (l *lookups) rounds(ctx context.Context, all []*lookup, o attack) (map[string]figures, error) {
	found := map[string][]figures{}
	for round := range l.runs {
		for i := range all {
			of := all[(i+round)%len(all)]
			f, err := l.measure(ctx, of, o)
			if err != nil {
				return nil, err
			}
			found[of.name] = append(found[of.name], f)
		}
	}
	medians := mediansOf(found)
	writeHead(os.Stdout, lookupColumns)
	for _, of := range all {
		writeFigures(os.Stdout, of.name, lookupColumns, medians[of.name])
	}
	return medians, nil
}

// learn has each look-up answer its keys once, which is also what warms everything up.
func (l *lookups) learn(ctx context.Context, all []*lookup, keys []string) error {
	for _, of := range all {
		if len(of.known) == 0 {
			if err := of.learn(ctx, l.wanted, keys); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *lookups) closed(ctx context.Context) error {
	if err := l.learn(ctx, l.one, l.keys); err != nil {
		return err
	}
	fmt.Printf("\n%d clients, each asks again when it has its answer; %d keys, %d rounds of %s:\n", clients, len(l.keys),
		l.runs, l.length)
	medians, err := l.rounds(ctx, l.one, attack{keys: l.keys, clients: clients, length: l.length})
	if err != nil {
		return err
	}
	slowest := medians[l.one[0].name][perSecond]
	for _, f := range medians {
		slowest = min(slowest, f[perSecond])
	}
	l.rate = int(openShare * slowest)
	return nil
}

func (l *lookups) openLoop(ctx context.Context) error {
	if l.rate == 0 {
		return errors.New("closed, which says the rate, did not run")
	}
	fmt.Printf("\n%d requests a second, whatever becomes of those before; %d rounds of %s:\n", l.rate, l.runs, l.length)
	_, err := l.rounds(ctx, l.one, attack{keys: l.keys, rate: l.rate, length: l.length})
	return err
}

func (l *lookups) allSalts(ctx context.Context) error {
	keys := l.keys[:min(len(l.keys), keysOfMany)]
	if err := l.learn(ctx, l.salts, keys); err != nil {
		return err
	}
	for _, n := range []int{1, clients} {
		fmt.Printf("\n%d clients, and %d keys whose rows have all of ten salts; %d rounds of %s:\n", n, len(keys), l.runs,
			l.length/3)
		_, err := l.rounds(ctx, l.salts, attack{keys: keys, clients: n, length: l.length / 3})
		if err != nil {
			return err
		}
	}
	return nil
}

// cold measures first requests, after HBase and what answers them were started again.
func (l *lookups) cold(ctx context.Context) error {
	if err := l.learn(ctx, l.one, l.keys); err != nil {
		return err
	}
	n := min(coldKeys, len(l.keys)*2/3)
	found := map[string][]figures{}
	for i := range l.runs * len(l.one) {
		of := l.one[i%len(l.one)]
		if err := of.by.stop(); err != nil {
			return err
		}
		if of.by != l.files {
			err := errors.Join(l.cluster.Kill("master"), l.cluster.Kill("rs1"), l.cluster.Kill("rs2"), l.cluster.Revive(ctx))
			if err != nil {
				return err
			}
		}
		if err := errors.Join(of.by.start(ctx), l.answers(ctx, of)); err != nil {
			return err
		}
		f, err := l.measure(ctx, of, attack{keys: l.keys[:n], once: true, clients: clients})
		if err != nil {
			return err
		}
		found[of.name] = append(found[of.name], f)
	}
	fmt.Printf("\nThe first %d requests of %d clients after a restart; %d rounds:\n", n, clients, l.runs)
	writeHead(os.Stdout, lookupColumns)
	medians := mediansOf(found)
	for _, of := range l.one {
		writeFigures(os.Stdout, of.name, lookupColumns, medians[of.name])
	}
	return nil
}

// answers returns when a look-up has found a row of each region.
func (l *lookups) answers(ctx context.Context, of *lookup) error {
	seen := map[byte]bool{}
	end := time.Now().Add(3 * time.Minute)
	for _, key := range slices.Backward(l.keys) {
		for salt := sample.Salt(key); !seen[salt]; time.Sleep(100 * time.Millisecond) {
			status, _, err := of.get(ctx, of.url(key))
			seen[salt] = status == http.StatusOK
			if ctx.Err() != nil || time.Now().After(end) {
				return fmt.Errorf("%s: %d, %w", of.name, status, cmp.Or(err, errNoAnswer))
			}
		}
	}
	return nil
}

// What happens under load: the requests a second of each look-up, when it begins, and how long it is watched.
const (
	faultRate  = 100
	faultAfter = 5 * time.Second
	moveTime   = 25 * time.Second
	killTime   = 75 * time.Second
)

func (l *lookups) faults(ctx context.Context) error {
	both := l.one[:2]
	if err := l.learn(ctx, both, l.keys); err != nil {
		return err
	}
	if err := errors.Join(l.answers(ctx, both[0]), l.answers(ctx, both[1])); err != nil {
		return err
	}
	fmt.Printf("\n%d requests a second of both at once. Good again: from the beginning of the fault to that of the last "+
		"request that failed:\n\n", faultRate)
	fmt.Println("| | | requests | statuses (0: none) | good again | longest | wrong rows |")
	fmt.Println("|---|---|---|---|---|---|---|")
	err := l.fault(ctx, both, "three regions move", moveTime, func() error {
		for _, salt := range []string{"0", "4", "8"} {
			if _, err := l.oracle(ctx, "move", table, salt); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	killed := func() error { return l.cluster.Kill("rs1") }
	return errors.Join(l.fault(ctx, both, "a region server is killed", killTime, killed), l.cluster.StartRole(ctx, "rs1"))
}

// fault looks up through several ways at once while something happens.
func (l *lookups) fault(ctx context.Context, all []*lookup, name string, length time.Duration, do func() error) error {
	found := make([]*outcome, len(all))
	var group errgroup.Group
	for i, of := range all {
		group.Go(func() error {
			found[i] = of.attack(ctx, attack{keys: l.keys, rate: faultRate, length: length})
			return nil
		})
	}
	time.Sleep(faultAfter)
	began := time.Now()
	err := do()
	took := time.Since(began)
	if err := errors.Join(err, group.Wait()); err != nil {
		return err
	}
	say("%s: that took %s", name, took)
	for i, of := range all {
		o, good := found[i], "at once"
		if !o.lastFailed.IsZero() {
			good = fmt.Sprintf("%.1f s", o.lastFailed.Sub(began).Seconds())
		}
		fmt.Fprintf(os.Stdout, "| %s | %s | %d | %v | %s | %.1f s | %d |\n", name, of.name, o.Requests, o.StatusCodes, good,
			o.Latencies.Max.Seconds(), o.wrong)
		say("%s: %q", of.name, o.Errors[:min(len(o.Errors), 3)])
	}
	return nil
}
