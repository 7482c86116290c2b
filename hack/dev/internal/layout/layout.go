// Package layout holds the paths, names, ports and networks by which a development cluster recognizes what belongs to it.
package layout

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// MarkVariable is set to the cluster's folder in all its processes, by which they are found after a crash.
const MarkVariable = "POSTFLIGHT_DEV_DIR"

// A unix socket's path has at most 107 bytes; the longest one here is the kubelet's pod-resources socket.
const maxDir = 107 - len("/node/kubelet/device-plugins/kubelet.sock")

// Layout is one development cluster on this machine.
type Layout struct {
	Root string // the checkout
	Dir  string // the cluster's state; absolute, without symbolic links
}

// New finds the checkout above the working directory, and creates the cluster's folder.
func New(dir string) (Layout, error) {
	root, err := findRoot()
	if err != nil {
		return Layout{}, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return Layout{}, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return Layout{}, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return Layout{}, err
	}
	if len(dir) > maxDir {
		return Layout{}, fmt.Errorf("the path %s is too long: sockets below it need a path of at most %d characters; "+
			"choose a shorter --dir", dir, maxDir)
	}
	return Layout{Root: root, Dir: dir}, nil
}

func findRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "hack", "cluster", "go.mod")); err == nil {
			return filepath.EvalSymlinks(dir)
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("not inside a checkout of Postflight: no folder above this one has hack/cluster")
		}
		dir = parent
	}
}

// Path is a path below the cluster's folder.
func (l Layout) Path(elem ...string) string {
	return filepath.Join(append([]string{l.Dir}, elem...)...)
}

// Bin is a path below bin/, which has all binaries and outlives the folder of the cluster.
func (l Layout) Bin(elem ...string) string {
	return filepath.Join(append([]string{l.Root, "bin"}, elem...)...)
}

// ID is part of the names of the bridge and the cgroup, because other folders have clusters too.
func (l Layout) ID() string {
	sum := sha256.Sum256([]byte(l.Dir))
	return hex.EncodeToString(sum[:4])
}

// Bridge is the name of the network bridge (at most 15 characters).
func (l Layout) Bridge() string { return "pf-" + l.ID() }

// ServiceInterface is the name of the bridge's port to the router of cluster IPs.
func (l Layout) ServiceInterface() string { return l.Bridge() + "-s" }

// Cgroup is the cgroup, below the root of each hierarchy, that holds all pods.
func (l Layout) Cgroup() string { return "postflight-" + l.ID() }

// Mark is the environment entry that every process of the cluster carries.
func (l Layout) Mark() string { return MarkVariable + "=" + l.Dir }

// Log is the log file of a component.
func (l Layout) Log(name string) string { return l.Path("logs", name+".log") }

// Kubeconfig is the file for a user, e.g. "admin".
func (l Layout) Kubeconfig(user string) string {
	if user == "admin" {
		return l.Path("kubeconfig")
	}
	return l.Path(user + ".kubeconfig")
}

// ContainerdSocket is the socket of the node's containerd.
func (l Layout) ContainerdSocket() string { return l.Path("node", "containerd.sock") }

// Lock opens a file and locks it until it is closed. It calls waiting, if set, while another process holds the lock.
func Lock(path string, waiting func()) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
		return file, nil
	}
	if waiting != nil {
		waiting()
	}
	return file, unix.Flock(int(file.Fd()), unix.LOCK_EX)
}
