package node

import (
	"encoding/json"
	"errors"
	"os"
	"strings"

	"github.com/postflight-dev/postflight/hack/dev/internal/layout"
)

// Name is the node's name in the cluster.
const Name = "local"

func kubeletConfig(l layout.Layout, p layout.Plan) map[string]any {
	return map[string]any{
		"apiVersion": "kubelet.config.k8s.io/v1beta1",
		"kind":       "KubeletConfiguration",

		"address":           p.BridgeIP(),
		"port":              p.PortBase + layout.PortKubelet,
		"readOnlyPort":      0,
		"healthzPort":       0,
		"tlsCertFile":       l.Path("pki", "node.crt"),
		"tlsPrivateKeyFile": l.Path("pki", "node.key"),
		"authentication": map[string]any{
			"anonymous": map[string]any{"enabled": false},
			"webhook":   map[string]any{"enabled": true},
			"x509":      map[string]any{"clientCAFile": l.Path("pki", "ca.crt")},
		},
		"authorization": map[string]any{"mode": "Webhook"},

		"containerRuntimeEndpoint": "unix://" + l.ContainerdSocket(),
		"cgroupDriver":             "cgroupfs",
		"cgroupRoot":               "/" + l.Cgroup(),
		"failCgroupV1":             false,
		"failSwapOn":               false,
		"podLogsDir":               l.Path("node", "pods"),
		"makeIPTablesUtilChains":   false, // the firewall is the machine's
		"volumePluginDir":          l.Path("node", "kubelet") + "/volume-plugins",

		"clusterDNS":    []string{p.DNSIP()},
		"clusterDomain": ClusterDomain,
		"resolvConf":    l.Path("node", "resolv.conf"),

		// Pods beyond their own disk limit are evicted, but none because a developer's disk is full. Images stay: they cannot be pulled.
		"localStorageCapacityIsolation": true,
		"imageGCHighThresholdPercent":   100,
		"evictionHard": map[string]string{
			"memory.available": "50Mi", "nodefs.available": "0%", "nodefs.inodesFree": "0%", "imagefs.available": "0%",
		},

		// Runs should start at once.
		"kubeAPIQPS":          200,
		"kubeAPIBurst":        400,
		"maxPods":             250,
		"serializeImagePulls": false,
	}
}

// writeKubelet writes the KubeletConfiguration. JSON is YAML.
func writeKubelet(l layout.Layout, p layout.Plan) error {
	content, err := json.MarshalIndent(kubeletConfig(l, p), "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(l.Path("node", "kubelet"), 0o755); err != nil {
		return err
	}
	return errors.Join(writeResolvConf(l), layout.WriteFile(l.Path("node", "kubelet.json"), content, 0o644))
}

// writeResolvConf copies the machine's, except the domains that its programs search in: pods would, too.
func writeResolvConf(l layout.Layout) error {
	content, err := os.ReadFile("/etc/resolv.conf")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return layout.WriteFile(l.Path("node", "resolv.conf"), []byte(withoutDomains(string(content))), 0o644)
}

func withoutDomains(resolvConf string) string {
	var kept strings.Builder
	for line := range strings.Lines(resolvConf) {
		words := strings.Fields(line)
		if len(words) == 0 || (words[0] != "search" && words[0] != "domain") {
			kept.WriteString(line)
		}
	}
	return kept.String()
}
