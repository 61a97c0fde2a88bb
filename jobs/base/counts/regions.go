package counts

import "bulkload/internal/digest"

// RegionCounts counts what was read for one region, including duplicates.
type RegionCounts struct {
	Digest digest.Sum
	Keys   int64 // bytes of row keys
	Bytes  int64 // bytes of row keys and packed columns
}

// Add adds what another goroutine or process has read for the region.
func (r *RegionCounts) Add(o *RegionCounts) {
	r.Digest.Add(o.Digest)
	r.Keys += o.Keys
	r.Bytes += o.Bytes
}

// Sub subtracts counts that were added.
func (r *RegionCounts) Sub(o *RegionCounts) {
	r.Digest.Sub(o.Digest)
	r.Keys -= o.Keys
	r.Bytes -= o.Bytes
}

// Content describes what an input file contains for one output: the number of records, and the digest of their cells.
// It tells a file that was touched, copied or repacked from one with other records.
type Content struct {
	Read     int64      `json:"records"`
	Rejected int64      `json:"rejected,omitempty"`
	Filtered int64      `json:"filtered,omitempty"`
	Digest   digest.Sum `json:"digest"` // of the cells of all records neither rejected nor filtered
}

// Add adds another part of the file.
func (c *Content) Add(o *Content) {
	c.Read += o.Read
	c.Rejected += o.Rejected
	c.Filtered += o.Filtered
	c.Digest.Add(o.Digest)
}

// Contents has the contents of all input files, by their ordinals.
type Contents map[int]*Content

// OfFile returns a file's content, to be added to.
func (c Contents) OfFile(file int) *Content {
	f := c[file]
	if f == nil {
		f = new(Content)
		c[file] = f
	}
	return f
}

// Add adds other parts of the files.
func (c Contents) Add(o Contents) {
	for file, content := range o {
		c.OfFile(file).Add(content)
	}
}
