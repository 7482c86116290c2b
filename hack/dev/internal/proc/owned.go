//go:build linux

package proc

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Owner recognises the processes of one cluster by what they cannot have by chance: the mark in
// their environment, which every descendant inherits, or a place in the cluster's cgroup, where
// containers live (their environment comes from the pod).
type Owner struct {
	Mark   string // e.g. POSTFLIGHT_DEV_DIR=/path
	Cgroup string // e.g. postflight-1a2b3c4d
}

// Owns says whether a process with this environment (NUL-separated) and this /proc/PID/cgroup
// belongs to the cluster.
func (o Owner) Owns(environ, cgroups []byte) bool {
	for _, entry := range bytes.Split(environ, []byte{0}) {
		if string(entry) == o.Mark {
			return true
		}
	}
	for _, line := range strings.Split(string(cgroups), "\n") {
		// hierarchy-ID:controllers:path
		if fields := strings.SplitN(line, ":", 3); len(fields) == 3 &&
			(fields[2] == "/"+o.Cgroup || strings.HasPrefix(fields[2], "/"+o.Cgroup+"/")) {
			return true
		}
	}
	return false
}

// List returns the ids of all living processes of the cluster but this one.
func (o Owner) List() []int {
	entries, _ := filepath.Glob("/proc/[0-9]*")
	var pids []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(filepath.Base(entry))
		if err == nil && pid != os.Getpid() && o.ownsPID(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func (o Owner) ownsPID(pid int) bool {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	// Errors are processes that just ended, or that belong to other users and so are not ours.
	environ, _ := os.ReadFile(filepath.Join(dir, "environ"))
	cgroups, _ := os.ReadFile(filepath.Join(dir, "cgroup"))
	return o.Owns(environ, cgroups) && !isZombie(dir)
}

// isZombie reads the state after the command name, which may itself contain spaces and brackets.
func isZombie(dir string) bool {
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return true
	}
	_, after, _ := bytes.Cut(stat[bytes.LastIndexByte(stat, ')'):], []byte(" "))
	return len(after) > 0 && (after[0] == 'Z' || after[0] == 'X')
}

// KillAll kills every process of the cluster but this one, also those that are started meanwhile,
// and returns how many it found.
func (o Owner) KillAll(patience time.Duration) int {
	killed := map[int]bool{}
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		pids := o.List()
		if len(pids) == 0 || time.Now().After(deadline) {
			return len(killed)
		}
		for _, pid := range pids {
			o.kill(pid)
			killed[pid] = true
		}
	}
}

// kill looks again after it has a handle on the process: between a look at /proc and a kill by
// number, the number may have passed to someone else.
func (o Owner) kill(pid int) {
	handle, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return
	}
	defer func() { _ = unix.Close(handle) }()
	if o.ownsPID(pid) {
		_ = unix.PidfdSendSignal(handle, unix.SIGKILL, nil, 0)
	}
}
