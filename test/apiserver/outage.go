package apiserver

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/test/poll"
)

// Outage kills the API server, calls during, and starts the API server again at the same address with the
// same data. It affects tests that run at the same time.
func (s *Server) Outage(t testing.TB, during func()) {
	t.Helper()
	s.mustBeOurs(t)
	if err := s.kill(); err != nil {
		t.Errorf("kill the API server: %v", err)
	}
	during()
	if err := s.process.GetAPIServer().Start(); err != nil {
		t.Errorf("start the API server again: %v\n%s", err, endOfLog(s.dir, "kube-apiserver"))
	}
}

// mustBeOurs keeps a test from stopping what other packages use.
func (s *Server) mustBeOurs(t testing.TB) {
	t.Helper()
	if s.process == nil {
		t.Fatal("other packages use this API server, too: take that of apiserver.Alone")
	}
}

// kill uses SIGKILL, because ending all watches would outlast the outage. It waits until the port is free.
func (s *Server) kill() error {
	if err := s.signal("kube-apiserver", syscall.SIGKILL); err != nil {
		return err
	}
	return poll.Wait(startTimeout, "the API server has ended", func() string {
		if s.signal("kube-apiserver", 0) == nil {
			return "it runs"
		}
		return ""
	})
}

// FreezeEtcd stops etcd for a while, so that requests that need it hang. It affects tests that run at the same time.
func (s *Server) FreezeEtcd(t testing.TB, d time.Duration) {
	t.Helper()
	s.mustBeOurs(t)
	if err := s.signal("etcd", syscall.SIGSTOP); err != nil {
		t.Errorf("stop etcd: %v", err)
	}
	time.Sleep(d)
	if err := s.signal("etcd", syscall.SIGCONT); err != nil {
		t.Errorf("continue etcd: %v", err)
	}
}

func (s *Server) signal(process string, signal syscall.Signal) error {
	pid, err := s.pid(process)
	if err != nil {
		return err
	}
	return syscall.Kill(pid, signal)
}

func (s *Server) pid(process string) (int, error) {
	content, err := os.ReadFile(s.path(process + ".pid"))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(content)))
}
