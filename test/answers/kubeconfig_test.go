package answers

import (
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// kubeconfigOf is the path of one that does as the configuration does, straight to the API server.
func kubeconfigOf(t testing.TB, c *rest.Config) string {
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
