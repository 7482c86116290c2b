package node

import (
	"bytes"
	"os"
	"strings"
	"text/template"

	"github.com/postflight-dev/postflight/hack/dev/internal/layout"
)

// PauseImage keeps the namespaces of a pod open. This tool builds it.
const PauseImage = "docker.io/postflight/pause:dev"

// Without restrict_oom_score_adj every sandbox fails on machines whose root may not lower oom_score_adj (containers, some virtual
// machines).
var containerdConfig = template.Must(template.New("containerd").Parse(`version = 2
root = "{{.Dir}}/node/containerd"
state = "{{.Dir}}/node/state"
disabled_plugins = [
  "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs",
  "io.containerd.internal.v1.tracing", "io.containerd.tracing.processor.v1.otlp",
]

[grpc]
address = "{{.Socket}}"

# Its socket is one for the whole machine.
[plugins."io.containerd.nri.v1.nri"]
disable = true

[plugins."io.containerd.internal.v1.opt"]
path = "{{.Dir}}/node/opt"

[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "{{.Pause}}"
restrict_oom_score_adj = true
netns_mounts_under_state_dir = true
stream_server_address = "127.0.0.1"

[plugins."io.containerd.grpc.v1.cri".containerd]
snapshotter = "{{.Snapshotter}}"
default_runtime_name = "runc"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
BinaryName = "{{.Runc}}"
SystemdCgroup = false

[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "{{.CNI}}"
conf_dir = "{{.Dir}}/node/cni"
`))

func writeContainerd(l layout.Layout, tools Tools) error {
	var text bytes.Buffer
	err := containerdConfig.Execute(&text, map[string]string{
		"Dir":         l.Dir,
		"Socket":      l.ContainerdSocket(),
		"Pause":       PauseImage,
		"Snapshotter": Snapshotter(l),
		"Runc":        tools.Runc,
		"CNI":         tools.CNI,
	})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(l.Path("node", "state"), 0o711); err != nil {
		return err
	}
	return layout.WriteFile(l.Path("node", "containerd.toml"), text.Bytes(), 0o644)
}

// Snapshotter is overlayfs, unless the folder is itself on an overlay (inside a container): the kernel refuses to nest them.
func Snapshotter(l layout.Layout) string {
	known, err := os.ReadFile("/proc/filesystems")
	if err != nil || !strings.Contains(string(known), "overlay") || onOverlay(l.Dir) {
		return "native"
	}
	return "overlayfs"
}
