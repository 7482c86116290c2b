package layout

import (
	"os"

	"golang.org/x/sys/unix"
)

// Lock opens a file and locks it until it is closed. It calls waiting, if set, while another process holds the lock.
func Lock(path string, waiting func()) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
		return file, nil
	}
	if waiting != nil {
		waiting()
	}
	return file, unix.Flock(int(file.Fd()), unix.LOCK_EX)
}
