package apiserver

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Root is the directory of the repository, of which some tests are modules of their own.
func Root() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "PROJECT")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			err = errors.New("no PROJECT above the working directory")
		}
		dir = parent
	}
	return "", err
}

// findAssets is the directory that holds etcd and kube-apiserver: $KUBEBUILDER_ASSETS, or else
// bin/cluster of this repository.
func findAssets() (string, error) {
	dir := os.Getenv("KUBEBUILDER_ASSETS")
	if dir == "" {
		root, err := Root()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(root, "bin", "cluster")
	}
	for _, binary := range []string{"etcd", "kube-apiserver", "kubectl"} {
		if _, err := os.Stat(filepath.Join(dir, binary)); err != nil {
			return "", fmt.Errorf("there is no API server to test against (no %s in %s); build one by `make assets`, or set KUBEBUILDER_ASSETS",
				binary, dir)
		}
	}
	return filepath.Abs(dir)
}
