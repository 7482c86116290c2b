// Command dev runs a development cluster: Kubernetes with a node, an object store and the manager, all below one folder.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/postflight-dev/postflight/hack/dev/internal/build"
	"github.com/postflight-dev/postflight/hack/dev/internal/console"
	"github.com/postflight-dev/postflight/hack/dev/internal/layout"
	"github.com/postflight-dev/postflight/hack/dev/internal/session"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends this program and its children at once; the next start cleans up
	if err := rootCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "\nerror: %v\n", err)
		os.Exit(1)
	}
}

type tool struct {
	dir       string
	cluster   string
	portBase  int
	noManager bool
	noNode    bool
	noDNS     bool

	layout  layout.Layout
	console *console.Console
}

func rootCommand() *cobra.Command {
	t := &tool{console: console.New(os.Stdout)}
	root := &cobra.Command{
		Use:           "dev",
		Short:         "Run a Kubernetes cluster for development below one folder",
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(*cobra.Command, []string) (err error) {
			dir := t.dir
			if dir == "" {
				if dir, err = layout.Folder(t.cluster); err != nil {
					return err
				}
			}
			t.layout, err = layout.New(dir)
			return err
		},
	}
	root.PersistentFlags().StringVar(&t.cluster, "cluster", "", "name of a further cluster, in the folder .dev-NAME")
	root.PersistentFlags().StringVar(&t.dir, "dir", "", "folder for all state; each folder is a cluster of its own (default .dev)")
	root.MarkFlagsMutuallyExclusive("cluster", "dir")
	root.AddCommand(t.assets(), t.run(), t.up(), t.down(), t.status(), t.image(),
		t.modeCommand("deploy", session.ModePod, "Run the manager in the cluster, from the shipped manifests and the image"),
		t.modeCommand("undeploy", session.ModeProcess, "Run the manager as a process again"))
	return root
}

func (t *tool) assets() *cobra.Command {
	return &cobra.Command{
		Use:   "assets",
		Short: "Build only the control plane and the object store into bin/",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return t.builder().Assets(cmd.Context()) },
	}
}

func (t *tool) builder() build.Builder { return build.Builder{Layout: t.layout, Console: t.console} }

func (t *tool) startFlags(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().IntVar(&t.portBase, "port-base", layout.DefaultPortBase,
		"first of 20 ports; if they are in use or another cluster's, the next free ones")
	cmd.Flags().BoolVar(&t.noManager, "no-manager", false, "start only the cluster and the store, for tests that start managers")
	cmd.Flags().BoolVar(&t.noNode, "no-node", false, "start no containerd and no kubelet: pods do not run")
	cmd.Flags().BoolVar(&t.noDNS, "no-dns", false, "neither build nor start CoreDNS: pods find no Service by its name")
	return cmd
}

func (t *tool) options() session.Options {
	return session.Options{PortBase: t.portBase, Node: t.withNode(), DNS: !t.noDNS}
}

func (t *tool) withNode() bool { return !t.noNode && runtime.GOOS == "linux" && os.Geteuid() == 0 }

// prepare builds everything, in the foreground because that may take minutes.
func (t *tool) prepare(ctx context.Context) error {
	if !t.withNode() && !t.noNode {
		t.console.Warn("Pods will not run here: that needs Linux and root. Everything else will.")
	}
	if err := t.chooseMode(); err != nil {
		return err
	}
	builder := t.builder()
	if err := builder.Assets(ctx); err != nil {
		return err
	}
	if t.withNode() {
		if _, err := builder.NodeTools(ctx); err != nil {
			return err
		}
	}
	if t.withNode() && !t.noDNS {
		if err := builder.DNS(ctx); err != nil {
			return err
		}
	}
	return builder.Product(ctx, !t.noManager)
}

// chooseMode leaves a manager that was deployed as a pod as it is.
func (t *tool) chooseMode() error {
	switch {
	case t.noManager:
		return session.WriteMode(t.layout, session.ModeNone)
	case session.ReadMode(t.layout) == session.ModeNone:
		return session.WriteMode(t.layout, session.ModeProcess)
	}
	return nil
}
