package runtest

import (
	"regexp"
	"slices"
	"testing"

	"bulkload/internal/test/testcluster"
	"bulkload/internal/test/testfs"
	"bulkload/internal/test/testrand"
)

// FaultsOf are the calls that are to fail: the first, the last, and others, drawn at random; in make exhaustive each of
// them.
func FaultsOf(t *testing.T, calls int64, some int) []int64 {
	t.Helper()
	var all []int64
	for n := int64(1); n <= calls; n++ {
		all = append(all, n)
	}
	if testcluster.In("exhaustive") || int(calls) <= some {
		return all
	}
	between := all[1 : calls-1]
	testrand.New(t).Shuffle(len(between), func(i, j int) { between[i], between[j] = between[j], between[i] })
	picked := append([]int64{1, calls}, between[:some-2]...)
	slices.Sort(picked)
	return picked
}

// harmless matches calls whose failure ends no run: a lock that can't be read now is not lost, what can't be deleted is
// cleared away later, unknown free space is no reason to stop, an output's old _SUCCESS is written anew, documents of
// tasks whose size is not known are read all the same, what earlier attempts have left only explains failures, an
// output's encryption zone is named by the first write as well, and the first looks at the input only find what to warn
// of: its records are read later, and each test compares what comes of them.
var harmless = regexp.MustCompile(`^((open|read) (_lock|part-.*)|remove .*|statfs .*|list (\.tasks|map|reduce)|stat (_SUCCESS|plan\.json|units-.*\.json|\d{4}-\d\d-\d\d))$`)

// WantHarmless is for a run that ended well although its n-th call was to fail.
func WantHarmless(t *testing.T, f *testfs.Fault, n int64) {
	t.Helper()
	if what := f.Failed(); f.Left.Load() <= 0 && !harmless.MatchString(what) {
		t.Errorf("call %d failed, and no error says so: %s", n, what)
	}
}
