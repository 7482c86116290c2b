package apiserver

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"
)

// tick is the unit of times in /proc.
const tick = 10 * time.Millisecond

// CPU is how much the API server and its etcd have used since they started. It is for Linux.
func (s *Server) CPU(t testing.TB) (apiServer, etcd time.Duration) {
	t.Helper()
	of := func(process string) time.Duration {
		pid, err := s.pid(process)
		if err != nil {
			t.Fatal(err)
		}
		used, err := CPUOf(pid)
		if err != nil {
			t.Fatal(err)
		}
		return used
	}
	return of("kube-apiserver"), of("etcd")
}

// CPUOf is how much a process has used since it started, in user and system mode.
func CPUOf(pid int) (time.Duration, error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := bytes.Cut(content, []byte(") ")) // the name of the program may contain anything else
	fields := bytes.Fields(rest)
	if len(fields) < 13 {
		return 0, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	var ticks int
	for _, field := range fields[11:13] {
		n, err := strconv.Atoi(string(field))
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * tick, nil
}
