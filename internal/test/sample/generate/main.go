// Command generate writes sample rows of the check or opinion table as in an export: 0x01 between columns, 0x10 after
// records.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"

	"bulkload/internal/test/sample"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run() error {
	table := flag.String("table", "check", "check or opinion")
	out := flag.String("o", "-", "file to write; - is standard output")
	var o sample.Options
	flag.IntVar(&o.Rows, "rows", 1000, "how many rows")
	flag.Uint64Var(&o.Seed, "seed", 1, "what picks the content; different seeds share no id")
	flag.StringVar(&o.FirstKey, "first-key", "", "the check_id or apply_no of the first rows")
	flag.IntVar(&o.KeyRows, "key-rows", 0, "how many rows share a key at most (default 12)")
	flag.IntVar(&o.FirstKeyRows, "first-key-rows", 0, "how many rows -first-key has (default: as the seed will have it)")
	flag.IntVar(&o.Skew, "skew", 0, "how many percent of the keys are moved to one salt of ten")
	flag.StringVar(&o.Null, "null", "", "the text of a null; empty makes none")
	flag.Parse()
	tables := map[string]func(io.Writer, sample.Options) error{"check": sample.Check, "opinion": sample.Opinion}
	write := tables[*table]
	if write == nil || flag.NArg() > 0 {
		return fmt.Errorf("no table %q and no arguments %q; want -table check or -table opinion", *table, flag.Args())
	}
	if *out == "-" {
		return write(os.Stdout, o)
	}
	f, err := os.Create(*out)
	if err != nil {
		return err
	}
	if err := write(f, o); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
