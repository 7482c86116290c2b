package apiserver

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// Outage kills the API server, waits until during has run, and starts it again at the same address
// with the same data. Tests that run at the same time suffer with it.
func (s *Server) Outage(t testing.TB, during func()) {
	t.Helper()
	if err := s.kill(); err != nil {
		t.Errorf("kill the API server: %v", err)
	}
	during()
	if err := s.process.Start(); err != nil {
		t.Errorf("start the API server again: %v", err)
	}
}

// kill leaves the API server no time to end its watches, which would take it longer than the outage.
func (s *Server) kill() error {
	content, err := os.ReadFile(filepath.Join(filepath.Dir(s.kubeconfig), "kube-apiserver.pid"))
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		return err
	}
	return syscall.Kill(pid, syscall.SIGKILL)
}
