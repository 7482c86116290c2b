package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/postflight-dev/postflight/hack/dev/internal/layout"
	"github.com/postflight-dev/postflight/hack/dev/internal/session"
)

func (t *tool) run() *cobra.Command {
	prepared := false
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run the cluster in the foreground, until Ctrl-C",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if pid := session.Supervisor(t.layout); pid != 0 {
				return fmt.Errorf("the cluster of %s already runs in the background (process %d); `make status` shows it, `make down` stops it", t.layout.Dir, pid)
			}
			if !prepared {
				if err := t.prepare(cmd.Context()); err != nil {
					return err
				}
			}
			return session.Run(cmd.Context(), t.layout, t.options(), t.console)
		},
	}
	cmd.Flags().BoolVar(&prepared, "prepared", false, "all binaries are there")
	_ = cmd.Flags().MarkHidden("prepared")
	return t.startFlags(cmd)
}

func (t *tool) up() *cobra.Command {
	return t.startFlags(&cobra.Command{
		Use:   "up",
		Short: "Run the cluster in the background; returns when it is ready",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := t.prepare(cmd.Context()); err != nil {
				return err
			}
			if pid := session.Supervisor(t.layout); pid != 0 {
				return t.refresh(cmd.Context(), pid)
			}
			return t.start(cmd.Context())
		},
	})
}

// start starts a supervisor that outlives this process and shows its log until it is ready.
func (t *tool) start(ctx context.Context) error {
	logFile, err := os.OpenFile(t.layout.Path("dev.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	defer logFile.Close()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	run := exec.Command(self, "run", "--prepared", "--dir", t.layout.Dir,
		fmt.Sprintf("--port-base=%d", t.portBase), fmt.Sprintf("--no-node=%t", t.noNode))
	run.Dir = t.layout.Root
	// Without a mark that a test may have inherited: the supervisor would take itself for a leftover.
	run.Env = slices.DeleteFunc(os.Environ(), func(entry string) bool {
		return strings.HasPrefix(entry, layout.MarkVariable+"=")
	})
	run.Stdout, run.Stderr = logFile, logFile
	run.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := run.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		_ = run.Wait()
		close(ended)
	}()
	return t.follow(ctx, run.Process, ended)
}

var errStart = errors.New("the cluster did not start")

// follow shows the supervisor's log until the cluster is ready. Ctrl-C stops the supervisor too.
func (t *tool) follow(ctx context.Context, run *os.Process, ended <-chan struct{}) error {
	log, err := os.Open(t.layout.Path("dev.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	for {
		state := session.ReadState(t.layout, run.Pid)
		t.copyLog(log)
		if state.Phase == session.Ready {
			return t.outcome(state, log)
		}
		select {
		case <-ended:
			if pid := session.Supervisor(t.layout); pid != 0 { // someone else was faster
				return t.refresh(ctx, pid)
			}
			t.copyLog(log)
			return fmt.Errorf("%w; the logs are in %s", errStart, t.layout.Path("logs"))
		case <-ctx.Done():
			_ = run.Signal(syscall.SIGTERM)
			<-ended
			t.copyLog(log)
			return errors.New("interrupted")
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// outcome is an error if the cluster runs, but something in it does not.
func (t *tool) outcome(state session.State, log io.Reader) error {
	if state.Message != "" {
		return fmt.Errorf("the cluster runs, but not all of what belongs into it: see above; `make up` tries again")
	}
	if log != nil { // the summary follows the change of state
		time.Sleep(100 * time.Millisecond)
		t.copyLog(log)
	}
	return nil
}

func (t *tool) copyLog(log io.Reader) {
	content, _ := io.ReadAll(log)
	for _, line := range strings.SplitAfter(string(content), "\n") {
		if line != "" {
			t.console.Println("%s", strings.TrimSuffix(line, "\n"))
		}
	}
}

// refresh brings a running cluster up to date: manifests, images, the manager if its binary changed.
func (t *tool) refresh(ctx context.Context, pid int) error {
	t.console.Println("The cluster of %s runs already (process %d); bringing it up to date.", t.layout.Dir, pid)
	if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err == nil && strings.HasSuffix(exe, " (deleted)") {
		t.console.Warn("It runs from an older build of this tool; `make down up` starts the new one.")
	}
	log, err := os.Open(t.layout.Path("dev.log"))
	if err != nil { // it runs in a terminal, which shows what happens
		log = nil
	} else {
		defer log.Close()
		_, _ = log.Seek(0, io.SeekEnd)
	}
	state, err := t.awaitPhase(ctx, pid, func(s session.State) bool { return s.Phase == session.Ready })
	if err != nil {
		return err
	}
	before := state.Serial
	if err := syscall.Kill(pid, syscall.SIGUSR1); err != nil {
		return err
	}
	state, err = t.awaitPhase(ctx, pid, func(s session.State) bool { return s.Serial > before })
	if log != nil {
		t.copyLog(log)
	}
	if err != nil {
		return err
	}
	if err := t.outcome(state, nil); err != nil {
		return err
	}
	t.console.Println("\n  Postflight is ready: . %s", t.layout.Path("env"))
	return nil
}

// awaitPhase waits for the running supervisor to get somewhere.
func (t *tool) awaitPhase(ctx context.Context, pid int, reached func(session.State) bool) (session.State, error) {
	for {
		state := session.ReadState(t.layout, pid)
		if reached(state) {
			return state, nil
		}
		if session.Supervisor(t.layout) != pid {
			return state, fmt.Errorf("%w: its supervisor has ended; see %s and try again", errStart, t.layout.Path("dev.log"))
		}
		select {
		case <-ctx.Done():
			return state, errors.New("interrupted; what runs goes on")
		case <-time.After(50 * time.Millisecond):
		}
	}
}
