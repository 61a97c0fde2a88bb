package serve

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/test/livetest"
	"bulkload/internal/test/runtest"
	"bulkload/jobs/spec/jobfile"
)

// idsOf are the ids of an answer's rows.
func idsOf(a answered) []string {
	ids := []string{}
	for _, row := range a.Rows {
		ids = append(ids, fmt.Sprint(row["id"]))
	}
	return ids
}

// TestServiceTurnsToTheTable: a date's rows come from the HFiles until HBase has taken them, and then from the table.
// While it takes them there is no answer, and never one that lacks rows.
func TestServiceTurnsToTheTable(t *testing.T) {
	l := livetest.WrittenNight(t, 3000, 1)
	wanted := map[string][]string{} // ids by check_id
	text, err := os.ReadFile(filepath.Join(l.Folder, "in", livetest.Night20, "part-m-00000"))
	if err != nil {
		t.Fatal(err)
	}
	for record := range strings.SplitSeq(string(text), "\x10") {
		if fields := strings.Split(record, "\x01"); len(fields) > 1 {
			wanted[fields[1]] = append(wanted[fields[1]], fields[0])
		}
	}
	settings := usual
	settings.Cache = 64 << 20
	s := serveJobs(t, l.Options(), settings, true, func() ([]*jobfile.Job, error) { return []*jobfile.Job{l.Job(t, livetest.Night20)}, nil })
	keys := slices.Sorted(maps.Keys(wanted))
	for _, ids := range wanted {
		slices.Sort(ids)
	}
	var statuses map[int]int
	ask := func(some []string) {
		t.Helper()
		for _, key := range some {
			path := "/get/check?limit=1000&check_id=" + url.QueryEscape(key)
			status, _, _ := s.get(path)
			if statuses[status]++; status != http.StatusOK {
				continue
			}
			if got := idsOf(s.rows(path)); !slices.Equal(got, wanted[key]) {
				t.Fatalf("check_id %s has %q, want %q", key, got, wanted[key])
			}
		}
	}
	statuses = map[int]int{}
	ask(keys)
	if statuses[http.StatusOK] != len(keys) {
		t.Errorf("before the load: %v", statuses)
	}
	loaded := make(chan struct{})
	go func() {
		defer close(loaded)
		runtest.Must(t, l.Job(t, livetest.Night20), l.Options())
	}()
	statuses = map[int]int{}
	for is := false; !is; {
		select {
		case <-loaded:
			is = true
		default:
		}
		for _, key := range keys[:min(len(keys), 50)] {
			path := "/get/check?limit=1000&check_id=" + url.QueryEscape(key)
			status, _, body := s.get(path)
			statuses[status]++
			if n := strings.Count(body, `"check_id"`); status == http.StatusOK && n != len(wanted[key]) {
				t.Fatalf("while it is loaded, check_id %s has %d rows, want %d", key, n, len(wanted[key]))
			} else if status != http.StatusOK && status != http.StatusServiceUnavailable {
				t.Errorf("while it is loaded: %d %s", status, body)
			}
		}
	}
	t.Logf("while it was loaded: %v", statuses)
	waitOK(t, s, "/get/check?check_id="+url.QueryEscape(keys[0]))
	statuses = map[int]int{}
	ask(keys)
	if statuses[http.StatusOK] != len(keys) {
		t.Errorf("after the load: %v", statuses)
	}
}

func waitOK(t *testing.T, s *service, path string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		status, _, body := s.get(path)
		if status == http.StatusOK {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s: %d %s", path, status, body)
		}
	}
}

// TestServedTable: rows of all salts of a live table in the order of time, in both directions and within a range, page by
// page, while regions move. A table that is gone is said to be.
func TestServedTable(t *testing.T) {
	l := livetest.New(t)
	l.Ask(t, "create", l.Table, "f", "1,2,3,4", "COMPRESSION=SNAPPY", "DATA_BLOCK_ENCODING=FAST_DIFF", "BLOOMFILTER=ROW")
	const n = 300
	job := strings.NewReplacer("table: orders", "table: "+l.Table, "path: in", "path: orders", "{from: splits, splits: ['1', '2', '3', '4']}", "{from: table}",
		"output: out/${date}", "output: "+l.Out+"/${date}", "load: false", "load: true").Replace(ordersJob)
	job = strings.ReplaceAll(job, "timestamp: ${date}", "timestamp: 2026-11-20")
	path := filepath.Join(l.Folder, "check.yaml")
	if err := os.WriteFile(path, []byte(job), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(l.Folder, "orders"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(l.Folder, "orders", "part-0"), []byte(ordersOf(n)), 0o600); err != nil {
		t.Fatal(err)
	}
	runtest.Must(t, l.Job(t, livetest.Night20), l.Options())
	s := serveJobs(t, l.Options(), usual, false, func() ([]*jobfile.Job, error) {
		j, err := jobfile.Read(path, jobfile.ReadOptions{DateOptional: true})
		return []*jobfile.Job{j}, err
	})
	if status, _, body := s.get("/readyz"); status != http.StatusOK {
		t.Fatalf("not ready: %s", body)
	}
	moving := make(chan struct{})
	go func() {
		defer close(moving)
		for _, salt := range []string{"0", "1", "2", "3", "4"} {
			if _, err := l.Oracle(t).Run("move", l.Table, salt+"0007"); err != nil {
				t.Error(err)
			}
		}
	}()
	failed := map[int]int{}
	for round, done := 0, false; !done || round < 2; round++ {
		select {
		case <-moving:
			done = true
		default:
		}
		for order, wanted := range map[string]func(i int) int{"": func(i int) int { return 2 * (n - 1 - i) }, "&order=oldest": func(i int) int { return 2 * i }} {
			var got []string
			for next, pages := "", 0; pages == 0 || next != ""; pages++ {
				path := "/get/check?seller=7&limit=40" + order + next
				status, _, body := s.get(path)
				if status != http.StatusOK {
					failed[status]++
					t.Logf("%d %s", status, body)
					time.Sleep(100 * time.Millisecond)
					continue
				}
				page := s.rows(path)
				got = append(got, idsOf(page)...)
				if next = ""; page.Next != nil {
					next = "&after=" + url.QueryEscape(*page.Next)
				}
			}
			var want []string
			for i := range n {
				want = append(want, fmt.Sprint(wanted(i)))
			}
			if !slices.Equal(got, want) {
				t.Fatalf("by %q: %q, want %q", order, got, want)
			}
		}
	}
	t.Logf("requests that failed while regions moved: %v", failed)
	if some := s.rows("/get/check?seller=8&order=oldest&since=2026-11-01+01:00:00&until=2026-11-01+01:05:00"); !slices.Equal(idsOf(some), []string{"121", "123", "125", "127", "129"}) {
		t.Errorf("five minutes have %q", idsOf(some))
	}
	l.Ask(t, "disable", l.Table)
	if status, _, body := s.get("/get/check?seller=7"); status != http.StatusInternalServerError && status != http.StatusServiceUnavailable && status != http.StatusGatewayTimeout {
		t.Errorf("a disabled table: %d %s", status, body)
	}
	l.Ask(t, "drop", l.Table)
	s.wantError("/get/check?seller=7", http.StatusInternalServerError, errcode.TableMissing)
}
