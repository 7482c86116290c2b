//go:build unix

package apiserver_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/tier"
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
	apiserver.Alone(t)
	_, _ = os.Stdout.WriteString(started + "\n")
	select {}
}

func TestNothingOutlivesTheTests(t *testing.T) {
	tier.All(t, "it starts an API server, only to kill it")
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
	poll.Until(t, "after the test binary was killed, nothing of it is left", func() string { return left(temp, pids) })
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

// left are the processes and the directories that have not gone.
func left(temp string, pids []int) string {
	pids = slices.DeleteFunc(slices.Clone(pids), func(pid int) bool { return syscall.Kill(pid, 0) != nil })
	files, _ := filepath.Glob(filepath.Join(temp, "postflight-*"))
	if len(pids) == 0 && len(files) == 0 {
		return ""
	}
	return fmt.Sprintf("the processes %v and the directories %v", pids, files)
}
