package jobs

import (
	"bulkload/internal/bytesize"
	"bulkload/internal/errcode"
	"bulkload/internal/printable"
	"bulkload/internal/program"
	"bulkload/internal/throttle"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/base/timing"
	"bulkload/jobs/inspect/lookup"
	"bulkload/jobs/inspect/plan"
	"bulkload/jobs/inspect/status"
	"bulkload/jobs/inspect/verify"
	"bulkload/jobs/loading"
	"bulkload/jobs/run"
	"bulkload/jobs/run/summary"
	"bulkload/jobs/spec/jobfile"
	"bulkload/jobs/spec/yamldoc"
	"bulkload/jobs/upkeep/retention"
	"bulkload/values"
)

// UsageError makes an error one of the command line.
func UsageError(err error) error {
	return failure.Default(errcode.Command, failure.New(failure.Usage, err))
}

// AnswerError makes an error one of writing what a command answers.
func AnswerError(err error) error { return errcode.Answer.Wrap(err) }

// CodeOf is failure.CodeOf.
var CodeOf = failure.CodeOf

// TextOf is failure.TextOf.
var TextOf = failure.TextOf

// Differs is failure.Differs.
const Differs = failure.Differs

// Interrupted is failure.Interrupted.
const Interrupted = failure.Interrupted

// KindOf is failure.KindOf.
var KindOf = failure.KindOf

// Later is failure.Later.
const Later = failure.Later

// NotYet is failure.NotYet.
const NotYet = failure.NotYet

// Refused is failure.Refused.
const Refused = failure.Refused

// Rejects is failure.Rejects.
const Rejects = failure.Rejects

// Usage is failure.Usage.
const Usage = failure.Usage

// FormatSize is bytesize.Format.
var FormatSize = bytesize.Format

// ParseSize is bytesize.Parse.
var ParseSize = bytesize.Parse

// ParseRate is throttle.Parse.
var ParseRate = throttle.Parse

// Schema is schema.JSON.
var Schema = yamldoc.JSON

// NewRate is throttle.New.
var NewRate = throttle.New

// NewCount is throttle.NewCount.
var NewCount = throttle.NewCount

// Rate is throttle.Limit.
type Rate = throttle.Limit

// Plural is jobfile.Plural.
var Plural = jobfile.Plural

// TableName is jobfile.TableName.
var TableName = jobfile.TableName

// Printable is printable.Bytes.
var Printable = printable.Bytes

// PrintableText is printable.Text.
var PrintableText = printable.Text

// PrintableName is printable.Name.
var PrintableName = printable.Name

// LevelStage is options.LevelStage.
const LevelStage = options.LevelStage

// LevelDetail is options.LevelDetail.
const LevelDetail = options.LevelDetail

// LevelCall is options.LevelCall.
const LevelCall = options.LevelCall

// Phase is timing.Phase.
type Phase = timing.Phase

// Progress is progress.Progress.
type Progress = options.Progress

// Options is options.Options.
type Options = options.Options

// Wait is options.Wait.
type Wait = options.Wait

// DefaultSettle is options.DefaultSettle.
const DefaultSettle = options.DefaultSettle

// Reload is options.Reload.
const Reload = options.Reload

// Outcome is outcome.Outcome.
type Outcome = failure.Outcome

// StatusDone is outcome.Done.
const StatusDone = failure.StatusDone

// StatusEmpty is outcome.Empty.
const StatusEmpty = failure.StatusEmpty

// StatusFailed is outcome.Failed.
const StatusFailed = failure.StatusFailed

// StatusNothing is outcome.Nothing.
const StatusNothing = failure.StatusNothing

// SummarySchema is outcome.Schema.
const SummarySchema = failure.OutcomeSchema

// Job is jobfile.Job.
type Job = jobfile.Job

// Dates is jobfile.Dates.
type Dates = jobfile.Dates

// LogicalDate is jobfile.LogicalDate.
type LogicalDate = jobfile.LogicalDate

// Zone is values.Location.
var Zone = values.Location

// Read is jobfile.Read.
var Read = jobfile.Read

// ReadOptions is jobfile.ReadOptions.
type ReadOptions = jobfile.ReadOptions

// List is retention.List.
var List = retention.List

// Clean is retention.Clean.
var Clean = retention.Clean

// CleanRules are retention.Rules.
type CleanRules = retention.Rules

// CleanReport is retention.Report.
type CleanReport = retention.Report

// CleanKept is retention.Kept.
const CleanKept = retention.Kept

// Status is status.Of.
var Status = status.Of

// StatusWanted is status.Wanted.
type StatusWanted = status.Wanted

// StatusReport is status.Report.
type StatusReport = status.Report

// StatusRun is status.Run.
type StatusRun = status.Run

// OnBusy is options.OnBusy.
type OnBusy = options.OnBusy

// VerifyDir is verify.Dir.
var VerifyDir = verify.Dir

// VerifyJob is verify.Job.
var VerifyJob = verify.Job

// VerifyTable is verify.WholeTable.
var VerifyTable = verify.WholeTable

// ListStale is verify.ListStale.
var ListStale = verify.ListStale

// VerifyReport is verify.Report.
type VerifyReport = verify.Report

// Get is lookup.Get.
var Get = lookup.Get

// GetReport is lookup.GetReport.
type GetReport = lookup.GetReport

// Inspect is lookup.Inspect.
var Inspect = lookup.Inspect

// InspectReport is lookup.InspectReport.
type InspectReport = lookup.InspectReport

// Plan is plan.Run.
var Plan = plan.Run

// PlanOptions is plan.Options.
type PlanOptions = plan.Options

// PlanReport is plan.Report.
type PlanReport = plan.Report

// LoadDir is loading.Directory.
var LoadDir = loading.Directory

// LoadReport is loading.Report.
type LoadReport = loading.Report

// LoadSummary is loading.Summary.
type LoadSummary = loading.Summary

// Build is program.Build.
type Build = program.Build

// ThisBuild is program.ThisBuild.
var ThisBuild = program.ThisBuild

// MinMemory is options.MinMemory.
const MinMemory = options.MinMemory

// RunJob is run.Job.
var RunJob = run.Job

// ByTasks is run.ByTasks.
type ByTasks = run.ByTasks

// EngineOf is run.EngineOf.
type EngineOf = run.EngineOf

// Summary is summary.Summary.
type Summary = summary.Summary

// OutputSummary is summary.OutputSummary.
type OutputSummary = summary.OutputSummary

// OutputReport is summary.OutputReport.
type OutputReport = summary.OutputReport

// RejectFile is summary.RejectFile.
type RejectFile = summary.RejectFile

// Bound is summary.Bound.
type Bound = summary.Bound
