package runtest

import (
	"regexp"
	"slices"
	"testing"

	"bulkload/internal/test/testcluster"
	"bulkload/internal/test/testfs"
	"bulkload/internal/test/testrand"
)

// FaultsOf are the calls to fail: the first, the last, and others, drawn at random; in make exhaustive, each of them.
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

// harmless matches calls whose failure ends no run. A lock that can't be read now is not lost. Undeleted files are
// cleared away later. Unknown free space is no reason to stop. An output's old _SUCCESS is written anew. Documents of
// tasks whose size is not known are read all the same. The remains of earlier attempts only explain failures. Other runs
// into the table are only listed for people. The first write also reports an output's encryption zone. The first looks
// at the input only look for warnings: its records are read later, and each test compares the result.
var harmless = regexp.MustCompile(`^((open|read) (_lock|part-.*)|remove .*|statfs .*|list (\.tasks|map|reduce|runs)|stat (_SUCCESS|plan\.json|units-.*\.json|\d{4}-\d\d-\d\d))$`)

// WantHarmless checks a run that succeeded although its n-th call was to fail.
func WantHarmless(t *testing.T, f *testfs.Fault, n int64) {
	t.Helper()
	if what := f.Failed(); f.Left.Load() <= 0 && !harmless.MatchString(what) {
		t.Errorf("call %d failed, and no error says so: %s", n, what)
	}
}
