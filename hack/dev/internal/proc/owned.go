//go:build linux

package proc

import (
	"os"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// Owner finds the processes of one cluster. They inherit the mark in their environment or, in containers, are in the cluster's cgroup.
type Owner struct {
	Mark   string // e.g. POSTFLIGHT_DEV_DIR=/path
	Cgroup string // e.g. postflight-1a2b3c4d
}

// Owns reports whether a process with this environment and these cgroups belongs to the cluster.
func (o Owner) Owns(environ []string, cgroups []procfs.Cgroup) bool {
	return slices.Contains(environ, o.Mark) || slices.ContainsFunc(cgroups, func(c procfs.Cgroup) bool {
		return c.Path == "/"+o.Cgroup || strings.HasPrefix(c.Path, "/"+o.Cgroup+"/")
	})
}

// List returns all living processes of the cluster except this one.
func (o Owner) List() []procfs.Proc {
	processes, _ := procfs.AllProcs()
	return slices.DeleteFunc(processes, func(p procfs.Proc) bool { return p.PID == os.Getpid() || !o.ownsProcess(p) })
}

// ownsProcess ignores errors: the process has just ended, or belongs to another user and so is not ours.
func (o Owner) ownsProcess(p procfs.Proc) bool {
	environ, _ := p.Environ()
	cgroups, _ := p.Cgroups()
	stat, err := p.Stat()
	return err == nil && stat.State != "Z" && stat.State != "X" && o.Owns(environ, cgroups)
}

// KillAll kills these processes, except this one, until none is left or patience ends. It returns how many it found.
func (o Owner) KillAll(patience time.Duration) int {
	killed := map[int]bool{}
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		processes := o.List()
		if len(processes) == 0 || time.Now().After(deadline) {
			return len(killed)
		}
		for _, p := range processes {
			o.kill(p)
			killed[p.PID] = true
		}
	}
}

// kill checks the owner again once it has a handle, because the id may belong to another process by now.
func (o Owner) kill(p procfs.Proc) {
	handle, err := unix.PidfdOpen(p.PID, 0)
	if err != nil {
		return
	}
	defer func() { _ = unix.Close(handle) }()
	if o.ownsProcess(p) {
		_ = unix.PidfdSendSignal(handle, unix.SIGKILL, nil, 0)
	}
}
