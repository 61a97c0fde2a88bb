package yamldoc

// The decoder of job files accepts the keys of the lists in this file and no others, and the JSON schema for editors is
// made from them.

import (
	"bulkload/ingest/compressed"
	"bulkload/values"
)

// Key is one key of a job file.
type Key struct {
	Name   string
	Kind   ValueKind
	Means  string
	Choice []string // of a Choice
	// the keys of a Mapping, of each element of Mappings, or of a Choice that may also be a mapping
	Fixed []Key
}

// ValueKind is the kind of values that a key has.
type ValueKind int

// The kinds of values. A text is any YAML scalar except null, because the decoder reads numbers and dates as they are
// written. Any value may have variables such as ${NAME}.
const (
	Text     ValueKind = iota
	Texts              // a list of texts
	SomeText           // a text or a list of texts
	NullText           // the same, but YAML's null is a text, too
	Flag               // true or false, without quotes
	Number             // a whole number
	Size               // a number of bytes, such as 64KiB
	Choice             // one of a few texts
	AnyCase            // the same, in upper or lower case
	Mapping            // a mapping with fixed keys
	Mappings           // a list of such mappings
	Columns            // columns_map: a mapping of columns and constants to their rules
	Outputs            // outputs: a list of mappings with the keys Output and Common
)

// Names returns the names of the keys in several lists.
func Names(lists ...[]Key) []string {
	var names []string
	for _, list := range lists {
		for _, key := range list {
			names = append(names, key.Name)
		}
	}
	return names
}

// The keys of a job file, by the place where they are allowed.
var (
	// Top are the keys that are allowed only at the top.
	Top = []Key{
		{Name: "include", Kind: SomeText,
			Means: "A file, or a list of files, with keys that several jobs share. Keys of this file win."},
		{Name: "input", Kind: Mapping, Means: "Where the records come from, and how they are written."},
		{Name: "hbase", Kind: Mapping, Fixed: HBase, Means: "Where the cluster's site files are, and who logs in."},
		{Name: "engine", Kind: Mapping, Fixed: Engine, Means: "How tasks run, with --engine. Nothing here changes a file."},
		{Name: "outputs", Kind: Outputs, Means: "Several tables from one reading, each with its table, rowkey and output."},
	}
	// Output are the keys of each table: at the top, or in each of outputs.
	Output = []Key{
		{Name: "table", Kind: Text, Means: "namespace:name, or a name in the default namespace."},
		{Name: "rowkey", Kind: Text,
			Means: "Functions and columns joined by +, such as salt(user, 10) + pad(user, 12) + id."},
		{Name: "query", Kind: Texts,
			Means: "The columns whose values a reader knows, in the order in which bulkload get expects them."},
		{Name: "queries", Kind: Mappings, Fixed: Queries,
			Means: "Queries and how many of each there are a day, for bulkload plan."},
		{Name: "output", Kind: Text,
			Means: "The folder for the HFiles: relative to the job file's folder, or an hdfs:// URI."},
		{Name: "wide", Kind: Mapping, Fixed: Wide, Means: "Many records in a row."},
	}
	// Common are the keys of each table that, at the top, apply to all outputs.
	Common = []Key{
		{Name: "family", Kind: Text, Means: "The family of all cells, unless columns_map names another one."},
		{Name: "timestamp", Kind: Text,
			Means: "Of the cells: a date (midnight UTC), RFC 3339, epoch milliseconds, or column:NAME. Default: ${date}."},
		{Name: "columns_map", Kind: Columns, Means: "Rules for columns, and cells with constant values."},
		{Name: "cells", Kind: Texts,
			Means: "The columns and constants that become cells. Default: all that are not skipped."},
		{Name: "filter", Kind: Text, Means: "Which records are wanted, such as status = 'A' and amount > 0."},
		{Name: "regions", Kind: Mapping, Fixed: Regions, Means: "Where the table's region boundaries come from."},
		{Name: "hfile", Kind: Mapping, Fixed: HFile,
			Means: "The files' settings. Default: the table's, or without a table those of bulkload plan --create."},
		{Name: "load", Kind: Flag, Means: "true loads the files into HBase; the output must be in HDFS. Default: false."},
		{Name: "duplicates", Kind: Choice, Choice: []string{"last", "error"}, Fixed: Duplicates,
			Means: "What to do if records with the same row key differ: keep the last one, or fail. Default: last."},
	}
	// Input are the keys of input for every format.
	Input = []Key{
		{Name: "path", Kind: Text,
			Means: "A file, a folder or a glob: relative to the job file's folder, file:// or hdfs://."},
		{Name: "format", Kind: Choice, Choice: []string{"delimited", "csv", "parquet"}, Means: "Default: delimited."},
		{Name: "columns", Kind: Texts,
			Means: "The columns: by position in delimited text, by name in CSV with a heading and in Parquet."},
		{Name: "charset", Kind: Text, Means: "The charset of text: utf-8 (default), gbk, gb18030, windows-1252 and others."},
		{Name: "max_rejects", Kind: Text,
			Means: "How many rejects are allowed: a count, or a percentage such as 1%. Default: 0."},
		{Name: "require_success", Kind: Flag, Means: "true requires a _SUCCESS file in the input's folder. Default: false."},
		{Name: "expect_rows", Kind: Text,
			Means: "How many records there must be: a count, or a minimum such as '>= 400000'."},
		{Name: "empty", Kind: Choice, Choice: []string{"ok", "fail"},
			Means: "Whether an input without records is accepted. Default: ok."},
		{Name: "check_space", Kind: Flag,
			Means: "false begins without checking whether the disks have enough space. Default: true."},
	}
	// Delimited are the keys of input for delimited text.
	Delimited = []Key{
		{Name: "field_delimiter", Kind: Text, Means: `'\x01' (default), '\001', '\t', or several bytes.`},
		{Name: "record_delimiter", Kind: Text, Means: `The same for the end of a record. Default: a newline.`},
		{Name: "escaped_by", Kind: Text, Means: "One character, like Sqoop's --escaped-by."},
		{Name: "enclosed_by", Kind: Text, Means: "One character around every value, like Sqoop's --enclosed-by."},
		{Name: "optionally_enclosed_by", Kind: Text,
			Means: "One character around some values, like Sqoop's --optionally-enclosed-by."},
		compression,
		null,
		{Name: "null_string", Kind: NullText,
			Means: "The text of nulls in columns of type text or without a type, like Sqoop's --null-string."},
		{Name: "null_non_string", Kind: NullText,
			Means: "The text of nulls in other columns, like Sqoop's --null-non-string."},
	}
	// CSV are the keys of input for CSV.
	CSV = []Key{
		{Name: "field_delimiter", Kind: Text, Means: "One ASCII character. Default: a comma."},
		{Name: "quote", Kind: Text, Means: `One ASCII character, or none. Default: '"'.`},
		{Name: "header", Kind: Flag, Means: "false: the first line of each file is a record. Default: true."},
		null,
		{Name: "quoted_empty", Kind: Choice, Choice: []string{"value", "null"},
			Means: "What a quoted empty value is. Default: value."},
		{Name: "skip_noise", Kind: Flag, Means: "true skips what SQL*Plus prints besides records."},
		{Name: "skip_errors", Kind: Flag, Means: "true also skips the errors that SQL*Plus prints."},
		compression,
	}
	// Parquet are the keys of input for Parquet.
	Parquet = []Key{
		{Name: "timestamp_zone", Kind: Text, Means: "The zone in which points in time are shown, such as Asia/Shanghai."},
		{Name: "int96_zone", Kind: Text, Means: "The same for INT96. Default: timestamp_zone."},
		{Name: "millis_columns", Kind: Texts,
			Means: "Columns with numbers that are milliseconds since 1970, to be shown as timestamps."},
		{Name: "decimal_zeros", Kind: Choice, Choice: []string{"drop", "keep"},
			Means: "Whether 1.50 is shown as 1.5 (default) or 1.50."},
		{Name: "binary", Kind: Choice, Choice: []string{"bytes", "text", "hex"},
			Means: "How values of columns without a text type are read. Default: bytes."},
	}
	// Column are the keys of columns_map for a column of the input.
	Column = append([]Key{
		{Name: "skip", Kind: Flag, Means: "true: no cell."},
		{Name: "width", Kind: Number, Means: "The fixed width of the text in bytes."},
		{Name: "null", Kind: Choice, Choice: []string{"omit", "empty", "error"},
			Means: "What becomes of a null. Default: omit."},
	}, typed...)
	// Constant are the keys of columns_map for a cell with the same value in every row.
	Constant = append([]Key{{Name: "constant", Kind: Text, Means: "The value of the cell in every row."}}, typed...)
	// Regions are the keys of regions.
	Regions = []Key{
		{Name: "from", Kind: Choice, Choice: []string{"splits", "table", "file", "plan"},
			Means: "splits, table (the live one), file, or plan (the regions that bulkload plan suggests; not with load)."},
		{Name: "splits", Kind: Texts,
			Means: `The boundaries, ascending, as HBase's shell writes them ('\x00\xFF'); [] is one region.`},
		{Name: "file", Kind: Text, Means: "A file with one boundary a line."},
	}
	// Duplicates are the keys of duplicates, if it is a mapping.
	Duplicates = []Key{
		{Name: "input", Kind: Choice, Choice: []string{"last", "error"},
			Means: "What to do if records with the same row key differ. Default: last."},
		{Name: "live", Kind: Choice, Choice: []string{"error", "overwrite"},
			Means: "What to do about rows that the table has already; needs load. Default: the table is not asked."},
	}
	// HFile are the keys of hfile.
	HFile = []Key{
		{Name: "compression", Kind: AnyCase, Choice: []string{"none", "snappy", "gz", "lz4", "zstd"},
			Means: "Default in an hfile section: none."},
		{Name: "encoding", Kind: AnyCase, Choice: []string{"none", "prefix", "diff", "fast_diff", "row_index_v1"},
			Means: "DATA_BLOCK_ENCODING. Default in an hfile section: none."},
		{Name: "bloom", Kind: AnyCase, Choice: []string{"none", "row", "rowcol", "rowprefix_fixed_length"},
			Means: "BLOOMFILTER. Default: row."},
		{Name: "block_size", Kind: Size, Means: "BLOCKSIZE. Default: 64KiB."},
		{Name: "max_size", Kind: Size, Means: "KeyValue bytes after which a file ends. Default: hbase.hregion.max.filesize."},
		{Name: "slice_size", Kind: Size, Means: "A region of more bytes is written in parts, side by side. Default: 64MiB."},
		{Name: "hbase_version", Kind: Text,
			Means: "The oldest HBase that is to read the files, such as '2.1'. Default: any."},
	}
	// HBase are the keys of hbase.
	HBase = []Key{
		{Name: "conf", Kind: Text, Means: "The folder of the site files. Default: HADOOP_CONF_DIR and HBASE_CONF_DIR."},
		{Name: "kerberos", Kind: Mapping, Fixed: Kerberos,
			Means: "Who logs in on a cluster with Kerberos. Default: the ticket cache."},
	}
	// Kerberos are the keys of hbase.kerberos.
	Kerberos = []Key{
		{Name: "principal", Kind: Text, Means: "etl@REALM or etl/host@REALM."},
		{Name: "keytab", Kind: Text, Means: "The principal's keytab."},
	}
	// Engine are the keys of engine.
	Engine = []Key{
		{Name: "task_size", Kind: Size, Means: "How many bytes a task has. Default: 512MiB."},
		{Name: "memory", Kind: Size, Means: "Memory of a task on YARN, as of --memory. Default: that of the command."},
		{Name: "cores", Kind: Number, Means: "Cores of a task on YARN. Default: 1."},
		{Name: "queue", Kind: Text, Means: "The queue of YARN."},
		{Name: "priority", Kind: Text, Means: "The priority of YARN's jobs: a number, or a name such as HIGH."},
		{Name: "label", Kind: Text, Means: "The label of the nodes on which YARN runs tasks."},
		{Name: "attempts", Kind: Number, Means: "How many times YARN tries a task. Default: the cluster's, mostly 4."},
		{Name: "speculative", Kind: Flag, Means: "true lets YARN run a second attempt of a slow task. Default: false."},
		{Name: "jvm_memory", Kind: Size,
			Means: "Memory of a container of YARN beside the task, for Hadoop's JVM. Default: 384MiB."},
		{Name: "hadoop_home", Kind: Text,
			Means: "The Hadoop installation, whose bin has hadoop and yarn. Default: HADOOP_HOME, then PATH."},
		{Name: "streaming_jar", Kind: Text, Means: "The jar of Hadoop Streaming. Default: that of the installation."},
		{Name: "properties", Kind: Texts, Means: "Further properties of Hadoop's jobs, each NAME=VALUE."},
	}
	// Queries are the keys of each of queries.
	Queries = []Key{
		{Name: "columns", Kind: Texts, Means: "What the reader knows."},
		{Name: "per_day", Kind: Number, Means: "How often a day it is asked."},
	}
	// Wide are the keys of wide.
	Wide = []Key{
		{Name: "qualifier", Kind: Text,
			Means: "An expression as in rowkey, with which the qualifiers of a record's cells begin."},
		{Name: "value", Kind: Text, Means: "The column that is a record's only cell."},
	}

	// The keys that a column and a constant share.
	typed = []Key{
		{Name: "to", Kind: Text, Means: "The cell: family:qualifier, or a qualifier. Default: family and the column's name."},
		{Name: "type", Kind: Choice, Choice: values.KindNames(), Means: "What the values are. Default: anything."},
		{Name: "format", Kind: Choice, Choice: values.Formats(),
			Means: "How a date or a timestamp is written. Default: datetime."},
		{Name: "zone", Kind: Text, Means: "The zone of dates and timestamps without an offset, such as Asia/Shanghai."},
		{Name: "store", Kind: Choice, Choice: []string{"text", "binary"},
			Means: "What the cell holds: the text, or the bytes of Bytes.toBytes. Default: text."},
	}
	compression = Key{Name: "compression", Kind: Choice, Choice: compressed.Names(),
		Means: "The files' compression. Default: auto, detected for each file."}
	null = Key{Name: "null", Kind: NullText, Means: `The text of a null, such as '\N', or a list of such texts.`}
)
