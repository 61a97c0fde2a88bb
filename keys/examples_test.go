package keys_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/cell"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/runtest"
	"bulkload/internal/test/testcluster"
	"bulkload/internal/test/testvalues"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/site"
	"bulkload/jobs/inspect/lookup"
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/jobs/spec/jobfile"
	"bulkload/values"
)

var updateVectors = flag.Bool("update-vectors", false, "write what Java says of the examples' row keys to jobs/examples/keys/vectors.json")

// examples is the folder of a job for each way to make a row key.
const examples = "../jobs/examples/keys"

// strategyVectors are the row keys that Java makes of the examples, in hex and in the order of the records. random_salt
// is not Java's: its keys are compared with what they are made of.
const strategyVectors = examples + "/vectors.json"

func readStrategyVectors(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(strategyVectors)
	if err != nil {
		t.Fatal(err)
	}
	vectors := map[string][]string{}
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	return vectors
}

// strategies are the names of the examples.
func strategies(t testing.TB) []string {
	t.Helper()
	found, err := filepath.Glob(examples + "/*.yaml")
	if err != nil || len(found) < 30 {
		t.Fatalf("examples of keys: %v, %v", found, err)
	}
	for i, f := range found {
		found[i] = strings.TrimSuffix(filepath.Base(f), ".yaml")
	}
	return found
}

func readStrategy(t *testing.T, name string) *jobfile.Job {
	t.Helper()
	j := jobtest.Read(t, examples+"/"+name+".yaml")
	j.Output = t.TempDir()
	return j
}

// TestStrategiesAsJava: the vectors are what Java makes of the same records.
func TestStrategiesAsJava(t *testing.T) {
	oracle := testcluster.Java(t)
	said := map[string][]string{}
	for _, name := range strategies(t) {
		if name == "random-salt" {
			continue
		}
		j := readStrategy(t, name)
		input, err := filepath.Abs(filepath.Join(examples, j.Input.Path))
		if err != nil {
			t.Fatal(err)
		}
		out, err := oracle.Run("keys", name, input)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		said[name] = strings.Fields(out)
	}
	if *updateVectors {
		text, err := json.MarshalIndent(said, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(strategyVectors, append(text, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range readStrategyVectors(t) {
		if !slices.Equal(said[name], want) {
			t.Errorf("%s: Java has now\n%v\nvectors.json has\n%v", name, said[name], want)
		}
	}
}

// TestStrategies runs every example of a row key, and wants the rows of its HFiles to be the vectors, and a query of
// each record's key columns to find that record.
func TestStrategies(t *testing.T) {
	vectors := readStrategyVectors(t)
	for _, name := range strategies(t) {
		t.Run(name, func(t *testing.T) {
			j := readStrategy(t, name)
			runtest.Must(t, j, options.Options{})
			want := vectors[name]
			records := strategyRecords(t, j)
			if name == "random-salt" {
				want = randomSalted(t, j, records)
			}
			if len(want) != len(records) {
				t.Fatalf("%d vectors of %d records", len(want), len(records))
			}
			for i, fields := range records {
				checkQuery(t, j, fields, want[i])
			}
			slices.Sort(want)
			if got := rowsOf(t, j.Output); !slices.Equal(got, slices.Compact(want)) {
				t.Errorf("rows\n%v, want\n%v", got, want)
			}
		})
	}
}

// strategyRecords are the input's columns, cut without the program's help.
func strategyRecords(t testing.TB, j *jobfile.Job) (records [][]values.Value) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(examples, j.Input.Path))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		records = append(records, testvalues.Of(strings.Split(strings.TrimSuffix(string(line), "\n"), "\t")...))
	}
	return records
}

// randomSalted is what the example of random_salt must give: a digit below 4, and the id.
func randomSalted(t *testing.T, j *jobfile.Job, records [][]values.Value) (want []string) {
	t.Helper()
	seen := map[byte]bool{}
	for _, fields := range records {
		key, err := j.RowKey.Append(nil, fields)
		if err != nil || len(key) != 33 || key[0] < '0' || key[0] > '3' || !bytes.Equal(key[1:], fields[0].Bytes()) {
			t.Errorf("key %q, %v", key, err)
		}
		seen[key[0]] = true
		want = append(want, hex.EncodeToString(key))
	}
	if len(seen) != 4 {
		t.Errorf("%d records have the salts %v", len(records), seen)
	}
	return want
}

// rowsOf are the rows of all HFiles of an output in hex, in HBase's order.
func rowsOf(t *testing.T, output string) (rows []string) {
	t.Helper()
	s, err := site.Open(options.Options{}, jobfile.HBase{}, false)
	if err != nil {
		t.Fatal(err)
	}
	fsys, dir, err := s.Resolve(output, ".")
	if err != nil {
		t.Fatal(err)
	}
	d, err := hfiles.OpenDirectory(fsys, dir)
	if err != nil {
		t.Fatal(err)
	}
	err = d.Scan(context.Background(), nil, nil, func(c *cell.Cell) error {
		if row := hex.EncodeToString(c.Row); len(rows) == 0 || rows[len(rows)-1] != row {
			rows = append(rows, row)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// checkQuery asks for a record by the values of its query columns.
func checkQuery(t *testing.T, j *jobfile.Job, fields []values.Value, row string) {
	t.Helper()
	var values []string
	for _, name := range j.Query {
		i, _ := j.Column(name)
		values = append(values, string(fields[i].Bytes()))
	}
	report, err := lookup.Get(context.Background(), j, options.Options{}, values, j.Output)
	if err != nil {
		t.Fatalf("get %v: %v", values, err)
	}
	key, err := hex.DecodeString(row)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(report.Rows, func(r lookup.GotRow) bool { return r.Row == cell.Printable(key) }) {
		t.Errorf("get %v finds %d rows and not %s", values, len(report.Rows), cell.Printable(key))
	}
}

// strategyKeys makes the key of every record of an example in turn.
func strategyKeys(t testing.TB, name string) (next func() int) {
	t.Helper()
	j := jobtest.Read(t, examples+"/"+name+".yaml")
	records, dst, i := strategyRecords(t, j), make([]byte, 0, 1024), 0
	evaluator := j.RowKey.Evaluator()
	return func() int {
		key, err := evaluator.Append(dst, records[i%len(records)])
		if err != nil {
			t.Fatal(err)
		}
		i++
		return len(key)
	}
}

func TestStrategiesAllocateNothing(t *testing.T) {
	for _, name := range strategies(t) {
		next := strategyKeys(t, name)
		for range 100 {
			next() // what is remembered of a record grows at first
		}
		if n := testing.AllocsPerRun(200, func() { next() }); n != 0 {
			t.Errorf("%s: %v allocations a key", name, n)
		}
	}
}

func BenchmarkStrategies(b *testing.B) {
	for _, name := range strategies(b) {
		b.Run(name, func(b *testing.B) {
			next := strategyKeys(b, name)
			b.ReportAllocs()
			b.SetBytes(int64(next()))
			for b.Loop() {
				next()
			}
		})
	}
}
