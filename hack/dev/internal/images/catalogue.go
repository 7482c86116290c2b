package images

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing/fstest"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/postflight-dev/postflight/hack/dev/internal/node"
)

// The images that this tool builds.
const (
	DemoShop = "docker.io/postflight/demo-shop:dev"
	DemoTest = "docker.io/postflight/demo-test:dev"
	Product  = "docker.io/postflight/postflight:dev"
)

// passwd holds the users that busybox looks up.
const passwd = "root:x:0:0:root:/:/bin/sh\nnonroot:x:65532:65532:nonroot:/tmp:/bin/sh\n"

// Pause is the image of every pod's sandbox.
func Pause(busybox string) (Image, error) {
	binary, err := os.ReadFile(busybox)
	return Image{
		Ref:    node.PauseImage,
		Files:  fstest.MapFS{"busybox": executable(binary)},
		Config: v1.Config{Entrypoint: []string{"/busybox", "sleep", "2147483647"}},
	}, err
}

// Test is the demo's test suite: a shell, wget and the scripts of hack/demo/test.
func Test(root, busybox string) (Image, error) {
	image, err := program(DemoTest, "bin", map[string]string{
		"busybox": busybox,
		"smoke":   filepath.Join(root, "hack", "demo", "test", "smoke.sh"),
		"sha":     filepath.Join(root, "hack", "demo", "test", "sha.sh"),
	})
	if err != nil {
		return Image{}, err
	}
	applets, err := exec.Command(busybox, "--list").Output()
	if err != nil {
		return Image{}, fmt.Errorf("listing the applets of busybox: %w", err)
	}
	for _, applet := range strings.Fields(string(applets)) {
		if applet != "busybox" {
			image.Files["bin/"+applet] = link("busybox")
		}
	}
	image.Config.Entrypoint = []string{"/bin/smoke"}
	return image, nil
}

// Program is an image of static binaries, the first of which is the entrypoint. Each has a layer of its own, so that a
// change of one leaves the others as they are.
func Program(ref string, binaries ...string) (Image, error) {
	image, err := program(ref, ".", nil)
	for _, path := range binaries {
		content, readErr := os.ReadFile(path)
		err = errors.Join(err, readErr)
		image.Layers = append(image.Layers, fstest.MapFS{filepath.Base(path): executable(content)})
	}
	image.Config.Entrypoint = []string{"/" + filepath.Base(binaries[0])}
	return image, err
}

// program is an image with executables in a folder, which is also its PATH.
func program(ref, folder string, executables map[string]string) (Image, error) {
	image := Image{
		Ref: ref,
		Files: fstest.MapFS{
			"bin":        {Mode: fs.ModeDir | 0o755},
			"etc":        {Mode: fs.ModeDir | 0o755},
			"etc/passwd": {Mode: 0o644, Data: []byte(passwd)},
			"etc/group":  {Mode: 0o644, Data: []byte("root:x:0:\nnonroot:x:65532:\n")},
			"tmp":        {Mode: fs.ModeDir | fs.ModeSticky | 0o777},
		},
		Config: v1.Config{User: User, WorkingDir: "/tmp", Env: []string{"PATH=" + filepath.Join("/", folder), "HOME=/tmp"}},
	}
	for name, path := range executables {
		content, err := os.ReadFile(path)
		if err != nil {
			return Image{}, err
		}
		image.Files[filepath.Join(folder, name)] = executable(content)
	}
	return image, nil
}
