package main

import (
	"context"
	"os"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/postflight-dev/postflight/internal/server/signin"
	"github.com/postflight-dev/postflight/internal/store/objectstore"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/freeport"
)

// describing records what metrics there may be: many are served only once they have a value.
type describing struct {
	*prometheus.Registry
	metrics []string
}

var described = regexp.MustCompile(`fqName: "(postflight_\w+)".*variableLabels: {([\w,]*)}`)

func (r *describing) Register(c prometheus.Collector) error {
	descriptions := make(chan *prometheus.Desc, 10)
	c.Describe(descriptions)
	close(descriptions)
	for d := range descriptions {
		if m := described.FindStringSubmatch(d.String()); m != nil && m[2] != "" {
			r.metrics = append(r.metrics, m[1]+"{"+m[2]+"}")
		} else if m != nil {
			r.metrics = append(r.metrics, m[1])
		}
	}
	return r.Registry.Register(c)
}

// TestMetricsAreDocumented compares the table in docs/operations/metrics.md with the metrics of a manager.
func TestMetricsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/operations/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	var documented []string
	for _, row := range regexp.MustCompile("(?m)^\\| `postflight_.*? \\|").FindAllString(string(page), -1) {
		for _, name := range regexp.MustCompile("`([^`]*)`").FindAllStringSubmatch(row, -1) {
			documented = append(documented, name[1])
		}
	}
	r := &describing{Registry: prometheus.NewRegistry()}
	o := options{
		signIn:     &signin.Source{},
		kubeconfig: apiserver.Kubeconfig(t, apiserver.New(t).Config), bindAddress: freeport.Address(
			t), metricsAddress: "0", probeAddress: freeport.Address(t),
		leader: leaderOptions{namespace: "default"}, holdBudget: 45 * time.Second,
		store: storeOptions{image: "none", Options: objectstore.Options{
			Endpoint: "http://" + freeport.Address(t), Region: "r", Bucket: "b", UploadLifetime: time.Minute,
		}},
	}
	o.tls, _ = certificateFiles(t, t.TempDir())
	if o.attestation.keyFiles = []string{keyFile(t)}; o.attestation.validate(o.store) != nil {
		t.Fatal("the key cannot be used")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // everything is registered before the manager starts
	if err := runIn(ctx, o, surroundings{clock: newWrongClock(0), metrics: r}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(documented)
	slices.Sort(r.metrics)
	if diff := cmp.Diff(r.metrics, documented); diff != "" || len(documented) == 0 {
		t.Errorf("docs/operations/metrics.md (-metrics +documented):\n%s", diff)
	}
}
