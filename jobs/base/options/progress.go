package options

import "sync/atomic"

// Progress says how far a phase has come.
type Progress struct {
	Phase       string
	Done, Total int64
	Bytes       bool    // whether bytes are counted, rather than Unit
	Unit        string  // what is counted, in the plural; "": records
	Whole       float64 // share of the whole command that is done, from 0 to 1

	meter *Meter // the meter that has counted; nil: none
}

// SamePhase reports whether both belong to one phase, whose total may have grown.
func (p Progress) SamePhase(o Progress) bool {
	return p.Phase == o.Phase && p.meter == o.meter && (p.meter != nil || p.Total == o.Total)
}

// Within passes on a stage's progress as progress of the whole command within [from, to].
func Within(watch func(Progress), from, to float64) func(Progress) {
	if watch == nil {
		return nil
	}
	return func(p Progress) {
		p.Whole = from + p.Whole*(to-from)
		watch(p)
	}
}

// Meter counts a phase's bytes or records from several goroutines and passes them on.
type Meter struct {
	watch func(Progress)
	phase string
	total atomic.Int64
	bytes bool
	unit  string
	done  atomic.Int64
}

// NewMeter returns a meter that counts up to total: bytes, or else records. watch may be nil.
func NewMeter(watch func(Progress), phase string, total int64, bytes bool) *Meter {
	if watch == nil {
		watch = func(Progress) {}
	}
	m := &Meter{watch: watch, phase: phase, bytes: bytes}
	m.total.Store(total)
	return m
}

// NewCounter returns a meter that counts up to total of what unit names in the plural, such as files. It reports at
// once that it begins, because the first one may take long. watch may be nil.
func NewCounter(watch func(Progress), phase string, total int64, unit string) *Meter {
	m := NewMeter(watch, phase, total, false)
	m.unit = unit
	m.Add(0)
	return m
}

// Add counts n more.
func (m *Meter) Add(n int64) {
	p := Progress{Phase: m.phase, Done: m.done.Add(n), Total: m.total.Load(), Bytes: m.bytes, Unit: m.unit, meter: m}
	if p.Total > 0 {
		p.Whole = min(float64(p.Done)/float64(p.Total), 1)
	}
	m.watch(p)
}

// AddUnplanned counts n that are not in the total, and adds them to the total, so that Done never exceeds it.
func (m *Meter) AddUnplanned(n int64) {
	m.total.Add(n)
	m.Add(n)
}

// Sum returns the count so far.
func (m *Meter) Sum() int64 { return m.done.Load() }
