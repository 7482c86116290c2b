package main

import (
	"os"

	"sigs.k8s.io/yaml"
)

const krewName = "postflight.krew.yaml"

// krewPlatform says where kubectl's plugin manager finds the plugin.
type krewPlatform struct {
	Selector map[string]map[string]string `json:"selector"`
	URI      string                       `json:"uri"`
	SHA256   string                       `json:"sha256"`
	Bin      string                       `json:"bin"`
}

// writeKrew writes the manifest of the kubectl plugin. The archives must exist.
func (r release) writeKrew() error {
	var platforms []krewPlatform
	for _, p := range r.Platforms {
		name := r.archiveName("kubectl-postflight", p)
		sum, err := sha256File(r.path(name))
		if err != nil {
			return err
		}
		platforms = append(platforms, krewPlatform{
			Selector: map[string]map[string]string{"matchLabels": {"os": p.OS, "arch": p.Architecture}},
			URI:      r.downloads() + name, SHA256: sum, Bin: p.executable("kubectl-postflight"),
		})
	}
	manifest, err := yaml.Marshal(map[string]any{
		"apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
		"kind":       "Plugin",
		"metadata":   map[string]string{"name": "postflight"},
		"spec": map[string]any{
			"version": r.Version, "homepage": repository, "platforms": platforms,
			"shortDescription": "Runs of tests after deployments, and keys",
			"description":      "Shows, repeats and cancels the runs of Postflight, reads their logs and results, and creates keys of teams.\n",
		},
	})
	if err != nil {
		return err
	}
	return os.WriteFile(r.path(krewName), manifest, 0o644)
}

func (r release) downloads() string { return repository + "/releases/download/" + r.Version + "/" }
