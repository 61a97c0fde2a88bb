// Package jobs is what cmd/bulkload uses: the commands (several runs, checks alone, the steps of tasks, first job files), and
// the names of the packages below that it needs (api.go). Package run carries out one job. jobs knows nothing of
// command-line flags.
package jobs
