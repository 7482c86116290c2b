package session

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
		const folder = "config/default"
		manager := target{Kind: "Deployment", Name: managerName}
		var err error
		if ReadMode(s.layout) == ModePod {
			err = s.applyOverlay(ctx, "manifests", []patch{{Target: manager, Patch: s.podPatch()}}, folder)
		} else {
			err = errors.Join(s.applyOverlay(ctx, "manifests", []patch{{Target: manager, Patch: deleteDeployment}}, folder),
				s.kubectl(ctx, "delete", "deployment", managerName, "--namespace", systemNamespace, "--ignore-not-found", "--wait=false"))
		}
		if err == nil {
			err = s.applyFile(ctx, "keys.yaml", keysManifest)
		}
		if err == nil {
			err = s.kubectl(ctx, "wait", "--for=condition=Established", "customresourcedefinitions", "--all", "--timeout=30s")
		}
		return folder, err
	})
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
		err := s.applyOverlay(ctx, "samples", []patch{
			{Target: target{Kind: "Environment"}, Patch: replace("/spec/url", s.demoURL())},
			{Target: target{Kind: "APIKey"}, Patch: replace("/spec/sha256", s.secrets.APIKeyHash())},
			{Target: target{Kind: "Deployment", Name: "demo-shop"}, Patch: s.shopPatch()},
		}, "config/samples", "hack/demo/deploy")
		if err != nil || !s.options.Node {
			return "team " + team, err
		}
		step.Update("waiting for the demo shop")
		return "team " + team + ", shop at " + s.demoURL(),
			s.kubectl(ctx, "rollout", "status", "deployment/demo-shop", "--namespace", "demo-shop", "--timeout=60s")
	})
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

type target struct {
	Kind string `json:"kind"`
	Name string `json:"name,omitempty"`
}

type patch struct {
	Target target `json:"target"`
	Patch  string `json:"patch"`
}

func replace(path, value string) string {
	return document([]map[string]any{{"op": "replace", "path": path, "value": value}})
}

func document(value any) string {
	content, _ := json.Marshal(value) // maps and strings always marshal
	return string(content)
}

// applyOverlay writes DIR/NAME/kustomization.yaml, which contains secrets, and applies it. kustomize accepts only relative paths.
// Server-side apply reverts manual changes.
func (s *Session) applyOverlay(ctx context.Context, name string, patches []patch, folders ...string) error {
	dir := s.layout.Path(name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	var resources []string
	for _, folder := range folders {
		relative, err := filepath.Rel(dir, filepath.Join(s.layout.Root, folder))
		if err != nil {
			return err
		}
		resources = append(resources, relative)
	}
	content, err := json.MarshalIndent(map[string]any{
		"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization",
		"resources": resources, "patches": patches,
	}, "", "  ")
	if err != nil {
		return err
	}
	if err := layout.WriteFile(filepath.Join(dir, "kustomization.yaml"), content, 0o600); err != nil {
		return err
	}
	return s.apply(ctx, "-k", dir)
}

// applyFile writes DIR/NAME and applies it.
func (s *Session) applyFile(ctx context.Context, name string, manifest []byte) error {
	file := s.layout.Path(name)
	if err := layout.WriteFile(file, manifest, 0o644); err != nil {
		return err
	}
	return s.apply(ctx, "-f", file)
}

func (s *Session) apply(ctx context.Context, from ...string) error {
	return s.kubectl(ctx, append([]string{"apply", "--server-side", "--force-conflicts", "--field-manager=postflight-dev"}, from...)...)
}
