package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"bulkload/internal/test/sample"

	vegeta "github.com/tsenart/vegeta/v12/lib"
	"golang.org/x/sync/errgroup"
)

// lookup is a way to ask for the rows of a check_id.
type lookup struct {
	name   string
	by     *answerer
	url    func(key string) string
	read   func(document json.RawMessage) ([]map[string]string, error) // the rows of an answer
	client http.Client

	mu    sync.Mutex
	known map[string]known // by URL
}

// known is an answer that is right.
type known struct {
	rows [][]string // in the order of their ids
	hash uint64     // of the body
}

// clientTime is how long a client waits for an answer.
const clientTime = time.Minute

func newLookup(name string, by *answerer, url func(string) string, read func(json.RawMessage) ([]map[string]string, error)) *lookup {
	transport := &http.Transport{MaxIdleConnsPerHost: vegeta.DefaultConnections}
	return &lookup{name: name, by: by, url: url, read: read, known: map[string]known{},
		client: http.Client{Transport: eachSalt{transport}, Timeout: clientTime}}
}

// anySalt is in the URLs of look-ups that ask for one salt after the other, in its place.
const anySalt = "~"

// eachSalt sends a request once for each salt, one after the other, if its URL says so. The body is that of all answers.
type eachSalt struct{ http.RoundTripper }

func (t eachSalt) RoundTrip(r *http.Request) (*http.Response, error) {
	path, query := r.URL.Path, r.URL.RawQuery
	if !strings.Contains(path+query, anySalt) {
		return t.RoundTripper.RoundTrip(r)
	}
	var all bytes.Buffer
	for salt := byte('0'); ; salt++ {
		one := r.Clone(r.Context())
		one.URL.Path = strings.ReplaceAll(path, anySalt, string(salt))
		one.URL.RawQuery = strings.ReplaceAll(query, anySalt, string(salt))
		answer, err := t.RoundTripper.RoundTrip(one)
		if err != nil || answer.StatusCode != http.StatusOK {
			return answer, err
		}
		_, err = all.ReadFrom(answer.Body)
		if err := errors.Join(err, answer.Body.Close()); err != nil {
			return nil, err
		}
		if salt == '9' {
			answer.Body, answer.ContentLength = io.NopCloser(&all), int64(all.Len())
			return answer, nil
		}
	}
}

// served reads an answer of bulkload serve.
func served(document json.RawMessage) ([]map[string]string, error) {
	var answer struct {
		Rows []map[string]string
		Next *string
	}
	err := json.Unmarshal(document, &answer)
	if err == nil && answer.Next != nil {
		err = errors.New("there are more rows")
	}
	return answer.Rows, err
}

// rested reads an answer of HBase's REST server.
func rested(document json.RawMessage) (rows []map[string]string, err error) {
	var answer struct {
		Row []struct {
			Cell []struct {
				Column []byte
				Value  []byte `json:"$"`
			}
		}
	}
	err = json.Unmarshal(document, &answer)
	for _, r := range answer.Row {
		row := map[string]string{}
		for _, c := range r.Cell {
			row[strings.TrimPrefix(string(c.Column), family+":")] = string(c.Value)
		}
		rows = append(rows, row)
	}
	return rows, err
}

// rows are those of a body, in the order of their ids.
func (l *lookup) rows(body []byte) (all [][]string, err error) {
	for d := json.NewDecoder(bytes.NewReader(body)); ; {
		var document json.RawMessage
		if err := d.Decode(&document); err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
		rows, err := l.read(document)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			var fields []string
			for _, name := range sample.CheckColumns {
				fields = append(fields, row[name])
			}
			all = append(all, fields)
		}
	}
	slices.SortFunc(all, slices.Compare)
	return all, nil
}

var seed = maphash.MakeSeed()

var errNoAnswer = errors.New("which is no answer")

// learn looks keys up, some at a time, and keeps the answers, which must be right.
func (l *lookup) learn(ctx context.Context, wanted map[string][][]string, keys []string) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(20)
	for _, key := range keys {
		group.Go(func() error {
			url := l.url(key)
			status, body, err := l.get(ctx, url)
			for end := time.Now().Add(clientTime); err == nil && status >= 500 && time.Now().Before(end); {
				time.Sleep(100 * time.Millisecond) // until all has started up
				status, body, err = l.get(ctx, url)
			}
			if err != nil || status != http.StatusOK {
				return fmt.Errorf("%s: %s: %d %.300s, %w", l.name, url, status, body, cmp.Or(err, errNoAnswer))
			}
			k := known{wanted[key], maphash.Bytes(seed, body)}
			if !l.right(k, body, false) {
				return fmt.Errorf("%s: %s has other rows than the %d that it should have: %.2000s", l.name, url, len(k.rows), body)
			}
			l.mu.Lock()
			defer l.mu.Unlock()
			l.known[url] = k
			return nil
		})
	}
	return group.Wait()
}

func (l *lookup) get(ctx context.Context, url string) (int, []byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, nil, err
	}
	request.Header = accept
	answer, err := l.client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	body, err := io.ReadAll(answer.Body)
	return answer.StatusCode, body, errors.Join(err, answer.Body.Close())
}

var accept = http.Header{"Accept": {"application/json"}}

// right reports whether a body has exactly the rows that it should have.
func (l *lookup) right(k known, body []byte, hashed bool) bool {
	if hashed && maphash.Bytes(seed, body) == k.hash {
		return true
	}
	rows, err := l.rows(body)
	return err == nil && slices.EqualFunc(rows, k.rows, slices.Equal)
}

// attack is how keys are looked up.
type attack struct {
	keys    []string // in turn
	once    bool     // each of them once, in place of length
	clients int      // of the closed loop: each asks again when it has its answer
	rate    int      // of the open loop: requests a second, whatever becomes of those before; 0: closed
	length  time.Duration
}

// outcome is what became of an attack's requests.
type outcome struct {
	vegeta.Metrics
	wrong      int       // answers of status 200 without exactly the rows
	lastFailed time.Time // the begin of the last request without status 200
}

// attack looks up keys that were learned.
func (l *lookup) attack(ctx context.Context, o attack) *outcome {
	options := []func(*vegeta.Attacker){vegeta.Client(&l.client), vegeta.Workers(uint64(max(o.clients, 10)))}
	if o.rate == 0 {
		options = append(options, vegeta.Workers(uint64(o.clients)), vegeta.MaxWorkers(uint64(o.clients)))
	}
	var next atomic.Int64
	targets := func(t *vegeta.Target) error {
		i := int(next.Add(1)) - 1
		if o.once && i >= len(o.keys) {
			return vegeta.ErrNoTargets
		}
		t.Method, t.URL, t.Header = http.MethodGet, l.url(o.keys[i%len(o.keys)]), accept
		return nil
	}
	a := vegeta.NewAttacker(options...)
	defer context.AfterFunc(ctx, func() { a.Stop() })()
	var found outcome
	for r := range a.Attack(targets, vegeta.Rate{Freq: o.rate, Per: time.Second}, o.length, "") {
		if r.Error == vegeta.ErrNoTargets.Error() {
			continue
		}
		found.Add(r)
		if r.Code != http.StatusOK || r.Error != "" {
			if r.Timestamp.After(found.lastFailed) {
				found.lastFailed = r.Timestamp
			}
		} else if !l.right(l.known[r.URL], r.Body, true) {
			if found.wrong++; found.wrong == 1 {
				say("%s: %s has wrong rows: %.2000s", l.name, r.URL, r.Body)
			}
		}
	}
	found.Close()
	return &found
}
