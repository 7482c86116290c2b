package build

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/postflight-dev/postflight/hack/dev/internal/node"
)

// packages of Debian and Ubuntu that the node consists of. They are unpacked into bin/node and not
// installed: the machine stays as it is, and no system service of containerd is started.
var packages = []string{"containerd", "runc", "containernetworking-plugins", "busybox-static"}

// NodeTools finds the programs of the node, or gets them from the distribution.
func (b Builder) NodeTools(ctx context.Context) (node.Tools, error) {
	folder := b.Layout.Bin("node")
	if _, err := exec.LookPath("apt-get"); err != nil {
		return systemTools()
	}
	unlock, err := b.lock()
	if err != nil {
		return node.Tools{}, err
	}
	defer unlock()
	if !exists(folder) {
		if err := b.unpack(ctx, folder); err != nil {
			return node.Tools{}, err
		}
	}
	tools := node.Tools{
		Containerd: filepath.Join(folder, "usr/bin/containerd"),
		Ctr:        filepath.Join(folder, "usr/bin/ctr"),
		Runc:       filepath.Join(folder, "usr/sbin/runc"),
		CNI:        filepath.Join(folder, "usr/lib/cni"),
		Busybox:    firstExisting(filepath.Join(folder, "bin/busybox"), filepath.Join(folder, "usr/bin/busybox")),
	}
	if out, err := exec.CommandContext(ctx, tools.Runc, "--version").CombinedOutput(); err != nil {
		return tools, fmt.Errorf("runc does not start (%w): %s; its only dependency is libseccomp2", err, strings.TrimSpace(string(out)))
	}
	return tools, nil
}

// unpack downloads the packages, checked by apt, and extracts them. The folder appears whole.
func (b Builder) unpack(ctx context.Context, folder string) (err error) {
	step := b.Console.Step("node packages")
	step.Update("%s from the distribution", strings.Join(packages, ", "))
	defer func() {
		if err != nil {
			step.Fail()
		}
	}()
	partial, err := os.MkdirTemp(b.Layout.Bin(), ".node-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(partial) }()
	if err := download(ctx, partial); err != nil {
		step.Update("the package lists are old or missing: apt-get update")
		if out, updateErr := apt(ctx, partial, "update"); updateErr != nil {
			return errors.Join(err, fmt.Errorf("apt-get update: %w\n%s", updateErr, out))
		}
		if err := download(ctx, partial); err != nil {
			return err
		}
	}
	archives, err := filepath.Glob(filepath.Join(partial, "*.deb"))
	if err != nil {
		return err
	}
	for _, archive := range archives {
		if out, err := exec.CommandContext(ctx, "dpkg-deb", "-x", archive, filepath.Join(partial, "root")).CombinedOutput(); err != nil {
			return fmt.Errorf("unpacking %s: %w: %s", filepath.Base(archive), err, out)
		}
	}
	if err := os.Rename(filepath.Join(partial, "root"), folder); err != nil {
		return err
	}
	step.Done("%s, unpacked into bin/node (nothing is installed)", strings.Join(packages, ", "))
	return nil
}

func download(ctx context.Context, dir string) error {
	out, err := apt(ctx, dir, append([]string{"download"}, packages...)...)
	if err != nil {
		return fmt.Errorf("apt-get download %s: %w\n%s", strings.Join(packages, " "), err, out)
	}
	return nil
}

func apt(ctx context.Context, dir string, args ...string) (string, error) {
	// The sandbox user may not write to a folder below someone's checkout.
	cmd := exec.CommandContext(ctx, "apt-get", append([]string{"-q", "-o", "APT::Sandbox::User=root"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// systemTools are the ones that are installed, where there is no apt-get.
func systemTools() (node.Tools, error) {
	var missing []string
	look := func(program string) string {
		path, err := exec.LookPath(program)
		if err != nil {
			missing = append(missing, program)
		}
		return path
	}
	tools := node.Tools{Containerd: look("containerd"), Ctr: look("ctr"), Runc: look("runc"), Busybox: look("busybox")}
	folders := []string{"/usr/lib/cni", "/usr/libexec/cni", "/opt/cni/bin"}
	if i := slices.IndexFunc(folders, func(dir string) bool { return exists(filepath.Join(dir, "bridge")) }); i >= 0 {
		tools.CNI = folders[i]
	} else {
		missing = append(missing, "the CNI plugins")
	}
	if len(missing) > 0 {
		return tools, fmt.Errorf("pods need %s: install them with your distribution's package manager (busybox statically linked), or start with --no-node", strings.Join(missing, ", "))
	}
	return tools, nil
}

func firstExisting(paths ...string) string {
	i := max(0, slices.IndexFunc(paths, exists))
	return paths[i]
}
