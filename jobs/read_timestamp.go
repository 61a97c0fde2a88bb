package jobs

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// readTimestamp takes a date (midnight UTC), RFC 3339 or epoch milliseconds; ${date} where the key is missing.
func (j *Job) readTimestamp(s *section) {
	text := s.undated("timestamp")
	if !s.has("timestamp") && !s.doc.variables.dateOptional {
		if j.Date.IsZero() {
			s.doc.fail(s.node, "timestamp is ${date} where it is not given, which %v", errNoDate)
			return
		}
		text = j.dateText()
	}
	if text == "" {
		return
	}
	if strings.HasPrefix(text, "column:") {
		s.fail("timestamp", "%s is not built yet; a date, RFC 3339 or epoch milliseconds are", text)
		return
	}
	ms, err := parseTimestamp(text)
	if err != nil {
		s.fail("timestamp", "%v", err)
	}
	j.Timestamp = ms
}

func parseTimestamp(text string) (int64, error) {
	ms, err := parseMoment(text)
	if err == nil && ms <= 0 {
		err = fmt.Errorf("%s is not after 1970-01-01T00:00:00Z, from which HBase's timestamps count", text)
	}
	return ms, err
}

func parseMoment(text string) (int64, error) {
	if t, err := time.Parse(time.DateOnly, text); err == nil {
		return t.UnixMilli(), nil
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t.UnixMilli(), nil
	}
	if t, err := time.Parse("20060102", text); err == nil {
		return 0, fmt.Errorf("%s is either a date or epoch milliseconds in 1970: write %s for the date", text, t.Format(time.DateOnly))
	}
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is neither a date such as 2026-11-20, nor RFC 3339, nor epoch milliseconds", text)
	}
	return ms, nil
}
