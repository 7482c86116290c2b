//go:build !linux

package managers

import "syscall"

// DieWithParent needs Linux.
func DieWithParent() *syscall.SysProcAttr { return nil }
