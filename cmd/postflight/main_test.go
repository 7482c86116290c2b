package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/test/clitest"
	"github.com/postflight-dev/postflight/test/poll"
)

// TestMain lets tests run the program as a process of its own.
func TestMain(m *testing.M) {
	if os.Getenv("POSTFLIGHT_TEST_AS_PROGRAM") != "" {
		main()
	}
	os.Exit(m.Run())
}

func TestInterruptsEndIt(t *testing.T) {
	dir := t.TempDir()
	config, fifo := filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "app.apk")
	if err := errors.Join(syscall.Mkfifo(config, 0o600), syscall.Mkfifo(fifo, 0o600)); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		reason string
		args   []string
		begun  string // printed before the interrupt
		reads  string // before it, a pipe that has a kubeconfig
		again  bool   // until it ends
		code   int    // -1 where the signal ends it
		says   string
	}{
		"server away": {args: []string{"notify"}, begun: "Trying again", code: 3, says: "Error: interrupted. Runs may have been started"},
		"explain":     {args: []string{"explain"}, begun: "Trying again", code: 3, says: "Error: interrupted\n"},
		"waits":       {args: []string{"wait", "a"}, begun: "Trying again", code: 3, says: "the run continues"},
		"key is typed": {args: []string{"keys", "create", "a", "--from-stdin", "--kubeconfig", config}, reads: config, code: 1,
			says: "Error: interrupted\n"},
		"without a writer": {reason: "the first interrupt cannot end what the system does, the second does",
			args: []string{"upload", fifo}, again: true, code: -1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log, code := interrupt(t, tc.begun, tc.reads, tc.again, tc.args...)
			if code != tc.code || !strings.Contains(log, tc.says) {
				t.Errorf("%s: exit code %d, want %d, and %q in\n%s", tc.reason, code, tc.code, tc.says, log)
			}
		})
	}
}

// interrupt runs the program until it prints begun and reads its kubeconfig, and then interrupts it, once or until it ends.
func interrupt(t *testing.T, begun, reads string, again bool, args ...string) (log string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), poll.Limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
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
	var said bytes.Buffer
	for b := make([]byte, 4096); begun != "" && !strings.Contains(said.String(), begun); {
		n, err := stderr.Read(b)
		said.Write(b[:n])
		if err != nil {
			break
		}
	}
	if reads != "" {
		configure(t, reads)
	}
	ended := make(chan struct{})
	go interruptUntil(ended, cmd.Process, again)
	_, _ = io.Copy(&said, stderr)
	err = cmd.Wait()
	close(ended)
	if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signaled() && status.Signal() != syscall.SIGINT {
		t.Errorf("it did not end: %v", err)
	}
	return said.String(), cmd.ProcessState.ExitCode()
}

// configure writes a kubeconfig once the program reads the pipe.
func configure(t *testing.T, pipe string) {
	t.Helper()
	var file *os.File
	poll.Until(t, "the program reads its kubeconfig", func() string {
		var err error
		if file, err = os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0); err != nil {
			return err.Error()
		}
		return ""
	})
	defer file.Close()
	if _, err := io.WriteString(file, clitest.Kubeconfig); err != nil {
		t.Fatal(err)
	}
}

func interruptUntil(ended <-chan struct{}, p *os.Process, again bool) {
	_ = p.Signal(os.Interrupt)
	for again {
		select {
		case <-ended:
			return
		case <-time.After(100 * time.Millisecond):
			_ = p.Signal(os.Interrupt)
		}
	}
}
