package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/access/apikey"
	"github.com/postflight-dev/postflight/internal/kube/podlogs"
	"github.com/postflight-dev/postflight/internal/server/api"
	"github.com/postflight-dev/postflight/internal/server/api/limits"
	"github.com/postflight-dev/postflight/internal/server/auth"
	"github.com/postflight-dev/postflight/internal/store/inputs"
	"github.com/postflight-dev/postflight/internal/store/objectstore"
	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
	"github.com/postflight-dev/postflight/internal/usecase/podfiles"
	"github.com/postflight-dev/postflight/internal/usecase/runs"
)

const benchKey = "pf_37ba68a27f5fbbcfc4b6f395a83ac46aefd32121"

// oneTeam is a cache with a team and its key; fake clients take longer than all the rest.
type oneTeam struct{ client.Reader }

func (oneTeam) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	switch list := list.(type) {
	case *v1alpha1.TeamList:
		list.Items = []v1alpha1.Team{{ObjectMeta: metav1.ObjectMeta{Name: "demo"}}}
	case *v1alpha1.APIKeyList:
		list.Items = []v1alpha1.APIKey{{
			ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "ci"}, Spec: v1alpha1.APIKeySpec{SHA256: apikey.Digest(benchKey)},
		}}
	}
	return nil
}

// store counts connections: signing must open none.
func store(b *testing.B) (address string, connections *atomic.Int64) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { listener.Close() })
	connections = &atomic.Int64{}
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			c.Close()
		}
	}()
	return "http://" + listener.Addr().String(), connections
}

// BenchmarkSign signs over HTTP, with the real authentication, in keep-alive connections. Server and
// clients share the machine.
func BenchmarkSign(b *testing.B) {
	b.Setenv("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE")
	b.Setenv("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
	address, connections := store(b)
	bucket, err := objectstore.New(objectstore.Options{Endpoint: address, Region: "us-east-1", Bucket: "postflight", PathStyle: true,
		UploadLifetime: objectstore.DefaultUploadLifetime})
	if err != nil {
		b.Fatal(err)
	}
	authenticator := &auth.Authenticator{Keys: &auth.Keys{
		Reader: oneTeam{}, Staleness: func() time.Duration { return 0 }, Used: func(*v1alpha1.APIKey) {}, Clock: clock.RealClock{},
	}}
	reader, err := runs.New(runs.Config{Cache: oneTeam{}, Live: oneTeam{}, PodLogs: &podlogs.Client{}, Limits: runs.DefaultLimits()})
	if err != nil {
		b.Fatal(err)
	}
	api, err := api.New(api.Config{
		Dispatcher: &dispatch.Dispatcher{}, Cache: oneTeam{}, Live: oneTeam{}, Limits: limits.Default(),
		Uploads: &inputs.Store{Bucket: bucket}, Runs: reader,
		Authenticate:    authenticator.Authenticate,
		AuthenticatePod: func(*http.Request) (podfiles.Pod, error) { return podfiles.Pod{}, auth.ErrUnauthenticated },
		Authenticated:   func(context.Context, string) {}, Audit: slog.New(slog.DiscardHandler), Clock: clock.RealClock{},
	})
	if err != nil {
		b.Fatal(err)
	}
	server := httptest.NewServer(api)
	defer server.Close()
	web := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}

	var n atomic.Int64
	took := make([]time.Duration, b.N)
	b.SetParallelism(8)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			i := n.Add(1) - 1
			start := time.Now()
			if err := sign(web, server.URL, fmt.Sprintf("builds/%d/app release+1.apk", i)); err != nil {
				b.Error(err)
				return
			}
			took[i] = time.Since(start)
		}
	})
	b.StopTimer()
	slices.Sort(took)
	p99 := took[len(took)*99/100]
	if b.N < 1000 {
		return // the framework finds out how many it can ask for
	}
	fmt.Printf("SIGN requests_per_second=%.0f p99_ms=%.2f store_connections=%d\n",
		float64(b.N)/b.Elapsed().Seconds(), float64(p99.Microseconds())/1000, connections.Load())
	if connections.Load() != 0 {
		b.Error("signing sent a request to the store")
	}
}

func sign(web *http.Client, base, file string) error {
	r, err := http.NewRequest(http.MethodGet, base+"/api/v0/run-inputs-executables-signed-urls?file="+url.QueryEscape(file), nil)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+benchKey)
	resp, err := web.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, body)
	}
	return err
}
