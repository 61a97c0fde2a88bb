// Package parquet reads Parquet files as records of text: flat tables as Sqoop, Spark, Hive and pyarrow write them.
//
// The decoders are those of Apache Arrow's parquet/file (Go, v15), column by column. They panic, hang or allocate
// without limit if counts don't match. So the code around them makes untrusted files safe to read: it finds the pages,
// checks their checksums, unpacks them, and counts their values before a decoder sees them.
//
//	form.go     the form of an input, and cutting its files into splits by row groups
//	footer.go   a file's footer, read and checked: what can't be read is refused here
//	refused.go  files that are sound but can't be read
//	schema.go   the columns to read, by name, and their types
//	kind.go     what the values of a column mean
//	annotation.go  footers with annotations that v15 refuses
//	legacy.go   the calendar of dates before 1582, according to Spark's footers
//	records.go  records out of one split
//	cursor.go   the values of one column, in batches
//	values.go   values of each physical type to text; number.go, decimal.go and clock.go
//	pages.go    the pages of a column: found, checked, unpacked; stream.go reads the file, codec.go unpacks
//	check.go    counting what pages hold: levels, dictionary indices; delta.go
//	header.go   page headers; thrift.go, as much of Thrift's compact protocol as they need
//
// The format: https://parquet.apache.org/docs/file-format/ and parquet.thrift of apache/parquet-format.
package parquet
