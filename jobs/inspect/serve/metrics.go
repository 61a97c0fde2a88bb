package serve

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// metrics are those of a service, for Prometheus.
type metrics struct {
	registry      *prometheus.Registry
	requests      *prometheus.CounterVec   // by query and status
	seconds       *prometheus.HistogramVec // by query
	rows          *prometheus.CounterVec   // in answers, by query
	read          *prometheus.CounterVec   // from tables and files, by query
	scans         *prometheus.CounterVec   // by query
	running       prometheus.Gauge
	reloads       prometheus.Counter
	failedReloads prometheus.Counter
}

func newMetrics() *metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "bulkload_serve_" + name, Help: help}, labels)
	}
	one := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "bulkload_serve_" + name, Help: help})
	}
	m := &metrics{registry: prometheus.NewRegistry(),
		requests: counter("requests_total", "Requests by query and HTTP status.", "query", "status"),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "bulkload_serve_request_seconds",
			Help: "Time of a request, by query.", Buckets: prometheus.ExponentialBuckets(0.001, 2, 13)}, []string{"query"}),
		rows:  counter("rows_total", "Rows in answers, by query.", "query"),
		read:  counter("rows_read_total", "Rows that were read for answers, by query.", "query"),
		scans: counter("scans_total", "Scans that were made for answers, by query.", "query"),
		running: prometheus.NewGauge(prometheus.GaugeOpts{Name: "bulkload_serve_running",
			Help: "Requests that are being answered."}),
		reloads:       one("reloads_total", "Changed job files, certificates and tokens that were read."),
		failedReloads: one("failed_reloads_total", "Changed job files, certificates and tokens that can't be used."),
	}
	m.registry.MustRegister(m.requests, m.seconds, m.rows, m.read, m.scans, m.running, m.reloads, m.failedReloads,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}
