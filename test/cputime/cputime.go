// Package cputime measures the processor time of this process. Unlike the time of a clock, it hardly depends on what else a machine does.
package cputime

import (
	"syscall"
	"time"
)

// Of returns what the process uses while f runs, in all its goroutines.
func Of(f func()) time.Duration {
	before := used()
	f()
	return used() - before
}

func used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
