// Package progress says how far a phase is.
package progress

import "sync/atomic"

// Progress says how far a phase is.
type Progress struct {
	Phase       string
	Done, Total int64
	Bytes       bool // what is counted: bytes, or else records
}

// Meter counts a phase's bytes or records from several goroutines and passes them on.
type Meter struct {
	watch func(Progress)
	phase string
	total int64
	bytes bool
	done  atomic.Int64
}

// NewMeter counts up to total: bytes, or else records. watch may be nil.
func NewMeter(watch func(Progress), phase string, total int64, bytes bool) *Meter {
	if watch == nil {
		watch = func(Progress) {}
	}
	return &Meter{watch: watch, phase: phase, total: total, bytes: bytes}
}

// Add counts n more.
func (m *Meter) Add(n int64) {
	m.watch(Progress{m.phase, m.done.Add(n), m.total, m.bytes})
}

// Sum is what was counted so far.
func (m *Meter) Sum() int64 { return m.done.Load() }
