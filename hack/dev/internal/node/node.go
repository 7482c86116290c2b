// Package node is the part of a development cluster that runs pods: a bridge, containerd, runc, CNI
// and kubelet. It needs Linux and root, and leaves the machine's own containerd alone.
package node

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/postflight-dev/postflight/hack/dev/internal/layout"
	"github.com/postflight-dev/postflight/hack/dev/internal/proc"
)

// Tools are the programs of the distribution that the node consists of.
type Tools struct {
	Containerd, Ctr, Runc string
	CNI                   string // folder of plugins
	Busybox               string // static; what the pause and the demo test image consist of
}

// Prepare writes all configuration of the node.
func Prepare(l layout.Layout, p layout.Plan, tools Tools) error {
	for _, write := range []func() error{
		func() error { return writeCNI(l, p) },
		func() error { return writeContainerd(l, tools) },
		func() error { return writeKubelet(l, p) },
		func() error { return createCgroup(l) },
	} {
		if err := write(); err != nil {
			return fmt.Errorf("preparing the node: %w", err)
		}
	}
	return nil
}

// Containerd is the container runtime.
func Containerd(l layout.Layout, tools Tools) proc.Spec {
	return proc.Spec{
		Name:  "containerd",
		Path:  tools.Containerd,
		Args:  []string{"--config", l.Path("node", "containerd.toml")},
		Env:   []string{"PATH=" + filepath.Dir(tools.Containerd) + ":" + filepath.Dir(tools.Runc) + ":" + os.Getenv("PATH")},
		Grace: 2 * time.Second,
		Ready: func(ctx context.Context) error { return dial(ctx, l.ContainerdSocket()) },
	}
}

func dial(ctx context.Context, socket string) error {
	connection, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		return err
	}
	return connection.Close()
}

// Kubelet is the node agent; ready tells whether the node is.
func Kubelet(l layout.Layout, p layout.Plan, ready func(context.Context) error) proc.Spec {
	return proc.Spec{
		Name: "kubelet",
		Path: l.Bin("cluster", "kubelet"),
		Args: []string{
			"--config=" + l.Path("node", "kubelet.json"),
			"--kubeconfig=" + l.Kubeconfig("node"),
			"--root-dir=" + l.Path("node", "kubelet"),
			"--cert-dir=" + l.Path("pki"),
			"--hostname-override=" + Name,
			"--node-ip=" + p.BridgeIP(),
		},
		Grace: 2 * time.Second,
		Ready: ready,
	}
}
