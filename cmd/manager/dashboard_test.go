package main

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/poll"
	startprometheus "github.com/postflight-dev/postflight/test/prometheus"
	"github.com/postflight-dev/postflight/test/stores"
	"github.com/postflight-dev/postflight/test/tier"
)

const dashboardFile = "../../charts/postflight/files/monitoring/dashboard.json"

// dashboard is what Grafana reads of the file.
type dashboard struct {
	Panels []struct {
		Title   string
		Type    string
		Targets []struct{ Expr string }
	}
}

// ofProcess has the metrics of a manager, and those that controller-runtime registers by itself.
type ofProcess struct {
	*prometheus.Registry
	all prometheus.Gatherers
}

func newOfProcess() ofProcess {
	own := prometheus.NewRegistry()
	return ofProcess{own, prometheus.Gatherers{own, metrics.Registry}}
}

func (r ofProcess) Gather() ([]*dto.MetricFamily, error) { return r.all.Gather() }

// TestDashboard: each panel of the dashboard has data once a manager has had something to do, according to the real
// Prometheus.
func TestDashboard(t *testing.T) {
	tier.All(t, "the gate builds no Prometheus")
	stores.Credentials(t)
	s, store, registry := apiserver.Alone(t), stores.Rclone(t), newOfProcess()
	certificate, _ := certificateFiles(t, t.TempDir())
	pair, err := tls.LoadX509KeyPair(certificate.certFile, certificate.keyFile)
	if err != nil {
		t.Fatal(err)
	}
	served := &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &pair, nil }}
	if err := registerExpiry(served, registry); err != nil {
		t.Fatal(err)
	}
	m := startManagerIn(t, apiserver.Kubeconfig(t, s.Manager(t)), surroundings{clock: newWrongClock(0), metrics: registry},
		leads, func(o *options) {
			o.metricsTeams, o.store.image = 50, "postflight:test"
			o.store.Options, o.store.createBucket = store.Options(), true
		})
	prom := aPrometheus{startprometheus.Start(t, "../../bin/prometheus", m.metrics)}
	tn, n := newTenant(t, s), 0
	var empty []string
	poll.True(t, "all panels have data", func() bool {
		n++
		tn.runs(t, m.url, fmt.Sprintf("sha-%d", n))
		empty = prom.emptyPanels(t)
		if n%20 == 0 {
			t.Logf("still empty: %q", empty)
		}
		return len(empty) == 0
	})
}

// runs has a run from its notification to its end, and a waiting run.
func (tn *tenant) runs(t *testing.T, url, sha string) {
	t.Helper()
	run, j := tn.deploy(t, url, sha), &batchv1.Job{}
	poll.True(t, "the run has a Job", func() bool { return tn.s.Client.Get(t.Context(), client.ObjectKeyFromObject(run), j) == nil })
	passes(t, tn.s.Client, j)
	poll.True(t, "the run has passed", func() bool { return tn.state(t, run) == "Passed" })
}

// aPrometheus answers queries.
type aPrometheus struct{ url string }

// emptyPanels are the panels whose query finds nothing, or no number.
func (p aPrometheus) emptyPanels(t *testing.T) (empty []string) {
	t.Helper()
	text, err := os.ReadFile(dashboardFile)
	var d dashboard
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	if err != nil || len(d.Panels) < 20 {
		t.Fatalf("%d panels: %v", len(d.Panels), err)
	}
	for _, panel := range d.Panels {
		if panel.Type != "row" && len(panel.Targets) == 0 {
			t.Errorf("the panel %q has no query", panel.Title)
		}
		for _, target := range panel.Targets {
			if !p.hasNumber(t, strings.NewReplacer("$namespace", ".*", "$__rate_interval", "30s").Replace(target.Expr)) {
				empty = append(empty, panel.Title)
			}
		}
	}
	return empty
}

func (p aPrometheus) hasNumber(t *testing.T, expr string) bool {
	t.Helper()
	resp, err := http.Get(p.url + "/api/v1/query?query=" + url.QueryEscape(expr))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer struct {
		Status, Error string
		Data          struct{ Result []struct{ Value [2]any } }
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || answer.Status != "success" {
		t.Fatalf("%s: %v, %+v", expr, err, answer)
	}
	for _, r := range answer.Data.Result {
		if r.Value[1] != "NaN" {
			return true
		}
	}
	return false
}
