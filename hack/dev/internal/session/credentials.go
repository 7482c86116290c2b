package session

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"

	"github.com/postflight-dev/postflight/hack/dev/internal/layout"
	"github.com/postflight-dev/postflight/hack/dev/internal/node"
	"github.com/postflight-dev/postflight/hack/dev/internal/pki"
)

const managerUser = "system:serviceaccount:postflight-system:postflight-manager"

// Secrets are made once per cluster and stay in its folder.
type Secrets struct {
	APIKey      string `json:"apiKey"`
	StoreID     string `json:"storeID"`
	StoreSecret string `json:"storeSecret"`
}

// APIKeyHash is spec.sha256 of the APIKey.
func (s Secrets) APIKeyHash() string {
	sum := sha256.Sum256([]byte(s.APIKey))
	return hex.EncodeToString(sum[:])
}

func loadSecrets(l layout.Layout) (Secrets, error) {
	var secrets Secrets
	content, err := os.ReadFile(l.Path("secrets.json"))
	if err == nil && json.Unmarshal(content, &secrets) == nil && secrets.APIKey != "" {
		return secrets, nil
	}
	secrets = Secrets{APIKey: "pf_" + random(20), StoreID: random(10), StoreSecret: random(20)}
	content, err = json.Marshal(secrets)
	if err != nil {
		return secrets, err
	}
	return secrets, layout.WriteFile(l.Path("secrets.json"), content, 0o600)
}

func random(bytes int) string {
	raw := make([]byte, bytes)
	_, _ = rand.Read(raw) // never fails
	return hex.EncodeToString(raw)
}

func (s *Session) issue() error {
	dir := s.layout.Path("pki")
	etcd, err := pki.LoadAuthority(dir, "etcd-ca")
	if err != nil {
		return err
	}
	if err := etcd.Issue("etcd", pki.Identity{User: "etcd", Hosts: []string{"127.0.0.1", "localhost"}}); err != nil {
		return err
	}
	authority, err := pki.LoadAuthority(dir, "ca")
	if err != nil {
		return err
	}
	for _, name := range []string{"sa", "attestation"} {
		if err := pki.KeyPair(dir, name); err != nil {
			return err
		}
	}
	for name, who := range s.identities() {
		if err := authority.Issue(name, who); err != nil {
			return err
		}
	}
	for _, name := range []string{"admin", "controller-manager", "scheduler", "node", "manager"} {
		if err := authority.WriteKubeconfig(s.layout.Kubeconfig(name), s.server(), name); err != nil {
			return err
		}
	}
	for _, name := range []string{"kube-proxy", "coredns"} { // loopback is not this machine's where they run
		if err := authority.WriteKubeconfig(s.layout.Kubeconfig(name), "https://"+s.plan.OnBridge(layout.PortAPIServer), name); err != nil {
			return err
		}
	}
	return s.makeClients()
}

func (s *Session) identities() map[string]pki.Identity {
	admins := []string{"system:masters"}
	return map[string]pki.Identity{
		"apiserver": {User: "kube-apiserver", Hosts: []string{
			"127.0.0.1", "localhost", s.plan.BridgeIP(), s.plan.KubernetesIP(),
			"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
		}},
		"kubelet-client":     {User: "kube-apiserver-kubelet-client", Groups: admins},
		"admin":              {User: "admin", Groups: admins},
		"controller-manager": {User: "system:kube-controller-manager"},
		"kube-proxy":         {User: "system:kube-proxy"},
		"coredns":            {User: "system:coredns"},
		"scheduler":          {User: "system:kube-scheduler"},
		"node":               {User: "system:node:" + node.Name, Groups: []string{"system:nodes"}, Hosts: []string{s.plan.BridgeIP(), node.Name}},
		// The manager as a process has exactly the rights that the manifests give to its pod.
		"manager": {User: managerUser, Groups: []string{
			"system:serviceaccounts", "system:serviceaccounts:postflight-system", "system:authenticated",
		}},
	}
}

func (s *Session) makeClients() (err error) {
	s.etcdClient, err = newClient(s.pki("etcd-ca.crt"), s.pki("etcd.crt"), s.pki("etcd.key"))
	if err != nil {
		return err
	}
	s.client, err = newClient(s.pki("ca.crt"), s.pki("admin.crt"), s.pki("admin.key"))
	return err
}
