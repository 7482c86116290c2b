package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/test/apiserver"
)

// TestMain lets tests run the program as a process of its own.
func TestMain(m *testing.M) {
	if os.Getenv("POSTFLIGHT_TEST_AS_PROGRAM") != "" {
		main()
	}
	os.Exit(apiserver.Run(m))
}

const kubeconfig = `{"apiVersion": "v1", "kind": "Config", "current-context": "c",
"clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}], "contexts": [{"name": "c", "context": {"cluster": "c"}}]}`

func TestInterruptsEndIt(t *testing.T) {
	dir := t.TempDir()
	config, fifo := filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "app.apk")
	if err := errors.Join(os.WriteFile(config, []byte(kubeconfig), 0o600), syscall.Mkfifo(fifo, 0o600)); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		reason string
		args   []string
		begun  string // printed before the interrupt
		code   int    // -1 where the signal ends it
		says   string
	}{
		"server away":  {args: []string{"notify"}, begun: "Trying again", code: 3, says: "Error: interrupted. Runs may have been started"},
		"explain":      {args: []string{"explain"}, begun: "Trying again", code: 3, says: "Error: interrupted\n"},
		"waits":        {args: []string{"wait", "a"}, begun: "Trying again", code: 3, says: "the run goes on"},
		"key is typed": {args: []string{"keys", "create", "a", "--from-stdin", "--kubeconfig", config}, code: 1, says: "Error: interrupted\n"},
		"without a writer": {reason: "the first interrupt cannot end what the system does, the second does",
			args: []string{"upload", fifo}, code: -1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log, code := interrupt(t, tc.begun, tc.args...)
			if code != tc.code || !strings.Contains(log, tc.says) {
				t.Errorf("%s: exit code %d, want %d, and %q in\n%s", tc.reason, code, tc.code, tc.says, log)
			}
		})
	}
}

// interrupt runs the program until it prints begun, and then interrupts it until it ends.
func interrupt(t *testing.T, begun string, args ...string) (log string, code int) {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), "POSTFLIGHT_TEST_AS_PROGRAM=1", "POSTFLIGHT_URL=http://127.0.0.1:1", "POSTFLIGHT_API_KEY=k")
	stdin, err := cmd.StdinPipe() // which stays silent
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
	var said bytes.Buffer
	for b := make([]byte, 4096); begun != "" && !strings.Contains(said.String(), begun); {
		n, err := stderr.Read(b)
		said.Write(b[:n])
		if err != nil {
			break
		}
	}
	ended := make(chan struct{})
	go func() {
		for {
			select {
			case <-ended:
				return
			case <-time.After(time.Second):
				_ = cmd.Process.Signal(os.Interrupt)
			}
		}
	}()
	_, _ = io.Copy(&said, stderr)
	err = cmd.Wait()
	close(ended)
	if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signaled() && status.Signal() != syscall.SIGINT {
		t.Errorf("it did not end: %v", err)
	}
	return said.String(), cmd.ProcessState.ExitCode()
}
