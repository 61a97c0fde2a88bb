package stats

import (
	"math"
	"math/bits"
)

const (
	distinctBits      = 14
	distinctRegisters = 1 << distinctBits
)

// HyperLogLog counts different values by their 64-bit hashes in 16 KiB: HyperLogLog with Ertl's estimator ("New
// cardinality estimation algorithms for HyperLogLog sketches", 2017, algorithm 6), which needs no correction for
// small counts. The zero HyperLogLog is empty.
type HyperLogLog struct {
	registers [distinctRegisters]uint8
}

// Add counts a value by its hash. All bits of the hash must be random.
func (d *HyperLogLog) Add(hash uint64) {
	zeros := uint8(bits.LeadingZeros64(hash<<distinctBits|1<<(distinctBits-1))) + 1
	if r := &d.registers[hash>>(64-distinctBits)]; zeros > *r {
		*r = zeros
	}
}

// Merge adds the values of another HyperLogLog.
func (d *HyperLogLog) Merge(o *HyperLogLog) {
	for i, r := range o.registers {
		d.registers[i] = max(d.registers[i], r)
	}
}

// Count returns the approximate number of different values.
func (d *HyperLogLog) Count() int64 {
	const most = 64 - distinctBits + 1
	var with [most + 1]float64 // registers with each value
	for _, r := range d.registers {
		with[r]++
	}
	const m = float64(distinctRegisters)
	z := m * ertlTau(1-with[most]/m)
	for k := most - 1; k >= 1; k-- {
		z = (z + with[k]) / 2
	}
	z += m * ertlSigma(with[0]/m)
	return int64(math.Round(m * m / (2 * math.Ln2 * z)))
}

func ertlSigma(x float64) float64 {
	if x == 1 {
		return math.Inf(1)
	}
	z, y := x, 1.0
	for before := math.NaN(); z != before; y += y {
		before = z
		x *= x
		z += x * y
	}
	return z
}

func ertlTau(x float64) float64 {
	if x == 0 || x == 1 {
		return 0
	}
	z, y := 1-x, 1.0
	for before := math.NaN(); z != before; {
		before = z
		x = math.Sqrt(x)
		y /= 2
		z -= (1 - x) * (1 - x) * y
	}
	return z / 3
}
