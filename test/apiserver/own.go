package apiserver

import "testing"

// Options of a server that is unlike that of the other tests.
type Options struct {
	Etcd map[string]string // flags of etcd, without their dashes
	CRDs string            // directory of the CRDs; default: config/crd/bases
}

// Own is an API server, with its etcd, for one test, which may do to it what others must not suffer from.
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
