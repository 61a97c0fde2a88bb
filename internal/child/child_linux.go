// Package child starts processes that must not outlive the one that starts them.
package child

import (
	"os/exec"
	"syscall"
)

// EndWithThread has the kernel kill a process when the thread that started it ends. So the process ends with this one,
// even if this one is killed. A caller whose thread may end earlier must lock it until the process has ended
// (runtime.LockOSThread).
func EndWithThread(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
}
