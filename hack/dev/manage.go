package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/postflight-dev/postflight/hack/dev/internal/images"
	"github.com/postflight-dev/postflight/hack/dev/internal/node"
	"github.com/postflight-dev/postflight/hack/dev/internal/session"
)

// stopPatience is how long a supervisor may take for an orderly end.
const stopPatience = 30 * time.Second

func (t *tool) down() *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "Stop the cluster and remove whatever it left on the machine; its data stay",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			step := t.console.Step("stopping")
			pid := session.Supervisor(t.layout)
			if err := t.stopSupervisor(pid); err != nil {
				step.Fail()
				return err
			}
			if err := node.Clean(t.layout); err != nil {
				step.Fail()
				return err
			}
			if pid == 0 {
				step.Done("nothing was running")
			} else {
				step.Done("the cluster of %s has ended; its data stay", t.layout.Dir)
			}
			return nil
		},
	}
}

// stopSupervisor asks, waits, and in the end insists. The lock proves that pid is the supervisor.
func (t *tool) stopSupervisor(pid int) error {
	if pid == 0 {
		return nil
	}
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if err := syscall.Kill(pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
		for deadline := time.Now().Add(stopPatience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
			if session.Supervisor(t.layout) != pid {
				return nil
			}
		}
	}
	return fmt.Errorf("process %d does not end", pid)
}

func (t *tool) status() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show what runs; the exit code is 3 if the cluster is not ready",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			pid := session.Supervisor(t.layout)
			state := session.ReadState(t.layout, pid)
			if pid == 0 {
				t.console.Println("No cluster runs in %s. `make up` starts it.", t.layout.Dir)
				os.Exit(3)
			}
			t.console.Println("%s  %s, supervisor %d", t.console.Bold(state.Phase), t.layout.Dir, pid)
			files, _ := filepath.Glob(t.layout.Path("run", "*.pid"))
			slices.Sort(files)
			for _, file := range files {
				name := strings.TrimSuffix(filepath.Base(file), ".pid")
				t.console.Println("  %-24s %8s   %s", name, t.process(file), t.layout.Log(name))
			}
			if mode := session.ReadMode(t.layout); mode != session.ModeProcess {
				t.console.Println("  %-24s %8s   (make undeploy, make up: as a process again)", "manager", mode)
			}
			t.console.Println("  %-24s %8s   . %s", "environment", "", t.layout.Path("env"))
			if state.Message != "" {
				t.console.Warn("%s", state.Message)
			}
			if state.Phase != session.Ready || state.Message != "" {
				os.Exit(3)
			}
			return nil
		},
	}
}

// process is the id in a pid file. The supervisor removes the file when the process ends.
func (t *tool) process(file string) string {
	content, err := os.ReadFile(file)
	if err != nil {
		return "-"
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		return "-"
	}
	return strconv.Itoa(pid)
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
			step := t.console.Step("images")
			loader := images.Loader{Layout: t.layout, Tools: tools}
			refs, err := loader.Load(cmd.Context())
			if err != nil {
				step.Fail()
				return err
			}
			where := "in the node, and as tarballs in "
			if !loader.NodeRuns() {
				where = "no node runs; tarballs for the next one in "
			}
			step.Done("%s: %s", where+t.layout.Path("images"), strings.Join(refs, ", "))
			return nil
		},
	}
}

func (t *tool) deploy() *cobra.Command {
	return t.modeCommand("deploy", session.ModePod, "Run the manager in the cluster, from the shipped manifests and the image")
}

func (t *tool) undeploy() *cobra.Command {
	return t.modeCommand("undeploy", session.ModeProcess, "Run the manager as a process again")
}

func (t *tool) modeCommand(use, mode, short string) *cobra.Command {
	return &cobra.Command{
		Use:   use,
		Short: short,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return t.switchMode(cmd.Context(), mode)
		},
	}
}

func (t *tool) switchMode(ctx context.Context, mode string) error {
	pid := session.Supervisor(t.layout)
	if pid == 0 {
		return fmt.Errorf("no cluster runs in %s: start it with `make up`", t.layout.Dir)
	}
	if mode == session.ModePod && !session.ReadState(t.layout, pid).Node {
		return errors.New("the cluster runs without a node, so nothing can be deployed to it")
	}
	if err := t.builder().Product(ctx, true); err != nil {
		return err
	}
	if err := session.WriteMode(t.layout, mode); err != nil {
		return err
	}
	return t.refresh(ctx, pid)
}
