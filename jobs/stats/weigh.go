package stats

// Weigh fills in what a query and a day of it read, of so many rows with KeyValues of so many bytes on average. It
// takes every key to be asked for as often as any other.
func (q *QueryLoad) Weigh(rows int64, bytes float64) {
	if q.Full {
		q.Read = float64(rows)
	}
	q.Bytes = q.Read * bytes
	times := float64(q.PerDay)
	q.Daily = Day{float64(q.Scans) * times, q.Read * times, q.Bytes * times}
}

// Add adds another query's day.
func (d *Day) Add(o Day) {
	d.Scans += o.Scans
	d.Rows += o.Rows
	d.Bytes += o.Bytes
}
