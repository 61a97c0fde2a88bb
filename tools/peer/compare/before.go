package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"bulkload/internal/test/sample"
)

// localJob is a job on local disk. The regions are those of the table that the Spark job writes for.
const localJob = `table: %s
family: ` + family + `
timestamp: ${date}
input:
  path: in
  columns: [%s]
  field_delimiter: '\x01'
  record_delimiter: '\x10'
rowkey: salt(check_id, 10) + md5(check_id) + id
regions: {from: splits, splits: ['1', '2', '3', '4', '5', '6', '7', '8', '9']}
hfile: {compression: snappy, encoding: fast_diff, bloom: row}
output: out
load: false
`

// compareBefore runs this program and an earlier one on the same rows, in turn, on local disk, and prints the ratios of
// the medians. It compares costs only, because each run verifies its own files.
func compareBefore(ctx context.Context, b *bench, rows int, before string) error {
	dir, err := os.MkdirTemp("", "bulkload-before-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := writeLocal(dir, rows); err != nil {
		return err
	}
	programs := []string{before, b.binary}
	costs := make([][]cost, len(programs))
	for i := range max(b.runs, 1) * len(programs) {
		k := i % len(programs)
		if i/len(programs)%2 == 1 { // each program is the first one in turn
			k = len(programs) - 1 - k
		}
		if err := os.RemoveAll(filepath.Join(dir, "out")); err != nil {
			return err
		}
		cmd := exec.CommandContext(ctx, programs[k], "run", filepath.Join(dir, "check.yaml"), "--date", night,
			"--memory", b.memory, "--work-dir", filepath.Join(dir, "work"))
		c, err := measure(cmd)
		if err != nil && k == 0 && ctx.Err() == nil {
			fmt.Printf("not compared, because the earlier program can't run this job: %v\n", err)
			return nil
		}
		if err != nil {
			return err
		}
		costs[k] = append(costs[k], c)
	}
	was, is := median(costs[0]), median(costs[1])
	fmt.Printf("%d rows, medians of %d runs: %.2f CPU-s, before %.2f (%.2f times as much); %.2f s, before %.2f (%.2f); "+
		"%d MB of memory, before %d\n", rows, len(costs[0]), is.CPU.Seconds(), was.CPU.Seconds(), float64(is.CPU)/float64(was.CPU),
		is.Wall.Seconds(), was.Wall.Seconds(), float64(is.Wall)/float64(was.Wall), is.RSS/1e6, was.RSS/1e6)
	return nil
}

// writeLocal writes the rows and the job.
func writeLocal(dir string, rows int) error {
	f, err := os.Create(filepath.Join(dir, "in"))
	if err != nil {
		return err
	}
	err = errors.Join(sample.Check(f, sample.Options{Rows: rows, Seed: 1}), f.Close())
	job := fmt.Sprintf(localJob, table, strings.Join(sample.CheckColumns, ", "))
	return errors.Join(err, os.WriteFile(filepath.Join(dir, "check.yaml"), []byte(job), 0o600))
}
