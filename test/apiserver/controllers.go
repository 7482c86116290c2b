package apiserver

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// RunControllers runs controllers of Kubernetes, with flags, until the test ends, and returns the id of their process. They act on all
// objects of the server, so it must be the test's own.
func (s *Server) RunControllers(t testing.TB, names string, flags ...string) (pid int) {
	t.Helper()
	binary := filepath.Join(s.assets, "kube-controller-manager")
	if _, err := os.Stat(binary); err != nil {
		missing(t, err)
	}
	flags = append(flags, "--kubeconfig="+s.path(kubeconfigFile), "--leader-elect=false", "--secure-port=0", "--controllers="+names)
	cmd := exec.Command(binary, flags...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	file := s.path("kube-controller-manager.pid") // for the keeper
	if err := os.WriteFile(file, []byte(strconv.Itoa(cmd.Process.Pid)), 0o600); err != nil {
		t.Error(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = os.Remove(file)
	})
	return cmd.Process.Pid
}
