package jobdir

import (
	"bytes"
	"fmt"
)

// NumbersJob is a job of three text columns, whose row key is to be filled in.
const NumbersJob = `table: ns:t
family: f
input:
  path: in/${date}
  columns: [id, user, city]
  field_delimiter: '|'
  record_delimiter: '\n'
  max_rejects: 100%%
rowkey: %s
query: [user]
queries: [{columns: [user], per_day: 1000}, {columns: [user, city], per_day: 10}, {columns: [city], per_day: 1}]
regions: {from: plan}
hfile: {compression: snappy, encoding: fast_diff, bloom: row}
output: out/${date}
`

// Numbers writes rows id|user|city: id counts up, and each user has ten consecutive rows.
func Numbers(rows int) []byte {
	var b bytes.Buffer
	for i := range rows {
		fmt.Fprintf(&b, "%010d|%d|c%d\n", i, i/10, i%4)
	}
	return b.Bytes()
}
