package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"bulkload/internal/test/testcluster"
)

// servers looks at the processes of a cluster. What is about a region server needs one that has only one of them.
type servers struct {
	cluster *testcluster.Cluster
	info    string // address of the region server's web server
	gc      string // log of its garbage collector
}

// freshMetrics is how old the answers of Hadoop's metrics may be: they are kept for ten seconds.
const freshMetrics = 11 * time.Second

// countersOf are the metrics of the region server whose growth is a figure, by their names in JMX.
var countersOf = map[string]string{
	"sub=WAL/writtenBytes":              walBytes,
	"sub=Server/FlushTime_num_ops":      flushes,
	"sub=Server/CompactionTime_num_ops": compactions,
	"sub=Server/compactedOutputBytes":   compactedOut,
	"sub=Server/updatesBlockedTime":     blockedMillis,
	"sub=Server/blockedRequestCount":    refused,
}

// counters are figures that only grow.
func (s *servers) counters() (figures, error) {
	all := figures{}
	for name, figure := range countersOf {
		sub, field, _ := strings.Cut(name, "/")
		v, err := metric(s.info, "Hadoop:service=HBase,name=RegionServer,"+sub, field)
		if err != nil {
			return nil, err
		}
		all[figure] = v
	}
	v, err := metric(s.cluster.DataNodeHTTP(), "Hadoop:service=DataNode,name=DataNodeActivity*", "BytesWritten")
	all[hdfsBytes] = v
	return all, err
}

// metric asks a server of Hadoop or HBase for one number.
func metric(address, bean, field string) (float64, error) {
	answer, err := http.Get("http://" + address + "/jmx?qry=" + url.QueryEscape(bean))
	if err != nil {
		return 0, err
	}
	defer func() { _ = answer.Body.Close() }()
	var found struct{ Beans []map[string]any }
	if err := json.NewDecoder(answer.Body).Decode(&found); err != nil {
		return 0, fmt.Errorf("metrics of %s: %w", address, err)
	}
	if len(found.Beans) == 1 {
		if v, ok := found.Beans[0][field].(float64); ok {
			return v, nil
		}
	}
	return 0, fmt.Errorf("%s has no metric %s of %s", address, field, bean)
}

// cpu is what all processes of the cluster have used so far, in user and system code.
func (s *servers) cpu() (time.Duration, error) { return s.cpuOf(s.cluster.Roles()...) }

func (s *servers) cpuOf(roles ...string) (sum time.Duration, err error) {
	for _, role := range roles {
		pid, alive := s.cluster.PID(role)
		if !alive {
			return 0, fmt.Errorf("%s: %w", role, testcluster.ErrNotRunning)
		}
		used, err := processCPU(pid)
		if err != nil {
			return 0, err
		}
		sum += used
	}
	return sum, nil
}

// processCPU is what a process has used so far, in user and system code.
func processCPU(pid int) (time.Duration, error) {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0, err
	}
	var ticks int64
	// The program's name, which is in parentheses, may contain anything.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	for _, f := range fields[11:13] {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / 100, nil // Linux counts in hundredths of a second
}

// quiet returns when the servers have used hardly any CPU time for some seconds, so that nothing is left to flush or
// compact.
func (s *servers) quiet() error {
	const look = 3 * time.Second
	for {
		before, err := s.cpu()
		if err != nil {
			return err
		}
		time.Sleep(look)
		after, err := s.cpu()
		if err != nil || after-before < look/10 {
			return err
		}
	}
}

// pause matches a pause in a log of Java's garbage collector, in milliseconds.
var pause = regexp.MustCompile(`(?m)\] GC\(\d+\) Pause .* ([0-9.]+)ms$`)

// pauses returns the pauses of the region server's garbage collector since the log had a length.
func (s *servers) pauses(from int) (millis []float64, length int, err error) {
	log, err := os.ReadFile(s.gc)
	if err != nil {
		return nil, 0, err
	}
	for _, m := range pause.FindAllSubmatch(log[min(from, len(log)):], -1) {
		v, err := strconv.ParseFloat(string(m[1]), 64)
		if err != nil {
			return nil, 0, err
		}
		millis = append(millis, v)
	}
	return millis, len(log), nil
}
