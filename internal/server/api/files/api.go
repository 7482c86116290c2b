// Package files signs the URLs by which CI uploads inputs of runs, and pods what their tests wrote.
package files

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/postflight-dev/postflight/internal/fairness"
	"github.com/postflight-dev/postflight/internal/server/api/exchange"
	"github.com/postflight-dev/postflight/internal/usecase/podfiles"
)

// Uploads signs the URLs by which CI uploads files.
type Uploads interface {
	// SignUpload signs the upload of exactly so many bytes; negative: any number. The upload must begin before a time.
	SignUpload(ctx context.Context, team, path string, bytes int64) (signed string, until time.Time, err error)
}

// Config is what the routes of files need besides the server; see api.Config.
type Config struct {
	Uploads         Uploads
	AuthenticatePod func(*http.Request) (podfiles.Pod, error)
	Pods            podfiles.Config
}

// API serves the routes of files.
type API struct {
	*exchange.Server
	Config
	signer   *podfiles.Signer
	collects *fairness.Semaphore
	asked    *prometheus.CounterVec
}

// What came of files that pods asked to upload, in metrics.
const (
	fileSigned  = "signed"
	fileRefused = "refused"
)

// New returns the routes of files.
func New(s *exchange.Server, c Config) *API {
	a := &API{
		Server: s, Config: c, signer: podfiles.New(c.Pods), collects: fairness.NewSemaphore(s.Limits.Collecting),
		asked: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "postflight_artifacts_total",
			Help: "Files that pods asked to upload: signed or refused.",
		}, []string{"decision"}),
	}
	for _, d := range []string{fileSigned, fileRefused} {
		a.asked.WithLabelValues(d)
	}
	return a
}

// Collectors are the metrics of files.
func (a *API) Collectors() []prometheus.Collector { return []prometheus.Collector{a.asked} }
