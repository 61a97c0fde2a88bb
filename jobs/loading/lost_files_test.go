package loading

import (
	"strings"
	"testing"

	"bulkload/internal/digest"
	"bulkload/internal/errcode"
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

// TestRegionsOfLostFiles: a correction opens the regions again in which lost files may appear. If the user may not, the
// error names all of these regions, as the message at the loss did.
func TestRegionsOfLostFiles(t *testing.T) {
	simulated(t, func(s *simulation) {
		var said []string
		o, err := options.Options{Say: func(text string) { said = append(said, text) }}.WithDefaults()
		s.do(err)
		s.out.Options = o
		l := &lostFiles{s.ledger, s.client, s.out.Dir}
		lost := &load.LostError{Table: "t"}
		for _, row := range []string{"a", "b", "q"} {
			lost.Files = append(lost.Files, load.ProbeResult{HFile: load.HFile{URI: "hdfs:///out/f/" + row, Family: "f", FirstRow: []byte(row), LastRow: []byte(row)}})
		}
		s.do(l.add(s.Context(), lost, cells{"r", digest.Sum{Cells: 1}, 20}))
		table := s.table()
		s.sim.DenyMoves(true)
		refused := l.checkCorrection(s.Context(), table, cells{"s", digest.Sum{Cells: 2}, 20})
		if failure.CodeOf(refused) != errcode.LoadMove || len(said) != 1 {
			s.Fatalf("%v; said: %q", refused, said)
		}
		for i, want := range []int{1, 0, 1} {
			move := "move '" + table.Regions[i].EncodedName() + "'"
			if strings.Count(refused.Error(), move) != want || strings.Count(said[0], move) != want {
				s.Errorf("region %d: %v; said: %q", i, refused, said)
			}
		}
		s.sim.DenyMoves(false)
		if err := l.checkCorrection(s.Context(), table, cells{"s", digest.Sum{Cells: 2}, 20}); err != nil {
			s.Errorf("with the right to move regions: %v", err)
		}
	})
}

// TestRegionOfALostFileWasSplit: HBase can't move a region that was split since the table was looked up, and need not: its
// parts were opened again.
func TestRegionOfALostFileWasSplit(t *testing.T) {
	simulated(t, func(s *simulation) {
		l := &lostFiles{s.ledger, s.client, s.out.Dir}
		s.do(l.add(s.Context(), &load.LostError{Table: "t", Files: []load.ProbeResult{{HFile: load.HFile{URI: "hdfs:///out/f/a", Family: "f",
			FirstRow: []byte("a"), LastRow: []byte("a")}}}}, cells{"r", digest.Sum{Cells: 1}, 20}))
		before := s.table()
		s.do(s.sim.Split("t", []byte("c")))
		if err := l.checkCorrection(s.Context(), before, cells{"s", digest.Sum{Cells: 2}, 20}); err != nil {
			s.Error(err)
		}
	})
}
