package node

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/moby/sys/mount"

	"github.com/postflight-dev/postflight/hack/dev/internal/layout"
	"github.com/postflight-dev/postflight/hack/dev/internal/proc"
)

// Folders to which the libraries of containerd always write.
const (
	cniResults = "/var/lib/cni/results"
	logLinks   = "/var/log/containers"
)

// Clean removes everything that a cluster has left on the machine. To containerd and the kubelet it looks like a reboot.
func Clean(l layout.Layout) error {
	owner := proc.Owner{Mark: l.Mark(), Cgroup: l.Cgroup()}
	owner.KillAll(5 * time.Second)
	var problems []error
	try := func(what string, err error) {
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", what, err))
		}
	}
	removeShimSockets(l)
	try("unmounting", mount.RecursiveUnmount(l.Path("node")))
	if os.Geteuid() == 0 {
		try("removing the bridge", removeBridge(l))
		try("removing the cgroup", removeCgroup(l))
	}
	for _, path := range []string{l.Path("node", "state"), l.Path("node", "ipam"), l.ContainerdSocket(), l.Path("run")} {
		try("removing", os.RemoveAll(path))
	}
	removeOutside(l)
	return errors.Join(problems...)
}

// removeShimSockets finds the names in the shims' bundles, because the folder belongs to the machine's containerd.
func removeShimSockets(l layout.Layout) {
	addresses, _ := filepath.Glob(l.Path("node", "state", "io.containerd.runtime.v2.task", "*", "*", "address"))
	for _, file := range addresses {
		address, err := os.ReadFile(file)
		path, isSocket := strings.CutPrefix(strings.TrimSpace(string(address)), "unix://")
		if err == nil && isSocket && filepath.Dir(path) == "/run/containerd/s" {
			_ = os.Remove(path)
		}
	}
}

func removeOutside(l layout.Layout) {
	results, _ := filepath.Glob(filepath.Join(cniResults, l.Bridge()+"-*"))
	for _, file := range results {
		_ = os.Remove(file)
	}
	links, _ := filepath.Glob(filepath.Join(logLinks, "*.log"))
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && strings.HasPrefix(target, l.Dir+"/") {
			_ = os.Remove(link)
		}
	}
}
