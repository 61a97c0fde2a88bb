package lookup

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"bulkload/cell"
	"bulkload/internal/siteconf"
	"bulkload/internal/test/simcluster"
	"bulkload/internal/test/testrand"
	"bulkload/load"
)

// TestVisibleAsInATable: of the cells of HFiles, those are visible that readers of a table with the same cells see:
// versions, delete markers of all kinds, and cells that have expired, also if some of them are kept.
func TestVisibleAsInATable(t *testing.T) {
	random := testrand.New(t)
	types := []cell.KeyType{cell.Put, cell.Put, cell.Put, cell.Delete, cell.DeleteColumn, cell.DeleteFamily, cell.DeleteFamilyVersion}
	synctest.Test(t, func(t *testing.T) {
		sim := simcluster.New(1)
		defer sim.Close()
		families := []simcluster.Family{{Name: "f", Attributes: map[string]string{"VERSIONS": "5"}},
			{Name: "g", Attributes: map[string]string{"VERSIONS": "1", "TTL": "10"}},
			{Name: "h", Attributes: map[string]string{"VERSIONS": "1", "TTL": "10", "MIN_VERSIONS": "1"}}}
		c, err := load.Connect(t.Context(), new(siteconf.Conf), load.Caller{User: "tina"}, sim)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for round := range 300 {
			table := fmt.Sprint("t", round)
			if err := sim.Create(table, nil, families...); err != nil {
				t.Fatal(err)
			}
			var cells []cell.Cell
			now := time.Now().UnixMilli()
			for range 1 + random.IntN(25) {
				one := cell.Cell{Row: []byte{'a' + byte(random.IntN(2))}, Family: []byte{'f' + byte(random.IntN(3))}, Type: types[random.IntN(len(types))],
					Timestamp: now - int64(random.IntN(8))*3000}
				if one.Type == cell.Put || one.Type == cell.Delete || one.Type == cell.DeleteColumn {
					one.Qualifier = []byte{'p', 'q'}[:random.IntN(3)]
				}
				if one.Type == cell.Put {
					one.Value = fmt.Appendf(nil, "%d", random.IntN(100))
				}
				if !slices.ContainsFunc(cells, func(o cell.Cell) bool { return cell.Compare(&o, &one) == 0 }) {
					cells = append(cells, one)
				}
			}
			if err := sim.BulkLoad(table, cells); err != nil {
				t.Fatal(err)
			}
			described, err := c.Table(t.Context(), table)
			if err != nil {
				t.Fatal(err)
			}
			var got, want []string
			keep := func(to *[]string) func(*cell.Cell) error {
				return func(c *cell.Cell) error {
					*to = append(*to, fmt.Sprintf("%s %s:%s %d %s", c.Row, c.Family, c.Qualifier, c.Timestamp-now, c.Value))
					return nil
				}
			}
			if err := c.Scan(t.Context(), table, load.Range{}, keep(&want)); err != nil {
				t.Fatal(err)
			}
			slices.SortFunc(cells, func(a, b cell.Cell) int { return cell.Compare(&a, &b) })
			v := visible{table: described, now: time.Now().UnixMilli(), visit: keep(&got)}
			for i := range cells {
				lent := cells[i]
				lent.Row, lent.Family, lent.Qualifier = bytes.Clone(lent.Row), bytes.Clone(lent.Family), bytes.Clone(lent.Qualifier)
				if err := v.see(&lent); err != nil {
					t.Fatal(err)
				}
				clear(lent.Row) // cells are valid during the call only
				clear(lent.Family)
				clear(lent.Qualifier)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("of %v\nvisible are %q, want %q", cells, got, want)
			}
		}
	})
}
