package jobdir

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"bulkload/internal/test/testfs"
)

// OrdersJob writes, from one reading, the orders by seller, by buyer, and an index from order number to both.
const OrdersJob = `input:
  path: in/${date}
  columns: [order_id, seller, buyer, ts, amount, note]
  field_delimiter: '|'
  max_rejects: 10
family: f
hfile: {compression: snappy, encoding: fast_diff, bloom: row, slice_size: 20KiB}
regions: {from: splits, splits: ['4', '7']}
outputs:
- table: ns:by_seller
  rowkey: md5(seller, 6) + pad(seller, 8, '0') + desc(ts) + order_id
  query: [seller]
  output: out/seller
- table: ns:by_buyer
  rowkey: md5(buyer, 6) + pad(buyer, 8, '0') + desc(ts) + order_id
  query: [buyer, ts]
  output: out/buyer
  columns_map: {note: {skip: true}}
- table: ns:orders
  rowkey: reverse(order_id, 12)
  query: [order_id]
  cells: [seller, buyer, ts]
  regions: {from: splits, splits: ['5']}
  output: out/index
`

// Orders makes a folder with orders.yaml, which is OrdersJob or a job like it, and orders in several files. Every 500th
// order has a buyer that is too long for its table, and every 700th is repeated.
func Orders(t testing.TB, job string, rows int) string {
	t.Helper()
	all := map[string]string{"orders.yaml": job}
	r := rand.New(rand.NewPCG(1, 2))
	const files = 3
	for f := range files {
		var b bytes.Buffer
		for i := f; i < rows; i += files {
			buyer := fmt.Sprint(r.IntN(2000))
			if i%500 == 99 {
				buyer = "123456789"
			}
			line := fmt.Sprintf("%012d|%d|%s|%d|%d.%02d|note %x\n",
				i, r.IntN(60), buyer, 1_700_000_000_000+r.Int64N(1e9), r.IntN(9000), r.IntN(100), r.Uint64())
			b.WriteString(line)
			if i%700 == 5 {
				b.WriteString(line)
			}
		}
		all[fmt.Sprintf("%s/part-%d", night, f)] = b.String()
	}
	return testfs.Tree(t, all)
}

// WideOutput is a further output of OrdersJob: one row per buyer, with all orders in it.
const WideOutput = `- table: ns:buyers
  rowkey: pad(buyer, 10, '0')
  wide:
    qualifier: desc(ts) + order_id
    value: amount
  output: out/wide
`
