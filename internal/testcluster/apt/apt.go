// Package apt installs what tests need from the system's packages, where this process may do so.
package apt

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// ErrUnable means that this machine has no apt-get, or that this process is not root.
var ErrUnable = errors.New("apt-get can't be run here")

// Install installs packages, without those that they recommend. The error has apt-get's output.
func Install(packages ...string) error {
	program, err := exec.LookPath("apt-get")
	if err != nil || os.Geteuid() != 0 {
		return ErrUnable
	}
	for _, args := range [][]string{{"update"}, append([]string{"install", "-y", "--no-install-recommends"}, packages...)} {
		cmd := exec.Command(program, args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("apt-get %s: %w\n%s", args[0], err, out)
		}
	}
	return nil
}
