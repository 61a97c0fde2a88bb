package planning

// AskedFor is a query of the job's list as the row key meets it: what Weigh needs of it.
type AskedFor struct {
	Columns  []string
	PerDay   int64
	Prefix   string // of the key; empty: none
	Scans    int
	Full     bool
	Keys     int64 // different values of the columns
	Prefixes int64 // different values of the prefix
}

// Weigh turns a query into rows and bytes, for a table of so many rows and KeyValue bytes. It takes every key to be asked
// for as often as any other.
func Weigh(q AskedFor, rows, raw int64) Asked {
	a := Asked{Columns: q.Columns, PerDay: q.PerDay, Prefix: q.Prefix, Scans: q.Scans, Full: q.Full}
	a.Returned = float64(rows) / float64(max(q.Keys, 1))
	a.Read = float64(rows)
	if !q.Full {
		a.Read = float64(rows) / float64(max(q.Prefixes, 1))
	}
	if rows > 0 {
		a.Bytes = a.Read * float64(raw) / float64(rows)
	}
	times := float64(q.PerDay)
	a.A = Day{float64(q.Scans) * times, a.Read * times, a.Bytes * times}
	return a
}

// Add adds another query's day.
func (d *Day) Add(o Day) {
	d.Scans += o.Scans
	d.Rows += o.Rows
	d.Bytes += o.Bytes
}
