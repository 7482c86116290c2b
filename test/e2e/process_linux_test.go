package e2e

import "syscall"

// dieWithParent keeps a manager from outliving tests that were killed.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
