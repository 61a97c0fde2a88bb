package stats

import (
	"bytes"
	"fmt"
	"math"
	"strings"
)

// A region should hold 1 to 2 GB of data (RegionRule): with less, a server has many regions for little data; with more,
// splits, compactions and moves take long.
const (
	leastRegion = 1_000_000_000
	mostRegion  = 2_000_000_000
)

// RegionRule is how much data a region should hold, in words.
const RegionRule = "0.9 to 1.9 GiB"

// RegionRange is how many regions the rule gives for a number of bytes.
type RegionRange struct {
	Bytes int64 `json:"bytes"`
	Least int   `json:"least"` // of 2 GB each: 11 GB gives 6, 100 GB 50
	Most  int   `json:"most"`  // of 1 GB each
}

// regionsFor applies the rule.
func regionsFor(size int64) RegionRange {
	least := max(int((size+mostRegion-1)/mostRegion), 1)
	return RegionRange{size, least, max(int(size/leastRegion), least)}
}

// Proposal is how many regions a table should have, and their boundaries.
type Proposal struct {
	BySource RegionRange `json:"by_source"`
	ByHFiles RegionRange `json:"by_hfiles"`
	Regions  int         `json:"regions"`
	Reason   string      `json:"reason"`
	From     string      `json:"from"`   // "key": the expression alone; "sample"; "salt and sample"
	Splits   []string    `json:"splits"` // in the notation of HBase's shell
	Skew     float64     `json:"skew"`   // largest region over the mean, with those splits

	Keys [][]byte `json:"-"` // the splits
}

// RegionInput is what decides how many regions there should be.
type RegionInput struct {
	Source, HFiles int64 // bytes
	Compressed     bool  // Source is estimated with the usual growth of compressed files
	Servers        int   // region servers; 0: not known
	MaxFileSize    int64 // hbase.hregion.max.filesize
	Salts          [][]byte
	// FromKey returns the splits that the expression alone suggests for so many regions; an error if it suggests none.
	FromKey func(regions int) ([][]byte, error)
}

// ProposeRegions applies the rule to the data and the cluster, and cuts the sampled keys. These must be sorted, and
// weighted by the bytes of their rows.
func ProposeRegions(w RegionInput, keys *Sample, show func([]byte) string) Proposal {
	s := Proposal{BySource: regionsFor(w.Source), ByHFiles: regionsFor(w.HFiles), Splits: []string{}}
	s.Regions = s.BySource.Least
	source := Size(w.Source) + " of source"
	if w.Compressed {
		source = "about " + source + " when decompressed,"
	}
	reasons := []string{source + " at " + Size(mostRegion) + " per region"}
	raise := func(to int, why string) {
		if to > s.Regions {
			s.Regions, reasons = to, append(reasons, why)
		}
	}
	raise(w.Servers, fmt.Sprintf("one for each of the %d region servers", w.Servers))
	if w.MaxFileSize > 0 {
		raise(int(w.HFiles/w.MaxFileSize)+1, fmt.Sprintf("each below hbase.hregion.max.filesize (%s)", Size(w.MaxFileSize)))
	}
	raise(len(w.Salts), fmt.Sprintf("one for each of the %d salts", len(w.Salts)))
	s.Reason = strings.Join(reasons, "; ")
	s.Keys, s.From = choose(keys, s.Regions, w)
	s.Regions = len(s.Keys) + 1
	for _, split := range s.Keys {
		s.Splits = append(s.Splits, show(split))
	}
	s.Skew = skewOf(keys, s.Keys)
	return s
}

// choose takes the splits that follow from the expression, unless the keys show that others are clearly better.
func choose(keys *Sample, regions int, w RegionInput) (splits [][]byte, from string) {
	sampled, from := cut(keys, regions, w.Salts)
	even, err := w.FromKey(regions)
	if err != nil {
		return sampled, from
	}
	if skew := skewOf(keys, even); skew > maxSkew && skew > 1.2*skewOf(keys, sampled) {
		return sampled, from
	}
	return even, "key"
}

// cut returns the rows at which regions begin: each salt, and quantiles of the keys inside a salt, or of all.
func cut(keys *Sample, regions int, salts [][]byte) (splits [][]byte, from string) {
	if len(salts) == 0 {
		return quantiles(keys, 0, keys.Len(), regions), "sample"
	}
	from = "salt"
	all, first := weigh(keys, 0, keys.Len()), 0
	for i, salt := range salts {
		if i > 0 {
			splits = append(splits, salt)
		}
		last := first
		for last < keys.Len() && (i+1 == len(salts) || bytes.Compare(keyAt(keys, last), salts[i+1]) < 0) {
			last++
		}
		parts := 1
		if all > 0 && regions > len(salts) {
			parts = int(math.Round(float64(regions) * float64(weigh(keys, first, last)) / float64(all)))
		}
		inside := quantiles(keys, first, last, parts)
		if len(inside) > 0 {
			from = "salt and sample"
		}
		splits = append(splits, inside...)
		first = last
	}
	return splits, from
}

func keyAt(keys *Sample, i int) []byte {
	key, _ := keys.Row(i)
	return key
}

func weigh(keys *Sample, first, last int) (all int64) {
	for i := first; i < last; i++ {
		all += keys.Weight(i)
	}
	return all
}

// quantiles cuts the keys from first to before last into parts of about equal weight. A cut is the shortest prefix of a
// key that separates the keys on its two sides.
func quantiles(keys *Sample, first, last, parts int) (cuts [][]byte) {
	all := weigh(keys, first, last)
	var passed int64
	for i := first; i < last; i++ {
		due := int64(len(cuts)+1) * all / int64(max(parts, 1))
		if i > first && passed >= due && len(cuts)+1 < parts {
			before, key := keyAt(keys, i-1), keyAt(keys, i)
			if split := separator(before, key); len(cuts) == 0 || bytes.Compare(cuts[len(cuts)-1], split) < 0 {
				cuts = append(cuts, split)
			}
		}
		passed += keys.Weight(i)
	}
	return cuts
}

// separator returns the shortest prefix of key that sorts after before.
func separator(before, key []byte) []byte {
	n := 0
	for n < len(before) && n < len(key) && before[n] == key[n] {
		n++
	}
	return bytes.Clone(key[:min(n+1, len(key))])
}

// skewOf returns the weight of the largest part divided by the mean.
func skewOf(keys *Sample, splits [][]byte) float64 {
	var all, part, largest int64
	next := 0
	for i := range keys.Len() {
		for next < len(splits) && bytes.Compare(keyAt(keys, i), splits[next]) >= 0 {
			part = 0
			next++
		}
		part += keys.Weight(i)
		all += keys.Weight(i)
		largest = max(largest, part)
	}
	return Skew(largest, all, len(splits)+1)
}

// Skew returns the largest of n shares divided by their mean: 1 if all are equal, 0 if all is 0.
func Skew(largest, all int64, n int) float64 {
	if all == 0 {
		return 0
	}
	return float64(largest) * float64(n) / float64(all)
}
