package main

import (
	"context"
	"fmt"
	"time"

	"bulkload/internal/bytesize"
	"bulkload/jobs/inspect/serve"
	"bulkload/jobs/spec/jobfile"
)

type serveCommand struct {
	Jobs []string `arg:"" name:"job" help:"The job files, each with a query. check.yaml is served at /get/check."`
	dated
	Listen    string        `default:"127.0.0.1:8080" placeholder:"HOST:PORT" help:"Where to listen (default: 127.0.0.1:8080). Only loopback addresses may be without TLS and a token or client certificates."`
	TLSCert   string        `placeholder:"FILE" help:"The server's certificate with its chain, in PEM."`
	TLSKey    string        `placeholder:"FILE" help:"Its key."`
	ClientCA  string        `placeholder:"FILE" help:"Only clients with a certificate of these authorities may ask."`
	TokenFile string        `placeholder:"FILE" help:"Only clients with a bearer token that is a line of this file may ask."`
	Insecure  bool          `help:"Allows other machines to ask without TLS, or without a token or certificate, because something else protects the service."`
	Rows      int           `default:"50" help:"Rows of an answer, unless the request has a limit (default: 50)."`
	MaxRows   int           `default:"1000" help:"The largest limit (default: 1000)."`
	MaxBytes  string        `default:"4MiB" placeholder:"SIZE" help:"Bytes of an answer's cells, at most (default: 4MiB)."`
	Timeout   time.Duration `default:"2s" help:"Time for a request (default: 2s)."`
	Parallel  int           `default:"64" help:"Requests that are answered at a time (default: 64). Four times as many may wait."`
	Cache     string        `default:"64MiB" placeholder:"SIZE" help:"Memory for blocks of HFiles (default: 64MiB)."`
	LogValues bool          `help:"Has the values of queries in the log."`
}

func (c *serveCommand) do(ctx context.Context, s *session) (report, error) {
	settings := serve.Settings{Listen: c.Listen, Cert: c.TLSCert, Key: c.TLSKey, ClientCA: c.ClientCA,
		TokenFile: c.TokenFile, Insecure: c.Insecure, Rows: c.Rows, MaxRows: c.MaxRows, Timeout: c.Timeout,
		Parallel: c.Parallel, LogValues: c.LogValues}
	bytes, err := bytesize.Parse(c.MaxBytes)
	if err != nil {
		return nil, usage(fmt.Errorf("--max-bytes: %w", err))
	}
	settings.MaxBytes = int(bytes)
	if settings.Cache, err = bytesize.Parse(c.Cache); err != nil {
		return nil, usage(fmt.Errorf("--cache: %w", err))
	}
	settings.Listening = func(addr string) {
		scheme := "http"
		if c.TLSCert != "" {
			scheme = "https"
		}
		s.log.Info(fmt.Sprintf("serving on %s://%s", scheme, addr))
	}
	read := func() (jobs []*jobfile.Job, err error) {
		for _, path := range c.Jobs {
			j, err := c.read(ctx, path, jobfile.ReadOptions{DateOptional: true})
			if err != nil {
				return nil, err
			}
			jobs = append(jobs, j)
		}
		return jobs, c.checkUsed()
	}
	return serve.Run(ctx, read, c.Date != nil, s.options(), settings)
}
