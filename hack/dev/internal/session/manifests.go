package session

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"strings"

	"github.com/postflight-dev/postflight/hack/dev/internal/console"
	"github.com/postflight-dev/postflight/hack/dev/internal/images"
	"github.com/postflight-dev/postflight/hack/dev/internal/layout"
)

// Modes in which the manager runs, kept in DIR/mode.
const (
	ModeProcess = "process" // bin/manager, as a child of the supervisor
	ModePod     = "pod"     // the manifests of config/default, with the image of bin/manager
	ModeNone    = "none"    // tests start their own
)

// ReadMode returns the chosen mode. The default is ModeProcess.
func ReadMode(l layout.Layout) string {
	content, err := os.ReadFile(l.Path("mode"))
	if mode := strings.TrimSpace(string(content)); err == nil && (mode == ModePod || mode == ModeNone) {
		return mode
	}
	return ModeProcess
}

// WriteMode chooses a mode for the next start or refresh.
func WriteMode(l layout.Layout, mode string) error {
	return layout.WriteFile(l.Path("mode"), []byte(mode+"\n"), 0o644)
}

const (
	systemNamespace    = "postflight-system"
	managerName        = "postflight-manager"
	serviceName        = "postflight"
	metricsServiceName = "postflight-metrics"
)

//go:embed keys.yaml
var keysManifest []byte

// applyManifests applies config/default, so that the rights are the shipped ones. The Deployment is only for a manager in a pod.
func (s *Session) applyManifests(ctx context.Context) error {
	return s.console.Step("manifests", func(*console.Step) (string, error) {
		o, err := s.managerOverlay()
		if err == nil {
			err = s.applyOverlay(ctx, "manifests", o)
		}
		if err == nil && ReadMode(s.layout) != ModePod {
			err = s.kubectl(ctx, "delete", "deployment", managerName, "--namespace", systemNamespace, "--ignore-not-found", "--wait=false")
		}
		if err == nil {
			err = s.applyFile(ctx, "keys.yaml", keysManifest)
		}
		if err == nil {
			err = s.kubectl(ctx, "wait", "--for=condition=Established", "customresourcedefinitions", "--all", "--timeout=30s")
		}
		return shipped, err
	})
}

const shipped = "config/default"

func (s *Session) managerOverlay() (overlay, error) {
	o, manager := overlay{Resources: []string{shipped}}, target{Kind: "Deployment", Name: managerName}
	if ReadMode(s.layout) != ModePod {
		o.Patches = []patch{{manager, deleteDeployment}}
		return o, nil
	}
	o.Patches = []patch{{manager, s.podPatch()}}
	issuers, err := s.issuers(hubOnBridge)
	if err == nil && issuers != nil {
		o.Resources, o.files = append(o.Resources, "issuers.yaml"), map[string][]byte{"issuers.yaml": issuersMap(issuers)}
		o.Patches = append(o.Patches, patch{manager, mountIssuers(issuers)})
	}
	return o, err
}

var deleteDeployment = document(map[string]any{
	"$patch": "delete", "apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": managerName},
})

// podPatch includes the image's digest, which causes a rollout although the tag stays the same.
func (s *Session) podPatch() string {
	digest, _ := os.ReadFile(images.Record(s.layout, images.Product))
	operations := []map[string]any{
		{"op": "add", "path": "/spec/template/metadata/annotations/postflight.dev~1image", "value": string(digest)},
		{"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": "--public-url=" + s.url()},
		{"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": "--metrics-auth=false"}, // as for the process
	}
	for _, one := range s.managerVariables() {
		operations = append(operations, map[string]any{
			"op": "add", "path": "/spec/template/spec/containers/0/env/-", "value": map[string]string{"name": one.name, "value": one.value},
		})
	}
	return document(operations)
}

// applySamples applies config/samples and the demo shop, with this cluster's addresses and API key.
func (s *Session) applySamples(ctx context.Context) error {
	return s.console.Step("samples", func(step *console.Step) (string, error) {
		o, err := s.samples()
		if err == nil {
			err = s.applyOverlay(ctx, "samples", o)
		}
		if err != nil || !s.options.Node {
			return "team " + team, err
		}
		step.Update("waiting for the demo shop")
		return "team " + team + ", shop at " + s.demoURL(),
			s.kubectl(ctx, "rollout", "status", "deployment/demo-shop", "--namespace", "demo-shop", "--timeout=60s")
	})
}

func (s *Session) samples() (overlay, error) {
	o := overlay{Resources: []string{"config/samples", "hack/demo/deploy"}, Patches: []patch{
		{target{Kind: "Environment"}, replace("/spec/url", s.demoURL())},
		{target{Kind: "APIKey"}, replace("/spec/sha256", s.secrets.APIKeyHash())},
		{target{Kind: "Deployment", Name: "demo-shop"}, s.shopPatch()},
	}}
	return o, s.addHub(&o)
}

func (s *Session) shopPatch() string {
	digest, _ := os.ReadFile(images.Record(s.layout, images.DemoShop))
	port := s.plan.PortBase + layout.PortDemo
	return document([]map[string]any{
		{"op": "add", "path": "/spec/template/metadata/annotations/postflight.dev~1image", "value": string(digest)},
		{"op": "replace", "path": "/spec/template/spec/containers/0/env/1/value", "value": fmt.Sprint(port)},
		{"op": "replace", "path": "/spec/template/spec/containers/0/readinessProbe/httpGet/port", "value": port},
	})
}
