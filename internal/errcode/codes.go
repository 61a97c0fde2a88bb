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
			"Correct it as the message says; `bulkload help COMMAND` lists the flags. `load` needs a directory in HDFS: " +
				"copy local files with `hdfs dfs -put`. `get` needs a value for each column of `query`, in order. If the job " +
				"has several outputs, choose one with `--output TABLE`.",
			[]string{"Wrong FS"}},
		{CommandDate, Usage,
			"The job needs a date that the command does not give, or HBase can't hold the date as a timestamp.",
			"Give `--date 2026-11-20` or `--date yesterday`; write an hour as `2026-11-20T05`, or with its offset " +
				"(`2026-11-20T05+08:00`) if the hour occurs twice.",
			nil},
		{TableName, Usage,
			"The text is not the name of a table.",
			"Write `namespace:name`, with letters, digits, `_`, `.` and `-`, and at most one colon.",
			nil},
		{Convert, Usage,
			"`convert` can't make a job file with the same cells from these properties.",
			"Correct the properties, or write the job file yourself.",
			nil},
	}},
	{"The job file", "A job file with several mistakes gets a line and a code for each.", []Doc{
		{JobRead, Usage,
			"The job file does not exist, can't be read, is empty, or is not a job file.",
			"Check the path and its permissions. `verify DIR` needs an existing directory; it reads any other name as a " +
				"job file.",
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
			"A value in the job file is not accepted, or contradicts another one.",
			"Correct the named line; [jobfile.md](jobfile.md#all-keys) has the values of each key. Name columns as in " +
				"`input.columns`, in the same case. Write control characters as `'\\x01'`, `'\\t'` or `0x01`. Sort splits " +
				"byte by byte, as HBase does. If a value is empty, look for an empty variable.",
			nil},
		{JobVariable, Usage,
			"A `${…}` is not defined, or not closed.",
			"Pass `--set NAME=VALUE`, or set the environment variable. Under cron the environment is nearly empty: set it " +
				"in the scheduler's own configuration.",
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
				"`HBASE_CONF_DIR`. Under cron and in containers these variables are usually not set.",
			nil},
		{Address, Refused,
			"A host or name service is unknown, or the server at the address is not a NameNode.",
			"Check the spelling, the port, and that `--conf` names the cluster's site files. A name service (HA) needs " +
				"the cluster's `hdfs-site.xml`. If no host of `hbase.zookeeper.quorum` is known, check DNS.",
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
			"`krb5.conf` is missing, can't be read, or does not lead to a KDC of the realm.",
			"Copy the cluster's `krb5.conf`, or name it with `KRB5_CONFIG`.",
			[]string{"Cannot locate KDC"}},
		{KerberosKeytab, Refused,
			"The keytab is missing, damaged or open to others, or has no key of the principal that the KDC accepts.",
			"`klist -kt FILE` lists its principals and key numbers. Correct the path, principal, owner or mode. If `kvno " +
				"PRINCIPAL` shows another number, export the keytab again.",
			[]string{"Unable to obtain password from user", "Preauthentication failed",
				"Pre-authentication information was invalid"}},
		{KerberosNoLogin, Refused,
			"The cluster uses Kerberos, and there is no valid ticket.",
			"For nightly jobs use a keytab (`hbase.kerberos`), otherwise run `kinit`. If the message asks for " +
				"`hadoop.security.authentication`, use the cluster's own site files.",
			[]string{"GSS initiate failed", "Failed to find any Kerberos tgt", "Ticket expired",
				"SIMPLE authentication is not enabled. Available:[TOKEN, KERBEROS]"}},
		{KerberosToken, Refused,
			"A delegation token is missing or refused, or is for another service.",
			"Log in with a keytab or a ticket, because a process with only tokens gets no new one. Check " +
				"`HADOOP_TOKEN_FILE_LOCATION`.",
			[]string{"InvalidToken"}},
		{KerberosClock, Refused,
			"The clocks of this machine and of the KDC differ by more than five minutes (`clockskew`).",
			"Compare `date -u` on both, and set up NTP.",
			[]string{"Clock skew too great"}},
		{KerberosPrincipal, Refused,
			"The KDC does not know the principal, does not let it log in, or shares no encryption type with it.",
			"Check the spelling and the realm, in the same case. Ask the KDC's administrator to create or unlock the " +
				"principal, or to add AES keys to it and to the service.",
			[]string{"Client not found in Kerberos database", "Clients credentials have been revoked",
				"KDC has no support for encryption type"}},
		{KerberosService, Refused,
			"The KDC does not know the server's principal, or the server refuses the ticket.",
			"Compare the `*.kerberos.principal` properties with the server's own. Check that `_HOST` becomes the host " +
				"name in the service's principal (DNS, `[domain_realm]`), and check the server's keytab. If the server " +
				"refuses the ticket, its log has the cause.",
			[]string{"Server not found in Kerberos database", "Failure unspecified at GSS-API level"}},
		{KerberosNoKDC, Later,
			"No KDC answers.",
			"Check the network and the firewall (port 88, TCP and UDP), and run the same command again later.",
			nil},
	}},
	{"YARN", "", []Doc{
		{YarnCommands, Refused,
			"Hadoop's commands or the jar of Hadoop Streaming, which `--engine yarn` uses, can't be found or started.",
			"Use a host with a Hadoop client, and set `HADOOP_HOME`, or `hadoop_home` and `streaming_jar` of the job " +
				"file's `engine`.",
			nil},
		{YarnSubmit, Refused,
			"YARN does not accept the job. Nothing runs.",
			"The message has YARN's reason. Choose another queue or less memory, or move the output to HDFS.",
			[]string{"submitted by user … to unknown queue", "Invalid resource request"}},
		{YarnFailed, Failed,
			"A task failed as often as YARN tries it, or somebody killed the job.",
			"Remove the quoted cause; if the container was too small, give tasks more memory. Then run the same command " +
				"again: it runs only the tasks that are not done.",
			[]string{"running beyond the 'PHYSICAL' memory limit"}},
		{YarnDown, Later,
			"YARN's ResourceManager did not answer for ten minutes. The job goes on if YARN does.",
			"Run the same command again; it follows the job.",
			nil},
	}},
	{"HDFS", "", []Doc{
		{HDFSDown, Later,
			"No NameNode or DataNode answers, or the NameNode is on standby or in safe mode.",
			"Run the same command again later. Check the address in the message, and `hdfs dfsadmin -safemode get`. After " +
				"a full disk the NameNode stays in safe mode until an administrator frees space and runs `hdfs dfsadmin " +
				"-safemode leave`.",
			[]string{"Name node is in safe mode"}},
		{HDFSNoDataNode, Later,
			"No DataNode accepts a block, or DataNodes hung or died repeatedly.",
			"Check free space with `hdfs dfsadmin -report`, and that this host reaches the DataNodes. Run the same " +
				"command again later.",
			[]string{"could only be written to 0 of the", "could only be replicated to 0 nodes"}},
		{HDFSBlockMissing, Later,
			"None of the running DataNodes has the block.",
			"Start the DataNodes, or write the file again. `hdfs fsck PATH -files -blocks -locations` shows its replicas.",
			[]string{"BlockMissingException", "Could not obtain block"}},
		{HDFSBlockCorrupt, Differs,
			"No replica of a block matches its checksums.",
			"Write the file again, or start a DataNode that has a sound replica.",
			[]string{"ChecksumException"}},
		{HDFSQuota, Refused,
			"A quota of names or space is exhausted.",
			"`hdfs dfs -count -q -v PATH` shows it. Delete old outputs, or have the quota raised.",
			[]string{"NSQuotaExceededException", "DSQuotaExceededException"}},
	}},
	{"The input", "", []Doc{
		{InputMissing, NotYet,
			"The input does not exist.",
			"Check `input.path` and `--date`. If the export has not run yet, run the same command later, or with " +
				"`--wait 2h`.",
			[]string{"Input path does not exist"}},
		{InputUnfinished, NotYet,
			"The export is still running, or has failed.",
			"Run the same command again when it is finished, or with `--wait 2h`. If it failed, export again.",
			nil},
		{InputPath, Refused,
			"The input's path has braces, overlaps the output, or holds something that is not a file.",
			"Write `*`, `?` or `[a-z]` instead of `{a,b}`, or use one job per path. Keep input and output apart. Export " +
				"to files, not to pipes, and repair broken links.",
			nil},
		{InputRows, Refused,
			"The input is empty although `input.empty` is `fail`, or its number of records is not `input.expect_rows`.",
			"Compare with the database's `count(*)`, and export again. If empty days are normal, set `input.empty: ok`.",
			nil},
		{InputChanged, Failed,
			"An input file grew or was replaced while it was read.",
			"Run the same command again when the export is finished. With `input.require_success` a run waits for " +
				"`_SUCCESS`.",
			nil},
		{InputFormat, Refused,
			"A file has another format, compression, byte order mark or record delimiter than the job file says.",
			"The message says what the file is. Correct `input.format`, `input.compression`, `input.charset` or " +
				"`input.record_delimiter`, rename the file, or export it again. `tail -c +$((BYTE+1)) FILE | head -c 300 | " +
				"xxd` shows the bytes at a position.",
			nil},
		{InputDamaged, Failed,
			"A compressed or a Parquet file is damaged or cut short.",
			"Copy or export it again, and compare sizes and checksums.",
			[]string{"unexpected end of file"}},
		{InputColumns, Refused,
			"The heading of a CSV file, or the columns of a Parquet file, are not those of the job.",
			"Correct `input.columns`: Oracle usually exports upper case. If a CSV file's first line is a record, set " +
				"`input.header: false`.",
			nil},
		{CSVExport, Refused,
			"An error message of the database client is among the rows of a CSV file, so rows are probably missing.",
			"Remove its cause, and export again.",
			[]string{"ORA-01555: snapshot too old"}},
		{ParquetUnsupported, Refused,
			"A Parquet file has a codec, type or encoding that bulkload does not read, or the types of two files " +
				"differ.",
			"Export again as the message says.",
			nil},
		{InputUnknown, Refused,
			"`bulkload init` could not find out how the files are written.",
			"Look at a file with `head -c 500 FILE | od -c`, and write the job file yourself; " +
				"[jobs/examples](../jobs/examples) has one for each kind of export.",
			nil},
	}},
	{"Rejected records", "A run ends when there are more rejects than `input.max_rejects` (0 by default). The raw " +
		"records and the reasons are in `.rejects` in the output. To load the other records, set `max_rejects` to " +
		"a count or a percentage.", []Doc{
		{RejectsMany, Rejects,
			"More records were rejected than `input.max_rejects` allows.",
			"Read `rejects.jsonl`, which has a reason for each. `verify` writes no such file: run the job, or look at its " +
				"`.rejects`.",
			nil},
		{RejectColumns, Rejects,
			"A record can't be divided into the columns of the job file.",
			"List all columns of the file in `input.columns`. Compare the delimiters, `quote`, `escaped_by` and " +
				"`enclosed_by` with the export's settings; the message has the delimiter that fits. If values contain " +
				"delimiters or newlines, export with `--escaped-by` or `--hive-drop-import-delims`, or as Parquet.",
			nil},
		{RejectCharset, Rejects,
			"Bytes are not a character of `input.charset`.",
			"Set `input.charset`, for example to `gbk`, or set `NLS_LANG` to `.AL32UTF8` for the export.",
			nil},
		{RejectSQLPlus, Rejects,
			"SQL*Plus or SQLcl wrote messages, headings or page breaks among the records, or cut a wide value.",
			"Export again with the settings of [jobfile.md](jobfile.md#csv). `input.skip_noise: true` skips such lines. A " +
				"value that was cut is not in the file: export with `set numwidth 40` and wider `column` formats.",
			nil},
		{RejectType, Rejects,
			"A value does not fit the type that `columns_map`, the timestamp or the filter requires, or is null or out of " +
				"range.",
			"Correct the column's type, `format` or `zone`, or export it in another form. For dates such as `20-NOV-26` " +
				"set `NLS_DATE_FORMAT` to `YYYY-MM-DD HH24:MI:SS` before the export.",
			nil},
		{RejectKey, Rejects,
			"The row key can't be built: a part is null or not in the form that its function needs, or the key is " +
				"empty or too long.",
			"Correct the export, or the `rowkey`.",
			nil},
	}},
	{"Disks and folders", "", []Doc{
		{DiskSpace, Refused,
			"There is less free space than the sorted runs or the HFiles will probably take.",
			"Free some space, or choose another `--work-dir` or output. `input.check_space: false` skips the check.",
			nil},
		{DiskFull, Failed,
			"A disk is full. No half-written file is used.",
			"Free some space, and run the same command again.",
			[]string{"No space left on device", "Disk quota exceeded"}},
		{Permission, Refused,
			"The user may not read or write a file or folder, on this machine or in HDFS.",
			"Find out which user it is. On this machine it is the process's user, under cron perhaps not yours: see `ls " +
				"-ld` of the path and the folders above it. In HDFS it is the principal's short name, or without Kerberos " +
				"`HADOOP_USER_NAME` or the process's user. [security.md](security.md#hdfs) has the commands that grant the " +
				"rights.",
			[]string{"Permission denied: user=…, access=WRITE, inode=…"}},
		{Folder, Refused,
			"The output, `--work-dir` or the ledger's folder can't be made or used.",
			"Name another folder. For the ledger, first try to get the right granted or the home folder made: always use " +
				"the same one, because it records what was loaded.",
			[]string{"File name too long", "Read-only file system"}},
		{SpillDamaged, Failed,
			"The sort's temporary files are not what was written.",
			"Run the same command again, and check the disk.",
			nil},
	}},
	{"Tasks", "[distributed.md](distributed.md) describes runs by tasks.", []Doc{
		{TaskPlan, Refused,
			"The plan of a task is gone, or is not what was written. A run deletes it when it is done, and when it " +
				"begins anew.",
			"Begin with `bulkload task plan` again, or let `bulkload run --engine` do all steps.",
			nil},
		{TaskProgram, Refused,
			"A task runs another bulkload than the one that planned it. Versions are never mixed.",
			"Give all tasks the program that planned the run, or plan it again.",
			nil},
		{TaskMemory, Refused,
			"The run has more sorted runs than its reduce tasks can merge in their memory.",
			"Give tasks more `--memory`, or make fewer runs with a larger `--task-size`.",
			nil},
		{TaskFailed, Failed,
			"A task failed, or was killed before it wrote its result.",
			"Read the engine's log of the named attempt. Then run the same command again: it runs only the tasks that are " +
				"not done.",
			nil},
	}},
	{"The output", "", []Doc{
		{OutputOther, Refused,
			"The output has files of another run: of another date or job, of this job before it was changed, or not of " +
				"bulkload at all.",
			"Choose another output; with several dates, `output: …/${date}`. `--force` replaces another run's output, but " +
				"deletes no file that the manifest does not name: move such files away yourself.",
			nil},
		{OutputInput, Refused,
			"The input has other records than those that were written or loaded; the message lists what differs.",
			"Restore the input, or, if the export was corrected, run with `--on-change reload`. Rows that only the old " +
				"input has stay in the table.",
			nil},
		{OutputChanged, Refused,
			"Files that were not loaded yet are missing or changed, or the table or the site files now have other " +
				"settings.",
			"Run the job again with `--force`, which writes them again, or restore what was changed.",
			nil},
		{OutputUnfinished, Refused,
			"An earlier run was not finished, or its load was interrupted.",
			"Run its job, which goes on where it stopped. If its output is gone, the message says what to do.",
			nil},
		{Locked, Later,
			"Another run works on the same output.",
			"Wait for it: the message names its process and host. A dead process's lock is taken over within ten minutes. " +
				"Delete it only if you know that the process is gone.",
			nil},
		{RunAgain, Later,
			"Something changed while the command ran: its lock was deleted or taken over, perhaps because the process was " +
				"suspended, or another command loaded or moved files. Nothing more was published.",
			"Run the same command again.",
			nil},
		{ManifestChanged, Differs,
			"A manifest or an entry of the ledger was changed after it was written.",
			"Restore it. If you can't, move the manifest's directory, or the entry, away, and check the table with " +
				"`bulkload verify JOB --live`. Without the manifest, a job that loads still knows from the ledger what was " +
				"loaded; without the entry it does not.",
			nil},
		{ManifestMalformed, Refused,
			"A manifest or an entry of the ledger is not one that bulkload wrote.",
			"Restore it, or proceed as for BL-MANIFEST-CHANGED.",
			nil},
		{ManifestVersion, Refused,
			"Another version of bulkload, with other manifests, journals or task plans, began this output.",
			"Finish or remove it with that version.",
			nil},
		{Duplicates, Failed,
			"Records differ and have the same row key, and the job says `duplicates: error`.",
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
			"What was read back is not what was sorted or counted. Nothing was loaded. The disk or the memory is " +
				"faulty, or bulkload has a defect.",
			"Run the same command again, with `--force` if the message says so. Check disk and memory. If it " +
				"happens again, report it.",
			nil},
	}},
	{"The table", "", []Doc{
		{TableMissing, Refused,
			"The table does not exist.",
			"Create it with `bulkload plan JOB --create`, or check the namespace, the spelling, and that the site " +
				"files are those of the right cluster.",
			[]string{"TableNotFoundException"}},
		{TableExists, Refused,
			"`plan --create` found that the table exists, with other regions than the job file has.",
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
				"boundary; the message lists them.",
			nil},
		{FilesLimit, Refused,
			"There would be more files of one family in a region than HBase loads, or more in a run than a manifest can " +
				"hold.",
			"Raise `hfile.max_size`, which makes fewer and larger files. For a region, add regions or raise " +
				"`hbase.mapreduce.bulkload.max.hfiles.perRegion.perFamily`; if regions have merged since, use `--force`. For " +
				"a manifest, read fewer input files at a time, or use fewer regions.",
			[]string{"Trying to load more than 32 hfiles to one family of one region"}},
		{TableTTL, Refused,
			"The cells' timestamp is older than the family's TTL, so HBase would show none of them.",
			"Raise the family's TTL with `alter` in the HBase shell, or set a later `timestamp`.",
			nil},
		{TableBusy, Later,
			"Another job loads into the table; the message names its process and host.",
			"Run the same command again later, or with `--on-busy wait`. A dead process's lock is taken over at once on " +
				"the same machine, and within ten minutes on another.",
			nil},
	}},
	{"HBase", "", []Doc{
		{HBaseDown, Later,
			"A region server, the master or ZooKeeper does not answer or is too busy, or no master is active.",
			"Run the same command again later; it goes on where it stopped. Check what the message names: the server, the " +
				"firewall, `hbase.zookeeper.quorum`. If a master is running, `zookeeper.znode.parent` may be wrong (such as " +
				"`/hbase` for `/hbase-unsecure`): use the cluster's `hbase-site.xml`.",
			[]string{"RegionServerStoppedException", "RegionTooBusyException", "Call queue is full",
				"CallTimeoutException", "KeeperErrorCode = ConnectionLoss for /hbase",
				"KeeperErrorCode = NoNode for /hbase/master", "MasterNotRunningException"}},
		{HBaseRegion, Later,
			"Regions are not open, or are moving, or `hbase:meta` has holes.",
			"Run the same command again later. If it persists, look at the master's web page, and at the report of `hbase " +
				"hbck`.",
			[]string{"NotServingRegionException", "RegionMovedException"}},
		{HBasePermission, Refused,
			"The user lacks a right in HBase.",
			"Have an administrator run the `grant` that the message shows. [security.md](security.md#hbase) lists " +
				"the rights.",
			[]string{"AccessDeniedException: Insufficient permissions"}},
		{HBaseRefused, Refused,
			"HBase refuses a request, or a region server does not load a file. Files that were not loaded are still in " +
				"their place.",
			"The region server's log has the cause, such as a missing permission in the staging folder, or a family with " +
				"other settings. Remove it, and run the same command again.",
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
			"Run the same command again. bulkload cuts such files.",
			[]string{"Split row keys", "HFile at … no longer fits inside a single region. Splitting..."}},
		{LoadUncut, Refused,
			"A file of another tool has rows of several regions, and can't be cut without losing tags, sequence IDs or " +
				"references to MOB files. It was not touched.",
			"Load it with `hbase completebulkload`, which splits it, or write it again for the present regions.",
			nil},
		{LoadFiles, Refused,
			"Two files of the directory conflict: they have the same name and family, or a file that was cut is there " +
				"beside its parts, or `DIR/.cut` was changed. Nothing was deleted.",
			"Move or rename one of the two. `DIR/.cut` keeps the originals, and `DIR/.cut/_cuts.json` lists their parts. " +
				"If an original and its parts are both in the directory, keep the original: delete the parts, then the list.",
			nil},
		{LoadStaging, Refused,
			"The user can't enter HBase's staging folder, or it is in an encryption zone.",
			"The user needs execute permission on `/hbase` and `/hbase/staging`: mode 711, or the ACL of " +
				"[security.md](security.md#hdfs).",
			[]string{"Permission denied: user=…, access=EXECUTE, inode=\"/hbase/staging\""}},
		{LoadTracker, Refused,
			"The table's store file tracker is FILE, which accepts only files of HBase's own user.",
			"Run as HBase's user.",
			nil},
		{LoadIncomplete, Failed,
			"The files were loaded, but the table does not serve them.",
			"Run the same command again; it finds out what is missing.",
			nil},
		{LoadLost, Refused,
			"Rows that were loaded can't be read: a delete marker hides them, they have expired by TTL, or the table was " +
				"dropped or truncated.",
			"Do what the message says. `--force` writes and loads the rows again.",
			nil},
		{LoadUnsure, Refused,
			"The table may not be the one that was loaded, or has rows of other loads that can't be told from this one's.",
			"Compare it with `bulkload verify JOB --live`; if rows are missing, run the job with `--force`. For a " +
				"directory without a manifest, and for other loads, do what the message says; " +
				"[jobfile.md](jobfile.md#rows-that-the-table-has-already) explains it. A major compaction removes delete " +
				"markers, so afterwards nobody can tell whether a file of only markers was loaded.",
			nil},
		{LoadOther, Refused,
			"The files, or this job and date, were loaded before: into another table, or from another input.",
			"Use another output, or load this input with `--on-change reload` or `--force`, as the message says.",
			nil},
		{LoadMove, Refused,
			"A region server accepted a file but does not serve it, so its rows were loaded again. When the region is " +
				"opened again, the old file may reappear and hide other values with the same timestamps, so loads of such " +
				"values are refused until then.",
			"Open the regions again with the HBase shell commands in the message, or disable and enable the table. That " +
				"needs the right `A`, and `move` a second region server. Then run the same command again.",
			nil},
	}},
	{"Files and verification", "", []Doc{
		{VerifyDiffers, Differs,
			"The files or the table differ from the source.",
			"Read the list. If cells are missing or different, run the job, with `--force` if it is finished. Extra cells " +
				"are no longer in the source.",
			nil},
		{VerifySource, Refused,
			"The table has fewer cells of a run than it loaded: a later load replaced them, or they were deleted. Only " +
				"the run's input can tell, and it is gone or changed.",
			"Put the input back, and run the same command again.",
			nil},
		{HFileCorrupt, Differs,
			"An HFile is damaged, or was changed between writing and loading.",
			"Write the file again: run its job with `--force`.",
			[]string{"CorruptHFileException: Problem reading HFile Trailer",
				"Added a key not lexically larger than previous"}},
		{HFileUnsupported, Failed,
			"The HFile uses a feature that bulkload does not support.",
			"Read it with `hbase hfile`.",
			nil},
		{HFileMissing, Refused,
			"There are no HFiles and no output of bulkload at that path.",
			"Name the directory above the families' folders, or for `list` and `clean` the one above the outputs. If an " +
				"output was loaded, its files are in the table: use `bulkload verify JOB --live`.",
			[]string{"Bulk load operation did not find any files to load", "is not a directory"}},
		{NotFound, Failed,
			"With `--fail`, `get` found no row, or `status` a run that was never begun.",
			"Check the key or the date; without `--fail` this is no error.",
			nil},
	}},
	{"Ended from outside", "", []Doc{
		{Stopped, Interrupted,
			"The command was stopped by SIGINT, SIGTERM or SIGHUP. It keeps what is finished.",
			"Run the same command again.",
			nil},
		{Answer, Failed,
			"The answer could not be written to standard output: a disk is full, or a pipe was closed.",
			"Run it again.",
			nil},
	}},
	{"Without a code of their own", "These codes are for unforeseen errors, such as an I/O error of a disk. The " +
		"text of the error says what happened.", []Doc{
		{OtherFailed, Failed,
			"Failed.",
			"Do what the text suggests, and run the same command again.",
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
			"Run the same command again.",
			nil},
		{OtherRefused, Refused,
			"A person must act first.",
			"Do what the text says, and run the same command again.",
			nil},
		{OtherDiffers, Differs,
			"A difference or damage was found.",
			"Look at the file that the text names.",
			nil},
		{OtherNotYet, NotYet,
			"The input does not exist yet.",
			"Run the same command again later.",
			nil},
		{OtherLater, Later,
			"A server or another run is in the way.",
			"Run the same command again later.",
			nil},
	}},
}
