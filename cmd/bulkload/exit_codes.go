package main

import (
	"bulkload/jobs/base/failure"
)

// The exit codes.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitRejects     = 3
	exitInterrupted = 4
	exitRefused     = 5
	exitDiffers     = 6
	exitNotYet      = 66 // EX_NOINPUT of sysexits.h
	exitLater       = 75 // EX_TEMPFAIL
)

const exitHelp = `Exit codes:
  0   done: every row is readable in the table, or nothing had to be done
  1   failed
  2   the command line or the job file is wrong
  3   more records were rejected than max_rejects allows
  4   interrupted; run the same command again to continue
  5   a person must act first: a table, family or permission is missing, files are foreign or changed, or loaded rows are gone
  6   a difference or a damaged file was found
  66  the input does not exist yet, or is not complete
  75  try again later: the output is locked, HBase or HDFS is down, or HBase does not serve all files of a load yet`

// exitCode is the only place that maps failures to exit codes.
func exitCode(err error) int {
	if err == nil {
		return exitDone
	}
	switch failure.KindOf(err) {
	case failure.Usage:
		return exitUsage
	case failure.Rejects:
		return exitRejects
	case failure.Interrupted:
		return exitInterrupted
	case failure.Refused:
		return exitRefused
	case failure.Differs:
		return exitDiffers
	case failure.NotYet:
		return exitNotYet
	case failure.Later:
		return exitLater
	default:
		return exitFailed
	}
}

// setOutcome records how a command, or one of its runs, ended.
func setOutcome(o *failure.Outcome, err error) {
	if o.Exit = exitCode(err); err != nil {
		o.Status, o.Error, o.Code = failure.StatusFailed, err.Error(), string(failure.CodeOf(err))
	}
}
