// Package yarn is the engine that runs tasks on YARN: each phase is one Hadoop Streaming job without reducers. Its
// input is a file with the index of a task in each line, of which NLineInputFormat passes one to each map; the mapper
// is this program, which is shipped with the job. Data goes through neither Streaming nor a shuffle.
//
// This program uses Java on the submitting host alone, where the commands hadoop and yarn of a Hadoop installation
// submit jobs, ask for their state and kill them. The job's name is that of the run and its phase, by which a later
// process finds and follows it.
package yarn
