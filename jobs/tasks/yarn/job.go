package yarn

import (
	"slices"
	"strings"

	"bulkload/jobs/base/options"
	"bulkload/jobs/env/site"
	"bulkload/jobs/spec/jobfile"
)

// New returns the engine that runs a job's tasks on YARN. program is the file of this program. Empty fields of e get
// defaults.
func New(j *jobfile.Job, e jobfile.EngineSettings, program string, o options.Options) *Runner {
	engine := &Runner{Program: program, WorkDir: o.WorkDir, Log: o.Log,
		Settings: Settings{EngineSettings: e, Services: hdfsServices(j)}}
	at := site.Chosen(o, j.HBase)
	if at.Conf != "" {
		engine.ConfDirs = []string{at.Conf}
	}
	engine.Principal, engine.Keytab = at.Kerberos.Principal, at.Kerberos.Keytab
	return engine
}

// hdfsServices returns the HDFS services that a job names, in its input and outputs.
func hdfsServices(j *jobfile.Job) []string {
	paths := []string{j.Input.Path}
	for _, out := range j.Feeds() {
		paths = append(paths, out.Output)
	}
	var services []string
	for _, p := range paths {
		if rest, ok := strings.CutPrefix(p, "hdfs://"); ok {
			if service, _, _ := strings.Cut(rest, "/"); service != "" {
				services = append(services, "hdfs://"+service)
			}
		}
	}
	slices.Sort(services)
	return slices.Compact(services)
}
