package main

import (
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/timing"
	"bulkload/jobs/run/summary"

	dto "github.com/prometheus/client_model/go"
	"go.yaml.in/yaml/v3"
)

// try is a run of a job as a schedule makes it.
type try struct {
	at       time.Duration // from the first midnight to its end
	exit     int
	date     int   // the logical date, in days from the first midnight
	read     int64 // rows; 0: it read nothing
	rejected int64
	took     time.Duration
	noFile   bool // the metrics file is deleted instead
}

// night is a night's run: it ends at 02:15, and loads the day before.
func night(day int) try {
	return try{at: time.Duration(day)*24*time.Hour + 2*time.Hour + 15*time.Minute, date: day - 1, read: 1000, took: 20 * time.Minute}
}

// nights are those of several days.
func nights(first, last int) (all []try) {
	for day := first; day <= last; day++ {
		all = append(all, night(day))
	}
	return all
}

// with changes a run.
func (t try) with(change func(*try)) try {
	change(&t)
	return t
}

// late are tries that find no export, every ten minutes for some hours, and then the night's run.
func late(day, hours int) (all []try) {
	for i := range 6 * hours {
		all = append(all, night(day).with(func(t *try) {
			t.at, t.exit, t.read, t.took = t.at+time.Duration(i)*10*time.Minute, exitNotYet, 0, time.Second
		}))
	}
	return append(all, night(day).with(func(t *try) { t.at += time.Duration(hours) * time.Hour }))
}

// summary is the report of a run.
func (t try) summary(midnight time.Time) *summary.Summary {
	s := &summary.Summary{OutputSummary: &summary.OutputSummary{}}
	s.Status = failure.StatusDone
	s.Run.Job, s.Run.Table, s.Run.Date = "a.yaml", "ns:t", midnight.AddDate(0, 0, t.date).Format(time.DateOnly)
	s.Counts.Read, s.Counts.Written, s.Counts.Rejected = t.read, t.read-t.rejected, t.rejected
	if t.read > 0 {
		s.Phases = []timing.PhaseTime{{Name: "sort"}}
	}
	return s
}

const scraped = 15 * time.Minute // how often Prometheus reads the metrics

// series are the metrics that Prometheus reads during some days, in the form of promtool's tests, whose time begins at
// 1970.
func series(t *testing.T, tries []try, days int) (all []map[string]string) {
	synctest.Test(t, func(t *testing.T) {
		midnight := time.Now() // of a synctest bubble
		file := filepath.Join(t.TempDir(), "a.prom")
		var page map[string]string // the metrics in the file, by series
		values := map[string][]string{}
		s := &session{log: slog.New(slog.DiscardHandler)}
		for n := range days * int(24*time.Hour/scraped) {
			for ; len(tries) > 0 && tries[0].at <= time.Since(midnight); tries = tries[1:] {
				if tries[0].noFile {
					if err := os.Remove(file); err != nil {
						t.Fatal(err)
					}
					page = nil
					continue
				}
				page = map[string]string{}
				newMeasured(metricsFlags{MetricsFile: file}, runMetrics, "a.yaml").report(s, ended{tries[0].summary(midnight), tries[0].exit, tries[0].took})
				for name, family := range readMetrics(t, file) {
					for _, m := range family.Metric {
						value := m.GetGauge().GetValue()
						if strings.HasSuffix(name, "_timestamp_seconds") {
							value -= float64(midnight.Unix())
						}
						page[seriesName(name, m)] = fmt.Sprint(value)
					}
				}
			}
			for of, value := range page {
				for len(values[of]) < n {
					values[of] = append(values[of], "_")
				}
				values[of] = append(values[of], value)
			}
			for of := range values {
				if len(values[of]) == n {
					values[of] = append(values[of], "stale")
				}
			}
			time.Sleep(scraped)
		}
		for _, of := range slices.Sorted(maps.Keys(values)) {
			all = append(all, map[string]string{"series": of, "values": strings.Join(values[of], " ")})
		}
	})
	return all
}

func seriesName(name string, m *dto.Metric) string {
	var labels []string
	for _, l := range m.Label {
		labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
	}
	return name + "{" + strings.Join(labels, ",") + "}"
}

// TestAlertsOfNights: which alerts the metrics of a week of nights set off, and when, in promtool.
func TestAlertsOfNights(t *testing.T) {
	t.Parallel()
	promtool := findPromtool(t)
	rules, err := filepath.Abs("../../deploy/prometheus/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	const days = 8
	before := night(0).with(func(t *try) { t.at = 0 })
	week := append([]try{before}, nights(0, days-1)...)
	at := func(day, hour int) time.Duration { return time.Duration(24*day+hour) * time.Hour }
	instead := func(day int, tries ...try) []try { // of a night
		return slices.Concat([]try{before}, nights(0, day-1), tries, nights(day+1, days-1))
	}
	afternoon := func(change func(*try)) []try {
		again := night(3).with(func(t *try) { t.at += 12 * time.Hour }).with(change)
		return instead(3, night(3), again)
	}
	fixed := func(t *try) { t.date = 2 }
	var oneDate []try
	for _, t := range week {
		if t.at > at(3, 0) {
			t = t.with(fixed).with(func(t *try) { t.read, t.took = 0, time.Second })
		}
		oneDate = append(oneDate, t)
	}
	var fails []try
	for _, t := range nights(0, days-1) {
		fails = append(fails, t.with(func(t *try) { t.exit, t.read, t.took = exitRefused, 0, time.Second }))
	}
	for name, c := range map[string]struct {
		tries []try
		fired map[string]time.Duration // the alerts that have fired by a time, and had not an hour earlier
	}{
		"good nights":               {week, nil},
		"late by an hour":           {instead(3, late(3, 1)...), nil},
		"late by four hours":        {instead(3, late(3, 4)...), map[string]time.Duration{"BulkloadStillTrying": at(3, 5)}},
		"never exported again":      {append(slices.Clone(week[:4]), late(3, 3)[:18]...), map[string]time.Duration{"BulkloadStillTrying": at(3, 5), "BulkloadNightMissing": at(3, 9), "BulkloadOldDate": at(4, 2)}},
		"nothing runs any more":     {week[:4], map[string]time.Duration{"BulkloadNightMissing": at(3, 9), "BulkloadOldDate": at(4, 2)}},
		"repeated in the afternoon": {afternoon(func(t *try) { t.read, t.took = 0, time.Second }), nil},
		"an old night again":        {afternoon(func(t *try) { t.date = -40 }), nil},
		"the same date each night":  {oneDate, map[string]time.Duration{"BulkloadOldDate": at(5, 2)}},
		"never succeeded": {late(0, 24*days)[:6*(24*days-3)], map[string]time.Duration{"BulkloadStillTrying": at(0, 5), "BulkloadNeverSucceeded": at(0, 9),
			"BulkloadNoMetrics": at(0, 1)}},
		"needs a person":    {append([]try{before}, fails...), map[string]time.Duration{"BulkloadNeedsAPerson": at(0, 3), "BulkloadNightMissing": at(1, 7), "BulkloadOldDate": at(2, 2)}},
		"few rows":          {instead(3, night(3).with(func(t *try) { t.read = 400 })), map[string]time.Duration{"BulkloadFewRows": at(3, 3)}},
		"many rejects":      {instead(3, night(3).with(func(t *try) { t.rejected = 2 })), map[string]time.Duration{"BulkloadManyRejects": at(3, 3)}},
		"slow":              {instead(3, night(3).with(func(t *try) { t.took *= 3 })), map[string]time.Duration{"BulkloadSlow": at(3, 3)}},
		"no metrics at all": {nil, map[string]time.Duration{"BulkloadNoMetrics": at(0, 1)}},
		"the file is gone":  {append(slices.Clone(week[:4]), try{at: at(2, 12), noFile: true}), map[string]time.Duration{"BulkloadNoMetrics": at(2, 13)}},
	} {
		t.Run(name, func(t *testing.T) {
			var checks []map[string]any
			check := func(at time.Duration) {
				samples := []map[string]any{}
				for alert, by := range c.fired {
					if by <= at {
						samples = append(samples, map[string]any{"labels": fmt.Sprintf("{alertname=%q}", alert), "value": 1})
					}
				}
				checks = append(checks, map[string]any{"expr": `group by (alertname) (count_over_time(ALERTS{alertstate="firing"}[30d]))`, "eval_time": at.String(), "exp_samples": samples})
			}
			for _, by := range c.fired {
				check(by - time.Hour)
				check(by)
			}
			check(at(days, 0) - scraped)
			group := map[string]any{"interval": scraped.String(), "input_series": series(t, c.tries, days), "promql_expr_test": checks}
			text, err := yaml.Marshal(map[string]any{"rule_files": []string{rules}, "evaluation_interval": scraped.String(), "tests": []any{group}})
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "nights.yml")
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command(promtool, "test", "rules", file).CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
