package serve

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"bulkload/internal/errcode"
	"bulkload/jobs/inspect/lookup"
	"bulkload/jobs/spec/jobfile"
)

// query is a job with one table, as it is served: at /get/name.
type query struct {
	name   string
	origin *jobfile.Origin // of the job
	finder *lookup.Finder
	names  *lookup.Names
	use    sync.RWMutex // held by requests that use the finder

	readying sync.Mutex
	readied  time.Time // when it was last asked whether it can answer
	notReady error     // the answer
}

// parameters are those of every request. No column of a query may have their names.
var parameters = []string{"limit", "after", "since", "until", "order", "raw"}

// nameOf is the name of a job's only query, or of one of several.
func nameOf(j, out *jobfile.Job) string {
	name := strings.TrimSuffix(filepath.Base(j.Path), filepath.Ext(j.Path))
	if j.Outputs != nil {
		_, table, found := strings.Cut(out.Table, ":")
		if !found {
			table = out.Table
		}
		name += "." + table
	}
	return name
}

// open opens the queries of jobs in place of those that are served, and keeps what has not changed. After an error
// everything stays as it was.
func (s *server) open(ctx context.Context, jobs []*jobfile.Job) (err error) {
	old := map[string]*query{}
	for _, q := range s.queries {
		old[q.name] = q
	}
	var all, opened []*query
	defer func() {
		if err != nil {
			for _, q := range opened {
				err = errors.Join(err, q.finder.Close())
			}
		}
	}()
	for _, j := range jobs {
		before := len(all)
		for _, out := range j.Feeds() {
			if len(out.Query) == 0 {
				continue
			}
			q := &query{name: nameOf(j, out), origin: j.Origin(), names: lookup.NamesOf(out)}
			if slices.ContainsFunc(all, func(o *query) bool { return o.name == q.name }) {
				return errcode.Command.Errorf("two queries are named %s: rename one of the job files", q.name)
			}
			for _, column := range out.Query {
				if slices.Contains(parameters, column) {
					return errcode.Command.Errorf("%s: query column %s has the name of a parameter of each request: give "+
						"the column another name in input.columns", j.Path, column)
				}
			}
			if same := old[q.name]; same != nil && reflect.DeepEqual(same.origin, q.origin) {
				all = append(all, same)
				continue
			}
			if s.dated {
				q.finder, err = lookup.OpenOutput(out, s.options, s.cache)
			} else {
				q.finder, err = lookup.OpenTable(ctx, out, s.options)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", j.Path, err)
			}
			all, opened = append(all, q), append(opened, q)
		}
		if len(all) == before {
			return errcode.JobRowkey.Errorf("%s names no query columns; add query: [COLUMN, …]", j.Path)
		}
	}
	document, err := openAPI(all, &s.settings)
	if err != nil {
		return err
	}
	s.mu.Lock()
	retired := s.queries
	s.queries, s.document = all, document
	s.mu.Unlock()
	for _, q := range retired {
		if !slices.Contains(all, q) {
			q.use.Lock() // its last request has ended
			if err := q.finder.Close(); err != nil {
				s.log.Warn("close a query", "query", q.name, "error", err)
			}
		}
	}
	return nil
}

func (s *server) close() (err error) {
	for _, q := range s.queries {
		err = errors.Join(err, q.finder.Close())
	}
	return err
}

// take returns a query for one request, which calls done at its end; nil if there is none with that name.
func (s *server) take(name string) (q *query, done func()) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, q := range s.queries {
		if q.name == name {
			q.use.RLock()
			return q, q.use.RUnlock
		}
	}
	return nil, nil
}

// readyEvery is how often a query is asked at most whether it can answer.
const readyEvery = 5 * time.Second

// ready is why a query can't answer now.
func (q *query) ready(ctx context.Context) error {
	q.readying.Lock()
	defer q.readying.Unlock()
	if time.Since(q.readied) >= readyEvery {
		q.notReady, q.readied = q.finder.Ready(ctx), time.Now()
	}
	return q.notReady
}

// watchEvery is how often files are looked at.
const watchEvery = time.Second

// watch reads job files, certificates and tokens again when they have changed. What can't be used is reported, and
// changes nothing.
func (s *server) watch(ctx context.Context) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	jobs, keys := s.jobFiles(), s.settings.files()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if now := s.settings.files(); !maps.Equal(now, keys) {
			keys = now
			s.reloaded("certificates and tokens", s.secure.load(&s.settings))
		}
		if now := s.jobFiles(); !maps.Equal(now, jobs) {
			jobs = now // from before they are read, so that a change meanwhile is seen
			read, err := s.read()
			if err == nil {
				err = s.open(ctx, read)
			}
			s.reloaded("job files", err)
		}
	}
}

func (s *server) reloaded(what string, err error) {
	if err != nil {
		s.metrics.failedReloads.Inc()
		s.log.Error("the changed "+what+" can't be used; the old ones stay", "error", err)
		return
	}
	s.metrics.reloads.Inc()
	s.log.Info("read the changed " + what)
}

// version tells whether a file was written again.
type version struct {
	time time.Time
	size int64
}

func versionsOf(names ...string) map[string]version {
	all := map[string]version{}
	for _, name := range names {
		if info, err := os.Stat(name); err == nil {
			all[name] = version{info.ModTime(), info.Size()}
		}
	}
	return all
}

// jobFiles are the files of which the jobs were read.
func (s *server) jobFiles() map[string]version {
	var names []string
	for _, q := range s.queries {
		names = append(names, q.origin.Path)
		for name := range q.origin.Files {
			if !filepath.IsAbs(name) {
				name = filepath.Join(q.origin.Dir, name)
			}
			names = append(names, name)
		}
	}
	return versionsOf(names...)
}

// files are those of TLS and tokens.
func (s *Settings) files() map[string]version {
	return versionsOf(s.Cert, s.Key, s.ClientCA, s.TokenFile)
}
