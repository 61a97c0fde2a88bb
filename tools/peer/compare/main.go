// Command compare measures bulkload against the Spark job that it replaces. Both turn the same generated rows in HDFS
// into HFiles for the same table, without the load, one after the other in one session on one machine. It prints a
// table of ratios, and draws them with -svg. Both outputs must contain the same cells.
//
//	make bench ROWS=1000000,5000000
//
// With -put it loads the same rows into HBase by Put, by ImportTsv and by bulkload instead, and prints what that costs
// the clients and the servers, and how long another client's reads take meanwhile. All tables must have the same cells.
//
//	make bench-put ROWS=1000000
//
// With -serve it loads the rows and looks them up over HTTP, by bulkload serve and by HBase's REST server: with as many
// requests as they can answer, with a fixed number a second, after a restart, over all salts of a table, and while
// regions move and a region server dies. Each answer must have exactly the rows of its query.
//
//	make bench-serve ROWS=500000
//
// With -before it runs this bulkload and an earlier one, on local disk and without Java, and prints the ratios of what
// they cost.
//
//	make bench-last
//
// Otherwise it needs java and javac 17, mvn, about 12 GiB of memory and, for 5 million rows, 10 GiB of disk.
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
	"time"

	"bulkload/internal/test/testcluster"
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
	put := flag.Bool("put", false, "compares the ways to load rows into HBase, instead of Spark")
	serve := flag.Bool("serve", false, "compares bulkload serve with HBase's REST server, instead of Spark")
	length := flag.Duration("length", 20*time.Second, "of each measurement of -serve")
	only := flag.String("only", "", "measurements of -serve whose names match this regular expression")
	before := flag.String("before", "", "an earlier bulkload to compare this one with, instead of Spark")
	runs := flag.Int("runs", 1, "pairs of each, or rounds of all ways; the medians are compared")
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
	var numbers []int
	for text := range strings.SplitSeq(*rows, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return fmt.Errorf("-rows %s: %q is no number of rows", *rows, text)
		}
		numbers = append(numbers, n)
	}
	b := &bench{binary: bin, memory: *memory, dir: *dir, runs: *runs}
	var picture []byte
	if *before != "" {
		return compareBefore(ctx, b, numbers[0], *before)
	}
	if *serve {
		return compareLookups(ctx, b, numbers, *length, *only)
	}
	if *put {
		picture, err = comparePuts(ctx, b, numbers)
	} else {
		picture, err = compareSpark(ctx, b, numbers, strings.Split(*modes, ","))
	}
	if err != nil || *svg == "" {
		return err
	}
	return os.WriteFile(*svg, picture, 0o644)
}

func compareSpark(ctx context.Context, b *bench, rows []int, modes []string) ([]byte, error) {
	if err := b.start(ctx, testcluster.Options{}); err != nil {
		return nil, err
	}
	defer b.stop()
	if err := b.create(ctx, table); err != nil {
		return nil, err
	}
	var pairs []pair
	for _, n := range rows {
		if err := b.prepare(ctx, n); err != nil {
			return nil, err
		}
		for _, mode := range modes {
			p, err := b.pair(ctx, n, mode)
			if err != nil {
				return nil, err
			}
			pairs = append(pairs, p)
			writeTable(os.Stdout, pairs[len(pairs)-1:], len(pairs) == 1)
		}
	}
	return chartOfPairs(pairs), nil
}
