package partition

import "bytes"

// Slice is a part of a region: its rows from Start to before End. No row is in two slices.
type Slice struct {
	Region int
	Start  []byte // empty: the region's first row
	End    []byte // empty: after the region's last row
}

// Slices cuts a region into n parts with about the same number of rows, or fewer if it has not enough rows to choose
// from. The cuts depend only on the entries and on n.
func (s *Sorted) Slices(region, n int) []Slice {
	from := s.sample.between(s.regions.Start(region), s.regions.End(region))
	whole := Slice{Region: region}
	slices := []Slice{whole}
	for i := 1; i < n; i++ {
		at := i * len(from) / n
		if at == (i-1)*len(from)/n {
			continue
		}
		row := bytes.Clone(s.sample.key(from[at]))
		slices[len(slices)-1].End = row
		slices = append(slices, Slice{Region: region, Start: row})
	}
	return slices
}

// Slice reads a slice's entries as Region reads a region's.
func (s *Sorted) Slice(slice Slice) (*RunReader, error) { return s.read(slice) }
