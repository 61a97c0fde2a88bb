package jobs

import (
	"slices"
	"strings"

	"bulkload/jobs/base/options"
	"bulkload/jobs/env/site"
	"bulkload/jobs/spec/jobfile"
	"bulkload/jobs/tasks/yarn"
)

// YARN is yarn.Engine.
type YARN = yarn.Engine

// EngineSettings are jobfile.Engine.
type EngineSettings = jobfile.Engine

// NewYARN is the engine that runs a job's tasks on YARN; program is the file of this program. Empty fields of e have defaults.
func NewYARN(j *jobfile.Job, e jobfile.Engine, program string, o options.Options) *yarn.Engine {
	engine := &yarn.Engine{Program: program, WorkDir: o.WorkDir, Log: o.Log, Settings: yarn.Settings{
		Home: e.HadoopHome, Streaming: e.StreamingJar, Queue: e.Queue, Label: e.Label, Priority: e.Priority, JVM: e.JVM, Attempts: e.Attempts,
		Speculate: e.Speculative, Properties: e.Properties, Services: hdfsServices(j)}}
	at := site.Chosen(o, j.HBase)
	if at.Conf != "" {
		engine.ConfDirs = []string{at.Conf}
	}
	engine.Principal, engine.Keytab = at.Kerberos.Principal, at.Kerberos.Keytab
	return engine
}

// hdfsServices are the HDFS services that a job names: those of its input and of its outputs.
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

// YARNCommands are the commands with which a run of a job would submit its tasks.
func YARNCommands(j *jobfile.Job, by *ByTasks) (all []string, err error) {
	e := by.Engine.(*yarn.Engine)
	return e.Commands(j.Feeds()[0].Output, e.Program, by.Memory, max(by.Cores, 1))
}
