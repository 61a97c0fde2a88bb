// Package jobs runs jobs: plan, run with a manifest that makes it resumable, load, and the commands that inspect the
// result. It combines the other packages and knows nothing of command-line flags.
package jobs
