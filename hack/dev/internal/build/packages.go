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

	"github.com/postflight-dev/postflight/hack/dev/internal/console"
	"github.com/postflight-dev/postflight/hack/dev/internal/node"
)

// packages of Debian and Ubuntu are unpacked into bin/node, not installed, so that no service starts.
var packages = []string{"runc", "containernetworking-plugins", "busybox-static"}

// nftPackages are for kube-proxy: nft, and the libraries of it that not every machine has.
var nftPackages = []string{
	"nftables", "libnftables1", "libnftnl11", "libmnl0", "libjansson4", "libxtables12", "libgmp10", "libedit2", "libbsd0", "libmd0",
}

// NodeTools builds containerd, finds the other programs of the node, and downloads their packages if necessary.
func (b Builder) NodeTools(ctx context.Context) (node.Tools, error) {
	lock, err := b.lock()
	if err != nil {
		return node.Tools{}, err
	}
	defer lock.Close()
	if err := b.containerd(ctx); err != nil {
		return node.Tools{}, err
	}
	tools, err := b.packagedTools(ctx)
	tools.Containerd, tools.Ctr = b.Layout.Bin("containerd", "containerd"), b.Layout.Bin("containerd", "ctr")
	return tools, err
}

// packagedTools are the programs that packages of the distribution have.
func (b Builder) packagedTools(ctx context.Context) (node.Tools, error) {
	if _, err := exec.LookPath("apt-get"); err != nil {
		return systemTools()
	}
	folder, nft := b.Layout.Bin("node"), b.Layout.Bin("nft")
	if err := errors.Join(b.unpackOnce(ctx, folder, packages), b.unpackOnce(ctx, nft, nftPackages)); err != nil {
		return node.Tools{}, err
	}
	tools := node.Tools{
		Runc:    filepath.Join(folder, "usr/sbin/runc"),
		CNI:     filepath.Join(folder, "usr/lib/cni"),
		Busybox: firstExisting(filepath.Join(folder, "bin/busybox"), filepath.Join(folder, "usr/bin/busybox")),
		Nft:     filepath.Join(nft, "usr/sbin/nft"),
	}
	if libraries, _ := filepath.Glob(filepath.Join(nft, "usr/lib/*-linux-gnu*")); len(libraries) > 0 {
		tools.NftLibraries = libraries[0]
	}
	if out, err := exec.CommandContext(ctx, tools.Runc, "--version").CombinedOutput(); err != nil {
		return tools, fmt.Errorf("runc does not start (%w): %s; its only dependency is libseccomp2", err, strings.TrimSpace(string(out)))
	}
	return tools, nil
}

func (b Builder) unpackOnce(ctx context.Context, folder string, packages []string) error {
	if exists(folder) {
		return nil
	}
	return b.Console.Step("node packages", func(step *console.Step) (string, error) {
		where := strings.TrimPrefix(folder, b.Layout.Root+"/")
		return strings.Join(packages, ", ") + ", unpacked into " + where + " (nothing is installed)", b.unpack(ctx, step, folder, packages)
	})
}

// unpack downloads the packages, which apt verifies. The folder appears when it is complete.
func (b Builder) unpack(ctx context.Context, step *console.Step, folder string, packages []string) error {
	step.Update("%s from the distribution", strings.Join(packages, ", "))
	partial, err := os.MkdirTemp(b.Layout.Bin(), ".node-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(partial) }()
	download := append([]string{"download"}, packages...)
	if err := apt(ctx, partial, download...); err != nil {
		step.Update("the package lists are old or missing: apt-get update")
		if updateErr := apt(ctx, partial, "update"); updateErr != nil {
			return errors.Join(err, updateErr)
		}
		if err := apt(ctx, partial, download...); err != nil {
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
	return os.Rename(filepath.Join(partial, "root"), folder)
}

func apt(ctx context.Context, dir string, args ...string) error {
	// The user of apt's sandbox may not write to the folder.
	cmd := exec.CommandContext(ctx, "apt-get", append([]string{"-q", "-o", "APT::Sandbox::User=root"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("apt-get %s: %w\n%s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// systemTools finds the programs that are installed, if there is no apt-get.
func systemTools() (node.Tools, error) {
	var missing []string
	look := func(program string) string {
		path, err := exec.LookPath(program)
		if err != nil {
			missing = append(missing, program)
		}
		return path
	}
	tools := node.Tools{Runc: look("runc"), Busybox: look("busybox"), Nft: look("nft")}
	tools.CNI = filepath.Dir(firstExisting("/usr/lib/cni/bridge", "/usr/libexec/cni/bridge", "/opt/cni/bin/bridge"))
	if !exists(tools.CNI) {
		missing = append(missing, "the CNI plugins")
	}
	if len(missing) > 0 {
		return tools, fmt.Errorf("pods need %s: install them with your distribution's package manager "+
			"(busybox statically linked), or start with --no-node", strings.Join(missing, ", "))
	}
	return tools, nil
}

func firstExisting(paths ...string) string { return paths[max(0, slices.IndexFunc(paths, exists))] }
