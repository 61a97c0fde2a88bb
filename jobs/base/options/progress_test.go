package options

import (
	"sync"
	"testing"
)

// TestMeter: what several goroutines count adds up, and the share of the whole never exceeds 1, even where a file has
// grown.
func TestMeter(t *testing.T) {
	var mu sync.Mutex
	var most Progress
	reports := 0
	m := NewMeter(func(p Progress) {
		mu.Lock()
		defer mu.Unlock()
		if reports++; p.Done > most.Done {
			most = p
		}
	}, "sort", 1000, true)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 100 {
				m.Add(3)
			}
		})
	}
	group.Wait()
	if want := (Progress{Phase: "sort", Done: 1200, Total: 1000, Bytes: true, Whole: 1, meter: m}); most != want || reports != 400 || m.Sum() != 1200 {
		t.Errorf("%d reports up to %+v, %d in total, want %+v", reports, most, m.Sum(), want)
	}
}

// TestCounterReportsItsBegin: before the first of few large things is done, a counter has said what will be counted.
func TestCounterReportsItsBegin(t *testing.T) {
	var reports []Progress
	m := NewCounter(func(p Progress) { reports = append(reports, p) }, "verify", 4, "files")
	m.Add(1)
	if len(reports) != 2 || reports[0] != (Progress{Phase: "verify", Total: 4, Unit: "files", meter: m}) || reports[1].Whole != 0.25 {
		t.Errorf("%+v", reports)
	}
}

// TestSamePhase: a phase whose total grows is still the same one, and the next of that name is another.
func TestSamePhase(t *testing.T) {
	var reports []Progress
	watch := func(p Progress) { reports = append(reports, p) }
	m := NewMeter(watch, "verify", 4, false)
	m.Add(4)
	m.AddUnplanned(10)
	NewMeter(watch, "verify", 14, false).Add(1)
	if last := reports[1]; !reports[0].SamePhase(last) || last.Done != 14 || last.Total != 14 || last.SamePhase(reports[2]) {
		t.Errorf("%+v", reports)
	}
}

// TestNothingIsWatched: a meter counts without a watcher, and of an unknown total no share is known.
func TestNothingIsWatched(t *testing.T) {
	m := NewMeter(nil, "x", 0, false)
	if m.Add(5); m.Sum() != 5 || Within(nil, 0, 1) != nil {
		t.Errorf("%d", m.Sum())
	}
	unknown := Progress{Whole: -1}
	if NewMeter(func(p Progress) { unknown = p }, "x", 0, false).Add(5); unknown.Whole != 0 {
		t.Errorf("%+v", unknown)
	}
}

// TestWithin: stages that follow each other cover the whole without a gap or a step back.
func TestWithin(t *testing.T) {
	var whole []float64
	watch := func(p Progress) { whole = append(whole, p.Whole) }
	for _, stage := range []func(Progress){Within(watch, 0, 0.5), Within(Within(watch, 0.5, 1), 0, 0.5), Within(watch, 0.75, 1)} {
		stage(Progress{})
		stage(Progress{Whole: 1})
	}
	for i, want := range []float64{0, 0.5, 0.5, 0.75, 0.75, 1} {
		if whole[i] != want {
			t.Errorf("step %d of %v, want %g", i, whole, want)
		}
	}
}
