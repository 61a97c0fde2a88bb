package stats

// WeightedQuery is a query of the job's list as the row key meets it: what Weigh needs of it.
type WeightedQuery struct {
	Columns        []string
	PerDay         int64
	Prefix         string // of the key; empty: none
	Scans          int
	Full           bool
	Returned, Read float64 // rows, on average over the query keys; Read is not looked at where Full
}

// WeighQuery turns a query into rows and bytes, for so many rows with KeyValues of so many bytes on average. It takes every key
// to be asked for as often as any other.
func WeighQuery(q WeightedQuery, rows int64, bytes float64) QueryLoad {
	a := QueryLoad{Columns: q.Columns, PerDay: q.PerDay, Prefix: q.Prefix, Scans: q.Scans, Full: q.Full, Returned: q.Returned, Read: q.Read}
	if q.Full {
		a.Read = float64(rows)
	}
	a.Bytes = a.Read * bytes
	times := float64(q.PerDay)
	a.Daily = Day{float64(q.Scans) * times, a.Read * times, a.Bytes * times}
	return a
}

// Add adds another query's day.
func (d *Day) Add(o Day) {
	d.Scans += o.Scans
	d.Rows += o.Rows
	d.Bytes += o.Bytes
}
