package testleak_test

import (
	"strings"
	"testing"

	"bulkload/internal/test/testleak"
)

// waiting is the function of a goroutine of this module.
func waiting(begun, end chan bool) {
	begun <- true
	<-end
}

func TestOursFindsAGoroutine(t *testing.T) {
	testleak.Check(t)
	begun, end := make(chan bool), make(chan bool)
	go waiting(begun, end)
	<-begun
	ours := testleak.Ours()
	if len(ours) != 1 || !strings.Contains(ours[0], "waiting") {
		t.Errorf("%d goroutines: %s", len(ours), strings.Join(ours, "\n\n"))
	}
	close(end)
}
