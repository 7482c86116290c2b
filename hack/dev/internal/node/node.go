// Package node runs pods with containerd, runc, CNI, kubelet, kube-proxy and CoreDNS. It needs Linux and root, and leaves the machine's
// own containerd alone.
package node

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/postflight-dev/postflight/hack/dev/internal/layout"
	"github.com/postflight-dev/postflight/hack/dev/internal/proc"
)

// Tools are the programs of the distribution that a node needs.
type Tools struct {
	Containerd, Ctr, Runc string
	CNI                   string // folder of plugins
	Busybox               string // static, for the pause image and the demo test image
	Nft                   string // for kube-proxy
	NftLibraries          string // folder, or empty if the system has them
}

// Prepare writes all configuration of the node.
func Prepare(l layout.Layout, p layout.Plan, tools Tools) error {
	if err := errors.Join(writeCNI(l, p), writeContainerd(l, tools), writeKubelet(l, p), writeCorefile(l, p), createCgroup(l)); err != nil {
		return fmt.Errorf("preparing the node: %w", err)
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
		Ready: proc.Dials("unix", l.ContainerdSocket()),
	}
}

// Kubelet is the node agent. It is ready when the node is.
func Kubelet(l layout.Layout, p layout.Plan, ready proc.Check) proc.Spec {
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
