package main

import (
	"bufio"
	"context"
	"crypto/md5"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"bulkload/internal/test/sample"
	"bulkload/internal/test/testcluster"
	"bulkload/tools/peer"
)

// way is a way to load the rows into an empty table.
type way struct {
	name string
	run  func(p *puts, ctx context.Context, table string) (cost, error)
}

var ways = []way{
	{"Put", put("USE_DEFAULT")},
	{"Put, ASYNC_WAL", put("ASYNC_WAL")},
	{"Put, SKIP_WAL", put("SKIP_WAL")},
	{"ImportTsv, completebulkload", (*puts).importTsv},
	{"bulkload", (*puts).bulkload},
}

// puts compares the ways. All read the same lines of HDFS: a row key and the columns, TAB between.
type puts struct {
	*bench
	servers servers
}

const (
	rowsDir = "/peer/rows"
	ourDir  = "/peer/ours"
	tsvDir  = "/peer/tsv"

	// other is the table of the client that reads while the rows are loaded. It has otherRows rows at most.
	other     = "peer:other"
	otherRows = 100_000

	readEvery  = 10    // milliseconds
	sampled    = 2000  // reads of the loaded table
	keysToRead = 20000 // from which these reads choose
)

// comparePuts loads each number of rows in every way and prints tables of figures. It returns a picture of the last.
func comparePuts(ctx context.Context, b *bench, numbers []int) (picture []byte, err error) {
	p := &puts{bench: b}
	// The region server is as HBase is by default, with the garbage collector that Java chooses, and a heap in which the
	// memstores have 1.6 GB. The cleaners delete dropped tables and logs soon, because the disk may be a small one.
	p.servers.gc = filepath.Join(b.dir, "gc.log")
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	p.servers.info = net.JoinHostPort("localhost", port)
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		return nil, err
	}
	err = b.start(ctx, testcluster.Options{
		RegionServerJVM: []string{"-Xms4g", "-Xmx4g", "-Xlog:gc:file=" + p.servers.gc + "::filecount=0"},
		Site: map[string]string{
			"hbase.regionserver.info.port":  port,
			"hbase.master.cleaner.interval": "10000",
			"hbase.master.hfilecleaner.ttl": "10000",
			"hbase.master.logcleaner.ttl":   "10000",
		},
	})
	if err != nil {
		return nil, err
	}
	defer b.stop()
	p.servers.cluster = b.cluster
	if err := p.prepareOther(ctx, min(otherRows, slices.Max(numbers))); err != nil {
		return nil, err
	}
	for _, rows := range numbers {
		if err := p.prepareRows(ctx, rows, 1, p.keys(rowsDir)); err != nil {
			return nil, err
		}
		medians, err := p.rounds(ctx)
		if err != nil {
			return nil, err
		}
		writePuts(os.Stdout, rows, medians)
		picture = chartOfPuts(rows, medians)
	}
	return picture, nil
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, errors.Join(err, l.Close())
}

// keys is the local file with some row keys of a table, or of the rows to load.
func (p *puts) keys(of string) string {
	return filepath.Join(p.dir, strings.NewReplacer("/", "-", ":", "-").Replace(of)+".keys")
}

// prepareOther makes the table of the reading client. Its rows are put, so that the servers' JVMs have compiled the code
// for this before the first way is measured, too.
func (p *puts) prepareOther(ctx context.Context, rows int) error {
	if err := p.prepareRows(ctx, rows, 2, p.keys(other)); err != nil {
		return err
	}
	if err := p.create(ctx, other); err != nil {
		return err
	}
	if _, err := put("USE_DEFAULT")(p, ctx, other); err != nil {
		return err
	}
	_, err := p.oracle(ctx, "compact", other)
	return err
}

// prepareRows generates rows and puts them into HDFS, and some of their keys into a local file.
func (p *puts) prepareRows(ctx context.Context, rows int, seed uint64, keys string) error {
	say("generating %d rows", rows)
	local := filepath.Join(p.dir, "rows")
	in, out := io.Pipe()
	go func() { out.CloseWithError(sample.Check(out, sample.Options{Rows: rows, Seed: seed})) }()
	if err := errors.Join(withKeys(in, local, keys, max(rows/keysToRead, 1)), in.Close()); err != nil {
		return err
	}
	return errors.Join(p.shell(ctx, "-rm", "-r", "-f", "-skipTrash", rowsDir), p.shell(ctx, "-mkdir", "-p", rowsDir),
		p.shell(ctx, "-put", local, rowsDir+"/part-m-00000"), os.Remove(local))
}

// withKeys writes rows as lines that begin with a row key, and every n-th row key to a file of its own. Line breaks in
// values become spaces, because ImportTsv ends a row at each.
func withKeys(in io.Reader, lines, keys string, every int) error {
	var texts, chosen strings.Builder
	flush := func(f *os.File, b *strings.Builder) error {
		_, err := f.WriteString(b.String())
		b.Reset()
		return err
	}
	to, err := os.Create(lines)
	if err != nil {
		return err
	}
	records := bufio.NewReaderSize(in, 1<<20)
	for n := 0; ; n++ {
		record, err := records.ReadString(sample.RecordDelimiter[0])
		if err == io.EOF {
			break
		}
		if err != nil {
			return errors.Join(err, to.Close())
		}
		record = strings.TrimSuffix(record, sample.RecordDelimiter)
		id, rest, _ := strings.Cut(record, sample.FieldDelimiter)
		checkID, _, _ := strings.Cut(rest, sample.FieldDelimiter)
		sum := md5.Sum([]byte(checkID))
		key := fmt.Sprintf("%d%x%s", sum[0]%regions, sum, id)
		if n%every == 0 {
			chosen.WriteString(key + "\n")
		}
		texts.WriteString(key + "\t" + strings.NewReplacer(sample.FieldDelimiter, "\t", "\n", " ").Replace(record) + "\n")
		if texts.Len() > 1<<20 {
			if err := flush(to, &texts); err != nil {
				return errors.Join(err, to.Close())
			}
		}
	}
	return errors.Join(flush(to, &texts), to.Close(), os.WriteFile(keys, []byte(chosen.String()), 0o644))
}

// rounds loads the rows in every way, as often as there are runs, and returns the medians by the ways' names.
func (p *puts) rounds(ctx context.Context) (map[string]figures, error) {
	all := map[string][]figures{}
	idle, err := p.idle(ctx)
	if err != nil {
		return nil, err
	}
	all[idleWay] = []figures{idle}
	want := ""
	for round := range p.runs {
		for i := range ways {
			w := ways[(i+round)%len(ways)] // what one leaves to the next is not always the same one's
			say("round %d: %s", round+1, w.name)
			f, digest, err := p.once(ctx, w, fmt.Sprintf("peer:way%d", i))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", w.name, err)
			}
			if want == "" {
				want = digest
			}
			if digest != want {
				return nil, fmt.Errorf("%s: the cells differ: %s, want %s", w.name, digest, want)
			}
			say("%s: %v", digest, f)
			all[w.name] = append(all[w.name], f)
		}
	}
	return mediansOf(all), nil
}

// mediansOf returns the median of each figure, by the names of what was measured.
func mediansOf(all map[string][]figures) map[string]figures {
	medians := map[string]figures{}
	for name, runs := range all {
		medians[name] = figures{}
		for figure := range runs[0] {
			values := make([]float64, len(runs))
			for i, f := range runs {
				values[i] = f[figure]
			}
			slices.Sort(values)
			medians[name][figure] = values[len(values)/2]
		}
	}
	return medians
}

// once loads the rows into a fresh table and measures it. digest is that of the table's cells.
func (p *puts) once(ctx context.Context, w way, table string) (f figures, digest string, err error) {
	if err := p.create(ctx, table); err != nil {
		return nil, "", err
	}
	err = p.shell(ctx, "-rm", "-r", "-f", "-skipTrash", ourDir, tsvDir)
	if err != nil {
		return nil, "", err
	}
	time.Sleep(freshMetrics)
	if err := p.servers.quiet(); err != nil {
		return nil, "", err
	}
	counted, err := p.servers.counters()
	if err != nil {
		return nil, "", err
	}
	_, logged, err := p.servers.pauses(0)
	if err != nil {
		return nil, "", err
	}
	f = figures{}
	if err := p.load(ctx, w, table, f); err != nil {
		return nil, "", err
	}
	now, err := p.servers.counters()
	if err != nil {
		return nil, "", err
	}
	for name, v := range now {
		f[name] = v - counted[name]
	}
	pauses, _, err := p.servers.pauses(logged)
	if err != nil {
		return nil, "", err
	}
	f[gcPauses], f[gcMillis], f[gcLongest] = float64(len(pauses)), 0, 0
	for _, ms := range pauses {
		f[gcMillis] += ms
		f[gcLongest] = max(f[gcLongest], ms)
	}
	digest, err = p.java(ctx, "digest", table)
	if err != nil {
		return nil, "", err
	}
	return f, digest, p.compact(ctx, table, f)
}

// load loads the rows while a client reads another table, and lets the servers do what they put off.
func (p *puts) load(ctx context.Context, w way, table string, f figures) error {
	r, err := p.startReader(ctx)
	if err != nil {
		return err
	}
	cpu, err := p.servers.cpu()
	if err != nil {
		return errors.Join(err, r.kill())
	}
	began := time.Now()
	client, err := w.run(p, ctx, table)
	f[wall] = time.Since(began).Seconds()
	if err != nil {
		return errors.Join(err, r.kill())
	}
	loaded, err := p.servers.cpu()
	if err != nil {
		return errors.Join(err, r.kill())
	}
	if err := r.end(f, during); err != nil {
		return err
	}
	done, err := p.flush(ctx, table, f)
	if err != nil {
		return err
	}
	f[clientCPU], f[serverCPU], f[laterCPU] = client.CPU.Seconds(), (loaded - cpu).Seconds(), (done - loaded).Seconds()
	time.Sleep(freshMetrics)
	return nil
}

// flush reads loaded rows, flushes the table and waits until nothing is left to compact. It returns the CPU time that
// the servers have used by then.
func (p *puts) flush(ctx context.Context, table string, f figures) (time.Duration, error) {
	if err := p.sample(ctx, table, f, afterwards); err != nil {
		return 0, err
	}
	if _, err := p.java(ctx, "flush", table); err != nil {
		return 0, err
	}
	if err := p.servers.quiet(); err != nil {
		return 0, err
	}
	return p.servers.cpu()
}

// compact compacts and drops the table; reads of it are measured between.
func (p *puts) compact(ctx context.Context, table string, f figures) error {
	if _, err := p.oracle(ctx, "compact", table); err != nil {
		return err
	}
	if err := p.sample(ctx, table, f, compacted); err != nil {
		return err
	}
	_, err := p.oracle(ctx, "drop", table)
	return err
}

// idle measures the reading client alone.
func (p *puts) idle(ctx context.Context) (figures, error) {
	const long = 20 * time.Second
	f := figures{}
	r, err := p.startReader(ctx)
	if err != nil {
		return nil, err
	}
	before, err := p.servers.cpu()
	if err != nil {
		return nil, errors.Join(err, r.kill())
	}
	time.Sleep(long)
	after, err := p.servers.cpu()
	if err := errors.Join(err, r.end(f, during)); err != nil {
		return nil, err
	}
	f[wall], f[serverCPU] = long.Seconds(), (after - before).Seconds()
	return f, nil
}

// measure runs a program that loads at a lower priority than the servers and the reading client. Otherwise it would
// slow these down only because it is not on a machine of its own.
func (p *puts) measure(cmd *exec.Cmd) (cost, error) {
	nice, err := exec.LookPath("nice")
	if err != nil {
		return cost{}, err
	}
	cmd.Args = append([]string{nice, "-n", "10", cmd.Path}, cmd.Args[1:]...)
	cmd.Path = nice
	return measure(cmd)
}

// put loads with HBase's client.
func put(durability string) func(*puts, context.Context, string) (cost, error) {
	return func(p *puts, ctx context.Context, table string) (cost, error) {
		cmd, err := p.program(ctx, peer.Puts, "load", table, rowsDir, family, strings.Join(sample.CheckColumns, ","), durability)
		if err != nil {
			return cost{}, err
		}
		return p.measure(cmd)
	}
}

// importTsv makes HFiles in the MapReduce of one JVM, with as many threads as the other ways use, and loads them.
func (p *puts) importTsv(ctx context.Context, table string) (cost, error) {
	columns := "HBASE_ROW_KEY"
	for _, c := range sample.CheckColumns {
		columns += "," + family + ":" + c
	}
	mapReduce, err := p.program(ctx, "org.apache.hadoop.hbase.mapreduce.ImportTsv", "-Dimporttsv.columns="+columns,
		"-Dimporttsv.bulk.output="+tsvDir, "-Dmapreduce.local.map.tasks.maximum=2",
		"-Dmapreduce.local.reduce.tasks.maximum=2", table, rowsDir)
	if err != nil {
		return cost{}, err
	}
	load, err := p.program(ctx, "org.apache.hadoop.hbase.tool.BulkLoadHFilesTool", tsvDir, table)
	if err != nil {
		return cost{}, err
	}
	first, err := p.measure(mapReduce)
	if err != nil {
		return cost{}, err
	}
	second, err := p.measure(load)
	return cost{CPU: first.CPU + second.CPU, Wall: first.Wall + second.Wall, RSS: max(first.RSS, second.RSS)}, err
}

// putJob is the job file of a table.
const putJob = `table: %s
family: %s
timestamp: ${date}
input:
  path: hdfs://%s
  columns: [key, %s]
  field_delimiter: '\t'
  record_delimiter: '\n'
  max_rejects: 0
columns_map: {key: {skip: true}}
rowkey: key
regions: {from: table}
output: hdfs://%s
load: true
`

func (p *puts) bulkload(ctx context.Context, table string) (cost, error) {
	job := fmt.Sprintf(putJob, table, family, rowsDir, strings.Join(sample.CheckColumns, ", "), ourDir)
	if err := os.WriteFile(p.jobFile(), []byte(job), 0o644); err != nil {
		return cost{}, err
	}
	return p.measure(exec.CommandContext(ctx, p.binary, "run", p.jobFile(), "--date", night, "--memory", p.memory,
		"--work-dir", filepath.Join(p.dir, "work"), "--conf", p.cluster.ConfDir()))
}

func (p *puts) program(ctx context.Context, class string, args ...string) (*exec.Cmd, error) {
	cmd, err := p.cluster.Program(ctx, peer.PutFiles(), "2g", class, args...)
	if err == nil {
		cmd.Dir = p.dir
	}
	return cmd, err
}

// java runs a command of Puts that is not measured.
func (p *puts) java(ctx context.Context, args ...string) (string, error) {
	cmd, err := p.program(ctx, peer.Puts, args...)
	if err != nil {
		return "", err
	}
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("run Puts %s: %w", args[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}

// sample reads random rows of the loaded table.
func (p *puts) sample(ctx context.Context, table string, f figures, when string) error {
	out, err := p.java(ctx, "sample", table, p.keys(rowsDir), strconv.Itoa(sampled))
	if err != nil {
		return err
	}
	return f.latencies(when, strings.Fields(out))
}

// reader is the client that reads another table while rows are loaded.
type reader struct {
	cmd *exec.Cmd
	in  io.Closer
	out *bufio.Reader
}

// startReader returns when the client reads.
func (p *puts) startReader(ctx context.Context) (*reader, error) {
	cmd, err := p.program(ctx, peer.Puts, "read", other, p.keys(other), strconv.Itoa(readEvery))
	if err != nil {
		return nil, err
	}
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	r := &reader{cmd: cmd, in: in, out: bufio.NewReader(out)}
	if line, err := r.out.ReadString('\n'); err != nil || line != "ready\n" {
		return nil, errors.Join(fmt.Errorf("the reading client said %q: %w", line, err), r.kill())
	}
	return r, nil
}

func (r *reader) kill() error { return errors.Join(r.cmd.Process.Kill(), r.in.Close()) }

// end stops the client and takes its figures.
func (r *reader) end(f figures, when string) error {
	if err := r.in.Close(); err != nil {
		return err
	}
	said, err := io.ReadAll(r.out)
	if err := errors.Join(err, r.cmd.Wait()); err != nil {
		return fmt.Errorf("the reading client: %w", err)
	}
	return f.latencies(when, strings.Fields(string(said)))
}

// latencies adds quantiles, in milliseconds.
func (f figures) latencies(when string, micros []string) error {
	all := make([]float64, len(micros))
	for i, text := range micros {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return err
		}
		all[i] = v / 1000
	}
	if len(all) == 0 {
		return errors.New("no row was read")
	}
	slices.Sort(all)
	for name, share := range quantiles {
		f[when+name] = all[int(share*float64(len(all)-1))]
	}
	return nil
}
