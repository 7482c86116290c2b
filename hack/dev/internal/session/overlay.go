package session

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/postflight-dev/postflight/hack/dev/internal/layout"
)

// overlay is a kustomization.
type overlay struct {
	Resources      []string `json:"resources"` // folders of the checkout, or files
	Patches        []patch  `json:"patches,omitempty"`
	Transformers   []string `json:"transformers,omitempty"`
	Configurations []string `json:"configurations,omitempty"`

	files map[string][]byte // beside kustomization.yaml
}

// applyOverlay writes DIR/NAME/kustomization.yaml, which contains secrets, and applies it. Server-side apply reverts manual changes.
func (s *Session) applyOverlay(ctx context.Context, name string, o overlay) error {
	dir := s.layout.Path(name)
	if err := s.writeOverlay(dir, o); err != nil {
		return err
	}
	return s.apply(ctx, "-k", dir)
}

// writeOverlay makes paths relative, because kustomize accepts no others.
func (s *Session) writeOverlay(dir string, o overlay) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for name, content := range o.files {
		if err := layout.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return err
		}
	}
	for i, resource := range o.Resources {
		if o.files[resource] != nil {
			continue
		}
		relative, err := filepath.Rel(dir, filepath.Join(s.layout.Root, resource))
		if err != nil {
			return err
		}
		o.Resources[i] = relative
	}
	content, err := json.MarshalIndent(struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		overlay
	}{"kustomize.config.k8s.io/v1beta1", "Kustomization", o}, "", "  ")
	if err != nil {
		return err
	}
	return layout.WriteFile(filepath.Join(dir, "kustomization.yaml"), content, 0o600)
}

// applyFile writes DIR/NAME and applies it.
func (s *Session) applyFile(ctx context.Context, name string, manifest []byte, flags ...string) error {
	file := s.layout.Path(name)
	if err := layout.WriteFile(file, manifest, 0o644); err != nil {
		return err
	}
	return s.apply(ctx, append(flags, "-f", file)...)
}

func (s *Session) apply(ctx context.Context, from ...string) error {
	return s.kubectl(ctx, append([]string{"apply", "--server-side", "--force-conflicts", "--field-manager=postflight-dev"}, from...)...)
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
