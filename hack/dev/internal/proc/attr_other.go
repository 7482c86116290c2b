//go:build !linux

package proc

import "syscall"

// Only Linux has a parent-death signal; elsewhere children outlive a killed supervisor, and the next `up` chooses other ports.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
