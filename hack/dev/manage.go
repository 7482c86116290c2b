package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/postflight-dev/postflight/hack/dev/internal/console"
	"github.com/postflight-dev/postflight/hack/dev/internal/images"
	"github.com/postflight-dev/postflight/hack/dev/internal/node"
	"github.com/postflight-dev/postflight/hack/dev/internal/session"
)

// stopPatience is how long an orderly end may take.
const stopPatience = 30 * time.Second

func (t *tool) down() *cobra.Command {
	leave := false
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Stop the cluster and remove everything it left on the machine, except its data",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := t.stop(cmd.Context()); err != nil {
				return err
			}
			if leave {
				return session.LeaveHub(cmd.Context(), t.layout, t.console)
			}
			if hub, knows, ready := session.HubOf(t.layout); knows && ready {
				t.console.Println("The hub %s holds notifications for it, until it is back or `%s` makes the hub forget it.",
					hub.Dir, t.layout.Make("clean-dev"))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&leave, "leave-hub", false, "also make the cluster beside it forget this one")
	return cmd
}

func (t *tool) stop(ctx context.Context) error {
	return t.console.Step("stopping", func(*console.Step) (string, error) {
		pid := session.Supervisor(t.layout)
		if err := t.stopSupervisor(ctx, pid); err != nil {
			return "", err
		}
		if pid == 0 {
			return "nothing was running", node.Clean(t.layout)
		}
		return "the cluster of " + t.layout.Dir + " has ended; its data are kept", node.Clean(t.layout)
	})
}

// stopSupervisor sends SIGTERM, and SIGKILL after stopPatience. The lock proves that pid is the supervisor.
func (t *tool) stopSupervisor(ctx context.Context, pid int) error {
	if pid == 0 {
		return nil
	}
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if err := syscall.Kill(pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
		err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, stopPatience, true, func(context.Context) (bool, error) {
			return session.Supervisor(t.layout) != pid, nil
		})
		if err == nil || ctx.Err() != nil {
			return err
		}
	}
	return fmt.Errorf("process %d does not end", pid)
}

func (t *tool) status() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show what is running. The exit code is 3 if the cluster is not ready",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if !t.printStatus() {
				os.Exit(3)
			}
			return nil
		},
	}
}

func (t *tool) printStatus() bool {
	pid := session.Supervisor(t.layout)
	if pid == 0 {
		t.console.Println("No cluster is running in %s. `%s` starts it.", t.layout.Dir, t.layout.Make("up"))
		return false
	}
	line := func(name, process, detail string) { t.console.Println("  %-24s %8s   %s", name, process, detail) }
	state := session.ReadState(t.layout, pid)
	t.console.Println("%s  %s, supervisor %d", t.console.Bold(state.Phase), t.layout.Dir, pid)
	files, _ := filepath.Glob(t.layout.Path("run", "*.pid")) // sorted
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".pid")
		process, err := os.ReadFile(file) // the supervisor removes it when the process ends
		if err != nil {
			process = []byte("-")
		}
		line(name, strings.TrimSpace(string(process)), t.layout.Log(name))
	}
	if mode := session.ReadMode(t.layout); mode != session.ModeProcess {
		line("manager", mode, "(as a process again: "+t.layout.Make("undeploy")+", "+t.layout.Make("up")+")")
	}
	line("environment", "", ". "+t.layout.Path("env"))
	if state.Message != "" {
		t.console.Warn("%s", state.Message)
	}
	return state.Phase == session.Ready && state.Message == ""
}

func (t *tool) image() *cobra.Command {
	return &cobra.Command{
		Use:   "image",
		Short: "Build the images (no registry, no Docker) and load them into the running node",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			builder := t.builder()
			if err := builder.Product(cmd.Context(), true); err != nil {
				return err
			}
			tools, err := builder.NodeTools(cmd.Context())
			if err != nil {
				return err
			}
			return t.console.Step("images", func(*console.Step) (string, error) {
				loader := images.Loader{Layout: t.layout, Tools: tools}
				where := "no node is running; tarballs for the next one are in "
				if loader.NodeRuns() {
					where = "in the node, and as tarballs in "
				}
				refs, err := loader.Load(cmd.Context())
				return where + t.layout.Path("images") + ": " + strings.Join(refs, ", "), err
			})
		},
	}
}

func (t *tool) modeCommand(use, mode, short string) *cobra.Command {
	return &cobra.Command{
		Use:   use,
		Short: short,
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return t.switchMode(cmd.Context(), mode) },
	}
}

func (t *tool) switchMode(ctx context.Context, mode string) error {
	pid := session.Supervisor(t.layout)
	if pid == 0 {
		return fmt.Errorf("no cluster is running in %s: start it with `%s`", t.layout.Dir, t.layout.Make("up"))
	}
	if mode == session.ModePod && !session.ReadState(t.layout, pid).Node {
		return errors.New("the cluster has no node, so nothing can be deployed to it")
	}
	if err := t.builder().Product(ctx, true); err != nil {
		return err
	}
	if err := session.WriteMode(t.layout, mode); err != nil {
		return err
	}
	return t.refresh(ctx, pid)
}
