package handon_test

import (
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/outbound"
	"github.com/postflight-dev/postflight/internal/server/api"
	"github.com/postflight-dev/postflight/internal/spoke"
	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
	"github.com/postflight-dev/postflight/test/apitest"
	"github.com/postflight-dev/postflight/test/tier"
)

const (
	manyClusters  = 50
	runsOfCluster = 10_000
	mostMiB       = 256
)

// BenchmarkMemory asks a hub for each run of each of many clusters. The figures include those servers, which are in the same process, so
// that they are above those of a hub.
func BenchmarkMemory(b *testing.B) {
	tier.All(b, "it sends a million requests")
	h := newManyClusters(b)
	for b.Loop() {
		began := time.Now()
		var next atomic.Int64
		var crowd sync.WaitGroup
		for range 32 {
			crowd.Go(func() {
				for i := next.Add(1) - 1; i < manyClusters*runsOfCluster; i = next.Add(1) - 1 {
					h.greenlight(b, int(i)%manyClusters, int(i)/manyClusters)
				}
			})
		}
		crowd.Wait()
		took := time.Since(began)
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		rss, peak := memory(b, "VmRSS:"), memory(b, "VmHWM:")
		fmt.Printf("HUB_MEMORY clusters=%d runs=%d per_second=%.0f heap_mib=%d rss_mib=%d peak_rss_mib=%d goroutines=%d\n", manyClusters,
			manyClusters*runsOfCluster, float64(manyClusters*runsOfCluster)/took.Seconds(), m.HeapAlloc>>20, rss, peak, runtime.NumGoroutine())
		if heap := int(m.HeapAlloc >> 20); max(heap, peak) > mostMiB {
			b.Errorf("the heap has %d MiB, and the process took up to %d MiB, want %d at most", heap, peak, mostMiB)
		}
	}
}

// memory reads a field of /proc/self/status, in MiB.
func memory(b *testing.B, field string) (mib int) {
	b.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Skip("memory is measured on Linux only")
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, field); ok {
			if _, err := fmt.Sscan(value, &mib); err != nil {
				b.Fatal(err)
			}
		}
	}
	return mib >> 10
}

// manyHub is a hub with one Team for each cluster.
type manyHub struct{ http.Handler }

func newManyClusters(b *testing.B) *manyHub {
	b.Helper()
	debug.SetMemoryLimit(mostMiB << 20) // as GOMEMLIMIT of the manager follows the limit of its container
	urls := map[string]string{}
	var objects []client.Object
	for i := range manyClusters {
		name := fmt.Sprint("cluster-", i)
		server := httptest.NewServer(http.HandlerFunc(answerAsCluster))
		b.Cleanup(server.Close)
		urls[name] = server.URL
		objects = append(objects, teamOf(i)...)
	}
	clients := spoke.New(spoke.Config{
		Cluster: func(_ context.Context, name string) (*v1alpha1.Cluster, error) {
			return &v1alpha1.Cluster{Spec: v1alpha1.ClusterSpec{URL: urls[name], Teams: []string{"*"}}}, nil
		},
		Token: func(context.Context, string) (string, error) { return "token-hub", nil },
		Hub:   "hub", HTTP: func(*x509.CertPool) *http.Client { return outbound.Streaming(nil) },
	})
	return &manyHub{apitest.Start(b, apitest.Setup{
		Objects:  objects,
		Dispatch: func(c *dispatch.Config) { c.Clusters = clients },
		Config: func(c *api.Config) {
			c.Clusters, c.Log, c.Audit = clients, logr.Discard(), slog.New(slog.DiscardHandler)
		},
	})}
}

func teamOf(i int) []client.Object {
	name, key := fmt.Sprint("team-", i), apitest.APIKey(fmt.Sprint("pf_of_the_team_", i))
	key.Namespace, key.Name = name, "ci"
	e := environment("staging", fmt.Sprint("cluster-", i))
	e.Namespace = name
	return []client.Object{apitest.Team(name), key, e}
}

// answerAsCluster answers for all runs that passed.
func answerAsCluster(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "application/json")
	id := path.Base(r.URL.Path)
	_, _ = fmt.Fprintf(w, `{"id":%q,"greenlight":true,"finished":true,"state":"Passed","suites":[{"id":%q,"state":"Passed","padding":%q}]}`,
		id, id, strings.Repeat("x", 1024))
}

func (h *manyHub) greenlight(b *testing.B, cluster, run int) {
	r := httptest.NewRequest(http.MethodGet, fmt.Sprintf("/api/v0/ci-greenlight/run-%d-%d", cluster, run), nil)
	r.Header.Set("Authorization", fmt.Sprint("Bearer pf_of_the_team_", cluster))
	w := httptest.NewRecorder()
	if h.ServeHTTP(w, r); w.Code != http.StatusOK {
		b.Errorf("%d %s", w.Code, w.Body)
	}
}
