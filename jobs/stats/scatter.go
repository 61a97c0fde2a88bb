package stats

import (
	"cmp"
	"math"
	"slices"
)

// Scale multiplies the weights of the rows of each place by a factor. Call it after all rows were added.
func (s *Sample) Scale(by []float64) {
	for i := range s.rows {
		r := &s.rows[i]
		r.weight = int64(math.Round(float64(r.weight) * by[r.place]))
	}
}

// Thin drops groups of rows, evenly by their hashes, until all rows that are left represent the same number of rows of
// the whole input; by is the number that a row of each place represents. Call it after all rows were added.
func (s *Sample) Thin(by []float64) {
	most := 0.0
	for i := range s.rows {
		most = math.Max(most, by[s.rows[i].place])
	}
	slices.SortFunc(s.rows, func(a, b sampleRow) int {
		return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(a.group, b.group), cmp.Compare(a.row, b.row))
	})
	kept, due := s.rows[:0], 0.0
	for first, last := 0, 0; first < len(s.rows); first = last {
		group := s.rows[first]
		for last < len(s.rows) && s.rows[last].group == group.group && s.rows[last].place == group.place {
			last++
		}
		n := float64(last - first)
		if due += n * by[group.place] / most; due >= n/2 {
			due -= n
			kept = append(kept, s.rows[first:last]...)
		}
	}
	s.rows = kept
}

// Firsts marks the first row of each group, in the order in which rows are kept.
func (s *Sample) Firsts() []bool {
	firsts, known := make([]bool, len(s.rows)), make(map[uint64]bool, len(s.rows))
	for i, r := range s.rows {
		firsts[i] = !known[r.group]
		known[r.group] = true
	}
	return firsts
}

// Scatter estimates the number of groups in the whole input, as a share of the number there would be if each group's
// rows were contiguous (1). of is the total number of rows. Groups seen in several places show that rows are scattered,
// and how many groups the sample missed.
func (s *Sample) Scatter(of float64) float64 {
	places := map[uint64]map[int]bool{}
	for _, r := range s.rows {
		if places[r.group] == nil {
			places[r.group] = map[int]bool{}
		}
		places[r.group][r.place] = true
	}
	var times [4]float64 // groups seen in so many places
	for _, at := range places {
		if n := len(at); n < len(times) {
			times[n]++
		}
	}
	density := of * math.Pow(0.5, float64(s.level.Load())) / math.Max(float64(len(s.rows)), 1)
	together := float64(len(places)) * density
	if times[2] == 0 || density <= 1 {
		return 1
	}
	return math.Min(groupsInAll(float64(len(places)), times[1], times[2], times[3], density)/together, 1)
}

// groupsInAll returns Chao's estimate of the number of groups, seen and unseen (A. Chao, 1987). It adds groups with
// only one row, which show as more groups seen once than the groups seen twice and thrice would suggest.
func groupsInAll(seen, once, twice, thrice, density float64) float64 {
	const fewest = 10
	if thrice >= fewest {
		expected := 2 * twice * twice / (3 * thrice)
		if lone := once - expected; lone > 2*expected*math.Sqrt(1/twice+1/thrice) {
			return seen - lone + lone*density + expected*expected/(2*twice)
		}
	}
	return seen + once*once/(2*twice)
}
