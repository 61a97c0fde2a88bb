package ingest

// What the tests see that read the rejects of a form, and so can't be in this package.

const RejectsInMemory = maxRejectBytes

// SetInMemory says how many bytes of rejects are held before they are written out.
func (r *Rejects) SetInMemory(bytes int) { r.inMemory = bytes }
