package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing/fstest"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

const installName = "install.yaml"

func (r release) chartName() string { return "postflight-" + r.chartVersion() + ".tgz" }

// chartVersion is the version of the chart, which has no v.
func (r release) chartVersion() string { return strings.TrimPrefix(r.Version, "v") }

// writeManifests writes plain manifests and a chart for the image.
func (r release) writeManifests(digest v1.Hash) error {
	manifests, err := r.install(digest)
	if err != nil {
		return err
	}
	if err := os.WriteFile(r.path(installName), []byte(manifests), 0o644); err != nil {
		return err
	}
	chart, err := r.chart(digest)
	if err != nil {
		return err
	}
	return writeArchive(r.path(r.chartName()), r.Source.Date, chart)
}

func (r release) install(digest v1.Hash) (string, error) {
	folder := filepath.Join(r.Root, "config", "default")
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		return "", err
	}
	text, err := resources.AsYaml()
	if err != nil {
		return "", err
	}
	manifests, err := replaceOnce(string(text), map[string]string{"image: postflight/postflight:dev": "image: " + r.reference(digest)})
	return fmt.Sprintf("# Postflight %s: kubectl apply -f %s\n%s", r.Version, installName, manifests), err
}

func (r release) chart(digest v1.Hash) (fstest.MapFS, error) {
	root := os.DirFS(filepath.Join(r.Root, "charts", "postflight"))
	files := fstest.MapFS{}
	err := fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		name := filepath.Join("postflight", path)
		switch {
		case err != nil || !packed(path):
			return err
		case entry.IsDir():
			files[name] = &fstest.MapFile{Mode: fs.ModeDir | 0o755}
			return nil
		}
		content, err := fs.ReadFile(root, path)
		if err != nil {
			return err
		}
		if lines := r.chartLines(digest)[path]; lines != nil {
			text, err := replaceOnce(string(content), lines)
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			content = []byte(text)
		}
		files[name] = &fstest.MapFile{Data: content, Mode: 0o644}
		return nil
	})
	return files, err
}

// packed leaves files for tests and generators out of the chart.
func packed(path string) bool {
	return !strings.HasPrefix(path+"/", "ci/") && !slices.Contains([]string{".helmignore", "README.md.gotmpl"}, path)
}

// chartLines are the lines of the chart that a release replaces, by file.
func (r release) chartLines(digest v1.Hash) map[string]map[string]string {
	return map[string]map[string]string{
		"Chart.yaml": {
			"\nversion: 0.1.0\n":  "\nversion: " + r.chartVersion() + "\n",
			"\nappVersion: dev\n": "\nappVersion: " + r.Version + "\n",
		},
		"values.yaml": {
			"\n  repository: postflight/postflight\n": "\n  repository: " + r.Image + "\n",
			"\n  digest: \"\"\n":                      "\n  digest: " + digest.String() + "\n",
		},
	}
}

// replaceOnce replaces texts that must be there once each.
func replaceOnce(text string, replacements map[string]string) (string, error) {
	for old, replacement := range replacements {
		if n := strings.Count(text, old); n != 1 {
			return "", fmt.Errorf("%q is there %d times, not once", strings.TrimSpace(old), n)
		}
		text = strings.Replace(text, old, replacement, 1)
	}
	return text, nil
}
