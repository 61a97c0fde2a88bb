// Package jobs knows a job: its file, its plan, its run with the manifest that makes it resumable, and the ways to look
// at what it made. It puts the other packages together and knows nothing of command-line flags.
package jobs
