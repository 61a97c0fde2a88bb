// Package testleak finds goroutines that are still running after the test that started them.
package testleak

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// endIn is how long a goroutine may take to end, because some are about to.
const endIn = 10 * time.Second

// Check requires that no goroutine of this program is running after the test. The test must not run in parallel with
// others.
func Check(t testing.TB) {
	t.Helper()
	before := len(Ours())
	t.Cleanup(func() {
		if left := wait(before); len(left) > before {
			t.Errorf("%d goroutines are left, %d were there before:\n%s", len(left), before, strings.Join(left, "\n\n"))
		}
	})
}

// Main runs a package's tests, and fails if a goroutine of this program is still running after the last of them.
func Main(m *testing.M) {
	code := m.Run()
	if left := wait(0); code == 0 && len(left) > 0 {
		fmt.Fprintf(os.Stderr, "%d goroutines go on when all tests are over:\n%s\n", len(left), strings.Join(left, "\n\n"))
		code = 1
	}
	os.Exit(code)
}

func wait(most int) (left []string) {
	left = Ours()
	for end := time.Now().Add(endIn); len(left) > most && time.Now().Before(end); left = Ours() {
		time.Sleep(10 * time.Millisecond)
	}
	return left
}

// Ours returns the stacks of the goroutines that run code of this module, except for tests, this one, and those that
// wait for servers of a cluster that outlives the tests.
func Ours() (ours []string) {
	b := make([]byte, 4<<20)
	others := []string{"testing.tRunner", "internal/test/testleak.", "internal/test/testcluster.(*Cluster).launch"}
	for _, stack := range strings.Split(string(b[:runtime.Stack(b, true)]), "\n\n") {
		if strings.Contains(stack, "bulkload/") && !slices.ContainsFunc(others, func(o string) bool { return strings.Contains(stack, o) }) {
			ours = append(ours, stack)
		}
	}
	return ours
}
