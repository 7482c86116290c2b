package images

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/postflight-dev/postflight/hack/dev/internal/node"
)

// The images that are built here.
const (
	DemoShop = "docker.io/postflight/demo-shop:dev"
	DemoTest = "docker.io/postflight/demo-test:dev"
	Product  = "docker.io/postflight/postflight:dev"
)

// passwd names the users that busybox looks up.
const passwd = "root:x:0:0:root:/:/bin/sh\nnonroot:x:65532:65532:nonroot:/tmp:/bin/sh\n"

// Pause is the image of every pod's sandbox.
func Pause(busybox string) (Image, error) {
	binary, err := os.ReadFile(busybox)
	if err != nil {
		return Image{}, err
	}
	return Image{
		Ref:    node.PauseImage,
		Files:  []File{{Name: "busybox", Mode: 0o755, Content: binary}},
		Config: v1.Config{Entrypoint: []string{"/busybox", "sleep", "2147483647"}},
	}, nil
}

// Test is the demo's test suite: a shell, wget and the scripts of hack/demo/test.
func Test(root, busybox string) (Image, error) {
	binary, err := os.ReadFile(busybox)
	if err != nil {
		return Image{}, err
	}
	script, err := os.ReadFile(filepath.Join(root, "hack", "demo", "test", "smoke.sh"))
	if err != nil {
		return Image{}, err
	}
	sha, err := os.ReadFile(filepath.Join(root, "hack", "demo", "test", "sha.sh"))
	if err != nil {
		return Image{}, err
	}
	applets, err := exec.Command(busybox, "--list").Output()
	if err != nil {
		return Image{}, fmt.Errorf("asking busybox for its applets: %w", err)
	}
	image := Image{
		Ref: DemoTest,
		Files: append(system(),
			File{Name: "bin/busybox", Mode: 0o755, Content: binary},
			File{Name: "bin/smoke", Mode: 0o755, Content: script},
			File{Name: "bin/sha", Mode: 0o755, Content: sha}),
		Config: v1.Config{
			User:       User,
			WorkingDir: "/tmp",
			Env:        []string{"PATH=/bin", "HOME=/tmp"},
			Entrypoint: []string{"/bin/smoke"},
		},
	}
	for _, applet := range strings.Fields(string(applets)) {
		if applet != "busybox" {
			image.Files = append(image.Files, File{Name: "bin/" + applet, Link: "busybox"})
		}
	}
	return image, nil
}

// Program is an image of static binaries, the first of which is the entrypoint.
func Program(ref string, binaries ...string) (Image, error) {
	image := Image{Ref: ref, Files: system()}
	for _, path := range binaries {
		binary, err := os.ReadFile(path)
		if err != nil {
			return Image{}, err
		}
		image.Files = append(image.Files, File{Name: filepath.Base(path), Mode: 0o755, Content: binary})
	}
	image.Config = v1.Config{
		User:       User,
		WorkingDir: "/tmp",
		Env:        []string{"PATH=/", "HOME=/tmp"},
		Entrypoint: []string{"/" + filepath.Base(binaries[0])},
	}
	return image, nil
}

func system() []File {
	return []File{
		{Name: "bin", Mode: 0o755, Dir: true},
		{Name: "etc", Mode: 0o755, Dir: true},
		{Name: "etc/passwd", Mode: 0o644, Content: []byte(passwd)},
		{Name: "etc/group", Mode: 0o644, Content: []byte("root:x:0:\nnonroot:x:65532:\n")},
		{Name: "tmp", Mode: 0o1777, Dir: true},
	}
}
