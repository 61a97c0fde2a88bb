package partition

import (
	"bytes"
	"fmt"
	"slices"
)

// Regions are the row ranges of a table: region i holds the rows from Start(i) to before End(i). They are immutable.
type Regions struct {
	splits   [][]byte
	prefixes []uint64 // of the splits; see prefixOf
}

// NewRegions returns the regions between the given splits, which must ascend strictly and not be empty. They are
// copied.
func NewRegions(splits [][]byte) (*Regions, error) {
	r := &Regions{}
	for i, s := range splits {
		switch {
		case len(s) == 0:
			return nil, fmt.Errorf("split %d of %d is empty: the first region begins there without a split", i+1, len(splits))
		case i > 0 && bytes.Compare(splits[i-1], s) >= 0:
			return nil, fmt.Errorf("split %d, %q, is not above the one before it, %q: list the splits in ascending order, "+
				"each once", i+1, s, splits[i-1])
		}
		r.splits = append(r.splits, bytes.Clone(s))
		r.prefixes = append(r.prefixes, prefixOf(s))
	}
	return r, nil
}

// Len is the number of regions: one more than the splits.
func (r *Regions) Len() int { return len(r.splits) + 1 }

// Find returns the region that holds row.
func (r *Regions) Find(row []byte) int {
	prefix := prefixOf(row)
	from, to := 0, len(r.splits) // splits before from are at or before the row, those from to on after it
	for from < to {
		middle := (from + to) / 2
		p := r.prefixes[middle]
		if p > prefix || p == prefix && bytes.Compare(r.splits[middle], row) > 0 {
			to = middle
		} else {
			from = middle + 1
		}
	}
	return from
}

// Start is the first row of region i; empty for the first region.
func (r *Regions) Start(i int) []byte {
	if i == 0 {
		return nil
	}
	return r.splits[i-1]
}

// End is the row after region i's last; empty for the last region.
func (r *Regions) End(i int) []byte {
	if i == len(r.splits) {
		return nil
	}
	return r.splits[i]
}

// CheckSalts refuses regions unless every salt value that keys can begin with begins a region: otherwise a region would
// hold rows of several salts. Further boundaries inside a salt, from later splits, are allowed. The first salt is in
// the first region, whether or not a boundary begins it.
func (r *Regions) CheckSalts(salts [][]byte) error {
	for i, salt := range salts {
		_, found := slices.BinarySearchFunc(r.splits, salt, bytes.Compare)
		if !found && i > 0 {
			return fmt.Errorf("no region begins at salt %q (%d regions, %d salts): salts %q and %q would share a region", salt,
				r.Len(), len(salts), salts[i-1], salt)
		}
		if i == 0 && !found && len(r.splits) > 0 && bytes.Compare(r.splits[0], salt) < 0 {
			return fmt.Errorf("no region begins at salt %q, though one begins before it, at %q: are these the splits of "+
				"another table?", salt, r.splits[0])
		}
	}
	return nil
}
