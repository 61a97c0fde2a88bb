package serve

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/runtest"
	"bulkload/internal/test/testfs"
	"bulkload/internal/test/testpage"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/spec/jobfile"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers/gorillamux"
)

// ordersJob's rows are ordered by time below a seller, in a key whose salt the query does not determine.
const ordersJob = `table: orders
timestamp: ${date}
input:
  path: in
  columns: [id, seller, time, amount, paid, note]
  field_delimiter: '|'
columns_map:
  time: {type: timestamp, zone: UTC}
  amount: {type: decimal}
  paid: {type: boolean}
  id: {type: int64, store: binary}
family: f
rowkey: salt(id, 5) + pad(seller, 4) + desc(millis(time)) + id
query: [seller]
regions: {from: splits, splits: ['1', '2', '3', '4']}
output: out/${date}
load: false
`

// ordersOf are n orders of seller 7, one each minute, and as many of seller 8.
func ordersOf(n int) string {
	var in strings.Builder
	for i := range 2 * n {
		fmt.Fprintf(&in, "%d|%d|2026-11-01 %02d:%02d:00|%d.50|%t|note \"%d\" <b>\n", i, 7+i%2, i/2/60, i/2%60, i, i%3 == 0, i)
	}
	return in.String()
}

// writtenOrders is a folder with the job orders.yaml, whose output is written.
func writtenOrders(t *testing.T, n int) string {
	t.Helper()
	dir := testfs.Tree(t, map[string]string{"orders.yaml": ordersJob, "in/part-0": ordersOf(n)})
	runtest.Must(t, jobtest.Read(t, filepath.Join(dir, "orders.yaml")), options.Options{})
	return dir
}

// service is a running one.
type service struct {
	testing.TB
	url    string
	client *http.Client
	token  string
	end    func() (*Report, error)
}

// logged gets a log.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

var usual = Settings{Listen: "127.0.0.1:0", Rows: 50, MaxRows: 1000, MaxBytes: 1 << 20, Timeout: 20 * time.Second, Parallel: 8, Cache: 1 << 20}

// serveFiles serves the outputs of job files for jobdir.Date until the test ends.
func serveFiles(t testing.TB, o options.Options, settings Settings, paths ...string) *service {
	t.Helper()
	return serveJobs(t, o, settings, true, func() (jobs []*jobfile.Job, err error) {
		for _, path := range paths {
			j, err := jobfile.Read(path, jobfile.ReadOptions{Date: jobdir.Date})
			if err != nil {
				return nil, err
			}
			jobs = append(jobs, j)
		}
		return jobs, nil
	})
}

// serveJobs serves jobs until the test ends.
func serveJobs(t testing.TB, o options.Options, settings Settings, dated bool, read func() ([]*jobfile.Job, error)) *service {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	addr := make(chan string, 1)
	settings.Listening = func(at string) { addr <- at }
	var report *Report
	var err error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		report, err = Run(ctx, read, dated, o, settings)
	}()
	s := &service{TB: t, client: &http.Client{Transport: &http.Transport{}}}
	s.end = func() (*Report, error) { cancel(); <-ended; return report, err }
	t.Cleanup(func() { s.client.CloseIdleConnections(); _, _ = s.end() })
	select {
	case at := <-addr:
		s.url = "http://" + at
	case <-ended:
		t.Fatal(err)
	}
	return s
}

// get asks for a path.
func (s *service) get(path string) (status int, header http.Header, body string) {
	s.Helper()
	request, err := http.NewRequestWithContext(s.Context(), http.MethodGet, s.url+path, nil)
	if err != nil {
		s.Fatal(err)
	}
	if s.token != "" {
		request.Header.Set("Authorization", "Bearer "+s.token)
	}
	response, err := s.client.Do(request)
	if err != nil {
		s.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.Fatal(err)
	}
	return response.StatusCode, response.Header, string(text)
}

// answered is the answer to a look-up.
type answered struct {
	Rows []map[string]any
	Next *string
}

func (s *service) rows(path string) answered {
	s.Helper()
	status, _, body := s.get(path)
	var a answered
	if err := json.Unmarshal([]byte(body), &a); err != nil || status != http.StatusOK {
		s.Fatalf("%s: %d, %v: %s", path, status, err, body)
	}
	return a
}

// wantError asks for something that is refused.
func (s *service) wantError(path string, want int, code errcode.Code, words ...string) {
	s.Helper()
	status, header, body := s.get(path)
	var e struct {
		Error struct{ Code, Message string }
	}
	if err := json.Unmarshal([]byte(body), &e); err != nil || status != want || e.Error.Code != string(code) {
		s.Errorf("%s: %d %s, %v; want %d %s", path, status, body, err, want, code)
	}
	for _, word := range words {
		if !strings.Contains(e.Error.Message, word) {
			s.Errorf("%s: %s lacks %q", path, e.Error.Message, word)
		}
	}
	if again := header.Get("Retry-After"); (again != "") != (want == http.StatusServiceUnavailable || want == http.StatusGatewayTimeout) {
		s.Errorf("%s: retry after %q", path, again)
	}
}

// TestServe: the rows of HFiles by the job's names and types, in the order of the keys or by time, page by page; wrong
// requests with a code; and what operators ask for. The log has no values of queries.
func TestServe(t *testing.T) {
	t.Parallel()
	dir := writtenOrders(t, 120)
	var log logged
	s := serveFiles(t, options.Options{Log: slog.New(slog.NewJSONHandler(&log, nil))}, usual, filepath.Join(dir, "orders.yaml"))
	all := s.rows("/get/orders?seller=7&limit=1000")
	if len(all.Rows) != 120 || all.Next != nil {
		t.Fatalf("%d rows, next %v", len(all.Rows), all.Next)
	}
	first := map[string]any{"id": 238.0, "seller": "7", "time": "2026-11-01 01:59:00", "amount": 238.5, "paid": false, "note": `note "238" <b>`}
	if fmt.Sprint(all.Rows[0]) != fmt.Sprint(first) {
		t.Errorf("the first row is %v, want %v", all.Rows[0], first)
	}
	for order, wanted := range map[string]func(i int) float64{"": func(i int) float64 { return float64(238 - 2*i) },
		"&order=newest": func(i int) float64 { return float64(238 - 2*i) }, "&order=oldest": func(i int) float64 { return float64(2 * i) }} {
		n, next := 0, ""
		for pages := 0; pages == 0 || next != ""; pages++ {
			page := s.rows("/get/orders?seller=7&limit=7" + order + next)
			for _, row := range page.Rows {
				if row["id"] != wanted(n) {
					t.Fatalf("row %d by %q is %v, want %v", n, order, row["id"], wanted(n))
				}
				n++
			}
			if next = ""; page.Next != nil {
				next = "&after=" + url.QueryEscape(*page.Next)
			}
		}
		if n != 120 {
			t.Errorf("%d rows by %q", n, order)
		}
	}
	if hour := s.rows("/get/orders?seller=8&since=2026-11-01+00:30:00&until=2026-11-01+00:40:00"); len(hour.Rows) != 10 || hour.Rows[0]["id"] != 79.0 {
		t.Errorf("ten minutes have %v", hour)
	}
	if nobody := s.rows("/get/orders?seller=9"); len(nobody.Rows) != 0 || nobody.Next != nil {
		t.Errorf("nobody has %v", nobody)
	}
	if raw := s.rows("/get/orders?seller=7&limit=1&raw=1"); len(raw.Rows) != 1 || !strings.Contains(fmt.Sprint(raw.Rows[0]["cells"]), "value_base64:AAAAAAAAAO4=") {
		t.Errorf("raw: %v", raw)
	}
	if half := s.rows("/get/orders?seller=7"); len(half.Rows) != 50 || half.Next == nil {
		t.Errorf("%d rows unless asked", len(half.Rows))
	}
	for path, words := range map[string][]string{
		"/get/orders":                                                        {"seller", "missing"},
		"/get/orders?seller=7&sellers=8":                                     {"sellers", "limit"},
		"/get/orders?seller=7&seller=8":                                      {"2 times"},
		"/get/orders?seller=7&limit=0":                                       {"1 to 1000"},
		"/get/orders?seller=7&limit=1001":                                    {"1 to 1000"},
		"/get/orders?seller=7&limit=x":                                       {"1 to 1000"},
		"/get/orders?seller=7&order=id":                                      {"newest"},
		"/get/orders?seller=7&raw=yes":                                       {"raw"},
		"/get/orders?seller=12345":                                           {"12345"},
		"/get/orders?seller=7&since=yesterday":                               {"yesterday"},
		"/get/orders?seller=7&after=AAAA":                                    {"token"},
		"/get/orders?seller=%zz":                                             {"parameters"},
		"/get/orders?seller=8&after=" + *s.rows("/get/orders?seller=7").Next: {"token"},
	} {
		s.wantError(path, http.StatusBadRequest, errcode.ServeRequest, words...)
	}
	s.wantError("/get/nothing?seller=7", http.StatusNotFound, errcode.ServeRequest)
	for _, path := range []string{"/healthz", "/readyz", "/"} {
		if status, _, body := s.get(path); status != http.StatusOK {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	_, _, text := s.get("/metrics")
	for _, line := range []string{`bulkload_serve_requests_total{query="orders",status="200"}`, `bulkload_serve_requests_total{query="",status="404"} 1`,
		`bulkload_serve_scans_total{query="orders"}`, `bulkload_serve_rows_read_total{query="orders"}`, "bulkload_serve_running 0"} {
		if !strings.Contains(text, line) {
			t.Errorf("the metrics lack %s", line)
		}
	}
	report, err := s.end()
	if err != nil || report.Status != failure.StatusDone || !slices.Equal(report.Queries, []string{"orders"}) || report.Requests < 50 {
		t.Errorf("%+v, %v", report, err)
	}
	if text := log.String(); strings.Contains(text, "seller=") || strings.Contains(text, "12345") || strings.Contains(text, "yesterday") ||
		strings.Count(text, `"query":"orders"`) != int(report.Requests)-1 || !strings.Contains(text, `"code":"BL-SERVE-REQUEST"`) {
		t.Errorf("the log:\n%s", text)
	}
}

// TestDocument: the service's description is valid OpenAPI, and its answers are as described. A browser shows the page
// with the answer to a form.
func TestDocument(t *testing.T) {
	t.Parallel()
	dir := writtenOrders(t, 3)
	s := serveFiles(t, options.Options{}, usual, filepath.Join(dir, "orders.yaml"))
	_, _, text := s.get("/openapi.json")
	document, err := openapi3.NewLoader().LoadFromData([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := document.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	router, err := gorillamux.NewRouter(document)
	if err != nil {
		t.Fatal(err)
	}
	for path, valid := range map[string]bool{"/get/orders?seller=7": true, "/get/orders?seller=7&limit=1&order=oldest": true,
		"/get/orders?seller=7&raw=1": true, "/get/orders": false, "/get/orders?seller=7&limit=0": false, "/get/orders?seller=7&order=id": false} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		if err != nil {
			t.Fatal(err)
		}
		route, parameters, err := router.FindRoute(request)
		if err != nil {
			t.Fatal(err)
		}
		asked := &openapi3filter.RequestValidationInput{Request: request, Route: route, PathParams: parameters}
		if err := openapi3filter.ValidateRequest(t.Context(), asked); (err == nil) != valid {
			t.Errorf("%s: %v", path, err)
		}
		status, header, body := s.get(path)
		answer := &openapi3filter.ResponseValidationInput{RequestValidationInput: asked, Status: status, Header: header, Body: io.NopCloser(strings.NewReader(body))}
		if err := openapi3filter.ValidateResponse(t.Context(), answer); err != nil || (status == http.StatusOK) != valid {
			t.Errorf("%s: %d %v\n%s", path, status, err, body)
		}
	}
	if page := testpage.Shown(t, s.url+"/#/get/orders?seller=8"); !strings.Contains(page, "note \"5\" &lt;b&gt;") || !strings.Contains(page, "3 rows in") {
		t.Errorf("the page shows\n%s", page)
	}
}

// TestReload: a job file that is changed is read again, and one with a mistake is not used.
func TestReload(t *testing.T) {
	t.Parallel()
	dir := writtenOrders(t, 3)
	path := filepath.Join(dir, "orders.yaml")
	var log logged
	s := serveFiles(t, options.Options{Log: slog.New(slog.NewTextHandler(&log, nil))}, usual, path)
	change := func(old, with string) {
		t.Helper()
		text, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path+".new", bytes.Replace(text, []byte(old), []byte(with), 1), 0o600)
		}
		if err == nil {
			err = os.Rename(path+".new", path)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	wait := func(what string, is func() bool) {
		t.Helper()
		for end := time.Now().Add(time.Minute); !is(); time.Sleep(50 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s\n%s", what, &log)
			}
		}
	}
	change("query: [seller]", "query: [seller, time]")
	wait("the new query is not served", func() bool {
		status, _, _ := s.get("/get/orders?seller=7&time=2026-11-01+00:01:00")
		return status == http.StatusOK
	})
	if found := s.rows("/get/orders?seller=7&time=2026-11-01+00:01:00"); len(found.Rows) != 1 || found.Rows[0]["id"] != 2.0 {
		t.Errorf("%v", found)
	}
	change("query: [seller, time]", "query: [buyer]")
	wait("the mistake is not reported", func() bool {
		return strings.Contains(log.String(), "can't be used") && strings.Contains(log.String(), "buyer")
	})
	s.rows("/get/orders?seller=7&time=2026-11-01+00:01:00")
	change("query: [buyer]", "query: [seller]")
	wait("the right query is not served", func() bool { status, _, _ := s.get("/get/orders?seller=7"); return status == http.StatusOK })
}

// TestOutputThatIsNotThere: until its run has ended, an output's query has no answer, and the service is not ready.
func TestOutputThatIsNotThere(t *testing.T) {
	t.Parallel()
	dir := testfs.Tree(t, map[string]string{"orders.yaml": ordersJob, "in/part-0": ordersOf(3)})
	path := filepath.Join(dir, "orders.yaml")
	s := serveFiles(t, options.Options{}, usual, path)
	s.wantError("/get/orders?seller=7", http.StatusServiceUnavailable, errcode.ServeNotYet)
	if status, _, body := s.get("/readyz"); status != http.StatusServiceUnavailable {
		t.Errorf("ready: %d %s", status, body)
	}
	runtest.Must(t, jobtest.Read(t, path), options.Options{})
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if status, _, _ := s.get("/get/orders?seller=7"); status == http.StatusOK {
			break
		} else if time.Now().After(end) {
			t.Fatal("the output is not seen")
		}
	}
	if found := s.rows("/get/orders?seller=7"); len(found.Rows) != 3 {
		t.Errorf("%v", found)
	}
}

// TestOverload: more requests than may wait are sent away at once, waiting ones after half of their time, and slow ones
// at its end. Requests in progress are finished when the service stops.
func TestOverload(t *testing.T) {
	t.Parallel()
	dir := writtenOrders(t, 3)
	settings := usual
	settings.Parallel, settings.Timeout, settings.Cache = 1, 2*time.Second, 1
	stuck := &stuckFS{gate: make(chan struct{})}
	s := serveFiles(t, options.Options{Storage: stuck.wrap}, settings, filepath.Join(dir, "orders.yaml"))
	s.rows("/get/orders?seller=7") // the files are open
	stuck.close()
	statuses := make(chan int, 20)
	for range cap(statuses) {
		go func() {
			status, _, _ := s.get("/get/orders?seller=8")
			statuses <- status
		}()
	}
	count := map[int]int{}
	for range cap(statuses) {
		count[<-statuses]++
	}
	if count[http.StatusServiceUnavailable] < 19 || count[http.StatusGatewayTimeout]+count[http.StatusServiceUnavailable] != 20 {
		t.Errorf("statuses %v", count)
	}
	stuck.open()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if status, _, _ := s.get("/get/orders?seller=8"); status == http.StatusOK {
			break
		} else if time.Now().After(end) {
			t.Fatal("there is still no answer")
		}
	}
	stuck.close()
	slow := make(chan int, 1)
	go func() {
		status, _, _ := s.get("/get/orders?seller=8")
		slow <- status
	}()
	stuck.waitFor(t)
	go func() {
		time.Sleep(100 * time.Millisecond)
		stuck.open()
	}()
	if _, err := s.end(); err != nil {
		t.Error(err)
	}
	if status := <-slow; status != http.StatusOK {
		t.Errorf("the last request: %d", status)
	}
}

// TestAnswersBeyondTheMemory: a request whose rows need more than half of --memory is refused, and the next one, which
// needs less, is answered.
func TestAnswersBeyondTheMemory(t *testing.T) {
	t.Parallel()
	dir := writtenOrders(t, 30)
	s := serveFiles(t, options.Options{Memory: 10 << 10}, usual, filepath.Join(dir, "orders.yaml"))
	status, _, text := s.get("/get/orders?seller=7")
	if status != http.StatusRequestEntityTooLarge || !strings.Contains(text, "BL-SERVE-LARGE") {
		t.Errorf("%d: %s", status, text)
	}
	if status, _, text = s.get("/get/orders?seller=7&limit=2"); status != http.StatusOK {
		t.Errorf("%d: %s", status, text)
	}
}

// authority is a certificate authority for tests, and the files of certificates that it has made.
type authority struct {
	testing.TB
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	file string
}

func newAuthority(t testing.TB, dir string) *authority {
	t.Helper()
	a := &authority{TB: t}
	a.key, a.cert, a.file = a.make("authority", &x509.Certificate{IsCA: true, KeyUsage: x509.KeyUsageCertSign, BasicConstraintsValid: true}, dir)
	return a
}

// make writes NAME.pem and NAME.key below dir.
func (a *authority) make(name string, c *x509.Certificate, dir string) (*ecdsa.PrivateKey, *x509.Certificate, string) {
	a.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.Fatal(err)
	}
	c.SerialNumber, c.Subject = big.NewInt(time.Now().UnixNano()), pkix.Name{CommonName: name}
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	c.IPAddresses, c.ExtKeyUsage = []net.IP{net.IPv4(127, 0, 0, 1)}, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = c, key
	}
	der, err1 := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	secret, err2 := x509.MarshalECPrivateKey(key)
	made, err3 := x509.ParseCertificate(der)
	file := filepath.Join(dir, name+".pem")
	err4 := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600)
	err5 := os.WriteFile(filepath.Join(dir, name+".key"), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret}), 0o600)
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		a.Fatal(err)
	}
	return key, made, file
}

// TestSecureService: with TLS, only clients that trust the authority and have its certificate and a token get an answer.
// New certificates and tokens are taken without a restart.
func TestSecureService(t *testing.T) {
	t.Parallel()
	dir := writtenOrders(t, 3)
	a := newAuthority(t, dir)
	a.make("server", &x509.Certificate{}, dir)
	a.make("client", &x509.Certificate{}, dir)
	settings := usual
	settings.Cert, settings.Key, settings.ClientCA, settings.TokenFile = filepath.Join(dir, "server.pem"), filepath.Join(dir, "server.key"), a.file, filepath.Join(dir, "tokens")
	token := func(text string) {
		if err := errors.Join(os.WriteFile(settings.TokenFile+".new", []byte(text), 0o600), os.Rename(settings.TokenFile+".new", settings.TokenFile)); err != nil {
			t.Fatal(err)
		}
	}
	token("one\ntwo\n")
	s := serveFiles(t, options.Options{}, settings, filepath.Join(dir, "orders.yaml"))
	s.url = strings.Replace(s.url, "http:", "https:", 1)
	plain := s.url
	ask := func(client *http.Client) (int, *x509.Certificate, error) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, plain+"/get/orders?seller=7", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "bearer "+s.token)
		response, err := client.Do(request)
		if err != nil {
			return 0, nil, err
		}
		defer response.Body.Close()
		return response.StatusCode, response.TLS.PeerCertificates[0], nil
	}
	trusted := x509.NewCertPool()
	trusted.AddCert(a.cert)
	own, err := tls.LoadX509KeyPair(filepath.Join(dir, "client.pem"), filepath.Join(dir, "client.key"))
	if err != nil {
		t.Fatal(err)
	}
	clientWith := func(c *tls.Config) *http.Client {
		return &http.Client{Transport: &http.Transport{TLSClientConfig: c, DisableKeepAlives: true}}
	}
	good := clientWith(&tls.Config{RootCAs: trusted, Certificates: []tls.Certificate{own}})
	s.token = "two"
	status, first, err := ask(good)
	if err != nil || status != http.StatusOK {
		t.Fatalf("%d, %v", status, err)
	}
	for name, c := range map[string]*tls.Config{"no certificate": {RootCAs: trusted}, "another authority": {Certificates: []tls.Certificate{own}},
		"an old protocol": {RootCAs: trusted, Certificates: []tls.Certificate{own}, MaxVersion: tls.VersionTLS11}} {
		if status, _, err := ask(clientWith(c)); err == nil {
			t.Errorf("%s: %d", name, status)
		}
	}
	for _, wrong := range []string{"", "three", "one\n", "on", "one two"} {
		s.token = strings.TrimSpace(wrong) + " "
		if status, _, err := ask(good); err != nil || (status == http.StatusUnauthorized) == (wrong == "one\n") {
			t.Errorf("token %q: %d, %v", wrong, status, err)
		}
	}
	s.client = good
	s.token = "three"
	for _, path := range []string{"/get/orders?seller=7", "/get/nothing", "/openapi.json", "/metrics"} {
		s.wantError(path, http.StatusUnauthorized, errcode.ServeToken)
	}
	for _, path := range []string{"/healthz", "/readyz", "/", "/page.js"} {
		if status, _, _ := s.get(path); status != http.StatusOK {
			t.Errorf("%s without a token: %d", path, status)
		}
	}
	token("three\n")
	a.make("server", &x509.Certificate{}, dir)
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if status, now, err := ask(good); err == nil && status == http.StatusOK && !now.Equal(first) {
			break
		} else if time.Now().After(end) {
			t.Fatalf("the new token and certificate are not taken: %d, %v", status, err)
		}
	}
}

// TestOpenService: what others could reach is refused without TLS or without a proof of who asks, unless the operator
// says so; and so is what contradicts itself.
func TestOpenService(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*Settings)
		want   errcode.Code
	}{
		"loopback":             {func(s *Settings) { s.Listen = "127.0.0.2:1" }, ""},
		"localhost":            {func(s *Settings) { s.Listen = "localhost:1" }, ""},
		"loopback, version 6":  {func(s *Settings) { s.Listen = "[::1]:1" }, ""},
		"all addresses":        {func(s *Settings) { s.Listen = ":1" }, errcode.ServeOpen},
		"a name":               {func(s *Settings) { s.Listen = "host:1" }, errcode.ServeOpen},
		"an address":           {func(s *Settings) { s.Listen = "10.0.0.1:1" }, errcode.ServeOpen},
		"a token without TLS":  {func(s *Settings) { s.Listen, s.TokenFile = ":1", "t" }, errcode.ServeOpen},
		"TLS for everybody":    {func(s *Settings) { s.Listen, s.Cert, s.Key = ":1", "c", "k" }, errcode.ServeOpen},
		"TLS and a token":      {func(s *Settings) { s.Listen, s.Cert, s.Key, s.TokenFile = ":1", "c", "k", "t" }, ""},
		"TLS of both":          {func(s *Settings) { s.Listen, s.Cert, s.Key, s.ClientCA = ":1", "c", "k", "a" }, ""},
		"insecure":             {func(s *Settings) { s.Listen, s.Insecure = ":1", true }, ""},
		"no port":              {func(s *Settings) { s.Listen = "localhost" }, errcode.Command},
		"a certificate alone":  {func(s *Settings) { s.Cert = "c" }, errcode.Command},
		"an authority alone":   {func(s *Settings) { s.ClientCA = "a" }, errcode.Command},
		"no rows":              {func(s *Settings) { s.Rows = 0 }, errcode.Command},
		"more rows than limit": {func(s *Settings) { s.Rows = s.MaxRows + 1 }, errcode.Command},
		"no time":              {func(s *Settings) { s.Timeout = 0 }, errcode.Command},
	} {
		settings := usual
		c.change(&settings)
		if err := settings.check(); (err == nil) != (c.want == "") || err != nil && failure.CodeOf(err) != c.want {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// TestOutputsThatAreNotWhole: no answer comes from an output that lacks files, or that another job or date has written.
// Files that are back are served.
func TestOutputsThatAreNotWhole(t *testing.T) {
	t.Parallel()
	dir := writtenOrders(t, 3)
	path := filepath.Join(dir, "orders.yaml")
	slow := func(fsys storage.FS) storage.FS { return slowFS{fsys} }
	s := serveFiles(t, options.Options{Storage: slow}, usual, path)
	s.rows("/get/orders?seller=7")
	files := filepath.Join(dir, "out", "2026-11-20", "f")
	if err := os.Rename(files, files+"x"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(1100 * time.Millisecond) // a look is due
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if status, _, body := s.get("/get/orders?seller=8"); status == http.StatusOK && !strings.Contains(body, `"id":1,`) {
				t.Errorf("without files: %s", body)
			}
		})
	}
	all.Wait()
	fresh := serveFiles(t, options.Options{}, usual, path)
	fresh.wantError("/get/orders?seller=7", http.StatusServiceUnavailable, errcode.ServeNotYet)
	if err := os.Rename(files+"x", files); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*service{s, fresh} {
		for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
			if status, _, body := s.get("/get/orders?seller=8"); status == http.StatusOK && strings.Contains(body, `"id":1,`) {
				break
			} else if time.Now().After(end) {
				t.Fatalf("the files are not seen again: %d %s", status, body)
			}
		}
	}
	for name, change := range map[string]func(string) string{
		"key": func(job string) string { return strings.Replace(job, "salt(id, 5)", "salt(seller, 5)", 1) },
		"date": func(job string) string {
			return strings.Replace(job, "output: out/${date}", "output: out/2026-11-20", 1)
		}} {
		other := filepath.Join(dir, name+".yaml")
		if err := os.WriteFile(other, []byte(change(ordersJob)), 0o600); err != nil {
			t.Fatal(err)
		}
		date := jobdir.Date
		if name == "date" {
			date = date.AddDate(0, 0, 1)
		}
		s := serveJobs(t, options.Options{}, usual, true, func() ([]*jobfile.Job, error) {
			j, err := jobfile.Read(other, jobfile.ReadOptions{Date: date})
			return []*jobfile.Job{j}, err
		})
		s.wantError("/get/"+name+"?seller=7", http.StatusInternalServerError, errcode.ServeOther)
	}
}

// slowFS takes a while to open a file, as HDFS does.
type slowFS struct{ storage.FS }

func (s slowFS) Open(name string) (storage.File, error) {
	time.Sleep(20 * time.Millisecond)
	return s.FS.Open(name)
}

// TestBadClients: clients that send half a request, or don't read their answers, keep neither others from being answered
// nor the service from ending. Names that anybody makes up become neither metrics nor lines of the log.
func TestBadClients(t *testing.T) {
	t.Parallel()
	dir := writtenOrders(t, 3)
	path := filepath.Join(dir, "orders.yaml")
	settings := usual
	settings.TokenFile, settings.Timeout = filepath.Join(dir, "tokens"), time.Second
	if err := os.WriteFile(settings.TokenFile, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	var log logged
	s := serveFiles(t, options.Options{Log: slog.New(slog.NewTextHandler(&log, nil))}, settings, path)
	dial := func(text string) {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err == nil {
			_ = conn.SetDeadline(time.Now().Add(2 * time.Second))
			_, _ = conn.Write([]byte(text)) // may block when nobody reads the answers
		}
		t.Cleanup(func() { conn.Close() })
		if err != nil {
			t.Fatal(err)
		}
	}
	dial("GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n")
	dial(strings.Repeat("GET /openapi.json HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer secret\r\n\r\n", 5000))
	for _, name := range []string{"one", "two", "%ff", "orders%3Fseller=VALUE"} {
		s.wantError("/get/"+name+"?seller=VALUE", http.StatusUnauthorized, errcode.ServeToken)
	}
	s.token = "secret"
	for _, name := range []string{"one", "%ff", "orders%3Fseller=VALUE"} {
		s.wantError("/get/"+name, http.StatusNotFound, errcode.ServeRequest)
	}
	if err := os.WriteFile(path, []byte(ordersJob+"# changed\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); !strings.Contains(log.String(), "read the changed"); time.Sleep(50 * time.Millisecond) {
		s.rows("/get/orders?seller=7")
		if time.Now().After(end) {
			t.Fatal("the job file is not read again")
		}
	}
	if _, _, text := s.get("/metrics"); strings.Contains(text, `query="one"`) || !strings.Contains(text, `{query="",status="401"} 4`) {
		t.Errorf("the metrics:\n%s", text)
	}
	if strings.Contains(log.String(), "VALUE") || strings.Contains(log.String(), "panic") {
		t.Errorf("the log:\n%s", &log)
	}
	if report, err := s.end(); err != nil || report.Status != failure.StatusDone {
		t.Errorf("the end: %+v, %v", report, err)
	}
}

// TestNamesOfTheService: a browser that was led here under another name gets nothing, and a query's name must suit an
// address.
func TestNamesOfTheService(t *testing.T) {
	t.Parallel()
	dir := writtenOrders(t, 3)
	s := serveFiles(t, options.Options{}, usual, filepath.Join(dir, "orders.yaml"))
	for host, want := range map[string]int{"localhost:1": 200, "localhost": 200, "127.0.0.1": 200, "[::1]:80": 200, "evil.example": 421, "10.0.0.1:80": 421} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/get/orders?seller=7", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Host = host
		response, err := s.client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("host %s: %d, want %d", host, response.StatusCode, want)
		}
	}
	odd := filepath.Join(dir, "a b#1.yaml")
	if err := os.WriteFile(odd, []byte(ordersJob), 0o600); err != nil {
		t.Fatal(err)
	}
	read := func() ([]*jobfile.Job, error) { return []*jobfile.Job{jobtest.Read(t, odd)}, nil }
	if _, err := Run(t.Context(), read, true, options.Options{}, usual); failure.KindOf(err) != failure.Usage || !strings.Contains(err.Error(), "rename") {
		t.Errorf("an odd name: %v", err)
	}
}
