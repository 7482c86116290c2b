//go:build unix

package apiserver_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/test/apiserver"
)

const (
	victim  = "POSTFLIGHT_TEST_VICTIM" // set in the test binary that is to be killed
	started = "the API server runs"
)

// TestVictim does nothing but in the binary that TestNothingOutlivesTheTests starts.
func TestVictim(t *testing.T) {
	if os.Getenv(victim) == "" {
		t.Skip("only TestNothingOutlivesTheTests runs this, in a binary of its own")
	}
	apiserver.New(t)
	_, _ = os.Stdout.WriteString(started + "\n")
	select {}
}

func TestNothingOutlivesTheTests(t *testing.T) {
	apiserver.New(t) // or skip
	temp := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestVictim$")
	cmd.Env = append(os.Environ(), victim+"=1", "TMPDIR="+temp)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != started {
	}
	pids := pidsIn(t, temp)
	if len(pids) != 2 {
		t.Errorf("got the processes %v, want etcd and kube-apiserver", pids)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	eventuallyGone(t, temp, pids)
}

func pidsIn(t *testing.T, temp string) (pids []int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(temp, "*", "*.pid"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

func eventuallyGone(t *testing.T, temp string, pids []int) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		var left []int
		for _, pid := range pids {
			if syscall.Kill(pid, 0) == nil {
				left = append(left, pid)
			}
		}
		files, _ := filepath.Glob(filepath.Join(temp, "postflight-*"))
		if len(left) == 0 && len(files) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after the test binary was killed, the processes %v and the directories %v are left", left, files)
		}
	}
}
