package kdc

import (
	"os/exec"
	"syscall"
)

// endWithParent has the kernel kill a process when this one ends.
func endWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
