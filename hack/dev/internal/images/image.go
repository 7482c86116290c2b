// Package images has the images of the development cluster, and loads them into its node.
package images

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing/fstest"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/postflight-dev/postflight/hack/dev/image"
	"github.com/postflight-dev/postflight/hack/dev/internal/node"
)

// Image is a container image with a name.
type Image struct {
	image.Image
	Ref string // with the registry's host, as containerd stores it: docker.io/postflight/x:dev
}

// Save writes the image as a tarball, in the format of docker save, and returns its digest.
func (i Image) Save(path string) (digest string, err error) {
	built, err := i.Build(runtime.GOARCH, image.Uncompressed)
	if err != nil {
		return "", err
	}
	hash, err := built.Digest()
	if err != nil {
		return "", err
	}
	tag, err := name.NewTag(i.Ref)
	if err != nil {
		return "", err
	}
	return hash.String(), tarball.WriteToFile(path, tag, built)
}

// The images that this tool builds.
const (
	DemoShop = "docker.io/postflight/demo-shop:dev"
	DemoTest = "docker.io/postflight/demo-test:dev"
	Product  = "docker.io/postflight/postflight:dev"
)

// Pause is the image of every pod's sandbox.
func Pause(busybox string) (Image, error) {
	binary, err := os.ReadFile(busybox)
	return Image{Ref: node.PauseImage, Image: image.Image{
		Files:  fstest.MapFS{"busybox": image.Executable(binary)},
		Config: v1.Config{Entrypoint: []string{"/busybox", "sleep", "2147483647"}},
	}}, err
}

// Test is the demo's test suite: a shell, wget and the scripts of hack/demo/test.
func Test(root, busybox string) (Image, error) {
	test := Image{Ref: DemoTest, Image: image.Base("bin")}
	for name, path := range map[string]string{
		"busybox": busybox,
		"smoke":   filepath.Join(root, "hack", "demo", "test", "smoke.sh"),
		"sha":     filepath.Join(root, "hack", "demo", "test", "sha.sh"),
	} {
		content, err := os.ReadFile(path)
		if err != nil {
			return Image{}, err
		}
		test.Files["bin/"+name] = image.Executable(content)
	}
	applets, err := exec.Command(busybox, "--list").Output()
	if err != nil {
		return Image{}, fmt.Errorf("listing the applets of busybox: %w", err)
	}
	for _, applet := range strings.Fields(string(applets)) {
		if applet != "busybox" {
			test.Files["bin/"+applet] = image.Link("busybox")
		}
	}
	test.Config.Entrypoint = []string{"/bin/smoke"}
	return test, nil
}
