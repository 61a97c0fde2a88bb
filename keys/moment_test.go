package keys_test

import (
	"bulkload/internal/test/testvalues"
	"encoding/hex"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/test/testcluster"
	"bulkload/keys"
)

var updateMoments = flag.Bool("update-moments", false, "write what Java says of the clocks in testdata/moments.txt behind them")

// momentLines are testdata/moments.txt: zone, clock, milliseconds.
func momentLines(t *testing.T) (lines [][]string) {
	t.Helper()
	text, err := os.ReadFile("testdata/moments.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		lines = append(lines, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
	}
	return lines
}

// TestMomentsOfZones: clocks that are put forward and back, by 30 minutes, an hour and a day.
func TestMomentsOfZones(t *testing.T) {
	for _, line := range momentLines(t) {
		zone, clock, want := line[0], line[1], line[2]
		for text, want := range map[string]string{"millis": want, "seconds": want[:10]} {
			e, err := keys.Parse(text+"(x, '"+zone+"')", []keys.KeyColumn{{Name: "x"}})
			if err != nil {
				t.Fatal(err)
			}
			got, err := e.Append(nil, testvalues.Of(clock))
			if err != nil || string(got) != want {
				t.Errorf("%s of %s in %s: %s, %v; Java has %s", text, clock, zone, got, err, want)
			}
		}
	}
}

func TestMomentsAreJavas(t *testing.T) {
	oracle := testcluster.Java(t)
	file, err := filepath.Abs("testdata/moments.txt")
	if err != nil {
		t.Fatal(err)
	}
	out, err := oracle.Run("keys", "moments", file)
	if err != nil {
		t.Fatal(err)
	}
	said, lines := strings.Fields(out), momentLines(t)
	if len(said) != len(lines) {
		t.Fatalf("%d answers to %d clocks", len(said), len(lines))
	}
	var updated strings.Builder
	for i, line := range lines {
		millis, err := hex.DecodeString(said[i])
		if err != nil {
			t.Fatal(err)
		}
		if line = append(line, ""); line[2] != string(millis) && !*updateMoments {
			t.Errorf("%s in %s is %s, Java has %s", line[1], line[0], line[2], millis)
		}
		updated.WriteString(line[0] + "\t" + line[1] + "\t" + string(millis) + "\n")
	}
	if *updateMoments {
		if err := os.WriteFile("testdata/moments.txt", []byte(updated.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
