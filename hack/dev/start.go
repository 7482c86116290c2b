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
	"k8s.io/apimachinery/pkg/util/wait"

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
				return fmt.Errorf("the cluster of %s is already running in the background (process %d); "+
					"`%s` shows it, `%s` stops it", t.layout.Dir, pid, t.layout.Make("status"), t.layout.Make("down"))
			}
			if !prepared {
				if err := t.prepare(cmd.Context()); err != nil {
					return err
				}
			}
			return session.Run(cmd.Context(), t.layout, t.options(), t.console)
		},
	}
	cmd.Flags().BoolVar(&prepared, "prepared", false, "all binaries are built")
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

// start starts a supervisor that outlives this process, and shows its log until the cluster is ready.
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
		fmt.Sprintf("--port-base=%d", t.portBase), fmt.Sprintf("--no-node=%t", t.noNode), fmt.Sprintf("--no-dns=%t", t.noDNS))
	run.Dir = t.layout.Root
	// Without a mark that a test may have inherited, because the supervisor would kill itself as a leftover.
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
			time.Sleep(100 * time.Millisecond) // the summary follows the change of state
			t.copyLog(log)
			return t.problem(state)
		}
		select {
		case <-ended:
			if pid := session.Supervisor(t.layout); pid != 0 { // another one was faster
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

func (t *tool) problem(state session.State) error {
	if state.Message != "" {
		return fmt.Errorf("the cluster is running, but a part of it is not: see above; `%s` tries again", t.layout.Make("up"))
	}
	return nil
}

func (t *tool) copyLog(log io.Reader) {
	content, _ := io.ReadAll(log)
	for line := range strings.Lines(string(content)) {
		t.console.Println("%s", strings.TrimSuffix(line, "\n"))
	}
}

// refresh brings a running cluster up to date: manifests, images, and the manager if its binary changed.
func (t *tool) refresh(ctx context.Context, pid int) error {
	t.console.Println("The cluster of %s is already running (process %d); bringing it up to date.", t.layout.Dir, pid)
	if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err == nil && strings.HasSuffix(exe, " (deleted)") {
		t.console.Warn("It runs from an older build of this tool. `%s` starts the new one.", t.layout.Make("down up"))
	}
	log, err := os.Open(t.layout.Path("dev.log"))
	if err == nil { // a cluster in the foreground has no log, and prints to its terminal
		defer log.Close()
		_, _ = log.Seek(0, io.SeekEnd)
	}
	state, err := t.awaitState(ctx, pid, func(s session.State) bool { return s.Phase == session.Ready })
	if err != nil {
		return err
	}
	before := state.Serial
	if err := syscall.Kill(pid, syscall.SIGUSR1); err != nil {
		return err
	}
	state, err = t.awaitState(ctx, pid, func(s session.State) bool { return s.Serial > before })
	t.copyLog(log) // nothing, if it is nil
	if err := errors.Join(err, t.problem(state)); err != nil {
		return err
	}
	t.console.Println("\n  Postflight is ready: . %s", t.layout.Path("env"))
	return nil
}

func (t *tool) awaitState(ctx context.Context, pid int, reached func(session.State) bool) (state session.State, err error) {
	err = wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(context.Context) (bool, error) {
		if state = session.ReadState(t.layout, pid); reached(state) {
			return true, nil
		}
		if session.Supervisor(t.layout) != pid {
			return false, fmt.Errorf("%w: its supervisor has ended; see %s and try again", errStart, t.layout.Path("dev.log"))
		}
		return false, nil
	})
	if ctx.Err() != nil {
		err = errors.New("interrupted; the cluster keeps running")
	}
	return state, err
}
