package ingest

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"bulkload/internal/errcode"
)

// Limit is how many rejects a run tolerates: max_rejects of the job file, a count such as 0 or a percentage such as
// 0.1%.
type Limit struct {
	Count   int64   // checked at once; used if Percent is 0
	Percent float64 // of the records read, checked at the end of reading
}

// ParseLimit parses a count (0, 25) or a percentage (0.5%). 0% is a count of 0.
func ParseLimit(text string) (Limit, error) {
	if number, ok := strings.CutSuffix(strings.TrimSpace(text), "%"); ok {
		percent, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || !(percent >= 0 && percent <= 100) {
			return Limit{}, fmt.Errorf("limit of rejects %q: want a percentage from 0%% to 100%%", text)
		}
		return Limit{Percent: percent}, nil
	}
	count, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || count < 0 {
		return Limit{}, fmt.Errorf("limit of rejects %q: want a count such as 0 or 25, or a percentage such as 0.5%%", text)
	}
	return Limit{Count: count}, nil
}

func (l Limit) String() string {
	if l.Percent > 0 {
		return strconv.FormatFloat(l.Percent, 'g', -1, 64) + "%"
	}
	return strconv.FormatInt(l.Count, 10)
}

// Exceeded reports whether there were too many rejects among the records read.
func (l Limit) Exceeded(rejects, read int64) bool { return l.exceeded(rejects, read, true) }

// exceeded reports whether there are too many rejects; read is 0 while reading continues.
func (l Limit) exceeded(rejects, read int64, atEnd bool) bool {
	if l.Percent == 0 {
		return rejects > l.Count
	}
	return atEnd && float64(rejects)*100 > l.Percent*float64(read)
}

// LimitError says that there were more rejects than the limit.
type LimitError struct {
	Limit   Limit
	Rejects int64
	Read    int64     // 0 if reading was not completed
	First   BadRecord // the first reject by file and offset among those seen, Raw cut to 200 bytes and copied
	Hint    string    // what is probably wrong with the input or the job file as a whole; "" if unknown

	hinted errcode.Code // of the record with the hint
}

// ErrorCode is the code of the hint's record or, without a hint, of the first reject.
func (e *LimitError) ErrorCode() errcode.Code {
	return cmp.Or(e.hinted, e.First.Code, errcode.RejectsMany)
}

// Error gives the number of rejects, the limit, the first reject and a remedy.
func (e *LimitError) Error() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%d records rejected", e.Rejects)
	if e.Rejects == 1 {
		s.Reset()
		s.WriteString("1 record rejected")
	}
	if e.Read > 0 {
		fmt.Fprintf(&s, " of %d read", e.Read)
	}
	fmt.Fprintf(&s, ", max_rejects is %s; first %s", e.Limit, e.First.Error())
	if e.Hint != "" {
		s.WriteString("; " + e.Hint)
	}
	return s.String()
}
