package apiserver

import (
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// SharedVariable names the directory of the servers that all packages share. It is another one each time, so Go does not
// take the results of tests that have read it from its cache.
const SharedVariable = "POSTFLIGHT_TEST_SERVERS"

// Files of a server.
const (
	kubeconfigFile = "kubeconfig" // of the administrator
	etcdFile       = "etcd-url"
)

// Shared is the directory of the servers that all packages share, or empty.
func Shared() string { return os.Getenv(SharedVariable) }

// Serve starts a server for other processes, and returns its directory.
func Serve() (dir string, stop func() error, err error) {
	running = true
	assets, err := findAssets()
	if err != nil {
		return "", nil, err
	}
	s, stop, err := start(assets, Options{})
	if err != nil {
		return "", stop, err
	}
	return s.dir, stop, s.grant()
}

// connect returns the server whose files are in the directory.
func connect(assets, dir string) (*Server, error) {
	s := &Server{Scheme: scheme(), dir: dir, assets: assets}
	var err error
	if s.Config, err = clientcmd.BuildConfigFromFlags("", filepath.Join(dir, kubeconfigFile)); err != nil {
		return nil, err
	}
	s.Config.QPS = -1
	s.Client, err = client.New(s.Config, client.Options{Scheme: s.Scheme})
	return s, err
}
