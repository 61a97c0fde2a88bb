// Package parquet reads Parquet files as records of text: flat tables as Sqoop, Spark, Hive and pyarrow write them.
//
// The decoders are those of Apache Arrow's parquet/file (Go, v15), column by column. What stands around them is made for
// files that can't be trusted: pages are found, checked against their checksums and unpacked here, and what they hold is
// counted before a decoder sees it, since the decoders panic, hang or ask for any amount of memory where counts don't fit.
//
//	form.go     the form of an input, and how its files are cut into splits by row groups
//	footer.go   a file's footer, read and checked: what can't be read is refused here
//	refused.go  what is no fault but can't be read
//	schema.go   the columns to read, by name, and their types
//	kind.go     what the values of a column mean
//	annotation.go  footers whose annotations v15 does not take
//	legacy.go   what Spark's footers say of dates before 1582
//	records.go  records out of one split
//	cursor.go   the values of one column, in batches
//	values.go   values of each physical type to text; number.go, decimal.go and clock.go
//	pages.go    the pages of a column: found, checked, unpacked; stream.go reads the file, codec.go unpacks
//	check.go    what pages hold, counted: levels, dictionary indices; delta.go
//	header.go   page headers; thrift.go, as much of Thrift's compact protocol as they need
//
// The format: https://parquet.apache.org/docs/file-format/ and parquet.thrift of apache/parquet-format.
package parquet
