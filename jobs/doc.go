// Package jobs has the commands that are made of runs: several of them in order or side by side, the checks of several,
// and a run whose tasks others start. Package run carries out one job. jobs knows nothing of command-line flags.
package jobs
