// Package apiserver gives tests a real API server: etcd and kube-apiserver with Postflight's CRDs, one
// of each per test binary. Nothing else of a cluster runs: no controller, no node.
//
//	func TestMain(m *testing.M) { os.Exit(apiserver.Run(m)) }
//
//	func TestSomething(t *testing.T) {
//		s := apiserver.New(t)
//		ns := s.Namespace(t)
//		…
//	}
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

	process    *envtest.APIServer
	etcd       *envtest.Etcd
	assets     string // directory of the binaries
	kubeconfig string // path of the administrator's

	rbac   sync.Once
	policy error // of applying config/rbac
}

var (
	shared struct {
		sync.Mutex
		server *Server
		err    error
		stop   func() error
	}
	errNotRun = errors.New("TestMain must call apiserver.Run")
	running   bool
)

// Run runs the tests of a package, and stops the API server if a test has started it. It returns the exit
// code.
func Run(m *testing.M) (code int) {
	running = true
	defer func() {
		shared.Lock()
		defer shared.Unlock()
		if shared.stop == nil {
			return
		}
		if err := shared.stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stop the API server:", err)
			code = max(code, 1)
		}
	}()
	return m.Run()
}

// New returns the API server of this test binary. The first call starts it. If its binaries are missing, the
// test is skipped, or fails if CI=true.
func New(t testing.TB) *Server {
	t.Helper()
	assets, err := findAssets()
	if err != nil {
		missing(t, err)
	}
	shared.Lock()
	defer shared.Unlock()
	if shared.server == nil && shared.err == nil {
		shared.server, shared.stop, shared.err = start(assets, Options{})
	}
	if shared.err != nil {
		t.Fatalf("start the API server: %v", shared.err)
	}
	return shared.server
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
	stop := func() error { return errors.Join(env.Stop(), keeper.release()) }
	config, err := env.Start()
	if err != nil {
		return nil, stop, err
	}
	config.QPS = -1
	s := &Server{
		Config: config, Scheme: scheme(), process: env.ControlPlane.GetAPIServer(), etcd: env.ControlPlane.Etcd,
		assets: assets, kubeconfig: keeper.path("kubeconfig"),
	}
	if s.Client, err = client.New(config, client.Options{Scheme: s.Scheme}); err != nil {
		return nil, stop, err
	}
	return s, stop, os.WriteFile(s.kubeconfig, env.KubeConfig, 0o600)
}

func environment(k *keeper, crds string) *envtest.Environment {
	env := &envtest.Environment{
		CRDDirectoryPaths:        []string{crds},
		ErrorIfCRDPathMissing:    true,
		ControlPlaneStartTimeout: startTimeout,
	}
	env.ControlPlane.Etcd = &envtest.Etcd{Path: k.wrapper("etcd"), DataDir: k.path("etcd-data")}
	server := env.ControlPlane.GetAPIServer()
	server.Path = k.wrapper("kube-apiserver")
	server.CertDir = k.path("certificates")
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
