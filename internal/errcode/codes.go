package errcode

// The codes, by subject.
const (
	// The command line.
	Command     Code = "BL-COMMAND"
	CommandDate Code = "BL-COMMAND-DATE"
	TableName   Code = "BL-TABLE-NAME"
	Convert     Code = "BL-CONVERT"

	// The job file.
	JobRead     Code = "BL-JOB-READ"
	JobYaml     Code = "BL-JOB-YAML"
	JobKey      Code = "BL-JOB-KEY"
	JobValue    Code = "BL-JOB-VALUE"
	JobVariable Code = "BL-JOB-VARIABLE"
	JobRowkey   Code = "BL-JOB-ROWKEY"
	JobFilter   Code = "BL-JOB-FILTER"

	// Site files and security.
	SiteRead            Code = "BL-SITE-READ"
	SiteProperty        Code = "BL-SITE-PROPERTY"
	SiteMissing         Code = "BL-SITE-MISSING"
	SecurityUnsupported Code = "BL-SECURITY-UNSUPPORTED"

	// Kerberos.
	KerberosConfig    Code = "BL-KRB-CONFIG"
	KerberosKeytab    Code = "BL-KRB-KEYTAB"
	KerberosClock     Code = "BL-KRB-CLOCK"
	KerberosPrincipal Code = "BL-KRB-PRINCIPAL"
	KerberosService   Code = "BL-KRB-SERVICE"
	KerberosNoKDC     Code = "BL-KRB-KDC"
	KerberosNoLogin   Code = "BL-KRB-LOGIN"
	KerberosToken     Code = "BL-KRB-TOKEN"

	// YARN.
	YarnCommands Code = "BL-YARN-COMMANDS"
	YarnSubmit   Code = "BL-YARN-SUBMIT"
	YarnFailed   Code = "BL-YARN-FAILED"
	YarnDown     Code = "BL-YARN-DOWN"

	// HDFS.
	HDFSDown         Code = "BL-HDFS-DOWN"
	HDFSNoDataNode   Code = "BL-HDFS-DATANODE"
	HDFSBlockMissing Code = "BL-HDFS-BLOCK-MISSING"
	HDFSBlockCorrupt Code = "BL-HDFS-BLOCK-CORRUPT"
	HDFSQuota        Code = "BL-HDFS-QUOTA"
	Address          Code = "BL-ADDRESS"
	FileSystem       Code = "BL-FILESYSTEM"

	// The input.
	InputMissing       Code = "BL-INPUT-MISSING"
	InputPath          Code = "BL-INPUT-PATH"
	InputUnknown       Code = "BL-INPUT-UNKNOWN"
	InputUnfinished    Code = "BL-INPUT-UNFINISHED"
	InputRows          Code = "BL-INPUT-ROWS"
	InputChanged       Code = "BL-INPUT-CHANGED"
	InputFormat        Code = "BL-INPUT-FORMAT"
	InputDamaged       Code = "BL-INPUT-DAMAGED"
	InputColumns       Code = "BL-INPUT-COLUMNS"
	CSVExport          Code = "BL-CSV-EXPORT"
	ParquetUnsupported Code = "BL-PARQUET-UNSUPPORTED"

	// Rejected records.
	RejectsMany   Code = "BL-REJECTS-MANY"
	RejectColumns Code = "BL-REJECT-COLUMNS"
	RejectCharset Code = "BL-REJECT-CHARSET"
	RejectSQLPlus Code = "BL-REJECT-SQLPLUS"
	RejectType    Code = "BL-REJECT-TYPE"
	RejectKey     Code = "BL-REJECT-KEY"

	// Disks.
	DiskSpace    Code = "BL-DISK-SPACE"
	Permission   Code = "BL-PERMISSION"
	DiskFull     Code = "BL-DISK-FULL"
	Folder       Code = "BL-FOLDER"
	SpillDamaged Code = "BL-SPILL-DAMAGED"

	// Tasks.
	TaskPlan    Code = "BL-TASK-PLAN"
	TaskProgram Code = "BL-TASK-PROGRAM"
	TaskMemory  Code = "BL-TASK-MEMORY"
	TaskFailed  Code = "BL-TASK-FAILED"

	// The output.
	OutputChanged     Code = "BL-OUTPUT-CHANGED"
	OutputOther       Code = "BL-OUTPUT-OTHER"
	OutputInput       Code = "BL-OUTPUT-INPUT"
	OutputUnfinished  Code = "BL-OUTPUT-UNFINISHED"
	Locked            Code = "BL-LOCKED"
	RunAgain          Code = "BL-RUN-AGAIN"
	ManifestChanged   Code = "BL-MANIFEST-CHANGED"
	ManifestMalformed Code = "BL-MANIFEST-MALFORMED"
	ManifestVersion   Code = "BL-MANIFEST-VERSION"
	Duplicates        Code = "BL-DUPLICATES"
	RowsExist         Code = "BL-ROWS-EXIST"
	Digest            Code = "BL-DIGEST"
	RowLength         Code = "BL-ROW-LENGTH"

	// The table.
	TableMissing  Code = "BL-TABLE-MISSING"
	TableExists   Code = "BL-TABLE-EXISTS"
	TableDisabled Code = "BL-TABLE-DISABLED"
	TableSettings Code = "BL-TABLE-SETTINGS"
	Regions       Code = "BL-REGIONS"
	FilesLimit    Code = "BL-FILES-LIMIT"
	TableTTL      Code = "BL-TABLE-TTL"
	TableBusy     Code = "BL-TABLE-BUSY"

	// HBase.
	HBaseDown       Code = "BL-HBASE-DOWN"
	HBaseRegion     Code = "BL-HBASE-REGION"
	HBasePermission Code = "BL-HBASE-PERMISSION"
	HBaseAnswer     Code = "BL-HBASE-ANSWER"
	HBaseRefused    Code = "BL-HBASE-REFUSED"

	// The load.
	LoadStraddles  Code = "BL-LOAD-STRADDLES"
	LoadUncut      Code = "BL-LOAD-UNCUT"
	LoadFiles      Code = "BL-LOAD-FILES"
	LoadStaging    Code = "BL-LOAD-STAGING"
	LoadTracker    Code = "BL-LOAD-TRACKER"
	LoadIncomplete Code = "BL-LOAD-INCOMPLETE"
	LoadLost       Code = "BL-LOAD-LOST"
	LoadUnsure     Code = "BL-LOAD-UNSURE"
	LoadOther      Code = "BL-LOAD-OTHER"
	LoadMove       Code = "BL-LOAD-MOVE"

	// Files and verification.
	VerifyDiffers    Code = "BL-VERIFY-DIFFERS"
	VerifySource     Code = "BL-VERIFY-SOURCE"
	HFileCorrupt     Code = "BL-HFILE-CORRUPT"
	HFileUnsupported Code = "BL-HFILE-UNSUPPORTED"
	HFileMissing     Code = "BL-HFILE-MISSING"

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
	{TableName, Usage, "The text is not the name of a table."},
	{Convert, Usage, "Properties can't be converted to a job file."},
	// The job file.
	{JobRead, Usage, "The job file can't be read."},
	{JobYaml, Usage, "The job file is not YAML."},
	{JobKey, Usage, "The job file has an unknown key."},
	{JobValue, Usage, "A value in the job file is not accepted."},
	{JobVariable, Usage, "A ${variable} is not defined."},
	{JobRowkey, Usage, "The row key expression is wrong."},
	{JobFilter, Usage, "The filter is wrong."},
	// Site files and security.
	{SiteRead, Usage, "A site file can't be read."},
	{SiteProperty, Refused, "A property of the site files has a value that can't be used."},
	{SiteMissing, Refused, "A property that is needed is not set."},
	{SecurityUnsupported, Refused, "The site files ask for a protection that is not supported."},
	// Kerberos.
	{KerberosConfig, Refused, "krb5.conf is missing or wrong."},
	{KerberosKeytab, Refused, "The keytab can't be used."},
	{KerberosClock, Refused, "The clocks of this machine and of the KDC differ."},
	{KerberosPrincipal, Refused, "The KDC does not know the principal, or does not let it log in."},
	{KerberosService, Refused, "The KDC does not know the service."},
	{KerberosNoKDC, Later, "No KDC answers."},
	{KerberosNoLogin, Refused, "The cluster uses Kerberos, and there is no login."},
	{KerberosToken, Refused, "A delegation token is missing or is refused."},

	// YARN.
	{YarnCommands, Refused, "Hadoop's commands or the jar of Hadoop Streaming can't be found or run."},
	{YarnSubmit, Refused, "YARN does not accept the job."},
	{YarnFailed, Failed, "A task failed on YARN as often as it may."},
	{YarnDown, Later, "YARN does not answer."},
	// HDFS.
	{HDFSDown, Later, "HDFS does not answer."},
	{HDFSNoDataNode, Later, "No DataNode accepts a block."},
	{HDFSBlockMissing, Later, "No DataNode has a replica of a block."},
	{HDFSBlockCorrupt, Differs, "No replica of a block matches its checksums."},
	{HDFSQuota, Refused, "A quota of HDFS is exhausted."},
	{Address, Refused, "The URI or the site files do not lead to a NameNode."},
	{FileSystem, Refused, "The URI's file system is not supported."},
	// The input.
	{InputMissing, NotYet, "The input does not exist."},
	{InputPath, Refused, "The input does not exist, and its path has braces, which are not a pattern here."},
	{InputUnknown, Refused, "No job file can be drafted from the input."},
	{InputUnfinished, NotYet, "The export is not finished."},
	{InputRows, Refused, "The number of records is not what input.expect_rows says."},
	{InputChanged, Failed, "An input file changed while it was read."},
	{InputFormat, Refused, "The input is in another format than the job file says."},
	{InputDamaged, Failed, "A compressed input file is damaged or cut short."},
	{InputColumns, Refused, "The heading of a CSV file does not match the job."},
	{CSVExport, Refused, "The export of a CSV file failed half-way."},
	{ParquetUnsupported, Refused, "A Parquet file uses something that is not supported."},
	// Rejected records.
	{RejectsMany, Rejects, "More records were rejected than max_rejects allows."},
	{RejectColumns, Rejects, "Records have another number of columns than the job file."},
	{RejectCharset, Rejects, "Records are not in the charset of the job file."},
	{RejectSQLPlus, Rejects, "A line of the client is among the records."},
	{RejectType, Rejects, "A value is not of its column's type."},
	{RejectKey, Rejects, "A row key can't be built from a record."},
	// Disks.
	{DiskSpace, Refused, "The disks have too little space for the run."},
	{Permission, Refused, "The user may not read or write a local file."},
	{DiskFull, Failed, "A disk is full."},
	{Folder, Refused, "--work-dir can't be used."},
	{SpillDamaged, Failed, "Sorted runs on the disk are not what was written."},
	// Tasks.
	{TaskPlan, Refused, "A task can't use its plan: it is not there any more, or was changed."},
	{TaskProgram, Refused, "A task runs another bulkload than the one that planned it."},
	{TaskMemory, Refused, "A reduce task has too little memory to merge the sorted runs."},
	{TaskFailed, Failed, "A task failed, and its engine does not run it again."},
	// The output.
	{OutputChanged, Refused, "Files of the output were changed."},
	{OutputOther, Refused, "The output belongs to another run: another date, another job, or this job before it was changed."},
	{OutputInput, Refused, "The input has changed since the output was written."},
	{OutputUnfinished, Refused, "The run of the output is not finished."},
	{Locked, Later, "Another run holds the lock of the output."},
	{RunAgain, Later, "The run lost its lock."},
	{ManifestChanged, Differs, "The manifest was changed."},
	{ManifestMalformed, Refused, "The manifest was not written by bulkload."},
	{ManifestVersion, Refused, "The manifest was written by another version of bulkload."},
	{Duplicates, Failed, "Records with one row key differ, and duplicates is error."},
	{RowsExist, Failed, "The table has rows of the input already, and duplicates.live is error."},
	{Digest, Differs, "What was read back is not what was sorted."},
	{RowLength, Failed, "A row, family or value is longer than HBase accepts."},
	// The table.
	{TableMissing, Refused, "The table does not exist."},
	{TableExists, Refused, "The table exists already."},
	{TableDisabled, Refused, "The table is not enabled."},
	{TableSettings, Refused, "The job and the table disagree about a setting."},
	{Regions, Refused, "The region boundaries can't be used."},
	{FilesLimit, Refused, "A region gets more HFiles of a family than HBase loads."},
	{TableTTL, Refused, "The cells are older than the table's TTL."},
	{TableBusy, Later, "Another job loads into the table."},
	// HBase.
	{HBaseDown, Later, "HBase does not answer."},
	{HBaseRegion, Later, "Regions are not open, or are moving."},
	{HBasePermission, Refused, "HBase denies the user a right."},
	{HBaseAnswer, Failed, "The server's answer is not HBase's protocol."},
	{HBaseRefused, Refused, "HBase refuses the request."},
	// The load.
	{LoadStraddles, Refused, "A file has rows of several regions."},
	{LoadUncut, Refused, "A file with rows of several regions can't be cut."},
	{LoadFiles, Refused, "The record of cut files does not agree with the directory."},
	{LoadStaging, Refused, "HBase's staging folder can't be used."},
	{LoadTracker, Refused, "The table's store file tracker accepts only files of HBase's own user."},
	{LoadIncomplete, Failed, "The table lacks files after the load."},
	{LoadLost, Refused, "The table does not serve rows that were loaded."},
	{LoadUnsure, Refused, "The table was changed, so it is not certain that it still has the load."},
	{LoadOther, Refused, "The files were loaded into another table, or from another input."},
	{LoadMove, Refused, "A region must be opened again on another server."},
	// Files and verification.
	{VerifyDiffers, Differs, "The files or the table differ from the source."},
	{VerifySource, Refused, "Only the source shows whether the table lacks cells."},
	{HFileCorrupt, Differs, "An HFile is corrupt."},
	{HFileUnsupported, Failed, "An HFile uses something that is not supported."},
	{HFileMissing, Refused, "The HFile or directory does not exist."},
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
