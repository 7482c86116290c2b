// Package proc starts the parts of a development cluster, starts them again when they crash, and
// recognises what a crash of the tool itself has left behind.
package proc

import (
	"os/exec"
	"runtime"
)

// Spawner starts processes that die with this one.
//
// Linux sends the parent-death signal when the *thread* that forked ends, so one thread, locked for
// good, does all the forking.
type Spawner struct {
	requests chan request
}

type request struct {
	cmd  *exec.Cmd
	done chan error
}

// NewSpawner starts the forking thread. It lives as long as the program.
func NewSpawner() *Spawner {
	s := &Spawner{requests: make(chan request)}
	go func() {
		runtime.LockOSThread()
		for r := range s.requests {
			r.done <- r.cmd.Start()
		}
	}()
	return s
}

// Start starts the command in a process group of its own, so that Ctrl-C reaches only the
// supervisor, which stops things in order.
func (s *Spawner) Start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = childAttributes()
	r := request{cmd: cmd, done: make(chan error)}
	s.requests <- r
	return <-r.done
}
