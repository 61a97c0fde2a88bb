package local

import (
	"os/exec"
	"syscall"
)

// endWithThread has the kernel kill a process when the thread that has started it ends.
func endWithThread(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
