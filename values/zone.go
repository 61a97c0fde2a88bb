package values

import "time"

// zoneClocks finds the times at which a zone's clocks show a reading. It caches the range in which the current offset
// applies.
type zoneClocks struct {
	location *time.Location // nil: UTC
	known    bool
	from, to int64 // clock readings in seconds, between which offset applies
	offset   int64
}

// forever replaces a missing bound.
const forever = int64(1) << 60

// instant is when the clocks show a reading, given as seconds since 1970 as if it were in UTC. Around a change of the
// clocks, the offset before it applies, both to the hour that is skipped and to the one that is repeated.
func (z *zoneClocks) instant(shown int64) int64 {
	if z.location == nil {
		return shown
	}
	if z.known && shown >= z.from && shown < z.to {
		return shown - z.offset
	}
	return z.look(shown)
}

// instantIn is instant for callers that share a zone between goroutines and so can't cache. If the offset of the day
// before still applies, no change is near, and two of the three searches of look are not needed.
func instantIn(zone *time.Location, shown int64) int64 {
	before := offsetAt(zone, shown-secondsOfDay)
	if offsetAt(zone, shown-before) == before {
		return shown - before
	}
	z := zoneClocks{location: zone}
	return z.look(shown)
}

// offsetAt is the number of seconds by which the zone's clocks are ahead of UTC at a time.
func offsetAt(zone *time.Location, seconds int64) int64 {
	_, offset := time.Unix(seconds, 0).In(zone).Zone()
	return int64(offset)
}

func (z *zoneClocks) look(shown int64) int64 {
	near := time.Unix(shown-offsetAt(z.location, shown), 0).In(z.location)
	_, here := near.Zone()
	offset := int64(here)
	start, end := near.ZoneBounds()
	from, to := -forever, forever
	if !start.IsZero() {
		_, before := start.Add(-time.Second).Zone()
		if _, from = bounds(start.Unix(), int64(before), offset); shown < from {
			return shown - int64(before)
		}
	}
	if !end.IsZero() {
		_, behind := end.Zone()
		low, high := bounds(end.Unix(), offset, int64(behind))
		if shown >= high {
			return shown - int64(behind)
		}
		to = low
	}
	if shown < to {
		z.known, z.from, z.to, z.offset = true, from, to, offset
	}
	return shown - offset
}

// bounds are the clock readings between which a change skips or repeats.
func bounds(change, before, behind int64) (low, high int64) {
	return change + min(before, behind), change + max(before, behind)
}
