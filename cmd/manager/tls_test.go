package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	certutil "k8s.io/client-go/util/cert"

	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/poll"
)

// certificateFiles writes a new certificate for 127.0.0.1 into a folder, and returns the pool that trusts it.
func certificateFiles(t *testing.T, folder string) (tlsOptions, *x509.CertPool) {
	t.Helper()
	certificate, key, err := certutil.GenerateSelfSignedCertKey("localhost", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	o := tlsOptions{certFile: filepath.Join(folder, "tls.crt"), keyFile: filepath.Join(folder, "tls.key")}
	for file, content := range map[string][]byte{o.certFile: certificate, o.keyFile: key} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(certificate)
	return o, roots
}

func TestTLSOptions(t *testing.T) {
	files, _ := certificateFiles(t, t.TempDir())
	for name, tc := range map[string]struct {
		options tlsOptions
		problem string // empty: none
	}{
		"no TLS":                         {tlsOptions{minVersion: "1.2"}, ""},
		"both files":                     {tlsOptions{files.certFile, files.keyFile, "1.3"}, ""},
		"no key":                         {tlsOptions{files.certFile, "", "1.2"}, "set both, or neither"},
		"no certificate":                 {tlsOptions{"", files.keyFile, "1.2"}, "set both, or neither"},
		"a file that does not exist":     {tlsOptions{files.certFile, "nowhere", "1.2"}, "nowhere"},
		"a certificate in place of keys": {tlsOptions{files.certFile, files.certFile, "1.2"}, "--tls-key-file"},
		"an outdated version":            {tlsOptions{minVersion: "1.1"}, "must be 1.2 or 1.3"},
	} {
		t.Run(name, func(t *testing.T) {
			err := tc.options.validate()
			if (err == nil) != (tc.problem == "") || err != nil && !strings.Contains(err.Error(), tc.problem) {
				t.Errorf("got %v, want %q", err, tc.problem)
			}
		})
	}
}

// TestHTTPS: the API speaks HTTPS of the lowest version at least, and serves a new certificate without a restart.
func TestHTTPS(t *testing.T) {
	folder := t.TempDir()
	files, roots := certificateFiles(t, folder)
	files.minVersion = "1.3"
	m := startManager(t, apiserver.Kubeconfig(t, apiserver.Alone(t).Config), 0, answers, func(o *options) { o.tls = files })
	get := func(roots *x509.CertPool, newest uint16) error {
		client := &http.Client{
			Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MaxVersion: newest}, DisableKeepAlives: true},
			Timeout:   poll.Limit,
		}
		resp, err := client.Get(strings.Replace(m.url, "http:", "https:", 1) + "/openapi.yaml")
		if err == nil {
			resp.Body.Close()
		}
		if err == nil && resp.StatusCode != http.StatusOK {
			err = fmt.Errorf("status %d", resp.StatusCode)
		}
		return err
	}
	poll.True(t, "the API answers", func() bool { return get(roots, 0) == nil })
	if err := get(roots, tls.VersionTLS12); err == nil || !strings.Contains(err.Error(), "protocol version") {
		t.Errorf("with TLS 1.2: %v, want its version to be refused", err)
	}
	_, renewed := certificateFiles(t, folder)
	poll.True(t, "the new certificate is served", func() bool { return get(renewed, 0) == nil })
	if err := get(roots, 0); err == nil {
		t.Error("the old certificate is still served")
	}
}

// TestMetricsAuthentication: with the rights that are shipped, the manager lets those read the metrics whom the
// API server lets, by their tokens, which nobody can read on the way.
func TestMetricsAuthentication(t *testing.T) {
	s := apiserver.Alone(t)
	ns := s.Namespace(t)
	grantMetrics(t, s, ns, "prometheus")
	m := startManager(t, apiserver.Kubeconfig(t, s.Manager(t)), 0, answers, func(o *options) {
		o.metricsAuth, o.leader.namespace = true, "postflight-system"
	})
	url := strings.Replace(m.metrics, "http:", "https:", 1)
	for name, tc := range map[string]struct {
		token string
		want  int
	}{
		"nobody":                    {"", http.StatusUnauthorized},
		"an invalid token":          {"nonsense", http.StatusInternalServerError}, // as controller-runtime answers
		"an account without rights": {tokenOf(t, s, ns, "other"), http.StatusForbidden},
		"an account that may":       {tokenOf(t, s, ns, "prometheus"), http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			if got := scrape(t, url, tc.token); got != tc.want {
				t.Errorf("status %d, want %d", got, tc.want)
			}
		})
	}
	if resp, err := http.Get(m.metrics); err == nil {
		resp.Body.Close()
		if resp.StatusCode != http.StatusBadRequest {
			t.Errorf("plain HTTP: status %d, want 400", resp.StatusCode)
		}
	}
}

func scrape(t *testing.T, url, token string) int {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, Timeout: poll.Limit}
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

// grantMetrics binds a service account to the shipped ClusterRole for those who read the metrics.
func grantMetrics(t *testing.T, s *apiserver.Server, ns, account string) {
	t.Helper()
	err := s.Client.Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: ns},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "postflight-metrics-reader"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Name: account, Namespace: ns}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// tokenOf creates a service account, and a token of it for the API server.
func tokenOf(t *testing.T, s *apiserver.Server, ns, name string) string {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}
	if err := s.Client.Create(t.Context(), account); err != nil {
		t.Fatal(err)
	}
	request := &authenticationv1.TokenRequest{}
	if err := s.Client.SubResource("token").Create(t.Context(), account, request); err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}
