package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/page"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/inspect/lookup"
	"bulkload/jobs/spec/jobfile"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// handler has the addresses of the service. Only healthz, readyz and the page, which say nothing about the data, are
// open to requests without a token.
func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /get/{name}", s.get)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", s.readyz)
	mux.HandleFunc("GET /openapi.json", s.withToken(func(w http.ResponseWriter, _ *http.Request) {
		s.mu.RLock()
		document := s.document
		s.mu.RUnlock()
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(document) // a client that went away needs no answer
	}))
	mux.Handle("GET /metrics", s.withToken(promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{}).ServeHTTP))
	mux.HandleFunc("GET /page.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
		_, _ = w.Write(page.ServeScript())
	})
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy",
			"default-src 'none'; style-src 'unsafe-inline'; script-src 'self'; connect-src 'self'; frame-ancestors 'none'")
		if err := page.WriteServe(w, "bulkload serve"); err != nil {
			s.log.Warn("write the page", "error", err)
		}
	})
	open := s.settings.Cert == "" && s.settings.TokenFile == "" && !s.settings.Insecure
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Without it a page that the operator's browser shows could read rows under a name that leads to this machine.
		if open && !isLoopback(hostOf(r.Host)) {
			http.Error(w, "this service answers only under the name localhost", http.StatusMisdirectedRequest)
			return
		}
		// An error says that there is no such deadline.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.settings.Timeout + writeTime))
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		mux.ServeHTTP(w, r)
	})
}

func (s *server) withToken(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !s.secure.allows(r) {
			writeError(w, http.StatusUnauthorized, errNoToken)
			return
		}
		next(w, r)
	}
}

var errNoToken = errcode.ServeToken.New("send Authorization: Bearer and a token of this service")

// hostOf is the host of an address that may have no port.
func hostOf(addr string) string {
	if host, _, err := net.SplitHostPort(addr); err == nil {
		return host
	}
	return strings.Trim(addr, "[]")
}

func (s *server) readyz(w http.ResponseWriter, _ *http.Request) {
	if why := s.notReady.Load(); why != nil {
		http.Error(w, *why, http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ready")
}

// get answers a look-up, and logs it.
func (s *server) get(w http.ResponseWriter, r *http.Request) {
	begun := time.Now()
	found, name, status, err := s.answer(r)
	if err != nil {
		writeError(w, status, err)
	} else {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(found.text)))
		_, _ = w.Write(found.text) // a client that went away needs no answer
	}
	took := time.Since(begun)
	s.requests.Add(1)
	s.metrics.requests.WithLabelValues(name, strconv.Itoa(status)).Inc()
	s.metrics.seconds.WithLabelValues(name).Observe(took.Seconds())
	what := []any{"query", name, "status", status, "ms", float64(took.Microseconds()) / 1000, "from", r.RemoteAddr}
	if found != nil {
		what = append(what, "rows", found.rows, "read", found.read, "scans", found.scans, "bytes", len(found.text))
		s.metrics.rows.WithLabelValues(name).Add(float64(found.rows))
		s.metrics.read.WithLabelValues(name).Add(float64(found.read))
		s.metrics.scans.WithLabelValues(name).Add(float64(found.scans))
	}
	if s.settings.LogValues {
		what = append(what, "values", r.URL.RawQuery)
	}
	level, text := slog.LevelInfo, fmt.Sprintf("%s /get/%s %d in %s", r.Method, name, status, took.Round(time.Microsecond))
	if err != nil {
		what = append(what, "code", failure.CodeOf(err))
		if status >= http.StatusInternalServerError { // texts of bad requests have the values
			level, text = slog.LevelWarn, text+": "+err.Error()
		}
	}
	s.log.Log(r.Context(), level, text, what...)
}

// answer returns what get writes, and the status. name is the query's; "" unless there is such a query and the client
// may ask it, because in metrics and logs anybody could make up names.
func (s *server) answer(r *http.Request) (found *reply, name string, status int, err error) {
	if !s.secure.allows(r) {
		return nil, "", http.StatusUnauthorized, errNoToken
	}
	q, done := s.take(r.PathValue("name"))
	if q == nil {
		return nil, "", http.StatusNotFound, errcode.ServeRequest.New("there is no such query; /openapi.json has all")
	}
	request, raw, err := s.parse(r.URL.RawQuery, q.finder.Job)
	if err != nil {
		done()
		return nil, q.name, http.StatusBadRequest, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.settings.Timeout)
	defer cancel()
	if err := s.enter(ctx); err != nil {
		done()
		return nil, q.name, http.StatusServiceUnavailable, err
	}
	s.metrics.running.Inc()
	// A read of HDFS may hang for longer than the request's time. It keeps its slot until it has ended.
	ended := make(chan *reply, 1)
	go func() {
		a := q.answer(ctx, request, raw)
		s.metrics.running.Dec()
		<-s.slots
		done()
		ended <- a
	}()
	select {
	case found = <-ended:
	case <-ctx.Done():
		found = &reply{err: ctx.Err()}
	}
	if found.err != nil {
		status, err = s.statusOf(ctx, r, found.err)
		return nil, q.name, status, err
	}
	return found, q.name, http.StatusOK, nil
}

// reply is the result of a look-up: the JSON of the rows, and what it took to find them.
type reply struct {
	text        []byte
	rows, scans int
	read        int64 // rows
	err         error
}

// answer looks up. The rows' memory is given back when they are in the reply.
func (q *query) answer(ctx context.Context, request *lookup.Request, raw bool) *reply {
	rows, err := q.finder.Find(ctx, request)
	if err != nil {
		return &reply{err: err}
	}
	defer rows.Release()
	b := []byte(`{"rows":`)
	if raw {
		b = q.names.AppendCells(b, rows.Rows)
	} else {
		b = q.names.AppendRows(b, rows.Rows)
	}
	b = append(b, `,"next":`...)
	if rows.Next == "" {
		b = append(b, "null"...)
	} else {
		b = strconv.AppendQuote(b, rows.Next)
	}
	return &reply{append(b, '}', '\n'), len(rows.Rows), rows.Scans, rows.Read, nil}
}

// maxWaiting is how many requests may wait for each one that is answered.
const maxWaiting = 4

// enter waits for a slot, at most half of the request's time, so that there is time left for the answer.
func (s *server) enter(ctx context.Context) error {
	select {
	case s.slots <- struct{}{}:
		return nil
	default:
	}
	defer s.waiting.Add(-1)
	if n := s.waiting.Add(1); n > maxWaiting*int64(cap(s.slots)) {
		return errcode.ServeBusy.Errorf("%d requests are being answered, and %d wait", cap(s.slots), n-1)
	}
	timer := time.NewTimer(s.settings.Timeout / 2)
	defer timer.Stop()
	select {
	case s.slots <- struct{}{}:
		return nil
	case <-timer.C:
	case <-ctx.Done():
	}
	return errcode.ServeBusy.Errorf("%d requests have been answered for %s", cap(s.slots), s.settings.Timeout/2)
}

// clientGone is the status, for logs, of a request whose client has gone away.
const clientGone = 499

func (s *server) statusOf(ctx context.Context, r *http.Request, err error) (int, error) {
	switch {
	case r.Context().Err() != nil:
		return clientGone, err
	case ctx.Err() != nil:
		return http.StatusGatewayTimeout, errcode.ServeBusy.Errorf("no answer within %s: %w", s.settings.Timeout, err)
	case failure.CodeOf(err) == errcode.ServeLarge:
		return http.StatusRequestEntityTooLarge, err
	}
	switch failure.KindOf(err) {
	case failure.Usage:
		return http.StatusBadRequest, errcode.ServeRequest.Errorf("%w", err)
	case failure.Later, failure.NotYet:
		return http.StatusServiceUnavailable, err
	}
	return http.StatusInternalServerError, err
}

// parse reads the parameters of a request.
func (s *server) parse(text string, j *jobfile.Job) (request *lookup.Request, raw bool, err error) {
	given, err := url.ParseQuery(text)
	if err != nil {
		return nil, false, errcode.ServeRequest.Errorf("the parameters can't be read: %w", err)
	}
	for name, values := range given {
		switch {
		case !slices.Contains(j.Query, name) && !slices.Contains(parameters, name):
			return nil, false, errcode.ServeRequest.Errorf("there is no parameter %.50q; there are %s", name,
				strings.Join(slices.Concat(j.Query, parameters), ", "))
		case len(values) > 1:
			return nil, false, errcode.ServeRequest.Errorf("parameter %s is given %d times", name, len(values))
		}
	}
	request = &lookup.Request{Rows: s.settings.Rows, Bytes: s.settings.MaxBytes, After: given.Get("after"),
		Memory: s.memory}
	for _, column := range j.Query {
		if !given.Has(column) {
			return nil, false, errcode.ServeRequest.Errorf("parameter %s is missing", column)
		}
		request.Values = append(request.Values, given.Get(column))
	}
	if given.Has("limit") {
		request.Rows, err = strconv.Atoi(given.Get("limit"))
		if err != nil || request.Rows < 1 || request.Rows > s.settings.MaxRows {
			return nil, false, errcode.ServeRequest.Errorf("limit is %q; give 1 to %d", given.Get("limit"), s.settings.MaxRows)
		}
	}
	for name, limit := range map[string]**string{"since": &request.Since, "until": &request.Until} {
		if given.Has(name) {
			value := given.Get(name)
			*limit = &value
		}
	}
	if request.Order = lookup.RowOrder(slices.Index(orders, given.Get("order"))); request.Order < 0 {
		return nil, false, errcode.ServeRequest.Errorf("order is %q; give newest or oldest, or leave it out",
			given.Get("order"))
	}
	switch value := given.Get("raw"); {
	case value == "1":
		raw = true
	case given.Has("raw"):
		return nil, false, errcode.ServeRequest.Errorf("raw is %q; give 1, or leave it out", value)
	}
	return request, raw, nil
}

// orders are the values of order, by lookup.RowOrder.
var orders = []string{"", "newest", "oldest"}

// retryAfter is how many seconds a client should wait that got no answer now.
const retryAfter = "1"

// writeError writes a failure. The texts of HBase's and HDFS's errors are only for the log, because they name hosts.
func writeError(w http.ResponseWriter, status int, err error) {
	code := failure.CodeOf(err)
	text := err.Error()
	if doc := errcode.Find(string(code)); doc != nil && status >= http.StatusInternalServerError {
		text = doc.Cause
	}
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	if status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout {
		w.Header().Set("Retry-After", retryAfter)
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	failed := encoder.Encode(map[string]any{"error": map[string]any{"code": code, "message": text}})
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if failed == nil && !errors.Is(err, context.Canceled) {
		_, _ = w.Write(b.Bytes())
	}
}
