package preflight

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"bulkload/internal/errcode"
	"bulkload/load"
)

// forever is HConstants.FOREVER, in seconds: a TTL with which cells never expire.
const forever = 1<<31 - 1

// nearExpiry is how long before their expiry cells are worth a warning.
const nearExpiry = 24 * time.Hour

// ttl returns a family's TTL; 0 if it has none. ok is false if it can't be read.
func ttl(f *load.Family) (d time.Duration, ok bool) {
	text := f.Attributes["TTL"]
	if text == "" || strings.EqualFold(text, "FOREVER") {
		return 0, true
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil || seconds < 1 {
		return 0, false
	}
	if seconds >= forever {
		return 0, true
	}
	return time.Duration(seconds) * time.Second, true
}

// keepsExpired reports whether a family keeps cells that are past its TTL (MIN_VERSIONS).
func keepsExpired(f *load.Family) bool {
	n, err := strconv.Atoi(f.Attributes["MIN_VERSIONS"])
	return err == nil && n > 0
}

// checkTimes compares the cells' timestamp with the TTL of the families and with the clock.
func (o *CheckedOutput) checkTimes() {
	if o.Table == nil {
		if o.connects() {
			o.unknown(checkTTL, "the table can't be looked up")
		}
		return
	}
	before := len(o.list)
	for i := range o.Table.Families {
		f := &o.Table.Families[i]
		if !slices.Contains(o.families, f.Name) {
			continue
		}
		o.checkFamilyTTL(f)
	}
	if o.Job.Moments == "" {
		if ahead := time.UnixMilli(o.Job.Timestamp).Sub(o.Now); ahead > 0 {
			o.add(checkTTL, Warning, "use a timestamp in the past",
				"the cells' timestamp is %s in the future; until then they hide newer writes", aheadText(ahead))
		}
	}
	if len(o.list) == before {
		o.ok(checkTTL, "the cells' timestamps are within the families' TTL")
	}
}

// aheadText shows how far ahead a time is: in days if it is at least two.
func aheadText(ahead time.Duration) string {
	if ahead < 48*time.Hour {
		return ahead.Round(time.Second).String()
	}
	return fmt.Sprintf("%.1f days", ahead.Hours()/24)
}

func (o *CheckedOutput) checkFamilyTTL(f *load.Family) {
	limit, ok := ttl(f)
	switch {
	case !ok:
		o.unknown(checkTTL, "family %s has TTL %q, which is no number of seconds", f.Name, f.Attributes["TTL"])
	case limit == 0 || keepsExpired(f):
	case o.Job.Moments != "":
		o.unknown(checkTTL, "family %s has a TTL of %v, and each record has its own timestamp: with an older one the load "+
			"ends with exit code 5", f.Name, limit)
	default:
		o.compareTTL(f.Name, limit)
	}
}

func (o *CheckedOutput) compareTTL(family string, limit time.Duration) {
	written := time.UnixMilli(o.Job.Timestamp).UTC()
	left := written.Add(limit).Sub(o.Now)
	const fix = "give the family a longer TTL, or the cells a later timestamp"
	switch {
	case left <= 0 && !o.Loads:
		o.add(checkTTL, Warning, fix, "the cells' timestamp is %s, and family %s has a TTL of %v: after a load HBase would "+
			"show none of them", written.Format(time.RFC3339), family, limit)
	case left <= 0:
		o.list = append(o.list, Fail(checkTTL, errcode.TableTTL.Errorf(
			"the cells' timestamp is %s, and family %s of table %s has a TTL of %v: HBase would show none of them",
			written.Format(time.RFC3339), family, o.Job.Table, limit), fix))
	case left < nearExpiry:
		o.add(checkTTL, Warning, fix, "family %s has a TTL of %v: the cells vanish in %v", family,
			limit, left.Round(time.Minute))
	}
}

// checkReplication warns of families that are replicated, because their loads may not be.
func (o *CheckedOutput) checkReplication() {
	const property = "hbase.replication.bulkload.enabled"
	if !o.Loads || o.Table == nil {
		if o.Loads {
			o.unknown(checkReplication, "the table can't be looked up")
		}
		return
	}
	var scoped []string
	for _, f := range o.Table.Families {
		if scope := f.Attributes["REPLICATION_SCOPE"]; scope != "" && scope != "0" && slices.Contains(o.families, f.Name) {
			scoped = append(scoped, f.Name)
		}
	}
	switch enabled := o.Site.Conf.Get(property, "false"); {
	case scoped == nil:
		o.ok(checkReplication, "no family of the job is replicated")
	case enabled == "true":
		o.unknown(checkReplication, "family %s is replicated; the site files here say that loads are, too (%s), but the "+
			"servers' own decide", strings.Join(scoped, ", "), property)
	default:
		o.add(checkReplication, Warning, "set "+property+
			" to true on all servers of both clusters, or load into the other cluster, too",
			"family %s is replicated, but loads are not: %s is %s here", strings.Join(scoped, ", "), property, enabled)
	}
}

// checkReplicas says what the read replicas of the table's regions need to show what was loaded: a load is done when
// the primary regions serve it, and only they are asked.
func (o *CheckedOutput) checkReplicas() {
	const period = "hbase.regionserver.storefile.refresh.period"
	if !o.Loads || o.Table == nil {
		return
	}
	n := o.Table.Replicas()
	if n == 1 {
		return
	}
	o.add(checkReplicas, Warning, "set "+period+" on the region servers, or run refresh_hfiles in the HBase shell where "+
		"there is that command", "the table has %d replicas of each region: the run is done when the primary ones show "+
		"its rows. The others look for new files every %s ms (%s here; 0: never); verify --live --replica reads them",
		n, o.Site.Conf.Get(period, "0"), period)
}
