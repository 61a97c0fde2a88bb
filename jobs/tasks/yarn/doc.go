// Package yarn is the engine that runs tasks on YARN: each phase is one Hadoop Streaming job without reducers. Its
// input is a file with the index of a task in each line, and NLineInputFormat passes one line to each map. The mapper
// is this program, which is shipped with the job. Data goes through neither Streaming nor a shuffle.
//
// The driver needs Java only on the submitting host, where the commands hadoop and yarn of a Hadoop installation submit
// jobs, ask for their state and kill them. A job is named by its run and phase, so that a later process can find and
// follow it.
package yarn
