package session

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/hack/dev/internal/images"
	"github.com/postflight-dev/postflight/hack/dev/internal/layout"
)

// Modes in which the manager runs, kept in DIR/mode.
const (
	ModeProcess = "process" // bin/manager, supervised
	ModePod     = "pod"     // the manifests of config/default, with the image of bin/manager
	ModeNone    = "none"    // tests start their own
)

// ReadMode is ModeProcess unless something else was chosen.
func ReadMode(l layout.Layout) string {
	content, err := os.ReadFile(l.Path("mode"))
	if mode := strings.TrimSpace(string(content)); err == nil && (mode == ModePod || mode == ModeNone) {
		return mode
	}
	return ModeProcess
}

// WriteMode takes effect with the next start or refresh.
func WriteMode(l layout.Layout, mode string) error {
	return layout.WriteFile(l.Path("mode"), []byte(mode+"\n"), 0o644)
}

const (
	systemNamespace = "postflight-system"
	managerName     = "postflight-manager"
	serviceName     = "postflight"
)

// applyManifests applies config/default. Where the manager is no pod, all but the Deployment: the
// rights that are tested day by day are the shipped ones.
func (s *Session) applyManifests(ctx context.Context) error {
	if !exists(filepath.Join(s.layout.Root, "config", "default", "kustomization.yaml")) {
		s.console.Warn("there is no config/default: nothing is installed in the cluster")
		return nil
	}
	step := s.console.Step("manifests")
	patches := []patch{{Target: target{Kind: "Deployment", Name: managerName}, Patch: deleteDeployment}}
	if ReadMode(s.layout) == ModePod {
		patches = []patch{{Target: target{Kind: "Deployment", Name: managerName}, Patch: s.podPatch()}}
	}
	err := s.overlay(ctx, "manifests", patches, "config/default")
	if err == nil && ReadMode(s.layout) != ModePod {
		err = s.deletePods(ctx)
	}
	if err == nil {
		err = s.awaitDefinitions(ctx)
	}
	if err != nil {
		step.Fail()
		return err
	}
	step.Done("config/default")
	return nil
}

// deletePods ends the manager's pods, if it ran as such before.
func (s *Session) deletePods(ctx context.Context) error {
	path := "/apis/apps/v1/namespaces/" + systemNamespace + "/deployments/" + managerName
	if s.client.fetch(ctx, s.server()+path, nil) != nil {
		return nil
	}
	return s.kubectl(ctx, "delete", "deployment", managerName, "--namespace", systemNamespace, "--ignore-not-found", "--wait=false")
}

// awaitDefinitions waits until the API server serves our kinds.
func (s *Session) awaitDefinitions(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		var list struct {
			Items []struct {
				Metadata struct{ Name string }
				Status   struct {
					Conditions []struct{ Type, Status string }
				}
			}
		}
		err := s.client.fetch(ctx, s.server()+"/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &list)
		for _, item := range list.Items {
			established := slices.ContainsFunc(item.Status.Conditions, func(c struct{ Type, Status string }) bool {
				return c.Type == "Established" && c.Status == "True"
			})
			if !established {
				err = fmt.Errorf("the API server does not serve %s yet", item.Metadata.Name)
			}
		}
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(50 * time.Millisecond):
		}
	}
}

var deleteDeployment = document(map[string]any{
	"$patch": "delete", "apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": managerName},
})

// podPatch tells the deployed manager what the process is told by flags and environment. Its digest
// makes a new image a new rollout, although the tag stays.
func (s *Session) podPatch() string {
	digest, _ := os.ReadFile(images.Record(s.layout, images.Product))
	operations := []map[string]any{
		{"op": "add", "path": "/spec/template/metadata/annotations/postflight.dev~1image", "value": string(digest)},
		{"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": "--public-url=" + s.url()},
	}
	for _, one := range s.managerVariables() {
		operations = append(operations, map[string]any{
			"op": "add", "path": "/spec/template/spec/containers/0/env/-", "value": map[string]string{"name": one.name, "value": one.value},
		})
	}
	return document(operations)
}

// applySamples applies config/samples and the demo shop, with what is known only here: where the
// shop is, and the hash of this cluster's API key.
func (s *Session) applySamples(ctx context.Context) error {
	if !exists(filepath.Join(s.layout.Root, "config", "samples", "kustomization.yaml")) {
		s.console.Warn("there is no config/samples: the cluster has no demo team")
		return nil
	}
	step := s.console.Step("samples")
	patches := []patch{
		{Target: target{Kind: "Environment"}, Patch: replace("/spec/url", s.demoURL())},
		{Target: target{Kind: "APIKey"}, Patch: replace("/spec/sha256", s.secrets.APIKeyHash())},
		{Target: target{Kind: "Deployment", Name: "demo-shop"}, Patch: s.shopPatch()},
	}
	err := s.overlay(ctx, "samples", patches, "config/samples", "hack/demo/deploy")
	if err == nil && s.options.Node {
		step.Update("waiting for the demo shop")
		err = s.kubectl(ctx, "rollout", "status", "deployment/demo-shop", "--namespace", "demo-shop", "--timeout=60s")
	}
	if err != nil {
		step.Fail()
		return err
	}
	if s.options.Node {
		step.Done("team %s, shop at %s", team, s.demoURL())
	} else {
		step.Done("team %s", team)
	}
	return nil
}

func (s *Session) shopPatch() string {
	digest, _ := os.ReadFile(images.Record(s.layout, images.DemoShop))
	port := s.plan.PortBase + layout.PortDemo
	return document([]map[string]any{
		{"op": "add", "path": "/spec/template/metadata/annotations", "value": map[string]string{"postflight.dev/image": string(digest)}},
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

// overlay generates DIR/NAME/kustomization.yaml over folders of the checkout, and applies it. It
// holds secrets. kustomize takes no absolute paths.
func (s *Session) overlay(ctx context.Context, name string, patches []patch, folders ...string) error {
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
	return s.apply(ctx, dir)
}
