package hub

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/fakecluster"
	"github.com/postflight-dev/postflight/test/freeport"
	"github.com/postflight-dev/postflight/test/history"
	"github.com/postflight-dev/postflight/test/managers"
)

const (
	hubURL   = "https://hub.example.com" // --public-url
	eastURL  = "https://east.example.com"
	audience = "postflight.east.example.com" // of the tokens for the cluster
	account  = "system:serviceaccount:postflight-system:postflight-manager"

	// Of the keyed Cluster, which is the same one with another credential.
	east, keyed = "east", "keyed"
)

// side is the hub or the cluster: an API server, and a process of the manager that reaches it.
type side struct {
	*apiserver.Server
	manager *managers.Process
}

// world is a hub, a cluster, and a proxy between them.
type world struct {
	t            testing.TB
	hub, cluster *side
	between      *proxy
	keys         string // the folder of --cluster-keys
}

// options are flags of the two managers, in addition to the usual ones, and the environment of the cluster's.
type options struct {
	hub, cluster []string
	env          []string

	idle bool // the cluster's manager does not lead, so that runs cost nothing
}

func newWorld(t testing.TB, o options) *world {
	t.Helper()
	w := &world{t: t, keys: t.TempDir()}
	w.hub, w.cluster = &side{Server: apiserver.Alone(t)}, &side{Server: apiserver.Own(t, apiserver.Options{})}
	if o.idle {
		w.cluster.holdLease(t)
	}
	address := freeport.Address(t)
	w.between = newProxy(t, "http://"+address)
	w.hub.serve(t, managers.Options{Flags: append([]string{
		"--public-url=" + hubURL, "--cluster-keys=" + w.keys, "--token-issuers=" + w.trusting(w.cluster),
	}, o.hub...)})
	w.cluster.serve(t, managers.Options{Address: address, Env: o.env, Flags: append([]string{
		"--public-url=" + eastURL, "--token-issuers=" + w.trusting(w.hub),
	}, o.cluster...)})
	for _, s := range []*side{w.hub, w.cluster} {
		s.manager.AwaitReady()
	}
	jobs := &fakecluster.Cluster{Tests: func(*batchv1.Job) (history.Tests, time.Duration) { return history.Passed, time.Hour }}
	jobs.Start(t, w.cluster.Server) // stops Jobs, and collects what is deleted
	w.name(w.hub, east, w.between.url, v1alpha1.ClusterToken)
	w.name(w.hub, keyed, w.between.url, v1alpha1.ClusterKey)
	return w
}

// serve starts the manager, with the rights of its ServiceAccount.
func (s *side) serve(t testing.TB, o managers.Options) {
	t.Helper()
	o.Kubeconfig = apiserver.Kubeconfig(t, s.Manager(t))
	s.manager = managers.Start(t, o)
}

// holdLease makes another process the leader.
func (s *side) holdLease(t testing.TB) {
	t.Helper()
	if err := s.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "postflight-system"}}); err != nil &&
		!apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	now := metav1.NewMicroTime(time.Now())
	s.create(t, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "postflight-system", Name: "postflight"},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: new("another"), LeaseDurationSeconds: new(int32(3600)), AcquireTime: &now, RenewTime: &now,
		},
	})
}

// name creates a Cluster, which all Teams may use.
func (w *world) name(at *side, name, url string, credential v1alpha1.ClusterCredential) {
	w.t.Helper()
	c := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.ClusterSpec{
		URL: url, Teams: []string{"*"}, Credential: credential, Audience: audience,
	}}
	at.create(w.t, c)
	w.t.Cleanup(func() { _ = at.Client.Delete(cleanup(), c) }) // the next test of this API server has another one
}

// trusting is a file of --token-issuers that lists the issuer of ServiceAccount tokens of a side. Everyone may read the keys of that,
// as in clusters whose API server says so.
func (w *world) trusting(s *side) string {
	w.t.Helper()
	err := s.Client.Create(w.t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "issuer-discovery"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:service-account-issuer-discovery"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "system:unauthenticated"}},
	})
	if err := client.IgnoreAlreadyExists(err); err != nil {
		w.t.Fatal(err)
	}
	content, err := yaml.Marshal(map[string]any{"issuers": []map[string]any{{
		"name": "other", "url": s.issuer(), "jwksURL": s.Config.Host + "/openid/v1/jwks", "ca": string(s.Config.CAData),
		"audiences": []string{audience}, "algorithms": []string{"RS256", "ES256"},
	}}})
	if err != nil {
		w.t.Fatal(err)
	}
	file := filepath.Join(w.t.TempDir(), "issuers.yaml")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		w.t.Fatal(err)
	}
	return file
}

// issuer is in the tokens of the API server. Each has its own.
func (s *side) issuer() string { return s.Config.Host + "/" }

func (s *side) create(t testing.TB, o client.Object) {
	t.Helper()
	if err := s.Client.Create(t.Context(), o); err != nil {
		t.Fatalf("create %T %s: %v", o, o.GetName(), err)
	}
}

func (s *side) namespace(t testing.TB, name string) {
	t.Helper()
	s.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
}
