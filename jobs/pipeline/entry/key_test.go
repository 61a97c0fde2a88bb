package entry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/ingest"
	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/runtest"
	"bulkload/internal/test/testvalues"
	"bulkload/jobs/base/options"
	"bulkload/jobs/inspect/lookup"
	"bulkload/jobs/pipeline/entry"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/spec/jobfile"
	"bulkload/partition"
	"bulkload/values"
)

// TestValuesWithoutAKeyAreRejects: each is reported with its column and reason; the others are loaded.
func TestValuesWithoutAKeyAreRejects(t *testing.T) {
	const job = `table: t
family: f
input: {path: in, columns: [id, phone, at], field_delimiter: '|', null: '-', max_rejects: 7}
columns_map: {at: {type: timestamp, format: seconds}}
timestamp: 2026-11-20
rowkey: mod(id, 100) + reverse(phone, 11) + desc(seconds(at), 9999999999)
query: [id]
regions: {from: splits, splits: ['50']}
hfile: {compression: none, encoding: none, bloom: row}
output: out
`
	dir := t.TempDir()
	lines := []string{"1|13800138000|1548938096", "x|13800138000|1548938096", "2|138001380001|1548938096", "3|13800138000|1548938096000", "-|13800138000|1", "1.0|1|1", "4|-|1", "5|1|-", "99|7|0"}
	for name, text := range map[string]string{"job.yaml": job, "in": strings.Join(lines, "\n") + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	j, err := jobfile.Read(filepath.Join(dir, "job.yaml"), jobfile.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s := runtest.Must(t, j, options.Options{})
	if s.Counts.Read != 9 || s.Counts.Written != 2 || s.Counts.Rejected != 7 {
		t.Errorf("counts %v", s.Counts)
	}
	wantRejects(t, filepath.Join(dir, "out", manifest.RejectsDir), []string{
		"id: not a whole number, in mod(id, 100)",
		"phone: too wide, in reverse(phone, 11)",
		"at: ",
		"id: it is null, and mod(id, 100) of the row key needs a value",
		"id: not a whole number",
		"phone: it is null, and reverse(phone, 11)",
		"at: it is null, and seconds(at)",
	})
	for id, row := range map[string]string{"1": "01000831008318451061903", "99": "99700000000009999999999"} {
		r, err := lookup.Get(context.Background(), j, options.Options{}, []string{id}, filepath.Join(dir, "out"))
		if err != nil || len(r.Rows) != 1 || r.Rows[0].Row != row || r.Scans != 1 {
			t.Errorf("get %s: %+v, %v; want %s", id, r, err, row)
		}
	}
}

// wantRejects compares the reasons of the rejects, each with its column, in the order of the input.
func wantRejects(t *testing.T, dir string, want []string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(names) != 1 {
		t.Fatalf("rejects %v, %v", names, err)
	}
	text, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range bytes.Lines(text) {
		var reject struct{ Column, Reason string }
		if err := json.Unmarshal(line, &reject); err != nil {
			t.Fatal(err)
		}
		got = append(got, reject.Column+": "+reject.Reason)
	}
	if len(got) != len(want) {
		t.Fatalf("rejects\n%s", strings.Join(got, "\n"))
	}
	for i := range got {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("reject %d is %s, want %s", i, got[i], want[i])
		}
	}
}

// TestPayloadDamageIsADamagedSort: a payload that can't be read makes kept runs useless, as other damage does.
func TestPayloadDamageIsADamagedSort(t *testing.T) {
	j := jobtest.Check(t, jobdir.Check(t, jobdir.CheckJob, 1), "out")
	l, err := entry.NewLayout(j)
	if err != nil {
		t.Fatal(err)
	}
	values := make([]values.Value, len(l.Sources))
	for _, payload := range [][]byte{nil, {200}, append(make([]byte, len(values)), 1)} {
		if _, err := l.Unpack(payload, values); !errors.Is(err, partition.ErrDamaged) {
			t.Errorf("payload %x: %v", payload, err)
		}
	}
}

// TestKeyReplacesTheShardBuffer: a record's key is not appended to the buffer's content.
func TestKeyReplacesTheShardBuffer(t *testing.T) {
	wide := jobtest.Wide(t, jobdir.Wide(t, jobdir.WideCases["text of all widths"].Job, 3), "out")
	plain := *wide
	plain.Wide = nil
	record := &ingest.Record{Fields: testvalues.Of("us", "fo", "2020", "n")}
	for want, j := range map[string]*jobfile.Job{"us": &plain, "us\x00\x00fo": wide} {
		key := entry.NewKey(j)
		if err := key.Build([]byte("of the record before"), record); err != nil {
			t.Fatal(err)
		}
		if string(key.Key) != want || key.RowLen != len(strings.TrimSuffix(want, "fo")) {
			t.Errorf("key %q, %d bytes of it the row's, want %q", key.Key, key.RowLen, want)
		}
	}
}
