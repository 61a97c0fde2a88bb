package jobfile

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"bulkload/internal/bytesize"
	"bulkload/jobs/spec/yamldoc"
)

// EngineSettings says how a job's tasks run, if it runs as tasks. No setting changes the content of a file. Zero values
// mean the defaults.
type EngineSettings struct {
	TaskSize int64 // bytes per task
	Memory   int64 // --memory of a task, in bytes
	Cores    int   // per task

	// For YARN.
	Queue        string
	Priority     string            // a number, or a name such as HIGH
	Label        string            // of the nodes that may run tasks
	Attempts     int               // per task; 0: as the cluster says
	Speculative  bool              // a slow task gets a second attempt
	JVM          int64             // bytes of a container's memory in addition to its task's
	HadoopHome   string            // its bin has hadoop and yarn; "": HADOOP_HOME, then PATH
	StreamingJar string            // "": searched for in the usual places
	Properties   map[string]string // of Hadoop's job
}

// Set sets a key of the job file's engine. For properties it adds one, NAME=VALUE.
func (e *EngineSettings) Set(key, value string) (err error) {
	switch key {
	case "task_size":
		e.TaskSize, err = bytesize.Parse(value)
	case "memory":
		e.Memory, err = bytesize.Parse(value)
	case "cores":
		e.Cores, err = fromOne(value)
	case "queue":
		e.Queue = value
	case "priority":
		e.Priority = value
	case "label":
		e.Label = value
	case "attempts":
		e.Attempts, err = fromOne(value)
	case "speculative":
		e.Speculative = value == "true"
		if value != "true" && value != "false" {
			err = fmt.Errorf("%q is neither true nor false", value)
		}
	case "jvm_memory":
		e.JVM, err = bytesize.Parse(value)
	case "hadoop_home":
		e.HadoopHome = value
	case "streaming_jar":
		e.StreamingJar = value
	case "properties":
		err = e.setProperty(value)
	default:
		err = fmt.Errorf("there is no such key; there are %s", strings.Join(yamldoc.Names(yamldoc.Engine), ", "))
	}
	return err
}

func fromOne(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%q is not a whole number of at least 1", text)
	}
	return n, nil
}

func (e *EngineSettings) setProperty(text string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return errors.New("write NAME=VALUE")
	}
	if e.Properties == nil {
		e.Properties = map[string]string{}
	}
	e.Properties[name] = value
	return nil
}

func readEngine(j *Job, s *yamldoc.Section) {
	if s == nil {
		return
	}
	s.Known(yamldoc.Engine)
	for _, key := range yamldoc.Engine {
		if !s.Has(key.Name) {
			continue
		}
		values := []yamldoc.Item{}
		switch {
		case key.Kind == yamldoc.Texts:
			values = s.List(key.Name)
		default:
			if text := s.Text(key.Name); text != "" {
				values = append(values, yamldoc.Item{Text: text})
			}
		}
		for _, v := range values {
			if err := j.Engine.Set(key.Name, v.Text); err != nil {
				s.Fail(key.Name, "%v", err)
			}
		}
	}
}
