package images

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/postflight-dev/postflight/hack/dev/image"
	"github.com/postflight-dev/postflight/hack/dev/internal/layout"
	"github.com/postflight-dev/postflight/hack/dev/internal/node"
)

// Loader builds all images into DIR/images, and loads them into the node if it runs.
type Loader struct {
	Layout layout.Layout
	Tools  node.Tools
}

// Record is the file with the digest of the image that the node has under this name.
func Record(l layout.Layout, ref string) string { return l.Path("node", "images", fileName(ref)) }

// Archive is the tarball of an image, in the format of docker save.
func Archive(l layout.Layout, ref string) string { return l.Path("images", fileName(ref)+".tar") }

func fileName(ref string) string {
	return strings.NewReplacer("/", "_", ":", "_").Replace(strings.TrimPrefix(ref, "docker.io/postflight/"))
}

// Load builds all images, loads those that have changed, and returns their names.
func (l Loader) Load(ctx context.Context) ([]string, error) {
	images, err := l.catalogue()
	if err != nil {
		return nil, err
	}
	var refs []string
	for _, image := range images {
		if err := l.load(ctx, image); err != nil {
			return nil, fmt.Errorf("image %s: %w", image.Ref, err)
		}
		refs = append(refs, strings.TrimPrefix(image.Ref, "docker.io/"))
	}
	return refs, nil
}

func (l Loader) catalogue() ([]Image, error) {
	pause, err := Pause(l.Tools.Busybox)
	if err != nil {
		return nil, err
	}
	test, err := Test(l.Layout.Root, l.Tools.Busybox)
	if err != nil {
		return nil, err
	}
	images := []Image{pause, test}
	for _, program := range []struct {
		ref      string
		binaries []string
	}{{DemoShop, []string{"demo-shop"}}, {Product, image.Programs}} {
		var binaries []string
		for _, name := range program.binaries {
			if path := l.Layout.Bin(name); exists(path) {
				binaries = append(binaries, path)
			}
		}
		if len(binaries) == 0 {
			continue
		}
		built, err := image.Program(binaries...)
		if err != nil {
			return nil, err
		}
		images = append(images, Image{Ref: program.ref, Image: built})
	}
	return images, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func (l Loader) load(ctx context.Context, image Image) error {
	archive, record := Archive(l.Layout, image.Ref), Record(l.Layout, image.Ref)
	for _, file := range []string{archive, record} {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
	}
	digest, err := image.Save(archive)
	if err != nil {
		return err
	}
	loaded, err := os.ReadFile(record)
	if (err == nil && string(loaded) == digest) || !l.NodeRuns() {
		return nil
	}
	cmd := exec.CommandContext(ctx, l.Tools.Ctr, "--address", l.Layout.ContainerdSocket(), "--namespace", "k8s.io",
		"images", "import", "--snapshotter", node.Snapshotter(l.Layout), archive)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("loading it into the node: %w\n%s", err, out)
	}
	return layout.WriteFile(record, []byte(digest), 0o644)
}

// NodeRuns reports whether there is a container runtime to load images into.
func (l Loader) NodeRuns() bool { return exists(l.Layout.ContainerdSocket()) }
