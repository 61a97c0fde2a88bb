package errcode

// The codes, by subject.
const (
	// The command line.
	Command       Code = "BL-COMMAND"
	CommandDate   Code = "BL-COMMAND-DATE"
	CommandMemory Code = "BL-COMMAND-MEMORY"
	CommandOutput Code = "BL-COMMAND-OUTPUT"
	QueryValues   Code = "BL-QUERY-VALUES"
	LoadLocal     Code = "BL-LOAD-LOCAL"
	TableName     Code = "BL-TABLE-NAME"
	Convert       Code = "BL-CONVERT"

	// The job file.
	JobRead      Code = "BL-JOB-READ"
	JobYaml      Code = "BL-JOB-YAML"
	JobKey       Code = "BL-JOB-KEY"
	JobTwice     Code = "BL-JOB-TWICE"
	JobMissing   Code = "BL-JOB-MISSING"
	JobType      Code = "BL-JOB-TYPE"
	JobEmpty     Code = "BL-JOB-EMPTY"
	JobValue     Code = "BL-JOB-VALUE"
	JobColumn    Code = "BL-JOB-COLUMN"
	JobVariable  Code = "BL-JOB-VARIABLE"
	JobDate      Code = "BL-JOB-DATE"
	JobTimestamp Code = "BL-JOB-TIMESTAMP"
	JobDelimiter Code = "BL-JOB-DELIMITER"
	JobRowkey    Code = "BL-JOB-ROWKEY"
	JobQuery     Code = "BL-JOB-QUERY"
	JobFilter    Code = "BL-JOB-FILTER"
	JobRegions   Code = "BL-JOB-REGIONS"
	JobOutputs   Code = "BL-JOB-OUTPUTS"

	// Site files and security.
	SiteRead            Code = "BL-SITE-READ"
	SiteProperty        Code = "BL-SITE-PROPERTY"
	SiteMissing         Code = "BL-SITE-MISSING"
	SecurityUnsupported Code = "BL-SECURITY-UNSUPPORTED"

	// Kerberos.
	KerberosConfig     Code = "BL-KRB-CONFIG"
	KerberosKeytab     Code = "BL-KRB-KEYTAB"
	KerberosCache      Code = "BL-KRB-CACHE"
	KerberosExpired    Code = "BL-KRB-EXPIRED"
	KerberosClock      Code = "BL-KRB-CLOCK"
	KerberosPassword   Code = "BL-KRB-PASSWORD"
	KerberosPrincipal  Code = "BL-KRB-PRINCIPAL"
	KerberosService    Code = "BL-KRB-SERVICE"
	KerberosEncryption Code = "BL-KRB-ENCRYPTION"
	KerberosNoKDC      Code = "BL-KRB-KDC"
	KerberosRefused    Code = "BL-KRB-REFUSED"
	KerberosNoLogin    Code = "BL-KRB-LOGIN"
	KerberosUnwanted   Code = "BL-KRB-UNWANTED"
	KerberosName       Code = "BL-KRB-NAME"
	KerberosProtection Code = "BL-KRB-PROTECTION"
	KerberosToken      Code = "BL-KRB-TOKEN"

	// YARN.
	YarnCommands Code = "BL-YARN-COMMANDS"
	YarnSubmit   Code = "BL-YARN-SUBMIT"
	YarnTask     Code = "BL-YARN-TASK"
	YarnKilled   Code = "BL-YARN-KILLED"
	YarnDown     Code = "BL-YARN-DOWN"

	// HDFS.
	HDFSDown         Code = "BL-HDFS-DOWN"
	HDFSSafeMode     Code = "BL-HDFS-SAFEMODE"
	HDFSNoDataNode   Code = "BL-HDFS-DATANODE"
	HDFSBlockMissing Code = "BL-HDFS-BLOCK-MISSING"
	HDFSBlockCorrupt Code = "BL-HDFS-BLOCK-CORRUPT"
	HDFSPermission   Code = "BL-HDFS-PERMISSION"
	HDFSQuota        Code = "BL-HDFS-QUOTA"
	HDFSAddress      Code = "BL-HDFS-ADDRESS"
	HDFSZone         Code = "BL-HDFS-ZONE"
	HDFSErasure      Code = "BL-HDFS-ERASURE"
	FileSystem       Code = "BL-FILESYSTEM"

	// The input.
	InputMissing       Code = "BL-INPUT-MISSING"
	InputBraces        Code = "BL-INPUT-BRACES"
	InputUnknown       Code = "BL-INPUT-UNKNOWN"
	InputUnfinished    Code = "BL-INPUT-UNFINISHED"
	InputEmpty         Code = "BL-INPUT-EMPTY"
	InputRows          Code = "BL-INPUT-ROWS"
	InputPlace         Code = "BL-INPUT-PLACE"
	InputFile          Code = "BL-INPUT-FILE"
	InputChanged       Code = "BL-INPUT-CHANGED"
	InputNew           Code = "BL-INPUT-NEW"
	InputFormat        Code = "BL-INPUT-FORMAT"
	InputPacked        Code = "BL-INPUT-PACKED"
	InputDamaged       Code = "BL-INPUT-DAMAGED"
	InputMark          Code = "BL-INPUT-MARK"
	InputRecord        Code = "BL-INPUT-RECORD"
	CSVHeading         Code = "BL-CSV-HEADING"
	CSVExport          Code = "BL-CSV-EXPORT"
	CSVLine            Code = "BL-CSV-LINE"
	ParquetColumn      Code = "BL-PARQUET-COLUMN"
	ParquetUnsupported Code = "BL-PARQUET-UNSUPPORTED"
	ParquetForm        Code = "BL-PARQUET-FORM"
	ParquetDamaged     Code = "BL-PARQUET-DAMAGED"

	// Rejected records.
	RejectsMany     Code = "BL-REJECTS-MANY"
	RejectColumns   Code = "BL-REJECT-COLUMNS"
	RejectDelimiter Code = "BL-REJECT-DELIMITER"
	RejectCharset   Code = "BL-REJECT-CHARSET"
	RejectQuote     Code = "BL-REJECT-QUOTE"
	RejectNoise     Code = "BL-REJECT-NOISE"
	RejectOverflow  Code = "BL-REJECT-OVERFLOW"
	RejectType      Code = "BL-REJECT-TYPE"
	RejectKey       Code = "BL-REJECT-KEY"
	RejectTimestamp Code = "BL-REJECT-TIMESTAMP"
	RejectFilter    Code = "BL-REJECT-FILTER"

	// Disks.
	DiskSpace    Code = "BL-DISK-SPACE"
	Permission   Code = "BL-PERMISSION"
	DiskFull     Code = "BL-DISK-FULL"
	WorkDir      Code = "BL-WORKDIR"
	SpillDamaged Code = "BL-SPILL-DAMAGED"

	// Tasks.
	TaskPlan    Code = "BL-TASK-PLAN"
	TaskProgram Code = "BL-TASK-PROGRAM"
	TaskIndex   Code = "BL-TASK-INDEX"
	TaskRuns    Code = "BL-TASK-RUNS"
	TaskMemory  Code = "BL-TASK-MEMORY"
	TaskLost    Code = "BL-TASK-LOST"
	TaskFailed  Code = "BL-TASK-FAILED"

	// The output.
	OutputPlace       Code = "BL-OUTPUT-PLACE"
	OutputForeign     Code = "BL-OUTPUT-FOREIGN"
	OutputChanged     Code = "BL-OUTPUT-CHANGED"
	OutputLacks       Code = "BL-OUTPUT-LACKS"
	OutputNone        Code = "BL-OUTPUT-NONE"
	OutputOther       Code = "BL-OUTPUT-OTHER"
	OutputInput       Code = "BL-OUTPUT-INPUT"
	OutputSettings    Code = "BL-OUTPUT-SETTINGS"
	OutputUnfinished  Code = "BL-OUTPUT-UNFINISHED"
	OutputMoved       Code = "BL-OUTPUT-MOVED"
	Locked            Code = "BL-LOCKED"
	LockLost          Code = "BL-LOCK-LOST"
	ManifestChanged   Code = "BL-MANIFEST-CHANGED"
	ManifestMalformed Code = "BL-MANIFEST-MALFORMED"
	ManifestVersion   Code = "BL-MANIFEST-VERSION"
	ManifestSize      Code = "BL-MANIFEST-SIZE"
	Duplicates        Code = "BL-DUPLICATES"
	RowsExist         Code = "BL-ROWS-EXIST"
	Books             Code = "BL-BOOKS"
	SliceRows         Code = "BL-SLICE-ROWS"
	Digest            Code = "BL-DIGEST"
	HFileSettings     Code = "BL-HFILE-SETTINGS"
	RowLength         Code = "BL-ROW-LENGTH"

	// The table.
	TableMissing  Code = "BL-TABLE-MISSING"
	TableExists   Code = "BL-TABLE-EXISTS"
	TableDisabled Code = "BL-TABLE-DISABLED"
	TableFamily   Code = "BL-TABLE-FAMILY"
	TableSettings Code = "BL-TABLE-SETTINGS"
	Regions       Code = "BL-REGIONS"
	TableAltered  Code = "BL-TABLE-ALTERED"
	Salts         Code = "BL-SALTS"
	FilesLimit    Code = "BL-FILES-LIMIT"
	TableTTL      Code = "BL-TABLE-TTL"
	TableBusy     Code = "BL-TABLE-BUSY"

	// HBase.
	HBaseDown        Code = "BL-HBASE-DOWN"
	HBaseRegion      Code = "BL-HBASE-REGION"
	HBasePermission  Code = "BL-HBASE-PERMISSION"
	HBaseAnswer      Code = "BL-HBASE-ANSWER"
	HBaseRefused     Code = "BL-HBASE-REFUSED"
	ZooKeeperDown    Code = "BL-ZOOKEEPER-DOWN"
	ZooKeeperAddress Code = "BL-ZOOKEEPER-ADDRESS"
	MasterMissing    Code = "BL-MASTER-MISSING"

	// The load.
	LoadStraddles   Code = "BL-LOAD-STRADDLES"
	LoadUncut       Code = "BL-LOAD-UNCUT"
	LoadCuts        Code = "BL-LOAD-CUTS"
	LoadPlace       Code = "BL-LOAD-PLACE"
	LoadNames       Code = "BL-LOAD-NAMES"
	LoadStaging     Code = "BL-LOAD-STAGING"
	LoadTracker     Code = "BL-LOAD-TRACKER"
	LoadRefused     Code = "BL-LOAD-REFUSED"
	LoadIncomplete  Code = "BL-LOAD-INCOMPLETE"
	LoadLost        Code = "BL-LOAD-LOST"
	LoadUnsure      Code = "BL-LOAD-UNSURE"
	LoadInterrupted Code = "BL-LOAD-INTERRUPTED"
	LoadOther       Code = "BL-LOAD-OTHER"
	LoadAgain       Code = "BL-LOAD-AGAIN"
	LoadMove        Code = "BL-LOAD-MOVE"
	LoadChanged     Code = "BL-LOAD-CHANGED"
	LedgerDamaged   Code = "BL-LEDGER-DAMAGED"
	LedgerMalformed Code = "BL-LEDGER-MALFORMED"
	LedgerPlace     Code = "BL-LEDGER-PLACE"

	// Files and verification.
	VerifyDiffers    Code = "BL-VERIFY-DIFFERS"
	VerifySource     Code = "BL-VERIFY-SOURCE"
	HFileCorrupt     Code = "BL-HFILE-CORRUPT"
	HFileUnsupported Code = "BL-HFILE-UNSUPPORTED"
	HFileMissing     Code = "BL-HFILE-MISSING"
	HFileNone        Code = "BL-HFILE-NONE"

	// Stopped.
	Stopped Code = "BL-INTERRUPTED"
	Answer  Code = "BL-ANSWER"

	// All other errors.
	OtherFailed      Code = "BL-OTHER-1"
	OtherUsage       Code = "BL-OTHER-2"
	OtherRejects     Code = "BL-OTHER-3"
	OtherInterrupted Code = "BL-OTHER-4"
	OtherRefused     Code = "BL-OTHER-5"
	OtherDiffers     Code = "BL-OTHER-6"
	OtherNotYet      Code = "BL-OTHER-66"
	OtherLater       Code = "BL-OTHER-75"
)

// entry is a line of the table of codes.
type entry struct {
	code Code
	kind Kind
	line string // the cause, in one sentence
}

// table has all codes, in the order of docs/errors.md.
var table = []entry{
	// The command line.
	{Command, Usage, "The command line is wrong: an unknown command or flag, or a value that is not accepted."},
	{CommandDate, Usage, "--date or a variable is not a date."},
	{CommandMemory, Usage, "--memory is too small."},
	{CommandOutput, Usage, "Several outputs fit; --output must name one."},
	{QueryValues, Usage, "The values given to get do not fit the query's columns."},
	{LoadLocal, Usage, "load needs a directory in HDFS."},
	{TableName, Usage, "The text is not the name of a table."},
	{Convert, Usage, "Properties can't be converted to a job file."},
	// The job file.
	{JobRead, Usage, "The job file can't be read."},
	{JobYaml, Usage, "The job file is not YAML."},
	{JobKey, Usage, "The job file has an unknown key."},
	{JobTwice, Usage, "The job file has a key twice."},
	{JobMissing, Usage, "The job file lacks a key."},
	{JobType, Usage, "A value has the wrong YAML type."},
	{JobEmpty, Usage, "A text in the job file is empty."},
	{JobValue, Usage, "A value in the job file is not accepted."},
	{JobColumn, Usage, "A name in the job file is not an input column."},
	{JobVariable, Usage, "A ${variable} is not defined."},
	{JobDate, Usage, "The job needs --date."},
	{JobTimestamp, Usage, "The timestamp of the cells is not one that HBase can use."},
	{JobDelimiter, Usage, "A delimiter is not in a valid notation."},
	{JobRowkey, Usage, "The row key expression is wrong."},
	{JobQuery, Usage, "The query does not fit the row key."},
	{JobFilter, Usage, "The filter is wrong."},
	{JobRegions, Usage, "regions, its splits or its file are wrong."},
	{JobOutputs, Usage, "The outputs of a job contradict each other."},
	// Site files and security.
	{SiteRead, Usage, "A site file can't be read."},
	{SiteProperty, Refused, "A property of the site files has a value that can't be used."},
	{SiteMissing, Refused, "A property that is needed is not set."},
	{SecurityUnsupported, Refused, "The site files ask for a protection that is not supported."},
	// Kerberos.
	{KerberosConfig, Refused, "krb5.conf is missing or wrong."},
	{KerberosKeytab, Refused, "The keytab can't be used."},
	{KerberosCache, Refused, "There is no usable ticket cache."},
	{KerberosExpired, Refused, "The ticket has expired."},
	{KerberosClock, Refused, "The clocks of this machine and of the KDC differ."},
	{KerberosPassword, Refused, "The keytab's key is not the KDC's."},
	{KerberosPrincipal, Refused, "The KDC does not know the principal, or does not let it log in."},
	{KerberosService, Refused, "The KDC does not know the service."},
	{KerberosEncryption, Refused, "There is no common encryption type."},
	{KerberosNoKDC, Later, "No KDC answers."},
	{KerberosRefused, Refused, "The server refuses the ticket."},
	{KerberosNoLogin, Refused, "The cluster uses Kerberos, and there is no login."},
	{KerberosUnwanted, Refused, "The job logs in with Kerberos and the cluster has none."},
	{KerberosName, Refused, "hadoop.security.auth_to_local makes no short name of the principal."},
	{KerberosProtection, Refused, "Server and site files have no protection in common."},
	{KerberosToken, Refused, "A delegation token is missing or is refused."},

	// YARN.
	{YarnCommands, Refused, "Hadoop's commands or the jar of Hadoop Streaming can't be found or run."},
	{YarnSubmit, Refused, "YARN does not accept the job."},
	{YarnTask, Failed, "A task failed on YARN as often as it may."},
	{YarnKilled, Failed, "The job on YARN was killed."},
	{YarnDown, Later, "YARN does not answer."},
	// HDFS.
	{HDFSDown, Later, "HDFS does not answer."},
	{HDFSSafeMode, Later, "The NameNode is in safe mode."},
	{HDFSNoDataNode, Later, "No DataNode accepts a block."},
	{HDFSBlockMissing, Later, "No DataNode has a replica of a block."},
	{HDFSBlockCorrupt, Differs, "No replica of a block matches its checksums."},
	{HDFSPermission, Refused, "HDFS denies the user a permission."},
	{HDFSQuota, Refused, "A quota of HDFS is exhausted."},
	{HDFSAddress, Refused, "The URI or the site files do not lead to a NameNode."},
	{HDFSZone, Refused, "The path is in an encryption zone."},
	{HDFSErasure, Refused, "The path is erasure-coded."},
	{FileSystem, Refused, "The URI's file system is not supported."},
	// The input.
	{InputMissing, NotYet, "The input does not exist."},
	{InputBraces, Refused, "The input does not exist, and its path has braces, which are not a pattern here."},
	{InputUnknown, Refused, "No job file can be drafted from the input."},
	{InputUnfinished, NotYet, "The export is not finished."},
	{InputEmpty, Refused, "The input has no records and input.empty is fail."},
	{InputRows, Refused, "The number of records is not what input.expect_rows says."},
	{InputPlace, Refused, "The input is inside the output, or the output inside the input."},
	{InputFile, Refused, "An input file is a pipe, a device or a broken link."},
	{InputChanged, Failed, "An input file changed while it was read."},
	{InputNew, NotYet, "The input changed while it was listed."},
	{InputFormat, Refused, "The input is in another format than the job file says."},
	{InputPacked, Refused, "The file's name and its compression do not agree."},
	{InputDamaged, Failed, "A compressed input file is damaged or cut short."},
	{InputMark, Refused, "The file's byte order mark contradicts input.charset, or it is UTF-16."},
	{InputRecord, Refused, "A record is longer than any record can be."},
	{CSVHeading, Refused, "The heading of a CSV file does not match the job."},
	{CSVExport, Refused, "The export of a CSV file failed half-way."},
	{CSVLine, Refused, "A line of a CSV file is too long."},
	{ParquetColumn, Refused, "A Parquet file lacks a column, or has it twice."},
	{ParquetUnsupported, Refused, "A Parquet file uses something that is not supported."},
	{ParquetForm, Refused, "The file is not a complete Parquet file."},
	{ParquetDamaged, Failed, "A Parquet file is damaged."},
	// Rejected records.
	{RejectsMany, Rejects, "More records were rejected than max_rejects allows."},
	{RejectColumns, Rejects, "Records have another number of columns than the job file."},
	{RejectDelimiter, Rejects, "The files have another delimiter than the job file says."},
	{RejectCharset, Rejects, "Records are not in the charset of the job file."},
	{RejectQuote, Rejects, "A quoted or enclosed value is not well formed."},
	{RejectNoise, Rejects, "A line of the client is among the records."},
	{RejectOverflow, Rejects, "A value did not fit the width that SQL*Plus gave its column."},
	{RejectType, Rejects, "A value is not of its column's type."},
	{RejectKey, Rejects, "A row key can't be built from a record."},
	{RejectTimestamp, Rejects, "A record's timestamp is not one that HBase can use."},
	{RejectFilter, Rejects, "The filter can't be evaluated for a record."},
	// Disks.
	{DiskSpace, Refused, "The disks have too little space for the run."},
	{Permission, Refused, "The user may not read or write a local file."},
	{DiskFull, Failed, "A disk is full."},
	{WorkDir, Refused, "--work-dir can't be used."},
	{SpillDamaged, Failed, "Sorted runs on the disk are not what was written."},
	// Tasks.
	{TaskPlan, Refused, "A task can't use its plan: it is not there any more, or was changed."},
	{TaskProgram, Refused, "A task runs another bulkload than the one that planned it."},
	{TaskIndex, Usage, "The plan has no task of this index."},
	{TaskRuns, Refused, "The run would have more map tasks than can be merged."},
	{TaskMemory, Refused, "A reduce task has too little memory to merge the sorted runs."},
	{TaskLost, Failed, "A task ended without its account."},
	{TaskFailed, Failed, "A task failed, and its engine does not run it again."},
	// The output.
	{OutputPlace, Refused, "The output directory can't be made."},
	{OutputForeign, Refused, "The output holds files that this run did not write."},
	{OutputChanged, Refused, "Files of the output were changed."},
	{OutputLacks, Refused, "Files of the output are missing."},
	{OutputNone, Refused, "The folder has no output of bulkload."},
	{OutputOther, Refused, "The output belongs to another run: another date, another job, or this job before it was changed."},
	{OutputInput, Refused, "The input has changed since the output was written."},
	{OutputSettings, Refused, "The output was written with other settings."},
	{OutputUnfinished, Refused, "The run of the output is not finished."},
	{OutputMoved, Refused, "HBase has moved the output's files away."},
	{Locked, Later, "Another run holds the lock of the output."},
	{LockLost, Later, "The run lost its lock."},
	{ManifestChanged, Differs, "The manifest was changed."},
	{ManifestMalformed, Refused, "The manifest was not written by bulkload."},
	{ManifestVersion, Refused, "The manifest was written by another version of bulkload."},
	{ManifestSize, Refused, "The manifest or the ledger's entry of a run would be too large to be read."},
	{Duplicates, Failed, "Records with one row key differ, and duplicates is error."},
	{RowsExist, Failed, "The table has rows of the input already, and duplicates.live is error."},
	{Books, Differs, "The row counts do not reconcile."},
	{SliceRows, Differs, "Slices of an unfinished run begin at other rows than they would now."},
	{Digest, Differs, "What was read back is not what was sorted."},
	{HFileSettings, Refused, "The settings of an HFile can't be used."},
	{RowLength, Failed, "A row, family or value is longer than HBase accepts."},
	// The table.
	{TableMissing, Refused, "The table does not exist."},
	{TableExists, Refused, "The table exists already."},
	{TableDisabled, Refused, "The table is not enabled."},
	{TableFamily, Refused, "The table lacks a family."},
	{TableSettings, Refused, "The job and the table disagree about a setting."},
	{Regions, Refused, "The region boundaries can't be used."},
	{TableAltered, Refused, "The table was altered after the files were written."},
	{Salts, Refused, "The region boundaries do not suit the salts of the row key."},
	{FilesLimit, Refused, "A region gets more HFiles of a family than HBase loads."},
	{TableTTL, Refused, "The cells are older than the table's TTL."},
	{TableBusy, Later, "Another job loads into the table."},
	// HBase.
	{HBaseDown, Later, "HBase does not answer."},
	{HBaseRegion, Later, "Regions are not open, or are moving."},
	{HBasePermission, Refused, "HBase denies the user a right."},
	{HBaseAnswer, Failed, "The server's answer is not HBase's protocol."},
	{HBaseRefused, Refused, "HBase refuses the request."},
	{ZooKeeperDown, Later, "No ZooKeeper server answers."},
	{ZooKeeperAddress, Refused, "No host of hbase.zookeeper.quorum is known."},
	{MasterMissing, Later, "No HBase master is active."},
	// The load.
	{LoadStraddles, Refused, "A file has rows of several regions."},
	{LoadUncut, Refused, "A file with rows of several regions can't be cut."},
	{LoadCuts, Refused, "The record of cut files does not agree with the directory."},
	{LoadPlace, Refused, "The files are not where HBase can load them from."},
	{LoadNames, Refused, "Two files have the same name and family."},
	{LoadStaging, Refused, "HBase's staging folder can't be used."},
	{LoadTracker, Refused, "The table's store file tracker accepts only files of HBase's own user."},
	{LoadRefused, Refused, "A region server does not load a file."},
	{LoadIncomplete, Failed, "The table lacks files after the load."},
	{LoadLost, Refused, "The table does not serve rows that were loaded."},
	{LoadUnsure, Refused, "The table was changed, so it is not certain that it still has the load."},
	{LoadInterrupted, Refused, "An earlier load was interrupted."},
	{LoadOther, Refused, "The files were loaded into another table, or from another input."},
	{LoadAgain, Later, "A file came back from an interrupted load."},
	{LoadMove, Refused, "A region must be opened again on another server."},
	{LoadChanged, Differs, "A file was changed before the load."},
	{LedgerDamaged, Differs, "An entry of the ledger of loads was changed."},
	{LedgerMalformed, Refused, "An entry of the ledger of loads is malformed."},
	{LedgerPlace, Refused, "The ledger of loads can't be opened."},
	// Files and verification.
	{VerifyDiffers, Differs, "The files or the table differ from the source."},
	{VerifySource, Refused, "Only the source shows whether the table lacks cells."},
	{HFileCorrupt, Differs, "An HFile is corrupt."},
	{HFileUnsupported, Failed, "An HFile uses something that is not supported."},
	{HFileMissing, Refused, "The HFile or directory does not exist."},
	{HFileNone, Refused, "The directory holds no HFiles."},
	// Stopped.
	{Stopped, Interrupted, "The command was stopped; the same command goes on."},
	{Answer, Failed, "The answer could not be written."},
	// All other errors.
	{OtherFailed, Failed, "An error without a specific code."},
	{OtherUsage, Usage, "An error without a specific code."},
	{OtherRejects, Rejects, "An error without a specific code."},
	{OtherInterrupted, Interrupted, "An error without a specific code."},
	{OtherRefused, Refused, "An error without a specific code."},
	{OtherDiffers, Differs, "An error without a specific code."},
	{OtherNotYet, NotYet, "An error without a specific code."},
	{OtherLater, Later, "An error without a specific code."},
}
