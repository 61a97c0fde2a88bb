package yarn

import (
	"os/exec"
	"syscall"

	"bulkload/internal/child"
)

// ownGroup puts a command into its own process group, so that Ctrl-C does not reach it.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// detach is ownGroup for a command that ends with the thread that started it.
func detach(cmd *exec.Cmd) {
	ownGroup(cmd)
	child.EndWithThread(cmd)
}

// end kills a command and the processes that it started.
func end(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // it may have ended
