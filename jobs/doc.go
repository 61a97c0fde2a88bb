// Package jobs implements the commands that consist of runs: several runs in order or side by side, the checks of
// several runs, and a run whose tasks another scheduler starts. Package run carries out a single job. jobs knows
// nothing of command-line flags.
package jobs
