package values

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"bulkload/internal/test/testcluster"
)

// TestClocksAsJava: testdata/clocks.txt has the results of java.time's formatters for dates and times, or their
// refusal.
func TestClocksAsJava(t *testing.T) {
	text, err := os.ReadFile("testdata/clocks.txt")
	if err != nil {
		t.Fatal(err)
	}
	r := reader(t, KindTimestamp, "", "Asia/Shanghai")
	shanghai, err := Location("Asia/Shanghai")
	if err != nil {
		t.Fatal(err)
	}
	tried, refused := 0, 0
	for line := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		tried++
		m, problem := r.Moment([]byte(f[0]))
		got := strconv.FormatInt(m.Millis, 10) + "\t" + strconv.Itoa(int(m.Nanos))
		if problem != "" {
			refused++
			got = "-\t-"
		}
		if want := f[1] + "\t" + f[2]; got != want {
			t.Errorf("%q is %s (%s), Java has %s", f[0], got, problem, want)
		}
		c, again := ParseClock([]byte(f[0]))
		if again != problem || again == "" && c.Millis(shanghai) != m.Millis {
			t.Errorf("%q: ParseClock gives %+v, %s; the reader %+v, %s", f[0], c, again, m, problem)
		}
	}
	if tried != 3000 || refused != 1408 {
		t.Errorf("%d texts were tried, of which %d were refused; want 3000 and 1408", tried, refused)
	}
}

// TestClocksAreJavas asks Java again, if it is installed.
func TestClocksAreJavas(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a JVM")
	}
	if err := testcluster.JDK(); err != nil {
		testcluster.Without(t, err.Error())
	}
	said, err := exec.Command("java", "testdata/Clocks.java").Output()
	if err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile("testdata/clocks.txt")
	if err != nil {
		t.Fatal(err)
	}
	if string(said) != string(kept) {
		t.Error("testdata/clocks.txt is not what testdata/Clocks.java prints: java Clocks.java > clocks.txt")
	}
}
