// Package build makes the binaries of a development cluster from Go modules and packages of the distribution.
package build

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/postflight-dev/postflight/hack/dev/internal/console"
	"github.com/postflight-dev/postflight/hack/dev/internal/layout"
)

// KubernetesVersion is the version in hack/cluster/go.mod. It is stamped, because clients refuse a server without a version.
const KubernetesVersion = "v1.36.1"

const stamp = "-X k8s.io/component-base/version."

// Builder builds into bin/ of a checkout.
type Builder struct {
	Layout  layout.Layout
	Console *console.Console
}

// Assets builds the control plane and the object store if their sources have changed. bin/cluster has a link per program, as envtest
// expects in KUBEBUILDER_ASSETS.
func (b Builder) Assets(ctx context.Context) error {
	lock, err := b.lock()
	if err != nil {
		return err
	}
	defer lock.Close()
	err = b.asset(ctx, "cluster", compilation{
		name:     "Kubernetes " + KubernetesVersion,
		hint:     "the first time takes 7 to 12 minutes",
		programs: []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy", "kubelet", "kubectl"},
		flags: []string{"-ldflags", "-s -w " +
			stamp + "gitVersion=" + KubernetesVersion + " " + stamp + "gitMajor=1 " + stamp + "gitMinor=36"},
	})
	if err != nil {
		return err
	}
	return b.asset(ctx, "store", compilation{
		name:  "object store",
		hint:  "the first time takes half a minute",
		flags: []string{"-ldflags", "-s -w"},
	})
}

// DNS builds CoreDNS, which only a cluster with a node needs.
func (b Builder) DNS(ctx context.Context) error {
	lock, err := b.lock()
	if err != nil {
		return err
	}
	defer lock.Close()
	return b.asset(ctx, "coredns", compilation{
		name:  "CoreDNS",
		hint:  "the first time takes a minute",
		flags: []string{"-ldflags", "-s -w"},
	})
}

// containerd builds the container runtime, whose programs are those that the module names as tools. The one of Debian 12 loses the
// end of a container's output on a busy node (containerd/containerd#8643).
func (b Builder) containerd(ctx context.Context) error {
	return b.asset(ctx, "containerd", compilation{
		name:     "containerd",
		hint:     "the first time takes two minutes",
		packages: "tool",
		flags:    []string{"-ldflags", "-s -w"},
	})
}

// asset builds a module of hack under a name with its key, and links the plain name to it. Running processes keep their older file.
func (b Builder) asset(ctx context.Context, name string, c compilation) error {
	c.source = filepath.Join(b.Layout.Root, "hack", name)
	key, err := sourceKey(c.source)
	if err != nil {
		return err
	}
	built := name + "-" + key
	c.output = b.Layout.Bin(built)
	last := c.output
	if len(c.programs) > 0 {
		c.output, last = b.Layout.Bin(built, name), b.Layout.Bin(built, c.programs[len(c.programs)-1])
	}
	if !exists(last) {
		if err := b.compile(ctx, c); err != nil {
			return err
		}
		for _, program := range c.programs {
			if err := link(name, b.Layout.Bin(built, program)); err != nil {
				return err
			}
		}
	}
	if err := link(built, b.Layout.Bin(name)); err != nil {
		return err
	}
	all, err := filepath.Glob(b.Layout.Bin(name + "-*"))
	for _, path := range all {
		if filepath.Base(path) != built {
			err = errors.Join(err, os.RemoveAll(path))
		}
	}
	return err
}

// sourceKey is a hash of a module: its own files and, through go.sum, all dependencies.
func sourceKey(dir string) (string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return "", err
	}
	files = append(files, filepath.Join(dir, "go.mod"), filepath.Join(dir, "go.sum"))
	slices.Sort(files)
	hash := sha256.New()
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(hash, "%s %d\n%s", filepath.Base(file), len(content), content)
	}
	return hex.EncodeToString(hash.Sum(nil)[:6]), nil
}

func link(target, name string) error {
	if current, err := os.Readlink(name); err == nil && current == target {
		return nil
	}
	temporary := fmt.Sprintf("%s.%d", name, os.Getpid())
	if err := os.Symlink(target, temporary); err != nil {
		return err
	}
	return os.Rename(temporary, name)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
