package ingest

import (
	"bytes"
	"cmp"
	"slices"
)

const (
	maxReasons     = 1000 // reasons that are counted separately
	samplesShown   = 3    // records of a reason
	maxSampleBytes = 200  // of a record
)

// RejectReason is a reason for rejects, their number and the first ones.
type RejectReason struct {
	Column  string // at fault; "" for the whole record
	Reason  string
	Records int64
	Samples []RejectSample // in order of file and offset
}

// RejectSample is a rejected record.
type RejectSample struct {
	File   string
	Offset int64  // in bytes, or rows where a file has no bytes of a record
	Record int64  // its number in the file, from 1
	Raw    []byte // its first 200 bytes
	Cut    bool   // it has more
}

// rejectTally counts rejects by their reasons, in bounded memory.
type rejectTally struct {
	reasons map[[2]string]*RejectReason
	order   []*RejectReason
	others  int64 // records of further reasons
}

// add counts a reject; they come in order of file and offset.
func (t *rejectTally) add(file string, k reject) {
	at := [2]string{k.column, k.reason}
	r := t.reasons[at]
	if r == nil {
		if len(t.order) == maxReasons {
			t.others++
			return
		}
		if t.reasons == nil {
			t.reasons = map[[2]string]*RejectReason{}
		}
		r = &RejectReason{Column: k.column, Reason: k.reason}
		t.reasons[at], t.order = r, append(t.order, r)
	}
	r.Records++
	if len(r.Samples) < samplesShown {
		r.Samples = append(r.Samples, RejectSample{File: file, Offset: k.offset, Record: k.number,
			Raw: bytes.Clone(k.raw[:min(len(k.raw), maxSampleBytes)]), Cut: len(k.raw) > maxSampleBytes})
	}
}

// Reasons lists the reasons of the rejects that Close has written, the most frequent first. others is the number of
// rejects with reasons that are not listed.
func (r *Rejects) Reasons() (reasons []RejectReason, others int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.tally.order {
		reasons = append(reasons, *one)
	}
	slices.SortStableFunc(reasons, func(a, b RejectReason) int { return cmp.Compare(b.Records, a.Records) })
	return reasons, r.tally.others
}
