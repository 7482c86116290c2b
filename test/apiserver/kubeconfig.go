package apiserver

import (
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Kubeconfig writes a configuration to a file, for managers that are started by their flags, and returns its path.
func Kubeconfig(t testing.TB, c *rest.Config) string {
	t.Helper()
	k := clientcmdapi.NewConfig()
	k.Clusters["x"] = &clientcmdapi.Cluster{Server: c.Host, CertificateAuthorityData: c.CAData}
	k.AuthInfos["x"] = &clientcmdapi.AuthInfo{
		ClientCertificateData: c.CertData, ClientKeyData: c.KeyData, Token: c.BearerToken,
		Impersonate: c.Impersonate.UserName, ImpersonateGroups: c.Impersonate.Groups,
	}
	k.Contexts["x"] = &clientcmdapi.Context{Cluster: "x", AuthInfo: "x"}
	k.CurrentContext = "x"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*k, path); err != nil {
		t.Fatal(err)
	}
	return path
}
