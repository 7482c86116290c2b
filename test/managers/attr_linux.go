package managers

import "syscall"

// DieWithParent keeps a process from outliving tests that were killed.
func DieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
