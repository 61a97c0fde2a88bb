// Package ingest turns exports into records. It finds files, cuts them into splits, and reads records whose columns are
// views of the read buffer. It knows nothing of HBase.
//
// The forms are in separate packages: delimited, csv and parquet. This package has what they share:
//
//	form.go       what a form must know; splits
//	list.go       which files a path means
//	record.go     records and bad records
//	foreign.go    files that are no text
//	delimiter.go  the notations of a delimiter
//	limit.go      how many rejects a run may have; reject_counter.go counts them
//	rejects.go    the files of bad records; reject_runs.go sorts them, reject_numbers.go counts record numbers
//	separator.go  what ends a reject whatever is open in it
package ingest
