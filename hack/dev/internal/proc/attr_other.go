//go:build !linux

package proc

import "syscall"

// Only Linux has a parent-death signal; elsewhere a killed supervisor leaves its children running
// and the next `up` finds their ports in use and chooses others.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
