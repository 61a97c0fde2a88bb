package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"bulkload/internal/test/testcluster"
	"bulkload/internal/test/testcluster/apt"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v3"
)

// runExample runs a job of the examples in dir and requires an exit code.
func runExample(t *testing.T, dir string, want int, args ...string) string {
	t.Helper()
	t.Chdir(dir)
	var stderr bytes.Buffer
	if code := execute(context.Background(), append([]string{"run", "jobs/examples/check.yaml"}, args...), io.Discard, &stderr); code != want {
		t.Fatalf("%v: exit code %d, want %d\n%s", args, code, want, &stderr)
	}
	return stderr.String()
}

func exampleDir(t *testing.T) string {
	t.Helper()
	repository, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return copyJobs(t, repository)
}

// families parses a page of metrics.
func families(t *testing.T, text []byte) map[string]*dto.MetricFamily {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	all, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return all
}

// valueOf is a metric's value by labels such as table="a",outcome="read".
func valueOf(t *testing.T, all map[string]*dto.MetricFamily, name string, labels ...string) float64 {
	t.Helper()
	for _, m := range all[name].GetMetric() {
		got := map[string]string{}
		for _, l := range m.GetLabel() {
			got[l.GetName()] = l.GetValue()
		}
		same := true
		for i := 0; i < len(labels); i += 2 {
			same = same && got[labels[i]] == labels[i+1]
		}
		if same {
			return m.GetGauge().GetValue()
		}
	}
	t.Errorf("there is no %s %v", name, labels)
	return 0
}

// TestMetricsFile: the file has the run's figures under names that follow Prometheus's conventions; after a failed run
// it has that run's exit code, and still the time of the last successful run.
func TestMetricsFile(t *testing.T) {
	dir := exampleDir(t)
	night := []string{"--date", "2026-11-20", "--metrics-file", "bulkload.prom"}
	runExample(t, dir, exitDone, night...)
	text, err := os.ReadFile("bulkload.prom")
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.New(bytes.NewReader(text)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v %v\n%s", problems, err, text)
	}
	all := families(t, text)
	job := []string{"job_file", "check.yaml"}
	for _, c := range []struct {
		name   string
		labels []string
		want   float64
	}{
		{"bulkload_last_run_exit_code", nil, 0},
		{"bulkload_last_run_rows", []string{"table", "tinawang:check", "outcome", "written"}, 3000},
		{"bulkload_last_run_rows", []string{"table", "tinawang:check", "outcome", "rejected"}, 0},
		{"bulkload_last_run_cells", []string{"table", "tinawang:check"}, 54000},
		{"bulkload_last_run_files", []string{"table", "tinawang:check"}, 10},
		{"bulkload_last_success_date_timestamp_seconds", nil, 1795132800},
	} {
		if got := valueOf(t, all, c.name, append(c.labels, job...)...); got != c.want {
			t.Errorf("%s is %g, want %g", c.name, got, c.want)
		}
	}
	if valueOf(t, all, "bulkload_last_run_phase_duration_seconds", "phase", "write") <= 0 {
		t.Error("the write took no time")
	}
	success := valueOf(t, all, lastSuccess)
	if valueOf(t, all, runDuration) <= 0 {
		t.Error("the run took no time")
	}
	runExample(t, dir, exitDone, night...)
	all = readMetrics(t, "bulkload.prom")
	if all[runDuration] != nil || valueOf(t, all, runRows, append(job, "outcome", "written")...) != 3000 {
		t.Errorf("after a night that was loaded before: %v", all)
	}
	if again := valueOf(t, all, lastSuccess); again <= success {
		t.Errorf("the success is at %g, after %g", again, success)
	} else {
		success = again
	}

	if err := os.RemoveAll("jobs/examples/testdata"); err != nil {
		t.Fatal(err)
	}
	runExample(t, dir, exitNotYet, "--date", "2026-11-21", "--metrics-file", "bulkload.prom")
	all = readMetrics(t, "bulkload.prom")
	if all[runRows] != nil || all[runDuration] != nil {
		t.Errorf("a run that read nothing has rows or a duration: %v", all)
	}
	if valueOf(t, all, "bulkload_last_run_exit_code", job...) == 0 || valueOf(t, all, lastSuccess, job...) != success || valueOf(t, all, lastNight, job...) != 1795132800 {
		t.Errorf("after a failure: %v", all)
	}
	if left, err := filepath.Glob("bulkload.prom*"); err != nil || len(left) != 1 {
		t.Errorf("%v %v", left, err)
	}
}

const (
	runRows     = "bulkload_last_run_rows"
	runDuration = "bulkload_last_run_duration_seconds"
)

// readMetrics reads a file of metrics.
func readMetrics(t *testing.T, name string) map[string]*dto.MetricFamily {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return families(t, text)
}

// TestMetricsOfARange: the nights that a command loads before one fails count as successes.
func TestMetricsOfARange(t *testing.T) {
	dir := exampleDir(t)
	const in = "jobs/examples/testdata/check"
	if err := os.CopyFS(filepath.Join(dir, in, "2026-11-21"), os.DirFS(filepath.Join(dir, in, "2026-11-20"))); err != nil {
		t.Fatal(err)
	}
	var page []byte
	gateway := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		page, _ = io.ReadAll(r.Body)
	}))
	defer gateway.Close()
	runExample(t, dir, exitNotYet, "--from", "2026-11-20", "--to", "2026-11-22", "--metrics-file", "bulkload.prom", "--metrics-push", gateway.URL)
	all := readMetrics(t, "bulkload.prom")
	if valueOf(t, all, lastNight) != 1795132800+86400 || valueOf(t, all, lastSuccess) == 0 || valueOf(t, all, "bulkload_last_run_exit_code") != exitNotYet {
		t.Errorf("%v", all)
	}
	if !bytes.Contains(page, []byte(lastNight)) {
		t.Errorf("pushed %q", page)
	}
}

// TestMetricsFileIsRefusedFirst: a file that can't be written is refused before anything is done.
func TestMetricsFileIsRefusedFirst(t *testing.T) {
	dir := exampleDir(t)
	t.Chdir(dir)
	if err := os.WriteFile("file", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"no/where.prom", "jobs", "file/x.prom", "/proc/x.prom"} {
		for _, args := range [][]string{{"run", "jobs/examples/check.yaml", "--date", "2026-11-20"}, {"load", "out", "ns:t"}, {"verify", "jobs/examples/check.yaml"}} {
			var stderr bytes.Buffer
			code := execute(context.Background(), append(args, "--metrics-file", name), io.Discard, &stderr)
			if code != exitUsage || !strings.Contains(stderr.String(), "--metrics-file "+name) {
				t.Errorf("%s %s: exit code %d: %s", args, name, code, &stderr)
			}
		}
	}
	if left, err := filepath.Glob("*"); err != nil || len(left) != 2 {
		t.Errorf("%q %v", left, err)
	}
}

// TestMetricsOfOtherCommands: load and verify have metrics of their own, by Prometheus's conventions. A failure leaves
// the time of the last success in the file. They are pushed into groups of their own.
func TestMetricsOfOtherCommands(t *testing.T) {
	dir := exampleDir(t)
	runExample(t, dir, exitDone, "--date", "2026-11-20")
	var pushed []string
	gateway := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		pushed = append(pushed, r.Method+" "+r.URL.Path)
	}))
	defer gateway.Close()
	after := func(want int, args ...string) map[string]*dto.MetricFamily {
		t.Helper()
		var stderr bytes.Buffer
		if code := execute(context.Background(), append(args, "--metrics-file", "other.prom", "--metrics-push", gateway.URL), io.Discard, &stderr); code != want {
			t.Fatalf("%v: exit code %d, want %d\n%s", args, code, want, &stderr)
		}
		text, err := os.ReadFile("other.prom")
		if err != nil {
			t.Fatal(err)
		}
		if problems, err := promlint.New(bytes.NewReader(text)).Lint(); err != nil || len(problems) > 0 {
			t.Errorf("%v %v\n%s", problems, err, text)
		}
		return families(t, text)
	}
	job := []string{"job_file", "check.yaml"}
	verified := after(exitDone, "verify", "jobs/examples/check.yaml", "--date", "2026-11-20")
	if n := valueOf(t, verified, "bulkload_last_verify_cells", append(job, "outcome", "equal")...); n != 54_000 {
		t.Errorf("%g equal cells", n)
	}
	success := valueOf(t, verified, verifyMetrics.success, job...)
	if err := os.RemoveAll("out"); err != nil {
		t.Fatal(err)
	}
	failed := after(exitRefused, "verify", "jobs/examples/check.yaml", "--date", "2026-11-20")
	if valueOf(t, failed, verifyMetrics.success, job...) != success || valueOf(t, failed, "bulkload_last_verify_exit_code", job...) != exitRefused {
		t.Errorf("after a failure: %v", failed)
	}
	loaded := after(exitUsage, "load", "out", "ns:t")
	if code := valueOf(t, loaded, "bulkload_last_load_exit_code", "table", "ns:t"); code != exitUsage || loaded[loadMetrics.success] != nil {
		t.Errorf("the load: %v", loaded)
	}
	want := [][]string{{"PUT ", "/job_file/check.yaml", "/command/verify"}, {"POST ", "/job_file/check.yaml", "/command/verify"}, {"POST ", "/table/ns:t", "/command/load"}}
	if len(pushed) != len(want) {
		t.Fatalf("pushed %q", pushed)
	}
	for i, parts := range want {
		for _, part := range parts { // a group's labels come in any order
			if !strings.Contains(pushed[i], part) {
				t.Errorf("pushed %q, want %q in it", pushed[i], part)
			}
		}
	}
}

// TestMetricsPush: a run replaces its group, and a failed one only its own metrics; a failed push is reported, without
// the credentials, and fails nothing.
func TestMetricsPush(t *testing.T) {
	var requests []string
	var page []byte
	answer := http.StatusOK
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		requests = append(requests, r.Method+" "+r.URL.Path+" "+user+":"+password)
		page, _ = io.ReadAll(r.Body)
		w.WriteHeader(answer)
	}))
	defer gateway.Close()
	address := strings.Replace(gateway.URL, "http://", "http://tina:s3cret@", 1)
	dir := exampleDir(t)
	night := []string{"--date", "2026-11-20", "--metrics-push", address}
	runExample(t, dir, exitDone, night...)
	answer = http.StatusForbidden
	said := runExample(t, dir, exitDone, night...)
	if !strings.Contains(said, "the metrics of check.yaml were not pushed: unexpected status code 403") || strings.Contains(said, "s3cret") {
		t.Errorf("refused: %q", said)
	}
	if err := os.RemoveAll("jobs/examples/testdata"); err != nil {
		t.Fatal(err)
	}
	runExample(t, dir, exitNotYet, "--date", "2026-11-21", "--metrics-push", address)
	const group = " /metrics/job/bulkload/job_file/check.yaml tina:s3cret"
	if want := "PUT" + group + "\nPUT" + group + "\nPOST" + group; strings.Join(requests, "\n") != want {
		t.Errorf("%q", requests)
	}
	if bytes.Contains(page, []byte(lastSuccess)) {
		t.Error("a failed run pushes a success")
	}
	gateway.Close()
	said = runExample(t, dir, exitNotYet, "--date", "2026-11-21", "--metrics-push", address)
	if !strings.Contains(said, "the metrics of check.yaml were not pushed") || strings.Contains(said, "s3cret") {
		t.Errorf("down: %q", said)
	}
	for _, wrong := range []string{"gateway:9091", "ftp://tina:s3cret@x", "http://", "http://tina:s3cret@x?a=b", "http://tina:s3cret@x:%zz"} {
		if said := runExample(t, dir, exitUsage, "--date", "2026-11-20", "--metrics-push", wrong); strings.Contains(said, "s3cret") {
			t.Errorf("%s: %q", wrong, said)
		}
	}
}

// TestAlerts: the alerts use metrics that a run has, and promtool accepts them and the metrics.
func TestAlerts(t *testing.T) {
	text, err := os.ReadFile("../../deploy/prometheus/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	var rules struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&rules); err != nil {
		t.Fatal(err)
	}
	checked, err := filepath.Abs("../../deploy/prometheus/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	runExample(t, exampleDir(t), exitDone, "--date", "2026-11-20", "--metrics-file", "bulkload.prom")
	page, err := os.ReadFile("bulkload.prom")
	if err != nil {
		t.Fatal(err)
	}
	has := families(t, page)
	used := 0
	for _, r := range rules.Groups[0].Rules {
		for _, name := range regexp.MustCompile(`bulkload_\w+`).FindAllString(r.Expr, -1) {
			if used++; has[name] == nil {
				t.Errorf("%s uses %s, which a run does not have", r.Alert, name)
			}
		}
		if r.Alert == "" || r.Labels["severity"] == "" || r.Annotations["summary"] == "" {
			t.Errorf("%+v", r)
		}
	}
	if used < 6 {
		t.Errorf("only %d metrics are used", used)
	}
	t.Run("promtool", func(t *testing.T) { checkByPromtool(t, checked, page) })
}

// checkByPromtool checks alerts and metrics with Prometheus's own tool.
func checkByPromtool(t *testing.T, rules string, page []byte) {
	promtool := findPromtool(t)
	if out, err := exec.Command(promtool, "check", "rules", rules).CombinedOutput(); err != nil {
		t.Errorf("promtool: %v\n%s", err, out)
	}
	lint := exec.Command(promtool, "check", "metrics")
	lint.Stdin = bytes.NewReader(page)
	if out, err := lint.CombinedOutput(); err != nil {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}

// findPromtool finds promtool, or unpacks Debian's.
func findPromtool(t *testing.T) string {
	t.Helper()
	if promtool, err := exec.LookPath("promtool"); err == nil {
		return promtool
	}
	dir := t.TempDir()
	if err := apt.Unpack(dir, "prometheus"); err != nil {
		testcluster.Without(t, fmt.Sprintf("needs promtool, to check alerts and metrics: apt-get install prometheus (%v)", err))
	}
	return filepath.Join(dir, "usr/bin/promtool")
}
