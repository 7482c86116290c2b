package node

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/postflight-dev/postflight/hack/dev/internal/layout"
	"github.com/postflight-dev/postflight/hack/dev/internal/proc"
)

// Places outside the cluster's folder that the runtime's libraries write to, whatever is configured.
const (
	cniResults = "/var/lib/cni/results"
	logLinks   = "/var/log/containers"
)

// Clean ends and removes whatever a cluster of this folder has left on the machine: after a clean
// stop the pods, after a crash perhaps everything. For containerd and kubelet the next start then
// looks like the one after a reboot.
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
	try("unmounting", unmountBelow(l.Dir))
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

// unmountBelow unmounts everything below dir, the deepest first.
func unmountBelow(dir string) error {
	mounts, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	defer mounts.Close()
	var points []string
	for lines := bufio.NewScanner(mounts); lines.Scan(); {
		if point := mountPoint(lines.Text()); strings.HasPrefix(point, dir+"/") {
			points = append(points, point)
		}
	}
	var problems []error
	for _, point := range slices.Backward(points) { // later mounts lie on top of earlier ones
		if err := unix.Unmount(point, unix.MNT_DETACH); err != nil && !errors.Is(err, unix.EINVAL) {
			problems = append(problems, &fs.PathError{Op: "unmount", Path: point, Err: err})
		}
	}
	return errors.Join(problems...)
}

// mountPoint is the fifth field of a line of mountinfo, with its octal escapes undone.
func mountPoint(line string) string {
	fields := strings.Fields(line)
	if len(fields) < 5 {
		return ""
	}
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(fields[4])
}

// removeShimSockets removes the sockets of the shims, which are in a folder of the machine's own
// containerd, under names that only the shims' bundles tell.
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
