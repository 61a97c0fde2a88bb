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

	// Site files and addresses.
	SiteRead            Code = "BL-SITE-READ"
	SiteProperty        Code = "BL-SITE-PROPERTY"
	SiteMissing         Code = "BL-SITE-MISSING"
	Address             Code = "BL-ADDRESS"
	SecurityUnsupported Code = "BL-SECURITY-UNSUPPORTED"
	FileSystem          Code = "BL-FILESYSTEM"

	// Kerberos.
	KerberosConfig    Code = "BL-KRB-CONFIG"
	KerberosKeytab    Code = "BL-KRB-KEYTAB"
	KerberosNoLogin   Code = "BL-KRB-LOGIN"
	KerberosToken     Code = "BL-KRB-TOKEN"
	KerberosClock     Code = "BL-KRB-CLOCK"
	KerberosPrincipal Code = "BL-KRB-PRINCIPAL"
	KerberosService   Code = "BL-KRB-SERVICE"
	KerberosNoKDC     Code = "BL-KRB-KDC"

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

	// The input.
	InputMissing       Code = "BL-INPUT-MISSING"
	InputUnfinished    Code = "BL-INPUT-UNFINISHED"
	InputPath          Code = "BL-INPUT-PATH"
	InputRows          Code = "BL-INPUT-ROWS"
	InputChanged       Code = "BL-INPUT-CHANGED"
	InputFormat        Code = "BL-INPUT-FORMAT"
	InputDamaged       Code = "BL-INPUT-DAMAGED"
	InputColumns       Code = "BL-INPUT-COLUMNS"
	CSVExport          Code = "BL-CSV-EXPORT"
	ParquetUnsupported Code = "BL-PARQUET-UNSUPPORTED"
	InputUnknown       Code = "BL-INPUT-UNKNOWN"

	// Rejected records.
	RejectsMany   Code = "BL-REJECTS-MANY"
	RejectColumns Code = "BL-REJECT-COLUMNS"
	RejectCharset Code = "BL-REJECT-CHARSET"
	RejectSQLPlus Code = "BL-REJECT-SQLPLUS"
	RejectType    Code = "BL-REJECT-TYPE"
	RejectKey     Code = "BL-REJECT-KEY"

	// Disks and folders.
	DiskSpace    Code = "BL-DISK-SPACE"
	DiskFull     Code = "BL-DISK-FULL"
	Permission   Code = "BL-PERMISSION"
	Folder       Code = "BL-FOLDER"
	SpillDamaged Code = "BL-SPILL-DAMAGED"

	// Tasks.
	TaskPlan    Code = "BL-TASK-PLAN"
	TaskProgram Code = "BL-TASK-PROGRAM"
	TaskMemory  Code = "BL-TASK-MEMORY"
	TaskFailed  Code = "BL-TASK-FAILED"

	// The output.
	OutputOther       Code = "BL-OUTPUT-OTHER"
	OutputInput       Code = "BL-OUTPUT-INPUT"
	OutputChanged     Code = "BL-OUTPUT-CHANGED"
	OutputUnfinished  Code = "BL-OUTPUT-UNFINISHED"
	Locked            Code = "BL-LOCKED"
	RunAgain          Code = "BL-RUN-AGAIN"
	ManifestChanged   Code = "BL-MANIFEST-CHANGED"
	ManifestMalformed Code = "BL-MANIFEST-MALFORMED"
	ManifestVersion   Code = "BL-MANIFEST-VERSION"
	Duplicates        Code = "BL-DUPLICATES"
	RowsExist         Code = "BL-ROWS-EXIST"
	RowLength         Code = "BL-ROW-LENGTH"
	Digest            Code = "BL-DIGEST"

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
	HBaseRefused    Code = "BL-HBASE-REFUSED"
	HBaseAnswer     Code = "BL-HBASE-ANSWER"

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
	NotFound         Code = "BL-NOT-FOUND"

	// Look-ups over HTTP.
	ServeRequest Code = "BL-SERVE-REQUEST"
	ServeToken   Code = "BL-SERVE-TOKEN"
	ServeLarge   Code = "BL-SERVE-LARGE"
	ServeBusy    Code = "BL-SERVE-BUSY"
	ServeOpen    Code = "BL-SERVE-OPEN"
	ServeNotYet  Code = "BL-SERVE-NOT-YET"
	ServeOther   Code = "BL-SERVE-OTHER"

	// Ended from outside.
	Stopped Code = "BL-INTERRUPTED"
	Answer  Code = "BL-ANSWER"

	// All other errors, by their kinds.
	OtherFailed      Code = "BL-OTHER-1"
	OtherUsage       Code = "BL-OTHER-2"
	OtherRejects     Code = "BL-OTHER-3"
	OtherInterrupted Code = "BL-OTHER-4"
	OtherRefused     Code = "BL-OTHER-5"
	OtherDiffers     Code = "BL-OTHER-6"
	OtherNotYet      Code = "BL-OTHER-66"
	OtherLater       Code = "BL-OTHER-75"
)

// Doc is what people are told about a code. docs/errors.md and the command help are made from it. The texts are
// Markdown.
type Doc struct {
	Code   Code
	Kind   Kind
	Cause  string
	Remedy string
	Words  []string // of HBase, Hadoop, kinit, Java or the system for the same cause, so that a search finds it
}

// Chapter is the entries of one subject.
type Chapter struct {
	Title   string
	About   string // of all its entries; may be ""
	Entries []Doc
}

// Table has all codes, by subject.
var Table = []Chapter{
	{"The command line", "", []Doc{
		{Command, Usage,
			"The command line is wrong, or does not fit the job.",
			"Correct it; `bulkload help COMMAND` lists the flags. `load` needs a directory in HDFS: copy local files with " +
				"`hdfs dfs -put`. `get` needs a value for each column of `query`, in order. If the job has several outputs, " +
				"choose one with `--output TABLE`.",
			[]string{"Wrong FS"}},
		{CommandDate, Usage,
			"The job needs a date, or HBase can't hold the given one as a timestamp.",
			"Give `--date 2026-11-20` or `--date yesterday`; write an hour as `2026-11-20T05`, or with its offset " +
				"(`2026-11-20T05+08:00`) if the hour occurs twice.",
			nil},
		{TableName, Usage,
			"This is no valid table name.",
			"Write `namespace:name`, with letters, digits, `_`, `.` and `-`, and at most one colon.",
			nil},
		{Convert, Usage,
			"`convert` can't make a job file with the same cells from these properties.",
			"Correct the properties, or write the job file yourself.",
			nil},
	}},
	{"The job file", "A job file with several mistakes gets a line and a code for each.", []Doc{
		{JobRead, Usage,
			"The job file is missing, unreadable, empty, or not a job file.",
			"Check the path and its permissions. `verify DIR` needs an existing directory; any other name is a job file.",
			nil},
		{JobYaml, Usage,
			"The job file is not YAML.",
			"Correct the named line. Indent with spaces, not tabs, and quote texts that begin with `*`, `&`, `!`, `%`, " +
				"`@`, `{` or a backtick.",
			nil},
		{JobKey, Usage,
			"The job file has an unknown key, lacks a key, or has one twice.",
			"Correct the named line; [jobfile.md](jobfile.md#all-keys) lists all keys.",
			nil},
		{JobValue, Usage,
			"A value in the job file is invalid, or contradicts another.",
			"Correct the named line; [jobfile.md](jobfile.md#all-keys) lists each key's values. Name columns as in " +
				"`input.columns`, in the same case. Write control characters as `'\\x01'`, `'\\t'` or `0x01`. Sort splits " +
				"byte by byte, as HBase does. If a value is empty, look for an empty variable.",
			nil},
		{JobVariable, Usage,
			"A `${…}` is undefined, or not closed.",
			"Pass `--set NAME=VALUE`, or set the environment variable. Cron sets almost none: use its own configuration.",
			nil},
		{JobRowkey, Usage,
			"The row key's expression is wrong at the named character, or the columns of `query` don't determine its " +
				"beginning.",
			"Correct it; [keys.md](keys.md) describes the language. Begin the row key with columns that readers know. If " +
				"it begins with a salt, `query` must have the salted column.",
			nil},
		{JobFilter, Usage,
			"The filter is wrong at the named character.",
			"Correct it; [jobfile.md](jobfile.md#filters) describes the language. Quote texts, and put unusual column " +
				"names in backticks.",
			nil},
	}},
	{"Site files and addresses", "", []Doc{
		{SiteRead, Usage,
			"A site file or its folder can't be read.",
			"Copy the cluster's client configuration again. Instead of XInclude, put the properties into the file.",
			nil},
		{SiteProperty, Refused,
			"A property of the site files or of `-D` has an unusable value, or differs from the cluster's: the servers " +
				"use another authentication or protection.",
			"Copy the cluster's client configuration, or correct the named property; `-D NAME=VALUE` overrides it. If the " +
				"cluster does not use Kerberos, take the keytab out of the job. bulkload never falls back to simple " +
				"authentication.",
			[]string{"No rules applied to", "No common protection layer between client and server"}},
		{SiteMissing, Refused,
			"A property without a default is not set. Usually the site files were not found.",
			"Name the folder of the cluster's client configuration with `--conf`, `hbase.conf`, or `HADOOP_CONF_DIR` and " +
				"`HBASE_CONF_DIR`, which cron and containers usually don't set.",
			nil},
		{Address, Refused,
			"A host or name service is unknown, or the server at the address is not a NameNode.",
			"Check the spelling, the port, and that `--conf` names the cluster's site files. A name service (HA) needs " +
				"the cluster's `hdfs-site.xml`. If no host of `hbase.zookeeper.quorum` or `hbase.masters` is known, check DNS.",
			[]string{"UnknownHostException"}},
		{SecurityUnsupported, Refused,
			"The site files require a protection that bulkload lacks, such as TLS, or that the server does not offer. " +
				"Nothing was sent unprotected.",
			"Look the property up in [security.md](security.md). If the cluster requires it, write to a local folder, " +
				"copy it with `hdfs dfs -put`, and load it with `hbase completebulkload`.",
			nil},
		{FileSystem, Refused,
			"The path is on another file system (such as `s3a`, `abfs` or `viewfs`), in an encryption zone, " +
				"erasure-coded, or not on HBase's own HDFS.",
			"Use a local path, or one in replicated HDFS outside encryption zones: `hdfs crypto -listZones` and `hdfs ec " +
				"-getPolicy -path PATH` show them. Files to load must be on the HDFS of `hbase.rootdir`, under the same " +
				"address.",
			[]string{"No FileSystem for scheme", "Wrong FS"}},
	}},
	{"Kerberos", "", []Doc{
		{KerberosConfig, Refused,
			"`krb5.conf` is missing, unreadable, or leads to no KDC of the realm.",
			"Copy the cluster's `krb5.conf`, or name it with `KRB5_CONFIG`.",
			[]string{"Cannot locate KDC"}},
		{KerberosKeytab, Refused,
			"The keytab is missing, damaged or open to others, or has no key of the principal that the KDC accepts.",
			"`klist -kt FILE` lists its principals and key numbers. Correct the path, principal, owner or mode. If `kvno " +
				"PRINCIPAL` shows another number, export the keytab again.",
			[]string{"Unable to obtain password from user", "Preauthentication failed",
				"Pre-authentication information was invalid"}},
		{KerberosNoLogin, Refused,
			"The cluster uses Kerberos, but there is no valid ticket.",
			"For nightly jobs use a keytab (`hbase.kerberos`), otherwise run `kinit`. If the message asks for " +
				"`hadoop.security.authentication`, use the cluster's own site files.",
			[]string{"GSS initiate failed", "Failed to find any Kerberos tgt", "Ticket expired",
				"SIMPLE authentication is not enabled. Available:[TOKEN, KERBEROS]"}},
		{KerberosToken, Refused,
			"A delegation token is missing or refused, or is for another service.",
			"Log in with a keytab or a ticket, because tokens can't get new ones. Check `HADOOP_TOKEN_FILE_LOCATION`.",
			[]string{"InvalidToken"}},
		{KerberosClock, Refused,
			"The clocks of this machine and the KDC differ by over five minutes (`clockskew`).",
			"Compare `date -u` on both, and set up NTP.",
			[]string{"Clock skew too great"}},
		{KerberosPrincipal, Refused,
			"The KDC does not know the principal, does not let it log in, or shares no encryption type with it.",
			"Check the spelling and the realm, including case. Ask the KDC's administrator to create or unlock the " +
				"principal, or to add AES keys to it and the service.",
			[]string{"Client not found in Kerberos database", "Clients credentials have been revoked",
				"KDC has no support for encryption type"}},
		{KerberosService, Refused,
			"The KDC does not know the server's principal, or the server refuses the ticket.",
			"Compare the `*.kerberos.principal` properties with the server's own, and `_HOST` with the host name in its " +
				"principal (DNS, `[domain_realm]`). Check its keytab. If the server refuses the ticket, its log says why.",
			[]string{"Server not found in Kerberos database", "Failure unspecified at GSS-API level"}},
		{KerberosNoKDC, Later,
			"No KDC answers.",
			"Check the network and firewall (port 88, TCP and UDP), and rerun later.",
			nil},
	}},
	{"YARN", "", []Doc{
		{YarnCommands, Refused,
			"Hadoop's commands or Streaming jar, for `--engine yarn`, can't be found or started.",
			"Use a host with a Hadoop client, and set `HADOOP_HOME`, or `hadoop_home` and `streaming_jar` of the job " +
				"file's `engine`.",
			nil},
		{YarnSubmit, Refused,
			"YARN rejected the job.",
			"As YARN's reason requires, choose another queue or less memory, or move the output to HDFS.",
			[]string{"submitted by user … to unknown queue", "Invalid resource request"}},
		{YarnFailed, Failed,
			"A task failed as often as YARN tries it, or somebody killed the job.",
			"Remove the quoted cause; if the container was too small, give tasks more memory. Then rerun the command, " +
				"which repeats no finished task.",
			[]string{"running beyond the 'PHYSICAL' memory limit"}},
		{YarnDown, Later,
			"YARN's ResourceManager did not answer for ten minutes. The job goes on if YARN does.",
			"Rerun the command; it follows the job.",
			nil},
	}},
	{"HDFS", "", []Doc{
		{HDFSDown, Later,
			"No NameNode or DataNode answers, or the NameNode is on standby or in safe mode.",
			"Rerun later. Check the address in the message, and `hdfs dfsadmin -safemode get`. After a full disk the " +
				"NameNode stays in safe mode until an administrator frees space and runs `hdfs dfsadmin -safemode leave`.",
			[]string{"Name node is in safe mode"}},
		{HDFSNoDataNode, Later,
			"No DataNode accepts a block, or DataNodes hung or died repeatedly.",
			"Check free space with `hdfs dfsadmin -report`, and that this host reaches the DataNodes. Rerun later.",
			[]string{"could only be written to 0 of the", "could only be replicated to 0 nodes"}},
		{HDFSBlockMissing, Later,
			"No running DataNode has the block.",
			"Start the DataNodes, or write the file again. `hdfs fsck PATH -files -blocks -locations` shows its replicas.",
			[]string{"BlockMissingException", "Could not obtain block"}},
		{HDFSBlockCorrupt, Differs,
			"No replica of a block matches its checksums.",
			"Write the file again, or start a DataNode with a sound replica.",
			[]string{"ChecksumException"}},
		{HDFSQuota, Refused,
			"A quota of names or space is exhausted.",
			"`hdfs dfs -count -q -v PATH` shows it. Delete old outputs, or have the quota raised.",
			[]string{"NSQuotaExceededException", "DSQuotaExceededException"}},
	}},
	{"The input", "", []Doc{
		{InputMissing, NotYet,
			"The input does not exist.",
			"Check `input.path` and `--date`. If the export has not run yet, rerun later, or with `--wait 2h`.",
			[]string{"Input path does not exist"}},
		{InputUnfinished, NotYet,
			"The export is still running, or has failed.",
			"Rerun the command when it is finished, or with `--wait 2h`. If it failed, export again.",
			nil},
		{InputPath, Refused,
			"The input's path has braces, overlaps the output, or holds something other than files.",
			"Write `*`, `?` or `[a-z]` instead of `{a,b}`, or use one job per path. Keep input and output apart, export " +
				"to files instead of pipes, and repair broken links.",
			nil},
		{InputRows, Refused,
			"The input is empty although `input.empty` is `fail`, or does not have `input.expect_rows` records.",
			"Compare with the database's `count(*)`, and export again. If empty days are normal, set `input.empty: ok`.",
			nil},
		{InputChanged, Failed,
			"An input file grew or was replaced while it was read.",
			"Rerun the command when the export is finished. With `input.require_success` a run waits for `_SUCCESS`.",
			nil},
		{InputFormat, Refused,
			"A file has another format, compression, byte order mark or record delimiter than the job file says.",
			"Correct `input.format`, `input.compression`, `input.charset` or `input.record_delimiter` as the message " +
				"says, rename the file, or export it again. `tail -c +$((BYTE+1)) FILE | head -c 300 | xxd` shows the bytes " +
				"at a position.",
			nil},
		{InputDamaged, Failed,
			"A compressed or Parquet file is damaged or cut short.",
			"Copy or export it again, and compare sizes and checksums.",
			[]string{"unexpected end of file"}},
		{InputColumns, Refused,
			"The heading of a CSV file or the columns of a Parquet file don't match the job.",
			"Correct `input.columns`: Oracle usually exports upper case. If a CSV file has no heading, set `input.header: " +
				"false`.",
			nil},
		{CSVExport, Refused,
			"A CSV file contains an error message of the database client, so rows are probably missing.",
			"Remove its cause, and export again.",
			[]string{"ORA-01555: snapshot too old"}},
		{ParquetUnsupported, Refused,
			"A Parquet file has an unsupported codec, type or encoding, or the types of two files differ.",
			"Export again as the message says.",
			nil},
		{InputUnknown, Refused,
			"`bulkload init` could not find out how the files are written.",
			"Look at a file with `head -c 500 FILE | od -c`, and write the job file yourself, beginning with one of " +
				"[jobs/examples](../jobs/examples).",
			nil},
	}},
	{"Rejected records", "A run fails if it rejects more records than `input.max_rejects` (0 by default). The raw " +
		"records and reasons are in the output's `.rejects`. To load the others, set `max_rejects` to a count or " +
		"percentage.", []Doc{
		{RejectsMany, Rejects,
			"More records were rejected than `input.max_rejects` allows.",
			"Read the reasons in `rejects.jsonl`. `verify` does not write it: run the job, or look at its `.rejects`.",
			nil},
		{RejectColumns, Rejects,
			"A record can't be divided into the job file's columns.",
			"List all columns of the file in `input.columns`. Compare the delimiters, `quote`, `escaped_by` and " +
				"`enclosed_by` with the export's settings. If values contain delimiters or newlines, export with " +
				"`--escaped-by` or `--hive-drop-import-delims`, or as Parquet.",
			nil},
		{RejectCharset, Rejects,
			"Bytes are not a character of `input.charset`.",
			"Set `input.charset`, for example to `gbk`, or `NLS_LANG` to `.AL32UTF8` for the export.",
			nil},
		{RejectSQLPlus, Rejects,
			"SQL*Plus or SQLcl wrote messages, headings or page breaks among the records, or cut a wide value.",
			"Export again with the settings of [jobfile.md](jobfile.md#csv). `input.skip_noise: true` skips such lines, " +
				"but can't restore what was cut: export with `set numwidth 40` and wider `column` formats.",
			nil},
		{RejectType, Rejects,
			"A value does not fit the type that `columns_map`, the timestamp or the filter requires, or is null or out of " +
				"range.",
			"Correct the column's type, `format` or `zone`, or export it in another form. For dates such as `20-NOV-26` " +
				"set `NLS_DATE_FORMAT` to `YYYY-MM-DD HH24:MI:SS` before the export.",
			nil},
		{RejectKey, Rejects,
			"A part of the row key is null or not in the form that its function needs, or the key is empty or too long.",
			"Correct the export, or the `rowkey`.",
			nil},
	}},
	{"Disks and folders", "", []Doc{
		{DiskSpace, Refused,
			"Less space is free than the sorted runs or the HFiles will probably take.",
			"Free space, or choose another `--work-dir` or output. `input.check_space: false` skips the check.",
			nil},
		{DiskFull, Failed,
			"A disk is full. No half-written file is used.",
			"Free space, and rerun the command.",
			[]string{"No space left on device", "Disk quota exceeded"}},
		{Permission, Refused,
			"The user may not read or write a file or folder.",
			"Find out which user it is: on this machine the process's, under cron perhaps not yours; in HDFS the " +
				"principal's short name, or without Kerberos `HADOOP_USER_NAME` or the process's user. `ls -ld` shows the " +
				"rights of the path and the folders above it; [security.md](security.md#hdfs) has the commands that grant " +
				"them.",
			[]string{"Permission denied: user=…, access=WRITE, inode=…"}},
		{Folder, Refused,
			"The output, `--work-dir` or the ledger's folder can't be made or used.",
			"Name another folder. For the ledger, first try to get the right granted or the home folder made: always use " +
				"the same one, because it records what was loaded.",
			[]string{"File name too long", "Read-only file system"}},
		{SpillDamaged, Failed,
			"The sort's temporary files are damaged.",
			"Rerun the command, and check the disk.",
			nil},
	}},
	{"Tasks", "See [distributed.md](distributed.md).", []Doc{
		{TaskPlan, Refused,
			"A task's plan was changed, or is gone: a run deletes it when it is done or begins anew.",
			"Begin with `bulkload task plan` again, or let `bulkload run --engine` do all steps.",
			nil},
		{TaskProgram, Refused,
			"A task runs another bulkload program than the one that planned it.",
			"Give all tasks the program that planned the run, or plan again.",
			nil},
		{TaskMemory, Refused,
			"The run has more sorted runs than its reduce tasks can merge in their memory.",
			"Give tasks more `--memory`, or make fewer runs with a larger `--task-size`.",
			nil},
		{TaskFailed, Failed,
			"A task failed, or was killed before it wrote its result.",
			"Read the engine's log of the named attempt. Then rerun the command, which repeats no finished task.",
			nil},
	}},
	{"The output", "", []Doc{
		{OutputOther, Refused,
			"The output has files of another date or job, of this job before it was changed, or of another program.",
			"Choose another output; with several dates, `output: …/${date}`. `--force` replaces another run's output, but " +
				"deletes only files that the manifest names: move others away yourself.",
			nil},
		{OutputInput, Refused,
			"The input has other records than were written or loaded.",
			"Restore the input or, if the export was corrected, run with `--on-change reload`. Rows that only the old " +
				"input has stay in the table.",
			nil},
		{OutputChanged, Refused,
			"Files not yet loaded are missing or changed, or settings of the table or the site files changed.",
			"Restore them, or run the job with `--force`, which writes the files again.",
			nil},
		{OutputUnfinished, Refused,
			"An earlier run was not finished, or its load was interrupted.",
			"Run its job; it goes on where it stopped. If its output is gone, do what the message says.",
			nil},
		{Locked, Later,
			"Another run works on the same output.",
			"Wait for the process that the message names. A dead one's lock is taken over within ten minutes; delete it " +
				"only if you know that the process is gone.",
			nil},
		{RunAgain, Later,
			"The command's lock was deleted or taken over, perhaps because the process was suspended, or another command " +
				"loaded or moved files. Nothing more was published.",
			"Rerun the command.",
			nil},
		{ManifestChanged, Differs,
			"A manifest or ledger entry was changed after it was written.",
			"Restore it. If you can't, move the manifest's directory, or the entry, away, and check the table with " +
				"`bulkload verify JOB --live`. Without the manifest, a job that loads still knows from the ledger what was " +
				"loaded; without the entry it does not.",
			nil},
		{ManifestMalformed, Refused,
			"A manifest or ledger entry was not written by bulkload.",
			"Restore it, or proceed as for BL-MANIFEST-CHANGED.",
			nil},
		{ManifestVersion, Refused,
			"An incompatible version of bulkload began this output.",
			"Finish or remove it with that version.",
			nil},
		{Duplicates, Failed,
			"Different records have the same row key, and the job says `duplicates: error`.",
			"Extend the row key, or set `duplicates: last`.",
			nil},
		{RowsExist, Failed,
			"The table has rows of the input, and the job says `duplicates.live: error`. Nothing was loaded.",
			"Find out who loaded them. Take them out of the input or the table, or set `duplicates.live` to " +
				"`overwrite` and use `--force`.",
			nil},
		{RowLength, Failed,
			"A row, family or value is longer than HBase accepts.",
			"Shorten it, or leave the column out.",
			[]string{"Row length … is > 32767"}},
		{Digest, Differs,
			"What was read back is not what was sorted or counted, so nothing was loaded. Disk or memory is faulty, or " +
				"bulkload has a defect.",
			"Rerun the command, with `--force` if the message says so. Check disk and memory. If it happens again, report " +
				"it.",
			nil},
	}},
	{"The table", "", []Doc{
		{TableMissing, Refused,
			"The table does not exist.",
			"Create it with `bulkload plan JOB --create`, or check the namespace, the spelling, and that the site files " +
				"are the right cluster's.",
			[]string{"TableNotFoundException"}},
		{TableExists, Refused,
			"`plan --create` found the table, with other regions than the job file has.",
			"Use `regions: {from: table}`, or drop the table.",
			[]string{"TableExistsException"}},
		{TableDisabled, Refused,
			"The table is not enabled.",
			"Enable it in the HBase shell.",
			[]string{"TableNotEnabledException"}},
		{TableSettings, Refused,
			"The table lacks a family of the job, has other settings than the job file, or settings that an HFile can't " +
				"have.",
			"Correct `family`, or add the family with `alter 'TABLE', 'FAMILY'`. With `regions: {from: table}` and " +
				"without `hfile` the table's settings are used. Correct others as the message says.",
			[]string{"NoSuchColumnFamilyException"}},
		{Regions, Refused,
			"The region boundaries are not ascending, or don't suit the salts of the row key.",
			"Correct their source: the job's splits, the splits file, or the table. Every salt except the first must be a " +
				"boundary.",
			nil},
		{FilesLimit, Refused,
			"One family would have more files in a region than HBase loads, or a run more than a manifest can hold.",
			"Raise `hfile.max_size`. For a region, add regions or raise " +
				"`hbase.mapreduce.bulkload.max.hfiles.perRegion.perFamily`; if regions have merged since, use `--force`. For " +
				"a manifest, read fewer input files at a time, or use fewer regions.",
			[]string{"Trying to load more than 32 hfiles to one family of one region"}},
		{TableTTL, Refused,
			"The cells' timestamp is older than the family's TTL, so HBase would hide them.",
			"Raise the family's TTL with `alter` in the HBase shell, or set a later `timestamp`.",
			nil},
		{TableBusy, Later,
			"Another job, named in the message, is loading into the table.",
			"Rerun later, or with `--on-busy wait`. The lock of a dead process is taken over at once from the same boot and " +
				"container of a machine, from elsewhere after ten minutes.",
			nil},
	}},
	{"HBase", "", []Doc{
		{HBaseDown, Later,
			"A region server, the master or ZooKeeper does not answer or is too busy, or no master is active.",
			"Rerun later; it goes on where it stopped. Check the server in the message, the firewall, and " +
				"`hbase.zookeeper.quorum` or `hbase.masters`. If a master is running, `zookeeper.znode.parent` may be " +
				"wrong (such as `/hbase` for `/hbase-unsecure`): use the cluster's `hbase-site.xml`.",
			[]string{"RegionServerStoppedException", "RegionTooBusyException", "Call queue is full",
				"CallTimeoutException", "KeeperErrorCode = ConnectionLoss for /hbase",
				"KeeperErrorCode = NoNode for /hbase/master", "MasterNotRunningException"}},
		{HBaseRegion, Later,
			"Regions are closed or moving, or `hbase:meta` has holes.",
			"Rerun later. If it persists, see the master's web page and the report of `hbase hbck`.",
			[]string{"NotServingRegionException", "RegionMovedException"}},
		{HBasePermission, Refused,
			"The user lacks a right in HBase.",
			"Have an administrator run the `grant` in the message. [security.md](security.md#hbase) lists the rights.",
			[]string{"AccessDeniedException: Insufficient permissions"}},
		{HBaseRefused, Refused,
			"HBase refuses a request, or a region server refuses a file. Files that were not loaded stay in place.",
			"The region server's log has the cause, such as a missing permission in the staging folder, or a family with " +
				"other settings. Remove it, and rerun the command.",
			[]string{"Failed to complete bulk load", "CorruptHFileException"}},
		{HBaseAnswer, Failed,
			"The answer does not follow HBase's protocol: another service listens there, or the connection damages " +
				"data.",
			"Check host and port.",
			nil},
	}},
	{"The load", "", []Doc{
		{LoadStraddles, Refused,
			"A file has rows of several regions, because regions changed at the last moment.",
			"Rerun the command, which cuts such files.",
			[]string{"Split row keys", "HFile at … no longer fits inside a single region. Splitting..."}},
		{LoadUncut, Refused,
			"Another tool's file has rows of several regions, and can't be cut without losing tags, sequence IDs or MOB " +
				"references. It was not touched.",
			"Load it with `hbase completebulkload`, which splits it, or write it again for the present regions.",
			nil},
		{LoadFiles, Refused,
			"Two files of the directory conflict: they have the same name and family, or one is still in HBase's staging " +
				"folder after an interrupted load, or a cut file is beside its parts, or `DIR/.cut` was changed. Nothing was " +
				"deleted.",
			"Move or rename one of the two. `DIR/.cut` keeps the originals, and `DIR/.cut/_cuts.json` lists their parts. " +
				"If an original and its parts are both in the directory, keep the original: delete the parts, then the list.",
			nil},
		{LoadStaging, Refused,
			"The user can't enter HBase's staging folder, or it is in an encryption zone.",
			"Grant the user execute permission on `/hbase` and `/hbase/staging`: mode 711, or the ACL of " +
				"[security.md](security.md#hdfs).",
			[]string{"Permission denied: user=…, access=EXECUTE, inode=\"/hbase/staging\""}},
		{LoadTracker, Refused,
			"The table's store file tracker is FILE, which accepts only files of HBase's own user.",
			"Run as HBase's user.",
			nil},
		{LoadIncomplete, Failed,
			"The files were loaded, but the table does not serve them.",
			"Rerun the command; it finds out what is missing.",
			nil},
		{LoadLost, Refused,
			"Loaded rows can't be read: a delete marker hides them, their TTL has expired, or the table was dropped, " +
				"truncated or restored, or disabled and enabled while a region server hung.",
			"Do what the message says. `--force` writes and loads the rows again.",
			nil},
		{LoadUnsure, Refused,
			"The table may not be the one that was loaded, its regions were merged, or split and compacted, or it has rows " +
				"of other loads that can't be told from this one's.",
			"Compare it with `bulkload verify JOB --live`; if rows are missing, run the job with `--force`. Without a " +
				"manifest, and for other loads, do what the message says; " +
				"[jobfile.md](jobfile.md#rows-that-the-table-has-already) explains it. A major compaction removes delete " +
				"markers, so afterwards nobody can tell whether a file of only markers was loaded.",
			nil},
		{LoadOther, Refused,
			"The files, or this job and date, were loaded before: into another table, or from another input.",
			"Use another output, or load this input with `--on-change reload` or `--force`, as the message says.",
			nil},
		{LoadMove, Refused,
			"A region server accepted a file but does not serve it, so its rows were loaded again. When the region is " +
				"reopened, the old file may reappear and hide other values with the same timestamps, so loads of such values " +
				"are refused until then.",
			"Reopen the regions with the HBase shell commands in the message, or disable and enable the table, which " +
				"needs the right `A`, and `move` a second region server. Then rerun the command.",
			nil},
	}},
	{"Files and verification", "", []Doc{
		{VerifyDiffers, Differs,
			"The files or the table differ from the source.",
			"If cells are missing or different, run the job, with `--force` if it is finished. Extra cells are no longer " +
				"in the source.",
			nil},
		{VerifySource, Refused,
			"The table lacks cells that a run loaded: a later load replaced them, or they were deleted. Only the run's " +
				"input can tell, and it is gone or changed.",
			"Restore the input, and rerun the command.",
			nil},
		{HFileCorrupt, Differs,
			"An HFile is damaged, or was changed between writing and loading.",
			"Write the file again: run its job with `--force`.",
			[]string{"CorruptHFileException: Problem reading HFile Trailer",
				"Added a key not lexically larger than previous"}},
		{HFileUnsupported, Failed,
			"The HFile uses an unsupported feature.",
			"Read it with `hbase hfile`.",
			nil},
		{HFileMissing, Refused,
			"The path has no HFiles and no output of bulkload.",
			"Name the directory above the families' folders, or for `list` and `clean` the one above the outputs. If an " +
				"output was loaded, its files are in the table: use `bulkload verify JOB --live`.",
			[]string{"Bulk load operation did not find any files to load", "is not a directory"}},
		{NotFound, Failed,
			"With `--fail`, `get` found no row, or `status` no run.",
			"Check the key or the date, or leave `--fail` out.",
			nil},
	}},
	{"Look-ups over HTTP", "`bulkload serve` answers with these codes, and with those of HBase and HDFS.", []Doc{
		{ServeRequest, Usage,
			"The request has an unknown parameter, lacks one, or has a value that can't be. The status is 400; that of an " +
				"unknown address 404.",
			"Correct the request. `/openapi.json` and the page `/` say what each query takes. A token from `next` is for the " +
				"same request.",
			nil},
		{ServeToken, Refused,
			"The request has no bearer token, or a wrong one. The status is 401.",
			"Send `Authorization: Bearer …` with a line of the file that `--token-file` names.",
			nil},
		{ServeLarge, Refused,
			"A row has more bytes than an answer may have, or the rows of one answer need more than half of `--memory`. The " +
				"status is 413.",
			"Ask for fewer rows (`limit`), or start `bulkload serve` with a larger `--max-bytes` or `--memory`.",
			nil},
		{ServeBusy, Later,
			"Too many requests are waiting, the rows of all answers in progress need more than half of `--memory`, or there " +
				"was no answer in time. The status is 503 or, after `--timeout`, 504.",
			"Send the request again after the seconds in `Retry-After`. If that lasts, start another server, or raise " +
				"`--parallel`, `--memory` or `--timeout`.",
			nil},
		{ServeNotYet, Later,
			"The output of the date is not complete, or is being loaded, so neither its files nor the table have all rows. " +
				"The status is 503.",
			"Wait until the run has ended. If its files were moved or deleted, run the job again.",
			nil},
		{ServeOther, Refused,
			"The output has the files of another job or date, so the rows can't be found by this job's query.",
			"Serve the job file and the date with which the output was written, or run the job again.",
			nil},
		{ServeOpen, Usage,
			"Others than this machine could reach the server, and it would be open to everybody or without TLS.",
			"Give `--tls-cert` and `--tls-key`, and `--token-file` or `--client-ca`; or `--insecure` if something else " +
				"protects it.",
			nil},
	}},
	{"Ended from outside", "", []Doc{
		{Stopped, Interrupted,
			"SIGINT, SIGTERM or SIGHUP stopped the command, which keeps what is finished.",
			"Rerun the command.",
			nil},
		{Answer, Failed,
			"Standard output could not be written: a disk is full, or a pipe was closed.",
			"Run it again.",
			nil},
	}},
	{"Without a code of their own", "These codes are for unforeseen errors, such as a disk's I/O error. The " +
		"text says what happened.", []Doc{
		{OtherFailed, Failed,
			"Failed.",
			"Do what the text suggests, and rerun the command.",
			nil},
		{OtherUsage, Usage,
			"The command line or the job file is wrong.",
			"Correct it.",
			nil},
		{OtherRejects, Rejects,
			"Too many records were rejected.",
			"Read `rejects.jsonl`.",
			nil},
		{OtherInterrupted, Interrupted,
			"The command was stopped.",
			"Rerun the command.",
			nil},
		{OtherRefused, Refused,
			"A person must act first.",
			"Do what the text says, and rerun the command.",
			nil},
		{OtherDiffers, Differs,
			"A difference or damage was found.",
			"Look at the file that the text names.",
			nil},
		{OtherNotYet, NotYet,
			"The input does not exist yet.",
			"Rerun later.",
			nil},
		{OtherLater, Later,
			"A server or another run is in the way.",
			"Rerun later.",
			nil},
	}},
}
