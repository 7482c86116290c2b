package apiserver

import "testing"

// Options are those of a server that differs from the shared one.
type Options struct {
	Etcd map[string]string // flags of etcd, without their dashes
	API  map[string]string // those of the API server
	CRDs string            // directory of the CRDs; default: config/crd/bases
}

// Own starts an API server and its etcd for one test, which may break it.
func Own(t testing.TB, o Options) *Server {
	t.Helper()
	assets, err := findAssets()
	if err != nil {
		missing(t, err)
	}
	s, stop, err := start(assets, o)
	if stop != nil {
		t.Cleanup(func() {
			if err := stop(); err != nil {
				t.Errorf("stop the API server: %v", err)
			}
		})
	}
	if err != nil {
		t.Fatalf("start an API server: %v", err)
	}
	return s
}
