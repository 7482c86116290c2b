package main

import (
	"context"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// origin is what the programs of a row are made from.
type origin struct {
	folders map[string]bool // of all packages of this module, and whether the programs contain them
	server  bool            // they run an API server, which reads config/
	manager bool            // they run bin/manager
	store   bool            // they run bin/store
}

// findOrigin asks Go, so that no list of folders has to follow the code.
func findOrigin(ctx context.Context, t tree, r row, all []string) (*origin, error) {
	o := &origin{folders: map[string]bool{}}
	for _, folder := range all {
		o.folders[folder] = false
	}
	if err := o.contain(ctx, t, "-test", r.folder); err != nil {
		return nil, err
	}
	o.server, o.manager, o.store = o.folders["test/apiserver"], o.folders["test/managers"], o.folders["test/stores"]
	if o.manager {
		return o, o.contain(ctx, t, "-test=false", "cmd/manager")
	}
	return o, nil
}

func (o *origin) contain(ctx context.Context, t tree, test, folder string) error {
	folders, err := packages(ctx, t, test, "-deps", "./"+folder)
	for _, folder := range folders {
		o.folders[folder] = true
	}
	return err
}

// packages of this module, by their folders.
func packages(ctx context.Context, t tree, args ...string) (folders []string, err error) {
	out, err := t.output(ctx, "go", append([]string{"list", "-f", "{{with .Module}}{{if .Main}}{{$.Dir}}{{end}}{{end}}"}, args...)...)
	for _, dir := range lines(out) {
		if folder, err := filepath.Rel(t.root, dir); err == nil {
			folders = append(folders, folder)
		}
	}
	return folders, err
}

// touched reports whether one of the changed files is part of the programs: in the folder of a package, or of data below it.
func (o *origin) touched(changed []string) bool {
	return slices.ContainsFunc(changed, func(file string) bool {
		if file == "go.mod" || file == "go.sum" {
			return true
		}
		dir := path.Dir(file)
		for dir != "." && !known(o.folders, dir) {
			dir = path.Dir(dir)
		}
		return o.folders[dir] || o.readsConfig(file)
	})
}

func known(folders map[string]bool, dir string) bool { _, is := folders[dir]; return is }

// readsConfig: the CRDs, rights and policies of API servers are files.
func (o *origin) readsConfig(file string) bool { return o.server && strings.HasPrefix(file, "config/") }

// unfair reports whether the benchmark itself has changed, or what it runs on: the CPU time of its process may be another one for that.
func (o *origin) unfair(changed []string) bool {
	return o.touched(slices.DeleteFunc(slices.Clone(changed), func(file string) bool {
		return !strings.HasSuffix(file, "_test.go") && !strings.HasPrefix(file, "test/")
	}))
}
