package jobfile

import (
	"strings"
	"testing"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/testwords"
	"bulkload/jobs/base/failure"
	"bulkload/values"
)

// at is a moment by which relative dates are read: 02:10 in Shanghai on the 21st, 18:10 on the 20th in UTC.
var at = time.Date(2026, 11, 20, 18, 10, 30, 5, time.UTC)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := values.Location(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func TestLogicalDates(t *testing.T) {
	for _, c := range []struct{ text, zone, want, begins string }{
		{"2026-11-20", "", "2026-11-20", "2026-11-20T00:00:00Z"},
		{"2026-11-20", "Asia/Shanghai", "2026-11-20", "2026-11-20T00:00:00Z"},
		{"today", "", "2026-11-20", "2026-11-20T00:00:00Z"},
		{"today", "Asia/Shanghai", "2026-11-21", "2026-11-21T00:00:00Z"},
		{"yesterday", "Asia/Shanghai", "2026-11-20", "2026-11-20T00:00:00Z"},
		{"-1d", "", "2026-11-19", "2026-11-19T00:00:00Z"},
		{"-20d", "", "2026-10-31", "2026-10-31T00:00:00Z"},
		{"2026-11-20T05", "", "2026-11-20T05", "2026-11-20T05:00:00Z"},
		{"2026-11-20T05Z", "", "2026-11-20T05", "2026-11-20T05:00:00Z"},
		{"2026-11-20T05", "Asia/Shanghai", "2026-11-20T05+0800", "2026-11-19T21:00:00Z"},
		{"2026-11-20T05+0800", "", "2026-11-19T21", "2026-11-19T21:00:00Z"},
		{"2026-11-20T05+08:00", "Asia/Shanghai", "2026-11-20T05+0800", "2026-11-19T21:00:00Z"},
		{"2026-11-20T05", "Asia/Kolkata", "2026-11-20T05+0530", "2026-11-19T23:30:00Z"},
		{"-1h", "", "2026-11-20T17", "2026-11-20T17:00:00Z"},
		{"-1h", "Asia/Kolkata", "2026-11-20T22+0530", "2026-11-20T16:30:00Z"},
		{"2026-10-25T02+0200", "Europe/Berlin", "2026-10-25T02+0200", "2026-10-25T00:00:00Z"},
		{"2026-10-25T02+0100", "Europe/Berlin", "2026-10-25T02+0100", "2026-10-25T01:00:00Z"},
		{"2026-10-25T03", "Europe/Berlin", "2026-10-25T03+0100", "2026-10-25T02:00:00Z"},
		{"2026-03-29T01", "Europe/Berlin", "2026-03-29T01+0100", "2026-03-29T00:00:00Z"},
		{"2026-03-29T03", "Europe/Berlin", "2026-03-29T03+0200", "2026-03-29T01:00:00Z"},
	} {
		d, err := Dates{Now: at, Zone: zone(t, c.zone)}.Parse(c.text)
		if err != nil || d.Text() != c.want || d.Time.UTC().Format(time.RFC3339) != c.begins {
			t.Errorf("%s in %q: %s, %v, %v; want %s, %s", c.text, c.zone, d.Text(), d.Time.UTC(), err, c.want, c.begins)
		}
		if moment, err := ParseText(d.Text()); err != nil || !moment.Equal(d.Time) {
			t.Errorf("%s is read as %v, %v", d.Text(), moment, err)
		}
	}
	const noDate, early = "2026-11-20T05 or", "1970-01-01,"
	for text, fact := range map[string]string{"2026-03-29T02": "skip",
		"2026-10-25T02":    "2026-10-25T02+0200 or 2026-10-25T02+0100",
		"2026-10-25T02:00": noDate, "tomorrow": noDate, "-1": noDate, "-1m": noDate, "": noDate,
		"20261120": noDate, "1970-01-01": early, "-999999d": early, "2026-11-20T24": noDate} {
		if d, err := (Dates{Now: at, Zone: zone(t,
			"Europe/Berlin")}).Parse(text); failure.CodeOf(err) != errcode.CommandDate ||
			!testwords.Names(err, fact) {
			t.Errorf("%q: %v, %v", text, d, err)
		}
	}
	if _, err := (Dates{Zone: zone(t,
		"Asia/Kolkata")}).Parse("2026-11-20T05Z"); failure.CodeOf(err) != errcode.CommandDate ||
		!testwords.Names(err, "full hour") {
		t.Error(err)
	}
}

// TestDateRanges: both ends are included; a day with a change of clocks has 23 or 25 hours, each with a name of its
// own.
func TestDateRanges(t *testing.T) {
	for _, c := range []struct {
		from, to, zone, want string
		n                    int
	}{
		{"2026-02-27", "2026-03-01", "", "2026-02-27 2026-02-28 2026-03-01", 3},
		{"-2d", "yesterday", "", "2026-11-18 2026-11-19", 2},
		{"2026-11-20", "2026-11-20", "", "2026-11-20", 1},
		{"2026-11-20T22", "2026-11-21T00", "", "2026-11-20T22 2026-11-20T23 2026-11-21T00", 3},
		{"2026-10-25T00", "2026-10-25T23", "Europe/Berlin", "", 25},
		{"2026-03-29T00", "2026-03-29T23", "Europe/Berlin", "", 23},
		{"2026-03-29T01", "2026-03-29T04", "Europe/Berlin", "2026-03-29T01+0100 2026-03-29T03+0200 2026-03-29T04+0200", 3},
		{"2026-10-25T00", "2026-10-25T23", "", "", 24},
	} {
		all, err := Dates{Now: at, Zone: zone(t, c.zone)}.Range(c.from, c.to)
		seen := map[string]bool{}
		var texts []string
		for _, d := range all {
			texts = append(texts, d.Text())
			seen[d.Text()] = true
		}
		if got := strings.Join(texts, " "); err != nil || len(seen) != c.n || c.want != "" && got != c.want {
			t.Errorf("%s to %s: %s, %v", c.from, c.to, got, err)
		}
	}
	for _, c := range [][4]string{{"2026-11-20", "2026-11-19", "", "after 2026-11-19"},
		{"2026-11-20", "2026-11-20T05", "", "2026-11-20T05 are"}, {"x", "y", "", "\"y\""},
		{"1980-01-01", "2026-01-01", "", "10000"}, {"2026-10-04T00", "2026-10-04T05", "Australia/Lord_Howe",
			"Australia/Lord_Howe"}} {
		_, err := (Dates{Now: at, Zone: zone(t, c[2])}).Range(c[0], c[1])
		if failure.CodeOf(err) != errcode.CommandDate || !testwords.Names(err, c[3]) {
			t.Errorf("%v: %v", c, err)
		}
	}
}

// TestHoursInJobFiles: paths and the timestamp follow the hour, in its zone; the job's hash is that of a job without a
// date.
func TestHoursInJobFiles(t *testing.T) {
	text := jobWith(map[int]string{3: "timestamp: ${date}", 5: "  path: in/${date}/${date:20060102_15-0700}"})
	for zoneName, want := range map[string]string{"": "in/2026-10-25T02/20261025_02+0000", "Europe/Berlin": "in/2026-10-25T03+0100/20261025_03+0100"} {
		d, err := Dates{Zone: zone(t, zoneName)}.Parse("2026-10-25T02Z")
		if err != nil {
			t.Fatal(err)
		}
		j, err := Read(jobdir.Write(t, text), ReadOptions{Date: d.Time, Hour: true})
		if err != nil {
			t.Fatal(err)
		}
		if j.Input.Path != want || j.Timestamp != time.Date(2026, 10, 25, 2, 0, 0, 0, time.UTC).UnixMilli() || j.Instant() != j.Timestamp {
			t.Errorf("%q: %s, %d, %d", zoneName, j.Input.Path, j.Timestamp, j.Instant())
		}
	}
}
