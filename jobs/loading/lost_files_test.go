package loading

import (
	"strings"
	"testing"

	"bulkload/internal/digest"
	"bulkload/internal/errcode"
	"bulkload/internal/siteconf"
	"bulkload/internal/storage"
	"bulkload/internal/test/simcluster"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/ledger"
	"bulkload/load"
)

// TestMayHide: a lost file that may still appear blocks a load only if the order of the two decides which cells win.
func TestMayHide(t *testing.T) {
	t.Parallel()
	sum, other := digest.Sum{Cells: 1}, digest.Sum{Cells: 2}
	lost := ledger.Unserved{Run: "r", Digest: sum, Timestamp: 20}
	for name, c := range map[string]struct {
		lost ledger.Unserved
		load cells
		want bool
	}{
		"the same run":                              {lost, cells{"r", sum, 20}, false},
		"the same cells":                            {lost, cells{"s", sum, 20}, false},
		"a correction":                              {lost, cells{"s", other, 20}, true},
		"another night":                             {lost, cells{"s", other, 21}, false},
		"an earlier night":                          {lost, cells{"s", other, 19}, false},
		"timestamps of a column":                    {lost, cells{"s", other, 0}, true},
		"a lost file with timestamps of a column":   {ledger.Unserved{Run: "r", Digest: sum}, cells{"s", other, 20}, true},
		"two directories, whose cells nobody knows": {ledger.Unserved{Run: "r"}, cells{run: "s"}, true},
		"the same directory":                        {ledger.Unserved{Run: "r"}, cells{run: "r"}, false},
	} {
		if got := c.load.mayHide(&c.lost); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestRegionsOfLostFiles: a correction opens the regions again in which lost files may appear. If the user may not, the error names all
// of these regions, as the message at the loss did.
func TestRegionsOfLostFiles(t *testing.T) {
	t.Parallel()
	sim := simcluster.New(2)
	defer sim.Close()
	client, err := load.ConnectVia(t.Context(), new(siteconf.Conf), load.Identity{User: "tina"}, sim)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := sim.Create("t", [][]byte{[]byte("g"), []byte("p")}, simcluster.Family{Name: "f"}); err != nil {
		t.Fatal(err)
	}
	var said []string
	out := localOutput(t, options.Options{Say: func(text string) { said = append(said, text) }})
	l := &lostFiles{ledger.Open(storage.Local, t.TempDir()), client, out}
	lost := &load.LostError{Table: "t"}
	for _, row := range []string{"a", "b", "q"} {
		lost.Files = append(lost.Files, load.Finding{HFile: load.HFile{URI: "hdfs:///out/f/" + row, Family: "f", FirstRow: []byte(row), LastRow: []byte(row)}})
	}
	if err := l.add(t.Context(), lost, cells{"r", digest.Sum{Cells: 1}, 20}); err != nil {
		t.Fatal(err)
	}
	table, err := client.Table(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	sim.DenyMoves(true)
	refused := l.checkCorrection(t.Context(), table, cells{"s", digest.Sum{Cells: 2}, 20})
	if failure.CodeOf(refused) != errcode.LoadMove || len(said) != 1 {
		t.Fatalf("%v; said: %q", refused, said)
	}
	for i, want := range []int{1, 0, 1} {
		move := "move '" + table.Regions[i].EncodedName() + "'"
		if strings.Count(refused.Error(), move) != want || strings.Count(said[0], move) != want {
			t.Errorf("region %d: %v; said: %q", i, refused, said)
		}
	}
	sim.DenyMoves(false)
	if err := l.checkCorrection(t.Context(), table, cells{"s", digest.Sum{Cells: 2}, 20}); err != nil {
		t.Errorf("with the right to move regions: %v", err)
	}
}
