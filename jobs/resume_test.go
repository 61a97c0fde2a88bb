package jobs

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/ingest"
	"bulkload/internal/storage"
	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testvalues"
	"bulkload/jobs/base/options"
	"bulkload/jobs/pipeline/entry"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/run"
	"bulkload/jobs/spec/jobfile"
	"bulkload/partition"
	"bulkload/values"
)

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

// TestPlannedRegionsReadTheInputOnce: a run that came to its end before its first slice does not look for its boundaries again.
func TestPlannedRegionsReadTheInputOnce(t *testing.T) {
	dir := jobdir.Of(t, fmt.Sprintf(jobdir.NumbersJob, "salt(user, 7) + id"), jobdir.Numbers(2000))
	j := jobtest.Check(t, dir, filepath.Join(dir, "a"))
	run := func(force bool, stop options.Point) (planned int, err error) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		o := options.Options{WorkDir: dir, Force: force, Say: func(text string) {
			if strings.Contains(text, "were planned from the input") {
				planned++
			}
		}}
		o.Failpoint = func(p options.Point) {
			if p == stop {
				cancel()
			}
		}
		s, err := run.Job(ctx, nil, j, o)
		if err == nil && len(s.Regions) != 7 {
			t.Errorf("%d regions", len(s.Regions))
		}
		return planned, err
	}
	for i, c := range []struct {
		force bool
		stop  options.Point
		want  int
	}{{false, options.Planned, 1}, {false, options.Planned, 0}, {true, options.Planned, 1}, {false, "", 0}} {
		planned, err := run(c.force, c.stop)
		if planned != c.want || (c.stop == "") != (err == nil) {
			t.Errorf("run %d: planned %d times, want %d; %v", i, planned, c.want, err)
		}
	}
	if m, err := manifest.Read(storage.Local, filepath.Join(dir, "a")); err != nil || len(m.Splits) != 6 {
		t.Errorf("%+v, %v", m, err)
	}
}
