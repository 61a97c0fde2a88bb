// Command compare measures bulkload against the Spark job that it replaces. Both turn the same generated rows in HDFS
// into HFiles for the same table, without the load, one after the other in one session on one machine. It prints a
// table of ratios, and draws them with -svg. Both outputs must contain the same cells.
//
//	make bench ROWS=1000000,5000000
//
// It needs java and javac 17, mvn, about 12 GiB of memory and, for 5 million rows, 10 GiB of disk.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

func main() {
	if err := compare(); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

func compare() error {
	rows := flag.String("rows", "1000000", "numbers of rows, joined by commas")
	modes := flag.String("modes", "tuned,published",
		"Spark jobs to compare with: tuned shuffles one record a row, published one a cell")
	runs := flag.Int("runs", 1, "pairs of each; the medians are compared")
	memory := flag.String("memory", "512MiB", "bulkload's --memory")
	binary := flag.String("bulkload", "bin/bulkload", "the program; make build makes it")
	dir := flag.String("dir", filepath.Join(os.TempDir(), "bulkload-compare"), "folder for the cluster and the data")
	svg := flag.String("svg", "", "draws the ratios to this file")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	bin, err := filepath.Abs(*binary)
	if err != nil {
		return err
	}
	b := &bench{binary: bin, memory: *memory, dir: *dir, runs: *runs}
	if err := b.start(ctx); err != nil {
		return err
	}
	defer b.stop()
	var pairs []pair
	for _, text := range strings.Split(*rows, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return fmt.Errorf("-rows %s: %q is no number of rows", *rows, text)
		}
		if err := b.prepare(ctx, n); err != nil {
			return err
		}
		for _, mode := range strings.Split(*modes, ",") {
			p, err := b.pair(ctx, n, mode)
			if err != nil {
				return err
			}
			pairs = append(pairs, p)
			writeTable(os.Stdout, pairs[len(pairs)-1:], len(pairs) == 1)
		}
	}
	if *svg == "" {
		return nil
	}
	return os.WriteFile(*svg, chart(pairs), 0o644)
}
