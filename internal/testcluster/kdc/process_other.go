//go:build !linux

package kdc

import "os/exec"

// endWithParent does nothing: only Linux kills a process when another one ends.
func endWithParent(*exec.Cmd) {}
