package auth

import (
	"time"

	"golang.org/x/sys/unix"
)

// bootClock returns a clock that is never set and continues while the machine is suspended, unlike Go's monotonic one.
func bootClock() func() time.Duration {
	if _, err := readBootClock(); err != nil { // a sandbox refuses it
		return monotonicClock()
	}
	return func() time.Duration {
		now, _ := readBootClock()
		return now
	}
}

func readBootClock() (time.Duration, error) {
	var now unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now)
	return time.Duration(now.Nano()), err
}
