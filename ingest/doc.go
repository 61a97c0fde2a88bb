// Package ingest turns exports into records: files are found, cut into splits, and read as records whose columns are
// views of the read buffer. It knows nothing of HBase.
//
//	list.go       which files a path means
//	delimited.go  the form of delimited text, and how files of it are cut into splits
//	reader.go     records out of one split
//	fields.go     columns out of one record
//	decoded.go    records of files in other charsets than UTF-8; the charsets are in charset/
//	hint.go       what is probably wrong where every record is bad
//	record.go     records and bad records
//	delimiter.go  the notations of a delimiter
//	limit.go      how many rejects a run bears
//	rejects.go    the books of bad records; reject_runs.go sorts them, reject_numbers.go counts record numbers
package ingest
