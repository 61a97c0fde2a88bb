package main

import (
	"bytes"
	"fmt"
	"io"
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

// chart draws CPU and wall seconds of each pair as bars, Spark's above ours.
func chart(pairs []pair) []byte {
	const width, bar, gap, left = 720, 16, 14, 210
	most := 0.0
	for _, p := range pairs {
		most = max(most, p.Spark.CPU.Seconds(), p.Spark.Wall.Seconds())
	}
	var b bytes.Buffer
	height := 40 + len(pairs)*2*(2*bar+gap)
	fmt.Fprintf(&b,
		`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">`+
			"\n", width+left, height)
	fmt.Fprintf(&b,
		`<rect width="100%%" height="100%%" fill="white"/><text x="10" y="20" font-size="14">Seconds for the same cells: bulkload (green) beside Spark (grey)</text>`+"\n")
	y := 36
	line := func(label string, ours, spark float64) {
		fmt.Fprintf(&b, `<text x="10" y="%d">%s</text>`+"\n", y+bar+4, label)
		for i, v := range []float64{spark, ours} {
			at := y + i*bar
			fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"/><text x="%.1f" y="%d">%.1f s</text>`+"\n",
				left, at, v/most*(width-80), bar-2, []string{"#999", "#2a7"}[i], left+v/most*(width-80)+4, at+bar-4, v)
		}
		y += 2*bar + gap
	}
	for _, p := range pairs {
		what := fmt.Sprintf("%.1f million rows, %s", float64(p.Rows)/1e6, p.Mode)
		line(what+", CPU", p.Ours.CPU.Seconds(), p.Spark.CPU.Seconds())
		line(what+", wall", p.Ours.Wall.Seconds(), p.Spark.Wall.Seconds())
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}
