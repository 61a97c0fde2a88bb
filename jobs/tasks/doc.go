// Package tasks runs a job as tasks: processes that may run on other machines. A plan says what each task does; map
// tasks read their splits and leave sorted runs, reduce tasks merge slices of them and leave verified files. What a
// task has done is in its result, a sealed document that it writes last.
package tasks
