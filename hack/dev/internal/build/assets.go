// Package build makes the binaries that a development cluster consists of. All of them come from Go
// modules, or from the distribution's packages; none is downloaded ready-made.
package build

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/postflight-dev/postflight/hack/dev/internal/console"
	"github.com/postflight-dev/postflight/hack/dev/internal/layout"
)

// KubernetesVersion is what hack/cluster/go.mod requires. Clients refuse a server that does not know
// its own version, and a module build does not stamp it.
const KubernetesVersion = "v1.36.1"

// programs are the names by which the multi-call binary is called.
var programs = []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kubectl"}

// Builder builds into bin/ of a checkout.
type Builder struct {
	Layout  layout.Layout
	Console *console.Console
}

// Assets builds the control plane and the store when their sources changed since the last time.
// Afterwards bin/cluster holds a link per program (what envtest wants as KUBEBUILDER_ASSETS), and
// bin/store is the object store.
func (b Builder) Assets(ctx context.Context) error {
	if err := os.MkdirAll(b.Layout.Bin(), 0o755); err != nil {
		return err
	}
	unlock, err := b.lock()
	if err != nil {
		return err
	}
	defer unlock()
	if err := b.cluster(ctx); err != nil {
		return err
	}
	return b.store(ctx)
}

func (b Builder) cluster(ctx context.Context) error {
	const stamp = "k8s.io/component-base/version."
	source := filepath.Join(b.Layout.Root, "hack", "cluster")
	key, err := sourceKey(source)
	if err != nil {
		return err
	}
	folder := "cluster-" + key
	if !exists(b.Layout.Bin(folder, "kubectl")) {
		err := b.compile(ctx, compilation{
			name:   "Kubernetes " + KubernetesVersion,
			hint:   "the first time takes 7 to 12 minutes",
			source: source,
			output: b.Layout.Bin(folder, "cluster"),
			flags: []string{"-ldflags", "-s -w -X " + stamp + "gitVersion=" + KubernetesVersion +
				" -X " + stamp + "gitMajor=1 -X " + stamp + "gitMinor=36"},
		})
		if err != nil {
			return err
		}
		for _, program := range programs {
			if err := link("cluster", b.Layout.Bin(folder, program)); err != nil {
				return err
			}
		}
	}
	return b.use(folder, "cluster")
}

func (b Builder) store(ctx context.Context) error {
	source := filepath.Join(b.Layout.Root, "hack", "store")
	key, err := sourceKey(source)
	if err != nil {
		return err
	}
	binary := "store-" + key
	if !exists(b.Layout.Bin(binary)) {
		err := b.compile(ctx, compilation{
			name:   "object store",
			hint:   "the first time takes half a minute",
			source: source,
			output: b.Layout.Bin(binary),
			flags:  []string{"-ldflags", "-s -w"},
		})
		if err != nil {
			return err
		}
	}
	return b.use(binary, "store")
}

// use makes bin/NAME lead to what was built from the present sources, and removes older ones. What
// still runs from those keeps its file.
func (b Builder) use(built, name string) error {
	if err := link(built, b.Layout.Bin(name)); err != nil {
		return err
	}
	all, err := filepath.Glob(b.Layout.Bin(name + "-*"))
	if err != nil {
		return err
	}
	for _, path := range all {
		if filepath.Base(path) != built {
			if err := os.RemoveAll(path); err != nil {
				return err
			}
		}
	}
	return nil
}

// sourceKey names a module's state: its own files and, through go.sum, all that it depends on.
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

// link replaces whatever name is by a symbolic link, without a moment in which it is missing.
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
