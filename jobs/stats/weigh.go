package stats

// Weigh fills in what one query and a day of queries read from a table with the given number of rows, each with so many
// bytes of KeyValues on average. It assumes that all keys are queried equally often.
func (q *QueryLoad) Weigh(rows int64, bytes float64) {
	if q.Full {
		q.Read = float64(rows)
	}
	q.Bytes = q.Read * bytes
	times := float64(q.PerDay)
	q.Daily = Day{float64(q.Scans) * times, q.Read * times, q.Bytes * times}
}

// Add adds the cost of another query.
func (d *Day) Add(o Day) {
	d.Scans += o.Scans
	d.Rows += o.Rows
	d.Bytes += o.Bytes
}
