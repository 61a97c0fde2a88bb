package serve

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"bulkload/internal/errcode"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/inspect/lookup"
	"bulkload/jobs/spec/jobfile"
)

// query is a job with one table, as it is served: at /get/name.
type query struct {
	name   string
	origin *jobfile.Origin // of the job
	finder *lookup.Finder
	names  *lookup.Names
	use    sync.WaitGroup // requests that use the finder
}

// parameters are those of every request. No column of a query may have their names.
var parameters = []string{"limit", "after", "since", "until", "order", "raw"}

// goodName matches what can be a name in addresses and in OpenAPI.
var goodName = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

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
			if !goodName.MatchString(q.name) {
				return errcode.Command.Errorf("%s: a query's name has only letters, digits, _, - and ., and %q has others: "+
					"rename the job file", j.Path, q.name)
			}
			if slices.ContainsFunc(all, func(o *query) bool { return o.name == q.name }) {
				return errcode.Command.Errorf("two queries are named %s: rename one of the job files, or split its outputs "+
					"into several", q.name)
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
			go s.retire(q) // a read that hangs must not keep others from being served
		}
	}
	return nil
}

// retire closes a query that no new request gets, after its last one.
func (s *server) retire(q *query) {
	q.use.Wait()
	if err := q.finder.Close(); err != nil {
		s.log.Warn(fmt.Sprintf("close query %s: %v", q.name, err))
	}
}

// close closes all queries. Reads that hang end with the process.
func (s *server) close() {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		for _, q := range s.queries {
			s.retire(q)
		}
	}()
	select {
	case <-closed:
	case <-time.After(stopTime):
	}
}

// take returns a query for one request, which calls done at its end; nil if there is none with that name.
func (s *server) take(name string) (q *query, done func()) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, q := range s.queries {
		if q.name == name {
			q.use.Add(1)
			return q, q.use.Done
		}
	}
	return nil, nil
}

const (
	readyEvery = 5 * time.Second // queries are asked that often whether they can answer
	watchEvery = time.Second     // files are looked at that often
	retryEvery = 5 * time.Second // changed job files that could not be opened are tried that often
)

// lookIfReady asks each query whether it can answer.
func (s *server) lookIfReady(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, s.settings.Timeout)
	defer cancel()
	s.mu.RLock()
	all := slices.Clone(s.queries)
	s.mu.RUnlock()
	var why *string
	for _, of := range all {
		q, done := s.take(of.name)
		if q == nil {
			continue
		}
		err := q.finder.Ready(ctx)
		if done(); err != nil {
			text := fmt.Sprintf("query %s is not ready: %s", q.name, failure.CodeOf(err))
			why = &text
			s.log.Warn(fmt.Sprintf("query %s is not ready: %v", q.name, err))
			break
		}
	}
	s.notReady.Store(why)
}

// every calls a function again and again until ctx ends.
func every(ctx context.Context, pause time.Duration, do func()) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			do()
		}
	}
}

// watch reads job files, certificates and tokens again when they have changed since they had these versions. What can't
// be used is reported, and changes nothing.
func (s *server) watch(ctx context.Context, jobs, secrets map[string]version) {
	var again time.Time // when to try once more; zero: when a file changes
	every(ctx, watchEvery, func() {
		if now := s.settings.files(); !maps.Equal(now, secrets) {
			secrets = now
			s.reloaded("certificates and tokens", s.secure.load(&s.settings))
		}
		now := versionsOf(slices.Collect(maps.Keys(jobs))...)
		if maps.Equal(now, jobs) && (again.IsZero() || time.Now().Before(again)) {
			return
		}
		jobs, again = now, time.Time{}
		read, err := s.read()
		if err == nil {
			for name, v := range filesOf(read) {
				if _, known := now[name]; !known {
					jobs[name] = v
				}
			}
			err = s.open(ctx, read)
		}
		if kind := failure.KindOf(err); err != nil && kind != failure.Usage && kind != failure.Refused {
			again = time.Now().Add(retryEvery)
		}
		s.reloaded("job files", err)
	})
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

// version tells whether a file was written again; zero: it does not exist.
type version struct {
	time time.Time
	size int64
}

func versionsOf(names ...string) map[string]version {
	all := map[string]version{}
	for _, name := range names {
		var v version
		if info, err := os.Stat(name); err == nil {
			v = version{info.ModTime(), info.Size()}
		}
		all[name] = v
	}
	return all
}

// filesOf are the files of which jobs were read.
func filesOf(jobs []*jobfile.Job) map[string]version {
	var names []string
	for _, j := range jobs {
		origin := j.Origin()
		names = append(names, origin.Path)
		for name := range origin.Files {
			if !filepath.IsAbs(name) {
				name = filepath.Join(origin.Dir, name)
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
