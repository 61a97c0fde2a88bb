package load

import (
	"math"
	"strconv"
	"strings"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/siteconf"
)

const (
	// callTimeout is how long to repeat a call while HBase does not answer, or answers that it can't serve it now.
	callTimeout = 50 * time.Second
	// maxTimeout bounds the configured timeouts, so that a cluster that is down is reported within a minute.
	maxTimeout = 55 * time.Second
	// A region server's death is noticed when its ZooKeeper session expires. Then its log is split and its regions
	// open elsewhere, which takes minutes on a large cluster.
	defaultSession = 90 * time.Second
	recovery       = 4 * time.Minute
	shortestOutage = 5 * time.Minute
	// maxAnswerBytes bounds the cells in one answer, in bytes, except for the last one, which may be large.
	maxAnswerBytes = 16 << 20
	// minLoadTimeout is the shortest timeout for a BulkLoadHFile request, which may wait for a flush or a region
	// lock.
	minLoadTimeout = 10 * time.Minute
)

// settings are the site files' settings for this package.
type settings struct {
	dial           time.Duration
	call           time.Duration // a request that is answered at once
	load           time.Duration // a BulkLoadHFile request
	idle           time.Duration // between two answers to a scan
	scanRows       uint32        // in one answer
	scanBytes      uint64        // in one answer
	rounds         int           // of LoadFrom
	parallel       int           // regions loaded at a time
	filesPerFamily int           // in one region
	meta           string        // the name of hbase:meta
	quiescence     time.Duration // between two looks at files that a server may still be moving
	outage         time.Duration // time that a load waits without progress: longer than a region server's death lasts
	refusal        time.Duration // time that files are offered to a region that does not load them
	watch          time.Duration // between two checks whether a region is still where a request waits
}

// MaxFilesProperty is the property that limits the files of a family that one region gets in a load.
const MaxFilesProperty = "hbase.mapreduce.bulkload.max.hfiles.perRegion.perFamily"

// DefaultMaxFiles is the limit if no site file sets MaxFilesProperty: HBase's default.
const DefaultMaxFiles = 32

// MaxFiles is how many files of a family one region may get. LoadFrom refuses more.
func MaxFiles(conf *siteconf.Conf) (int, error) {
	r := settingsReader{conf: conf}
	n := r.number(MaxFilesProperty, DefaultMaxFiles)
	return n, r.err
}

func readSettings(conf *siteconf.Conf) (settings, error) {
	r := settingsReader{conf: conf}
	rpc := r.millis("hbase.rpc.timeout", 30*time.Second)
	s := settings{
		dial:           min(r.millis("hbase.ipc.client.socket.timeout.connect", 10*time.Second), maxTimeout),
		call:           min(rpc, maxTimeout),
		load:           max(rpc, minLoadTimeout),
		idle:           min(r.millis("hbase.client.scanner.timeout.period", callTimeout), maxTimeout),
		scanRows:       uint32(r.number("hbase.client.scanner.caching", math.MaxInt32)),
		scanBytes:      min(uint64(r.number("hbase.client.scanner.max.result.size", 2<<20)), maxAnswerBytes),
		rounds:         r.number("hbase.bulkload.retries.number", 10),
		parallel:       r.number("hbase.loadincremental.threads.max", 4),
		filesPerFamily: r.number(MaxFilesProperty, DefaultMaxFiles),
		quiescence:     2 * time.Second,
		outage:         max(shortestOutage, r.millis("zookeeper.session.timeout", defaultSession)+recovery),
		refusal:        3 * time.Minute,
		watch:          10 * time.Second,
		meta:           metaTable,
	}
	// Clusters that share a root folder have a hbase:meta each (TableName.META_TABLE_NAME).
	if suffix := conf.Get("hbase.meta.table.suffix", ""); suffix != "" {
		s.meta += "_" + suffix
	}
	return s, r.err
}

type settingsReader struct {
	conf *siteconf.Conf
	err  error // the first
}

// number reads a positive integer.
func (r *settingsReader) number(name string, def int) int {
	text := r.conf.Get(name, "")
	if text == "" {
		return def
	}
	n, err := strconv.ParseInt(strings.ReplaceAll(text, "_", ""), 10, 32)
	if (err != nil || n < 1) && r.err == nil {
		r.err = errcode.SiteProperty.Errorf("read %s from %s: %w: %q is not a number from 1 to 2147483647", name,
			r.conf.Source(name), ErrRefused, text)
	}
	return int(n)
}

func (r *settingsReader) millis(name string, def time.Duration) time.Duration {
	return time.Duration(r.number(name, int(def/time.Millisecond))) * time.Millisecond
}
