//go:build !linux

package yarn

import (
	"os/exec"
	"syscall"
)

// ownGroup puts a command into its own process group, so that Ctrl-C does not reach it.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// detach is ownGroup: only Linux ends a command with its thread.
func detach(cmd *exec.Cmd) { ownGroup(cmd) }

// end kills a command and what it started.
func end(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // it may have ended
