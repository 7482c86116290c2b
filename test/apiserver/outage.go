package apiserver

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// Outage kills the API server, calls during, and starts the API server again at the same address with the
// same data. It affects tests that run at the same time.
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

// kill uses SIGKILL, because an orderly end of all watches would take longer than the outage.
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
