package jobdir

// RuleJob is a job over three columns, to which tests add rules. The row is the first column.
const RuleJob = `table: ns:t
family: f
timestamp: 1000
input: {path: in.txt, columns: [id, a, b], field_delimiter: '|', null: '\N', max_rejects: 9}
rowkey: id
query: [id]
regions: {from: splits, splits: ['5']}
hfile: {encoding: fast_diff}
output: out
`
