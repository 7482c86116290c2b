//go:build linux

package proc

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func shell(t *testing.T, script string) Spec {
	t.Helper()
	dir := t.TempDir()
	ready := filepath.Join(dir, "ready")
	return Spec{
		Name: "test", Path: "/bin/sh", Args: []string{"-c", script},
		Env: append(os.Environ(), "READY="+ready),
		Log: filepath.Join(dir, "log"), PIDFile: filepath.Join(dir, "pid"),
		Ready: func(context.Context) error { _, err := os.Stat(ready); return err },
		Grace: 200 * time.Millisecond,
	}
}

func keep(t *testing.T, spec Spec) *Child {
	t.Helper()
	child := Keep(spec, t.Logf)
	t.Cleanup(child.Stop)
	return child
}

func pid(t *testing.T, c *Child) int {
	t.Helper()
	content, err := os.ReadFile(c.PIDFile)
	if err != nil {
		return 0
	}
	n, _ := strconv.Atoi(strings.TrimSpace(string(content)))
	return n
}

func TestCrashedChildStartsAgain(t *testing.T) {
	child := keep(t, shell(t, `touch "$READY"; exec sleep 600`))
	if err := child.WaitReady(t.Context(), limit); err != nil {
		t.Fatal(err)
	}
	first := pid(t, child)
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	await(t, "the child has started again", func() bool {
		again := pid(t, child)
		return again != 0 && again != first
	})
}

func TestCrashBeforeReadyIsAnError(t *testing.T) {
	child := keep(t, shell(t, `echo "the port is taken"; exit 7`))
	err := child.WaitReady(t.Context(), limit)
	if !errors.Is(err, ErrCrashed) || !strings.Contains(err.Error(), "exit status 7") || !strings.Contains(err.Error(), "the port is taken") {
		t.Errorf("got %v; want the exit status and the log", err)
	}
}

func TestStopKillsAChildThatIgnoresSIGTERM(t *testing.T) {
	child := keep(t, shell(t, `trap "" TERM; touch "$READY"; while true; do sleep 1; done`))
	if err := child.WaitReady(t.Context(), limit); err != nil {
		t.Fatal(err)
	}
	process := pid(t, child)
	child.Stop()
	if err := syscall.Kill(process, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d is still there: %v", process, err)
	}
	if _, err := os.Stat(child.PIDFile); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the pid file is still there: %v", err)
	}
}
