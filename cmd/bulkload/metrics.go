package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"bulkload/internal/program"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/timing"
	"bulkload/jobs/inspect/verify"
	"bulkload/jobs/loading"
	"bulkload/jobs/run/summary"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/push"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// metricsFlags say where to write a command's metrics.
type metricsFlags struct {
	MetricsFile string `placeholder:"FILE.prom" help:"Writes metrics for node_exporter's textfile collector when the command has ended, even if it failed."`
	MetricsPush string `placeholder:"URL" help:"Pushes the metrics to a Prometheus Pushgateway: http://host:9091."`
}

// pushTime bounds a push.
const pushTime = 10 * time.Second

const (
	lastSuccess = "bulkload_last_success_timestamp_seconds"
	lastNight   = "bulkload_last_success_date_timestamp_seconds"
)

// metricNames are the names of a command's metrics.
type metricNames struct {
	prefix  string
	what    string // what the metrics describe, for their help
	label   string // the label that distinguishes two of them in a file
	success string // the time of the last success
	command string // in the group of a push; "" for run
}

var (
	runMetrics  = metricNames{"bulkload_last_run", "run", "job_file", lastSuccess, ""}
	loadMetrics = metricNames{"bulkload_last_load", "load of a directory", "table",
		"bulkload_last_load_success_timestamp_seconds", "load"}
	verifyMetrics = metricNames{"bulkload_last_verify", "verification", "job_file",
		"bulkload_last_verify_success_timestamp_seconds", "verify"}
)

// check refuses a file that can't be written, and a URL to which metrics can't be pushed, before the command does
// anything.
func (f metricsFlags) check() error {
	if f.MetricsFile != "" {
		if err := checkReplaced("--metrics-file", f.MetricsFile); err != nil {
			return err
		}
	}
	if f.MetricsPush == "" {
		return nil
	}
	u, err := url.Parse(f.MetricsPush)
	if err != nil { // err's text would contain the credentials
		return usage(errors.New("--metrics-push: not a URL; write it as http://host:9091"))
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return usage(fmt.Errorf("--metrics-push: %s is not a Pushgateway; write it as http://host:9091", u.Redacted()))
	}
	return nil
}

// measured are the runs whose metrics are wanted, or another command.
type measured struct {
	metricsFlags
	metricNames
	names     []string                      // of the job files, or the table, as labels; each once
	ends      map[string]ended              // by name: the last run of each
	succeeded map[string]map[string]float64 // by name: the metrics of the last success of each in this command
}

// ended is how a run ended.
type ended struct {
	report report // without figures if the job file could not be read
	exit   int
	took   time.Duration
}

func newMeasured(f metricsFlags, names metricNames, jobFiles ...string) *measured {
	m := &measured{metricsFlags: f, metricNames: names, ends: map[string]ended{},
		succeeded: map[string]map[string]float64{}}
	for _, path := range jobFiles {
		if name := filepath.Base(path); !slices.Contains(m.names, name) {
			m.names = append(m.names, name)
		}
	}
	return m
}

// ended records the end of one of several runs. Only one goroutine may call it at a time.
func (m *measured) ended(name string, e ended) {
	m.ends[name] = e
	if e.exit != exitDone {
		return
	}
	m.succeeded[name] = map[string]float64{m.success: now()}
	if sum, ok := e.report.(*summary.Summary); ok {
		if date, ok := dateOf(sum.Run.Date); ok {
			m.succeeded[name][lastNight] = float64(date.Unix())
		}
	}
}

// now is the current time in the form of metrics.
func now() float64 { return float64(time.Now().UnixMilli()) / 1000 }

// report writes and pushes the metrics. whole is how the command ended: if no run was recorded on its own, it holds for
// all of them. A failed report is logged, and does not fail a completed run.
func (m *measured) report(s *session, whole ended) {
	if len(m.ends) == 0 {
		for _, name := range m.names {
			m.ended(name, whole)
		}
	}
	if m.MetricsFile != "" {
		if err := m.write(); err != nil {
			s.log.Warn(fmt.Sprintf("the metrics were not written to %s: %v", m.MetricsFile, err))
		}
	}
	if m.MetricsPush == "" {
		return
	}
	for _, name := range m.names {
		if e, known := m.ends[name]; known {
			if err := m.push(name, e); err != nil {
				s.log.Warn(fmt.Sprintf("the metrics of %s were not pushed: %v", name, err))
			}
		}
	}
}

// write atomically replaces the file. If no run of a job succeeded in this command, the metrics of the job's last
// success stay in the file.
func (m *measured) write() error {
	registry := prometheus.NewRegistry()
	before := m.successes()
	for _, name := range m.names {
		labelled := prometheus.WrapRegistererWith(prometheus.Labels{m.label: name}, registry)
		if e, known := m.ends[name]; known {
			m.register(labelled, e)
		}
		success := m.succeeded[name]
		if success == nil {
			success = before[name]
		}
		m.registerSuccess(labelled, success)
	}
	return prometheus.WriteToTextfile(m.MetricsFile, registry)
}

// push sends the metrics of a job. Those of a failed run replace only metrics with the same names, so that the time of
// the last success is kept.
func (m *measured) push(name string, e ended) error {
	u, err := url.Parse(m.MetricsPush)
	if err != nil {
		return errors.New("the URL can't be read")
	}
	who := u.User
	u.User = nil // errors name the URL
	registry := prometheus.NewRegistry()
	m.register(registry, e)
	m.registerSuccess(registry, m.succeeded[name])
	p := push.New(u.String(), "bulkload").Grouping(m.label,
		name).Gatherer(registry).Client(&http.Client{Timeout: pushTime})
	if m.command != "" { // a group of its own, because a push replaces the group
		p = p.Grouping("command", m.command)
	}
	if who != nil {
		password, _ := who.Password()
		p = p.BasicAuth(who.Username(), password)
	}
	if e.exit != exitDone {
		return p.Add()
	}
	return p.Push()
}

// successHelp is the help of the metrics that a failure leaves unchanged.
func (n *metricNames) successHelp() map[string]string {
	help := map[string]string{n.success: "When the last " + n.what + " ended that ended well, in seconds since 1970."}
	if n.command == "" {
		help[lastNight] = "The logical date of the last run that ended well, in seconds since 1970."
	}
	return help
}

// registerSuccess adds the metrics of the last success.
func (n *metricNames) registerSuccess(to prometheus.Registerer, success map[string]float64) {
	for metric, value := range success {
		gauge(to, metric, n.successHelp()[metric], value)
	}
}

// register adds the known metrics of a command, or of a run. A run that read no row does not report durations.
func (n *metricNames) register(to prometheus.Registerer, e ended) {
	gauge(to, n.prefix+"_timestamp_seconds", "When the last "+n.what+" ended, in seconds since 1970.", now())
	gauge(to, n.prefix+"_exit_code", "The exit code of the last "+n.what+".", float64(e.exit))
	if n.command != "" || hasRead(e.report) {
		gauge(to, n.prefix+"_duration_seconds", "How long the last "+n.what+" took.", e.took.Seconds())
	}
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "bulkload_build_info",
		Help: "The bulkload of the last run; always 1."}, []string{"version"})
	build.WithLabelValues(program.ThisBuild().Version).Set(1)
	to.MustRegister(build)
	switch r := e.report.(type) {
	case *summary.Summary:
		registerPhases(to, r)
		registerOutputs(to, r)
	case *loading.LoadReport:
		gauge(to, n.prefix+"_files", "HFiles that the last load of a directory found.", float64(r.Files))
		gauge(to, n.prefix+"_loaded_files", "HFiles that HBase took in the last load of a directory.", float64(r.Load.Files))
	case *verify.Verification:
		n.registerVerification(to, r)
	}
}

// hasRead reports whether a run has read rows.
func hasRead(r report) bool {
	sum, ok := r.(*summary.Summary)
	if !ok || !slices.ContainsFunc(sum.Phases, isReading) {
		return false
	}
	read := sum.OutputSummary != nil && sum.Counts.Read > 0
	return read || slices.ContainsFunc(sum.Outputs, func(out *summary.OutputReport) bool { return out.Counts.Read > 0 })
}

// isReading reports whether a phase is the one that reads the input.
func isReading(p timing.PhaseTime) bool { return p.Name == "sort" && p.Of == "" }

func (n *metricNames) registerVerification(to prometheus.Registerer, r *verify.Verification) {
	gauge(to, n.prefix+"_rows", "Rows of the source that the last verification compared.", float64(r.Rows))
	cells := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: n.prefix + "_cells",
		Help: "Cells of the last verification, by outcome."}, []string{"outcome"})
	for outcome, count := range map[string]int64{"equal": r.Cells, "missing": r.Missing, "different": r.Different,
		"extra": r.Extra, "superseded": r.Superseded} {
		cells.WithLabelValues(outcome).Set(float64(count))
	}
	to.MustRegister(cells)
}

// dateOf parses a logical date of a summary: a day, or an hour with its offset.
func dateOf(text string) (time.Time, bool) {
	for _, layout := range []string{time.DateOnly, "2006-01-02T15Z0700"} {
		if date, err := time.Parse(layout, text); err == nil {
			return date, true
		}
	}
	return time.Time{}, false
}

func gauge(to prometheus.Registerer, name, help string, value float64) {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	g.Set(value)
	to.MustRegister(g)
}

// registerPhases adds the stages' times; for several outputs, their sums.
func registerPhases(to prometheus.Registerer, sum *summary.Summary) {
	seconds := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "bulkload_last_run_phase_duration_seconds",
		Help: "How long the phases of the last run took."}, []string{"phase"})
	for _, p := range sum.Phases {
		if p.Of == "" {
			seconds.WithLabelValues(p.Name).Add(p.Seconds)
		}
		if isReading(p) {
			gauge(to, "bulkload_last_run_input_bytes", "Size of the input of the last run.", float64(p.Bytes))
		}
	}
	to.MustRegister(seconds)
	if sum.Sort != nil {
		gauge(to, "bulkload_last_run_spilled_bytes", "What the sort of the last run wrote to the work folder.",
			float64(sum.Sort.Spilled))
	}
}

// registerOutputs adds the figures of each table. If a night was already loaded, they are those of the earlier run, as
// far as the output still has them.
func registerOutputs(to prometheus.Registerer, sum *summary.Summary) {
	vector := func(name, help string, labels ...string) *prometheus.GaugeVec {
		v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, append([]string{"table"}, labels...))
		to.MustRegister(v)
		return v
	}
	rows := vector("bulkload_last_run_rows", "Records of the last run, by outcome; read is their sum.",
		"outcome")
	cells := vector("bulkload_last_run_cells", "Cells that the last run wrote.")
	files := vector("bulkload_last_run_files", "HFiles of the last run.")
	bytes := vector("bulkload_last_run_output_bytes", "Size of the HFiles of the last run.")
	loaded := vector("bulkload_last_run_loaded_files", "HFiles that were loaded into HBase in the last run.")
	add := func(table, status string, s *summary.OutputSummary) {
		b := s.Counts
		if b.Read == 0 && status != failure.StatusEmpty { // the rows are unknown
			return
		}
		for outcome, n := range map[string]int64{"read": b.Read, "written": b.Written, "rejected": b.Rejected,
			"duplicate": b.Duplicates, "filtered": b.Filtered} {
			rows.WithLabelValues(table, outcome).Set(float64(n))
		}
		var size int64
		for _, f := range s.Files {
			size += f.Bytes
		}
		cells.WithLabelValues(table).Set(float64(b.CellsWritten))
		files.WithLabelValues(table).Set(float64(len(s.Files)))
		bytes.WithLabelValues(table).Set(float64(size))
		loaded.WithLabelValues(table).Set(float64(s.Load.Files))
	}
	if sum.OutputSummary != nil {
		add(sum.Run.Table, sum.Status, sum.OutputSummary)
	}
	for _, out := range sum.Outputs {
		add(out.Run.Table, out.Status, &out.OutputSummary)
	}
}

// successes reads from the metrics file the times of the last successes, by job file or table. It returns none if the
// file is missing or was not written by bulkload.
func (m *measured) successes() map[string]map[string]float64 {
	f, err := os.Open(m.MetricsFile)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }() // it was only read
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(f)
	if err != nil {
		return nil
	}
	found := map[string]map[string]float64{}
	for metric := range m.successHelp() {
		for _, sample := range families[metric].GetMetric() {
			for _, l := range sample.GetLabel() {
				if l.GetName() != m.label || sample.GetGauge() == nil {
					continue
				}
				if found[l.GetValue()] == nil {
					found[l.GetValue()] = map[string]float64{}
				}
				found[l.GetValue()][metric] = sample.GetGauge().GetValue()
			}
		}
	}
	return found
}
