// Package apiserver gives tests a real API server: etcd and kube-apiserver with Postflight's CRDs. Nothing else of a cluster
// runs: no controller, no node.
//
//	func TestMain(m *testing.M) { os.Exit(apiserver.Run(m)) }
//
//	func TestSomething(t *testing.T) {
//		s := apiserver.New(t)
//		ns := s.Namespace(t)
//		…
//	}
//
// The tests of all packages share the server of New in the gate (test/servers), so each keeps to namespaces of its own.
package apiserver

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// startTimeout applies to each process. It is long, because the machine may compile at the same time.
const startTimeout = 2 * time.Minute

// Server is a running API server, and its administrator.
type Server struct {
	Config *rest.Config
	Client client.Client
	Scheme *runtime.Scheme

	dir     string                // of all its files
	assets  string                // directory of the binaries
	process *envtest.ControlPlane // nil: another process has started it

	granted bool // config/rbac, by who started the server
	rbac    sync.Once
	rbacErr error
}

// single starts a server at the first call.
type single struct {
	sync.Mutex
	server *Server
	err    error
	stop   func() error
}

var (
	ofBinary  single // no other test binary uses it
	ofAll     single // that of Shared, or else ofBinary
	errNotRun = errors.New("TestMain must call apiserver.Run")
	running   bool
)

// Run runs the tests of a package, stops the API server if one started it, and returns the exit code.
func Run(m *testing.M) (code int) {
	running = true
	defer func() {
		ofBinary.Lock()
		defer ofBinary.Unlock()
		if ofBinary.stop == nil {
			return
		}
		if err := ofBinary.stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stop the API server:", err)
			code = max(code, 1)
		}
	}()
	return m.Run()
}

// New returns the API server of the gate, or else that of this test binary. If its binaries are missing, the test is skipped, or
// fails if CI=true.
func New(t testing.TB) *Server {
	t.Helper()
	dir := Shared()
	if dir == "" {
		return Alone(t)
	}
	return ofAll.get(t, func(assets string) (*Server, func() error, error) {
		s, err := connect(assets, dir)
		if err == nil {
			s.granted = true
		}
		return s, nil, err
	})
}

// Alone returns the API server of this test binary, for tests whose managers act on all namespaces, or which change what all
// namespaces share.
func Alone(t testing.TB) *Server {
	t.Helper()
	_ = Shared() // so that Go never takes a result of an earlier gate for that of this one
	return ofBinary.get(t, func(assets string) (*Server, func() error, error) { return start(assets, Options{}) })
}

func (o *single) get(t testing.TB, start func(assets string) (*Server, func() error, error)) *Server {
	t.Helper()
	assets, err := findAssets()
	if err != nil {
		missing(t, err)
	}
	o.Lock()
	defer o.Unlock()
	if o.server == nil && o.err == nil {
		o.server, o.stop, o.err = start(assets)
	}
	if o.err != nil {
		t.Fatalf("start the API server: %v", o.err)
	}
	return o.server
}

func missing(t testing.TB, err error) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("%v", err)
	}
	t.Skipf("SKIPPED, NOT PASSED: %v", err)
}

// start returns a function that stops the server, even if the start failed.
func start(assets string, o Options) (*Server, func() error, error) {
	if !running {
		return nil, nil, errNotRun
	}
	root, err := Root()
	if err != nil {
		return nil, nil, err
	}
	keeper, err := newKeeper(assets)
	if err != nil {
		return nil, nil, err
	}
	env := environment(keeper, cmp.Or(o.CRDs, filepath.Join(root, "config", "crd", "bases")))
	for flag, value := range o.Etcd {
		env.ControlPlane.Etcd.Configure().Set(flag, value)
	}
	for flag, value := range o.API {
		env.ControlPlane.GetAPIServer().Configure().Set(flag, value)
	}
	stop := func() error { return errors.Join(env.Stop(), keeper.release()) }
	if _, err := env.Start(); err != nil {
		return nil, stop, fmt.Errorf("%w\n%s\n%s", err, endOfLog(keeper.dir, "etcd"), endOfLog(keeper.dir, "kube-apiserver"))
	}
	for name, content := range map[string][]byte{kubeconfigFile: env.KubeConfig, etcdFile: []byte(env.ControlPlane.Etcd.URL.String())} {
		if err := os.WriteFile(keeper.path(name), content, 0o600); err != nil {
			return nil, stop, err
		}
	}
	s, err := connect(assets, keeper.dir)
	if err != nil {
		return nil, stop, err
	}
	s.process = &env.ControlPlane
	return s, stop, nil
}

func environment(k *keeper, crds string) *envtest.Environment {
	env := &envtest.Environment{
		CRDDirectoryPaths:        []string{crds},
		ErrorIfCRDPathMissing:    true,
		ControlPlaneStartTimeout: startTimeout,
		ControlPlaneStopTimeout:  startTimeout,
		CRDInstallOptions:        envtest.CRDInstallOptions{MaxTime: startTimeout},
	}
	env.ControlPlane.Etcd = &envtest.Etcd{Path: k.wrapper("etcd"), DataDir: k.path("etcd-data")}
	server := env.ControlPlane.GetAPIServer()
	server.Path = k.wrapper("kube-apiserver")
	server.CertDir = k.path(certificates)
	// Some distributions enable this plugin, so the manager must have all rights that it needs under it.
	server.Configure().Append("enable-admission-plugins", "OwnerReferencesPermissionEnforcement")
	return env
}

func scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(v1alpha1.AddToScheme(s))
	return s
}
