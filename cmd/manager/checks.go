package main

import (
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/postflight-dev/postflight/internal/serve"
)

// checks are those of /readyz. The manager's own server would accept a mebibyte of headers from each of any number
// of connections.
type checks map[string]healthz.Checker

// setupProbes serves /healthz and /readyz, before the caches are filled and until everything else has
// stopped.
func setupProbes(mgr ctrl.Manager, address string, ready checks) error {
	mux := http.NewServeMux()
	for path, handler := range map[string]http.Handler{
		"/healthz": &healthz.Handler{Checks: checks{"ping": healthz.Ping}},
		"/readyz":  &healthz.Handler{Checks: ready},
	} {
		mux.Handle(path, http.StripPrefix(path, handler))
		mux.Handle(path+"/", http.StripPrefix(path, handler))
	}
	return serveOperators(mgr, "health probe", address, mux)
}

// maxScrapes bounds the scrapes at the same time: each costs about a mebibyte.
const maxScrapes = 4

// setupMetrics serves /metrics, unless the address is 0.
func setupMetrics(mgr ctrl.Manager, address string, metrics prometheus.Gatherer) error {
	if address == "0" {
		return nil
	}
	mux := http.NewServeMux()
	options := promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError, MaxRequestsInFlight: maxScrapes}
	mux.Handle("/metrics", promhttp.HandlerFor(metrics, options))
	return serveOperators(mgr, "metrics", address, mux)
}

// serveOperators serves the kubelet and Prometheus, within bounds that suit the few of them: 64 connections cost
// 4 MiB at worst, and 8 MiB in the kernel.
func serveOperators(mgr ctrl.Manager, name, address string, handler http.Handler) error {
	server := &http.Server{
		Addr: address, Handler: handler,
		MaxHeaderBytes:    4 << 10, // and 4 KiB more, which net/http allows
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       5 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       90 * time.Second, // longer than the minute between two scrapes
	}
	listener, err := serve.Bound(server, serve.Bounds{Unproven: 64, HeaderLines: 64})
	if err != nil {
		return fmt.Errorf("listen for %s requests: %w", name, err)
	}
	return mgr.Add(&manager.Server{Name: name, Server: server, Listener: listener, ShutdownTimeout: ptr.To(5 * time.Second)})
}
