package lookup

import (
	"fmt"
	"strings"
	"testing"
)

// TestKeySamplesComeFromAllOver: the first keys of every n-th block, the last of them too.
func TestKeySamplesComeFromAllOver(t *testing.T) {
	t.Parallel()
	for blocks, want := range map[int]string{1: "0", 8: "0 1 2 3 4 5 6 7", 9: "0 2 4 6 8", 16: "0 2 4 6 8 10 12 14", 17: "0 4 8 12 16"} {
		var k keySamples
		for i := range blocks {
			k.addKey(func() string { return fmt.Sprint(i) })
		}
		if got := strings.Join(k.keys, " "); got != want {
			t.Errorf("of %d blocks: %s, want %s", blocks, got, want)
		}
	}
}
