package node

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/postflight-dev/postflight/hack/dev/internal/layout"
	"github.com/postflight-dev/postflight/hack/dev/internal/proc"
)

// ClusterDomain is the DNS suffix of all Services.
const ClusterDomain = "cluster.local"

// Ports of the health endpoints in the namespace of the service network, where nothing else listens.
const (
	proxyHealth = "10256"
	dnsReady    = "8181"
)

// Proxy is kube-proxy. enter moves it into a namespace of its own, so that its rules do not touch the machine's.
func Proxy(l layout.Layout, p layout.Plan, tools Tools, enter func() error, get func(url string) proc.Check) proc.Spec {
	health := net.JoinHostPort(p.ServiceRouterIP(), proxyHealth)
	return proc.Spec{
		Name: "kube-proxy",
		Path: l.Bin("cluster", "kube-proxy"),
		Args: []string{
			"--kubeconfig=" + l.Kubeconfig("kube-proxy"),
			"--hostname-override=" + Name,
			"--proxy-mode=nftables",
			"--cluster-cidr=" + p.PodCIDR(),
			// Answers have to come back through this namespace, and pods would send them directly to other pods.
			"--masquerade-all",
			"--nodeport-addresses=" + p.ServiceRouterIP() + "/32",
			"--healthz-bind-address=" + health,
			"--metrics-bind-address=127.0.0.1:10249",
			// Only the machine itself may set these limits.
			"--conntrack-max-per-core=0", "--conntrack-tcp-timeout-established=0s", "--conntrack-tcp-timeout-close-wait=0s",
		},
		Env:   []string{"PATH=" + filepath.Dir(tools.Nft) + ":" + os.Getenv("PATH"), "LD_LIBRARY_PATH=" + tools.NftLibraries},
		Grace: time.Second,
		Enter: enter,
		Ready: get("http://" + health + "/healthz"),
	}
}

// DNS is CoreDNS, in the same namespace. The Service kube-dns leads to it.
func DNS(l layout.Layout, p layout.Plan, enter func() error, get func(url string) proc.Check) proc.Spec {
	return proc.Spec{
		Name:  "coredns",
		Path:  l.Bin("coredns"),
		Args:  []string{"-conf", l.Path("node", "Corefile")},
		Grace: time.Second,
		Enter: enter,
		Ready: get("http://" + net.JoinHostPort(p.ServiceRouterIP(), dnsReady) + "/ready"),
	}
}

// writeCorefile configures CoreDNS without forwarding: pods do not reach beyond this machine.
func writeCorefile(l layout.Layout, p layout.Plan) error {
	config := fmt.Sprintf(`. {
	errors
	ready %[1]s:%[2]s
	kubernetes %[3]s in-addr.arpa {
		kubeconfig %[4]s
	}
	template ANY ANY {
		rcode NXDOMAIN
	}
}
`, p.ServiceRouterIP(), dnsReady, ClusterDomain, l.Kubeconfig("coredns"))
	return layout.WriteFile(l.Path("node", "Corefile"), []byte(config), 0o644)
}
