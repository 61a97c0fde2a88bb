package jobdir

import (
	"bytes"
	"crypto/md5"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"bulkload/internal/test/testfs"
)

// WideHead is the start of the jobs of WideCases: two columns of users, one of whom follows the other.
const WideHead = `table: ns:wide
family: f
input:
  path: in
  columns: [user, follower, since, note]
  field_delimiter: '|'
  null: 'null'
  max_rejects: 1000
timestamp: 1700000000000
regions: {from: splits, splits: ['2', '55', '7']}
hfile: {compression: snappy, encoding: fast_diff, bloom: row, slice_size: 20KiB}
output: out
`

// WideCase is a wide table and, computed independently, the cells of a record: values by family and qualifier.
type WideCase struct {
	Job   string
	Row   func(fields []string) string
	Cells func(fields []string) map[string]string // family:qualifier
}

// WideCases are wide tables by their names.
var WideCases = map[string]WideCase{
	"text of all widths": {`rowkey: user
wide: {qualifier: follower, value: since}
query: [user, follower]`,
		func(f []string) string { return f[0] },
		func(f []string) map[string]string { return map[string]string{"f:" + f[1]: f[2]} }},
	"numbers in binary": {`rowkey: int64(user)
wide: {qualifier: int64(follower), value: since}`,
		func(f []string) string { return bigEndian(f[0]) },
		func(f []string) map[string]string { return map[string]string{"f:" + bigEndian(f[1]): f[2]} }},
	"several cells a record": {`rowkey: md5(user, 4) + user
wide:
  qualifier: pad(follower, 6, '0') + ':'
columns_map: {user: {skip: true}, note: {to: 'g:n'}, since: {to: s}}
query: [user]`,
		func(f []string) string { return javaMD5(f[0])[:4] + f[0] },
		func(f []string) map[string]string {
			id := strings.Repeat("0", 6-len(f[1])) + f[1] + ":"
			return map[string]string{"f:" + id + "s": f[2], "f:" + id + "follower": f[1], "g:" + id + "n": f[3]}
		}},
	"a set": {`rowkey: user + '/'
wide: {qualifier: follower, value: mark}
columns_map: {mark: {constant: ''}, other: {constant: x}}`,
		func(f []string) string { return f[0] + "/" },
		func(f []string) map[string]string { return map[string]string{"f:" + f[1]: ""} }},
	"a cell a family, of all widths": {`rowkey: user
wide: {qualifier: follower + 'x'}
cells: [since, note]
columns_map: {note: {to: 'g:'}}`,
		func(f []string) string { return f[0] },
		func(f []string) map[string]string {
			return map[string]string{"f:" + f[1] + "xsince": f[2], "g:" + f[1] + "x": f[3]}
		}},
}

func javaMD5(text string) string { return fmt.Sprintf("%x", md5.Sum([]byte(text))) }

func bigEndian(text string) string {
	n, _ := strconv.ParseInt(text, 10, 64)
	return string(binary.BigEndian.AppendUint64(nil, uint64(n)))
}

// Wide makes a folder with wide.yaml, which is WideHead and a job of WideCases, and followers in several files. Half of
// them belong to one user, some occur more than once, and a few are unusable.
func Wide(t testing.TB, job string, records int) string {
	t.Helper()
	all := map[string]string{"wide.yaml": WideHead + job + "\n"}
	r := rand.New(rand.NewPCG(7, 8))
	const files = 3
	for f := range files {
		var b bytes.Buffer
		for range records / files {
			user := r.IntN(300) * r.IntN(40)
			if r.IntN(2) == 0 {
				user = 65
			}
			since, note := fmt.Sprint(2000+r.IntN(26)), fmt.Sprintf("n%d", r.IntN(3))
			if r.IntN(50) == 0 {
				since = "null"
			}
			if r.IntN(60) == 0 {
				note = ""
			}
			fmt.Fprintf(&b, "%d|%d|%s|%s\n", user, r.IntN(records), since, note)
			if r.IntN(500) == 0 {
				b.WriteString("12||2020|no follower\nnull|12|2020|no user\n") // rejects
			}
		}
		all[fmt.Sprintf("in/part-%d", f)] = b.String()
	}
	return testfs.Tree(t, all)
}
