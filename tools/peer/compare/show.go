package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// writeTable prints pairs as a Markdown table.
func writeTable(w io.Writer, pairs []pair, head bool) {
	if head {
		fmt.Fprintln(w, "| rows | input | Spark job | CPU, bulkload | CPU, Spark | ratio | wall, bulkload | wall, Spark | "+
			"ratio | RSS, bulkload | RSS, Spark |")
		fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|---|---|")
	}
	for _, p := range pairs {
		fmt.Fprintf(w, "| %d | %d MB | %s | %.1f s | %.1f s | 1/%.1f | %.1f s | %.1f s | 1/%.1f | %d MB | %d MB |\n",
			p.Rows, p.Bytes/1e6, p.Mode,
			p.Ours.CPU.Seconds(), p.Spark.CPU.Seconds(), p.Spark.CPU.Seconds()/p.Ours.CPU.Seconds(),
			p.Ours.Wall.Seconds(), p.Spark.Wall.Seconds(), p.Spark.Wall.Seconds()/p.Ours.Wall.Seconds(),
			p.Ours.RSS/1e6, p.Spark.RSS/1e6)
	}
}

// bars are two durations to draw below each other, in seconds.
type bars struct {
	label       string
	grey, green float64
}

// chartOfPairs draws CPU and wall seconds of each pair, Spark's above ours.
func chartOfPairs(pairs []pair) []byte {
	var all []bars
	for _, p := range pairs {
		what := fmt.Sprintf("%.1f million rows, %s", float64(p.Rows)/1e6, p.Mode)
		all = append(all, bars{what + ", CPU", p.Spark.CPU.Seconds(), p.Ours.CPU.Seconds()},
			bars{what + ", wall", p.Spark.Wall.Seconds(), p.Ours.Wall.Seconds()})
	}
	return chart("Seconds for the same cells: bulkload (green) beside Spark (grey)", all)
}

// chart draws an SVG picture.
func chart(title string, all []bars) []byte {
	const width, bar, gap, left = 720, 16, 14, 210
	most := 0.0
	for _, b := range all {
		most = max(most, b.grey, b.green)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b,
		`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">`+
			"\n", width+left, 40+len(all)*(2*bar+gap))
	fmt.Fprintf(&b,
		`<rect width="100%%" height="100%%" fill="white"/><text x="10" y="20" font-size="14">%s</text>`+"\n", title)
	y := 36
	for _, pair := range all {
		fmt.Fprintf(&b, `<text x="10" y="%d">%s</text>`+"\n", y+bar+4, pair.label)
		for i, v := range []float64{pair.grey, pair.green} {
			at := y + i*bar
			fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"/><text x="%.1f" y="%d">%.1f s</text>`+"\n",
				left, at, v/most*(width-80), bar-2, []string{"#999", "#2a7"}[i], left+v/most*(width-80)+4, at+bar-4, v)
		}
		y += 2*bar + gap
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// figures are what a way to load rows cost, by their names.
type figures map[string]float64

// The names of figures. CPU time and times are in seconds.
const (
	wall      = "wall"
	clientCPU = "client CPU"
	serverCPU = "server CPU"
	laterCPU  = "server CPU afterwards"

	walBytes      = "WAL bytes"
	hdfsBytes     = "HDFS bytes"
	flushes       = "flushes"
	compactions   = "compactions"
	compactedOut  = "bytes written by compactions"
	blockedMillis = "updates blocked ms"
	refused       = "requests refused"
	gcPauses      = "GC pauses"
	gcMillis      = "GC ms"
	gcLongest     = "GC longest ms"

	// Look-ups. CPU time is that of one.
	perSecond  = "requests a second"
	meanTime   = "mean"
	time50     = "p50"
	time95     = "p95"
	time99     = "p99"
	timeMost   = "longest"
	ownCPU     = "CPU, service"
	regionsCPU = "CPU, region servers"
	blocksCPU  = "CPU, DataNode"
	clientsCPU = "CPU, clients"
	failed     = "failed"
	wrongRows  = "wrong rows"

	// Of reads; a quantile follows.
	during     = "reads meanwhile"
	afterwards = "reads afterwards"
	compacted  = "reads after a major compaction"
)

var quantiles = map[string]float64{" p50": 0.5, " p95": 0.95, " p99": 0.99, " max": 1}

// idleWay is the name of what is measured without a load.
const idleWay = "no load"

// column is a figure, or a sum of some, in a table.
type column struct {
	head, format string
	unit         float64
	sum          []string
}

// putTables are the tables of the figures.
var putTables = [][]column{
	{
		{"loaded after", "%.1f s", 1, []string{wall}},
		{"CPU, client", "%.1f s", 1, []string{clientCPU}},
		{"CPU, servers, until loaded", "%.1f s", 1, []string{serverCPU}},
		{"CPU, servers, afterwards", "%.1f s", 1, []string{laterCPU}},
		{"CPU, all", "%.1f s", 1, []string{clientCPU, serverCPU, laterCPU}},
		{"written to HDFS", "%.0f MB", 1e6, []string{hdfsBytes}},
	},
	{
		{"WAL", "%.0f MB", 1e6, []string{walBytes}},
		{"flushes", "%.0f", 1, []string{flushes}},
		{"compactions", "%.0f", 1, []string{compactions}},
		{"written by these", "%.0f MB", 1e6, []string{compactedOut}},
		{"updates blocked", "%.1f s", 1000, []string{blockedMillis}},
		{"requests refused", "%.0f", 1, []string{refused}},
		{"GC pauses", "%.0f", 1, []string{gcPauses}},
		{"together", "%.0f ms", 1, []string{gcMillis}},
		{"longest", "%.0f ms", 1, []string{gcLongest}},
	},
	{
		{"meanwhile, median", "%.1f", 1, []string{during + " p50"}},
		{"95%", "%.1f", 1, []string{during + " p95"}},
		{"99%", "%.1f", 1, []string{during + " p99"}},
		{"longest", "%.0f", 1, []string{during + " max"}},
		{"loaded rows, median", "%.1f", 1, []string{afterwards + " p50"}},
		{"99%", "%.1f", 1, []string{afterwards + " p99"}},
		{"after a major compaction, median", "%.1f", 1, []string{compacted + " p50"}},
		{"99%", "%.1f", 1, []string{compacted + " p99"}},
	},
}

// lookupColumns are those of look-ups. Times are in milliseconds.
var lookupColumns = []column{
	{"requests/s", "%.0f", 1, []string{perSecond}},
	{"mean", "%.1f", 1, []string{meanTime}},
	{"median", "%.1f", 1, []string{time50}},
	{"95%", "%.1f", 1, []string{time95}},
	{"99%", "%.1f", 1, []string{time99}},
	{"longest", "%.0f", 1, []string{timeMost}},
	{"CPU a look-up: service", "%.2f", 1e-3, []string{ownCPU}},
	{"region servers", "%.2f", 1e-3, []string{regionsCPU}},
	{"DataNode", "%.2f", 1e-3, []string{blocksCPU}},
	{"clients", "%.2f", 1e-3, []string{clientsCPU}},
	{"failed", "%.0f", 1, []string{failed}},
	{"wrong rows", "%.0f", 1, []string{wrongRows}},
}

// writePuts prints the figures of the ways as Markdown tables.
func writePuts(w io.Writer, rows int, medians map[string]figures) {
	idle := medians[idleWay]
	fmt.Fprintf(w, "%d rows. Of the servers' CPU time until loaded, the reading client costs %.2f s a second.\n",
		rows, idle[serverCPU]/idle[wall])
	for i, columns := range putTables {
		writeHead(w, columns)
		if i == len(putTables)-1 {
			writeFigures(w, idleWay, columns, idle)
		}
		for _, way := range ways {
			writeFigures(w, way.name, columns, medians[way.name])
		}
	}
}

func writeHead(w io.Writer, columns []column) {
	fmt.Fprintf(w, "\n| |")
	for _, c := range columns {
		fmt.Fprintf(w, " %s |", c.head)
	}
	fmt.Fprintf(w, "\n|---|%s\n", strings.Repeat("---|", len(columns)))
}

func writeFigures(w io.Writer, name string, columns []column, f figures) {
	fmt.Fprintf(w, "| %s |", name)
	for _, c := range columns {
		text := ""
		if _, ok := f[c.sum[0]]; ok {
			text = fmt.Sprintf(c.format, f.sum(c.sum)/c.unit)
		}
		fmt.Fprintf(w, " %s |", text)
	}
	fmt.Fprintln(w)
}

func (f figures) sum(names []string) (sum float64) {
	for _, name := range names {
		sum += f[name]
	}
	return sum
}

// chartOfPuts draws CPU and wall seconds of each way.
func chartOfPuts(rows int, medians map[string]figures) []byte {
	var all []bars
	for _, w := range ways {
		f := medians[w.name]
		all = append(all, bars{w.name, f.sum([]string{clientCPU, serverCPU, laterCPU}), f[wall]})
	}
	return chart(fmt.Sprintf("Seconds to load %.1f million rows (green), and CPU seconds of client and servers (grey)",
		float64(rows)/1e6), all)
}
