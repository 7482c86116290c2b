package main

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"

	"github.com/postflight-dev/postflight/internal/core/text/version"
	"github.com/postflight-dev/postflight/internal/server/listen"
)

// The manager's own server is not used for /readyz: it accepts a mebibyte of headers on each of any number of connections.
type checks map[string]healthz.Checker

// setupProbes serves /healthz and /readyz, from before the caches are filled until everything else has stopped.
func setupProbes(mgr ctrl.Manager, address string, ready checks) error {
	mux := http.NewServeMux()
	for path, handler := range map[string]http.Handler{
		"/healthz": &healthz.Handler{Checks: checks{"ping": healthz.Ping}},
		"/readyz":  &healthz.Handler{Checks: ready},
	} {
		mux.Handle(path, http.StripPrefix(path, handler))
		mux.Handle(path+"/", http.StripPrefix(path, handler))
	}
	return serveOperators(mgr, "health probe", address, mux, nil)
}

// maxScrapes bounds the concurrent scrapes: each takes about a mebibyte.
const maxScrapes = 4

// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create

// setupMetrics serves /metrics, unless the address is 0.
func setupMetrics(mgr ctrl.Manager, o options, api *tls.Config, metrics prometheus.Gatherer) error {
	if o.metricsAddress == "0" {
		return nil
	}
	scrape := promhttp.HandlerFor(metrics, promhttp.HandlerOpts{
		ErrorHandling: promhttp.HTTPErrorOnError, MaxRequestsInFlight: maxScrapes,
		EnableOpenMetrics: true, // only this format has exemplars
	})
	if o.metricsAuth {
		filter, err := filters.WithAuthenticationAndAuthorization(mgr.GetConfig(), mgr.GetHTTPClient())
		if err != nil {
			return fmt.Errorf("set up who may read the metrics: %w", err)
		}
		if scrape, err = filter(ctrl.Log.WithName("metrics"), scrape); err != nil {
			return err
		}
	}
	config, err := metricsTLS(o, api)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", scrape)
	return serveOperators(mgr, "metrics", o.metricsAddress, mux, config)
}

func registerBuild(metrics prometheus.Registerer) error {
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "postflight_build_info", Help: "Always 1; the labels say which build of the manager this is.",
	}, []string{"version", "commit", "go"})
	info := version.Get()
	build.WithLabelValues(info.Version, info.Commit, info.Go).Set(1)
	return metrics.Register(build)
}

// The kubelet and Prometheus need few connections: 64 take 4 MiB at worst, and 8 MiB in the kernel.
func serveOperators(mgr ctrl.Manager, name, address string, handler http.Handler, config *tls.Config) error {
	server := &http.Server{
		Addr: address, Handler: handler, TLSConfig: config,
		MaxHeaderBytes:    4 << 10, // and 4 KiB more, which net/http allows
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       5 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       90 * time.Second, // longer than the minute between two scrapes
	}
	listener, err := listen.Bound(server, listen.Bounds{Unproven: 64, HeaderLines: 64})
	if err != nil {
		return fmt.Errorf("listen for %s requests: %w", name, err)
	}
	return mgr.Add(&manager.Server{Name: name, Server: server, Listener: listener, ShutdownTimeout: ptr.To(5 * time.Second)})
}
