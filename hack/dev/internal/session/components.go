package session

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"os"
	"strings"
	"text/template"
	"time"

	"github.com/postflight-dev/postflight/hack/dev/internal/layout"
	"github.com/postflight-dev/postflight/hack/dev/internal/node"
	"github.com/postflight-dev/postflight/hack/dev/internal/proc"
)

// bucket holds the input files of runs.
const bucket = "postflight"

func (s *Session) pki(name string) string { return s.layout.Path("pki", name) }

func (s *Session) etcd() proc.Spec {
	client, peer := "https://"+s.plan.Loopback(layout.PortEtcd), "https://"+s.plan.Loopback(layout.PortEtcdPeer)
	return proc.Spec{
		Name: "etcd",
		Path: s.layout.Bin("cluster", "etcd"),
		Args: []string{
			"--name=local",
			"--data-dir=" + s.layout.Path("etcd"),
			"--listen-client-urls=" + client, "--advertise-client-urls=" + client,
			"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer,
			"--initial-cluster=local=" + peer,
			// Without client certificates, every user of this machine would be an administrator of the cluster.
			"--client-cert-auth", "--trusted-ca-file=" + s.pki("etcd-ca.crt"),
			"--cert-file=" + s.pki("etcd.crt"), "--key-file=" + s.pki("etcd.key"),
			"--peer-client-cert-auth", "--peer-trusted-ca-file=" + s.pki("etcd-ca.crt"),
			"--peer-cert-file=" + s.pki("etcd.crt"), "--peer-key-file=" + s.pki("etcd.key"),
			// A crash of the machine may lose the cluster's data. A crash of etcd does not.
			"--unsafe-no-fsync",
			"--log-level=warn",
		},
		Grace: 2 * time.Second,
		Ready: s.etcdClient.get(client + "/readyz"),
	}
}

func (s *Session) apiserver() proc.Spec {
	return proc.Spec{
		Name: "kube-apiserver",
		Path: s.layout.Bin("cluster", "kube-apiserver"),
		Args: []string{
			"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", s.plan.PortBase+layout.PortAPIServer),
			"--advertise-address=" + s.plan.BridgeIP(),
			"--tls-cert-file=" + s.pki("apiserver.crt"), "--tls-private-key-file=" + s.pki("apiserver.key"),
			"--client-ca-file=" + s.pki("ca.crt"),
			"--etcd-servers=https://" + s.plan.Loopback(layout.PortEtcd),
			"--etcd-cafile=" + s.pki("etcd-ca.crt"), "--etcd-certfile=" + s.pki("etcd.crt"), "--etcd-keyfile=" + s.pki("etcd.key"),
			"--kubelet-certificate-authority=" + s.pki("ca.crt"),
			"--kubelet-client-certificate=" + s.pki("kubelet-client.crt"), "--kubelet-client-key=" + s.pki("kubelet-client.key"),
			"--kubelet-preferred-address-types=InternalIP",
			"--service-account-issuer=" + s.layout.Issuer(),
			"--service-account-key-file=" + s.pki("sa.pub"), "--service-account-signing-key-file=" + s.pki("sa.key"),
			"--service-cluster-ip-range=" + s.plan.ServiceCIDR(),
			"--authorization-mode=Node,RBAC",
			"--enable-admission-plugins=NodeRestriction",
			"--allow-privileged=true",
			"--profiling=false",
		},
		Grace: 2 * time.Second,
		Ready: s.client.get(s.server() + "/readyz"),
	}
}

func (s *Session) controllerManager() proc.Spec {
	return proc.Spec{
		Name: "kube-controller-manager",
		Path: s.layout.Bin("cluster", "kube-controller-manager"),
		Args: []string{
			"--kubeconfig=" + s.layout.Kubeconfig("controller-manager"),
			"--leader-elect=false", "--secure-port=0",
			"--use-service-account-credentials",
			"--service-account-private-key-file=" + s.pki("sa.key"), "--root-ca-file=" + s.pki("ca.crt"),
			"--cluster-signing-cert-file=" + s.pki("ca.crt"), "--cluster-signing-key-file=" + s.pki("ca.key"),
			// The defaults slow down a burst of runs.
			"--kube-api-qps=200", "--kube-api-burst=400", "--concurrent-job-syncs=20",
		},
		Grace: time.Second,
		// It serves no health endpoint. Pods can be created when this object exists.
		Ready: s.client.get(s.server() + "/api/v1/namespaces/default/serviceaccounts/default"),
	}
}

func (s *Session) scheduler() proc.Spec {
	return proc.Spec{
		Name: "kube-scheduler",
		Path: s.layout.Bin("cluster", "kube-scheduler"),
		Args: []string{
			"--kubeconfig=" + s.layout.Kubeconfig("scheduler"),
			"--leader-elect=false", "--secure-port=0",
			"--kube-api-qps=200", "--kube-api-burst=400",
		},
		Grace: time.Second,
		Ready: func(context.Context) error { return nil }, // it serves no health endpoint either
	}
}

func (s *Session) store() proc.Spec {
	return proc.Spec{
		Name: "store",
		Path: s.layout.Bin("store"),
		Args: []string{"serve", "s3", "--addr", s.plan.Loopback(layout.PortStore), s.layout.Path("store")},
		Env: []string{
			// Not an argument, because all users can read those. The value is a list in CSV, hence the quotes.
			`RCLONE_AUTH_KEY="` + s.secrets.StoreID + "," + s.secrets.StoreSecret + `"`,
			"RCLONE_CONFIG=" + s.layout.Path("run", "rclone.conf"),
			"RCLONE_CACHE_DIR=" + s.layout.Path("store-cache"),
		},
		Grace: time.Second,
		Ready: proc.Dials("tcp", s.plan.Loopback(layout.PortStore)),
	}
}

func (s *Session) manager() proc.Spec {
	return proc.Spec{
		Name: "manager",
		Path: s.layout.Bin("manager"),
		Args: []string{
			"--kubeconfig=" + s.layout.Kubeconfig("manager"),
			"--bind-address=" + s.plan.Loopback(layout.PortAPI),
			"--metrics-bind-address=" + s.plan.Loopback(layout.PortMetrics),
			"--metrics-auth=false", // they are on loopback
			"--health-probe-bind-address=" + s.plan.Loopback(layout.PortProbes),
			"--public-url=" + s.url(),
			"--attestation-key-file=" + s.pki("attestation.key"),
			"--replica-name=dev", // there is only one, so after a kill it takes its own Lease again at once
			"--drain-delay=0s",   // there is no load balancer
		},
		Env:   s.managerVariables().list(),
		Grace: 10 * time.Second,
		Ready: httpClient{}.get("http://" + s.plan.Loopback(layout.PortProbes) + "/readyz"),
	}
}

// keep starts a component, which stop will end.
func (s *Session) keep(spec proc.Spec) *proc.Child {
	spec.Log = s.layout.Log(spec.Name)
	spec.PIDFile = s.layout.Path("run", spec.Name+".pid")
	spec.Env = append(s.environment(), spec.Env...)
	child := proc.Keep(spec, s.console.Warn)
	s.children = append(s.children, child)
	return child
}

// environment is the environment of all children: with the mark, and without a proxy between the parts of the cluster.
func (s *Session) environment() []string {
	var env []string
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(strings.ToUpper(entry), "NO_PROXY=") {
			env = append(env, entry)
		}
	}
	noProxy := strings.Trim(os.Getenv("NO_PROXY")+",localhost,127.0.0.1,"+s.plan.PodCIDR()+","+s.plan.ServiceCIDR(), ",")
	return append(env, s.layout.Mark(), "NO_PROXY="+noProxy, "no_proxy="+noProxy)
}

//go:embed dns.yaml
var dnsManifest string

var dnsTemplate = template.Must(template.New("dns").Parse(dnsManifest))

// startServices starts what makes cluster IPs and names of Services work.
func (s *Session) startServices(ctx context.Context) ([]*proc.Child, error) {
	services := []*proc.Child{s.keep(node.Proxy(s.layout, s.plan, s.tools, s.enterRouter, httpClient{}.get))}
	if !s.options.DNS {
		return services, nil
	}
	if err := s.applyDNS(ctx); err != nil {
		return nil, err
	}
	return append(services, s.keep(node.DNS(s.layout, s.plan, s.enterRouter, httpClient{}.get))), nil
}

func (s *Session) applyDNS(ctx context.Context) error {
	var manifest bytes.Buffer
	err := dnsTemplate.Execute(&manifest, map[string]string{"ClusterIP": s.plan.DNSIP(), "Address": s.plan.ServiceRouterIP()})
	if err != nil {
		return err
	}
	return s.applyFile(ctx, "dns.yaml", manifest.Bytes())
}
