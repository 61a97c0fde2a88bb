// Package serve answers the look-ups of jobs over HTTP.
package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"bulkload/internal/errcode"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/inspect/lookup"
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/jobs/spec/jobfile"
)

// Settings say how a service is reached, and what it gives.
type Settings struct {
	Listen    string // host:port; port 0: any
	Cert, Key string // files of TLS; "": none
	ClientCA  string // a file of the authorities whose clients may ask; "": any client may
	TokenFile string // has a bearer token in each line, one of which a request must have; "": none is needed
	Insecure  bool   // others than this machine may reach a service without TLS, or without proof of who they are

	Rows, MaxRows int           // of an answer, unless the request says another number, and at most
	MaxBytes      int           // of an answer's cells
	Timeout       time.Duration // of a request
	Parallel      int           // requests at a time
	Cache         int64         // bytes of HFiles that are kept
	LogValues     bool          // the access log has the values of queries

	Listening func(addr string) // is called once requests are accepted; may be nil
}

// Report is the result of a service that has ended.
type Report struct {
	failure.Outcome
	Listen   string   `json:"listen"`
	Queries  []string `json:"queries"` // at the end
	Requests int64    `json:"requests"`
}

// Run serves until ctx ends, and then finishes the requests that it has. read reads the job files; it is called again
// when one of them has changed.
func Run(ctx context.Context, read func() ([]*jobfile.Job, error), dated bool, o options.Options, settings Settings) (
	report *Report, err error) {
	report = &Report{Outcome: failure.NewOutcome(), Listen: settings.Listen}
	if err := settings.check(); err != nil {
		return report, err
	}
	s := &server{settings: settings, options: o, read: read, dated: dated, cache: hfiles.NewCache(settings.Cache),
		slots: make(chan struct{}, settings.Parallel), metrics: newMetrics(), log: o.Log}
	if o.Memory > 0 { // the other half is for everything else
		s.memory = lookup.NewMemory(o.Memory / 2)
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	files := settings.files() // from before they are read, so that a change meanwhile is seen
	if err := s.secure.load(&settings); err != nil {
		return report, err
	}
	jobs, err := read()
	if err != nil {
		return report, err
	}
	jobFiles := filesOf(jobs)
	defer s.close()
	if err := s.open(ctx, jobs); err != nil {
		return report, err
	}
	listener, err := net.Listen("tcp", settings.Listen)
	if err != nil {
		return report, errcode.Command.Errorf("listen on %s: %w", settings.Listen, err)
	}
	report.Listen = listener.Addr().String()
	h := &http.Server{Handler: s.handler(), TLSConfig: s.secure.config(), ReadTimeout: readTime,
		IdleTimeout: idleTime, MaxHeaderBytes: headerBytes, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelWarn)}
	served := make(chan error, 1)
	go func() {
		if h.TLSConfig != nil {
			served <- h.ServeTLS(listener, "", "")
		} else {
			served <- h.Serve(listener)
		}
	}()
	watching, endWatch := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() { s.watch(watching, jobFiles, files) })
	s.lookIfReady(ctx)
	watch.Go(func() { every(watching, readyEvery, func() { s.lookIfReady(watching) }) })
	if settings.Listening != nil {
		settings.Listening(report.Listen)
	}
	select {
	case err = <-served:
	case <-ctx.Done():
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), settings.Timeout+stopTime)
		if err = h.Shutdown(limited); errors.Is(err, context.DeadlineExceeded) {
			s.log.Warn("clients that don't read their answers were cut off")
			err = h.Close()
		}
		cancel()
	}
	endWatch()
	watch.Wait()
	for _, q := range s.queries {
		report.Queries = append(report.Queries, q.name)
	}
	report.Requests, report.Status = s.requests.Load(), failure.StatusDone
	if err != nil {
		return report, fmt.Errorf("serve on %s: %w", report.Listen, err)
	}
	return report, nil
}

// Limits of connections, against clients that send nothing or too much.
const (
	readTime    = 5 * time.Second // of a request
	writeTime   = 5 * time.Second // of an answer, besides the request's own time
	idleTime    = 2 * time.Minute
	headerBytes = 64 << 10
	stopTime    = 6 * time.Second // for requests in progress at the end, besides their own time
)

// check refuses settings that contradict each other, or would open the service to everybody.
func (s *Settings) check() error {
	host, _, err := net.SplitHostPort(s.Listen)
	if err != nil {
		return errcode.Command.Errorf("--listen %s: %w; write host:port", s.Listen, err)
	}
	switch {
	case (s.Cert == "") != (s.Key == ""):
		return errcode.Command.New("--tls-cert and --tls-key go together")
	case s.ClientCA != "" && s.Cert == "":
		return errcode.Command.New("--client-ca needs --tls-cert and --tls-key")
	case s.Rows < 1 || s.MaxRows < s.Rows || s.MaxBytes < 1 || s.Parallel < 1 || s.Timeout <= 0:
		return errcode.Command.New("--max-rows, --max-bytes, --parallel and --timeout must be above 0, and --max-rows at " +
			"least --rows")
	case s.Insecure || isLoopback(host):
		return nil
	case s.Cert == "":
		return errcode.ServeOpen.Errorf("--listen %s is open to other machines, without TLS: give --tls-cert and "+
			"--tls-key, or --insecure", s.Listen)
	case s.ClientCA == "" && s.TokenFile == "":
		return errcode.ServeOpen.Errorf("--listen %s is open to everybody: give --token-file or --client-ca, or "+
			"--insecure", s.Listen)
	}
	return nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// server is a running service.
type server struct {
	settings Settings
	options  options.Options
	read     func() ([]*jobfile.Job, error)
	dated    bool // the jobs have a date, so their outputs are read until they are loaded
	cache    *hfiles.Cache
	memory   *lookup.Memory // of rows; nil: no limit
	log      *slog.Logger
	metrics  *metrics
	secure   secure

	slots    chan struct{} // taken by requests that are answered
	waiting  atomic.Int64  // requests without one
	requests atomic.Int64
	notReady atomic.Pointer[string] // why; nil: all queries can be answered

	mu       sync.RWMutex
	queries  []*query // in the order of the jobs
	document []byte   // see openAPI
}
