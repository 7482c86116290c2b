package prepare_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/pod/prepare"
)

// environment is the environment of the init container, as Kubernetes sets it.
func environment(p job.Prepared) func(string) (string, bool) {
	j := job.WithPrepared(&batchv1.Job{Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{}}}, p)
	env := map[string]string{}
	for _, v := range j.Spec.Template.Spec.InitContainers[0].Env {
		env[v.Name] = strings.ReplaceAll(v.Value, "$$", "$")
	}
	return func(name string) (string, bool) { value, ok := env[name]; return value, ok }
}

func TestPrepare(t *testing.T) {
	l, err := prepare.ReadList(environment(job.Prepared{Program: "tool", Files: []job.PreparedFile{
		{Name: "a.json", Variable: "A", Content: []byte("{$(A)}")}, {Name: "b", Variable: "B"},
	}}))
	if err != nil {
		t.Fatal(err)
	}
	want := prepare.List{Directory: "/tools", Program: "tool", Files: []prepare.File{{Name: "a.json", Content: []byte("{$(A)}")},
		{Name: "b", Content: []byte{}}}}
	if diff := cmp.Diff(want, l); diff != "" {
		t.Error(diff)
	}
	l.Directory = t.TempDir()
	for range 2 { // the kubelet may repeat an init container
		if err := prepare.Prepare(l, os.Args[0]); err != nil {
			t.Fatal(err)
		}
	}
	modes := map[string]os.FileMode{"a.json": 0o444, "b": 0o444, "tool": 0o555}
	entries, err := os.ReadDir(l.Directory)
	if err != nil || len(entries) != len(modes) {
		t.Fatalf("%v, %v", entries, err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err != nil || info.Mode() != modes[e.Name()] {
			t.Errorf("%s: %v, %v: any user of a container of the tests must read it", e.Name(), info.Mode(), err)
		}
	}
	if content, err := os.ReadFile(filepath.Join(l.Directory, "a.json")); string(content) != "{$(A)}" || err != nil {
		t.Errorf("%q, %v", content, err)
	}
	own, _ := os.Stat(os.Args[0])
	if tool, err := os.Stat(filepath.Join(l.Directory, "tool")); err != nil || tool.Size() != own.Size() {
		t.Errorf("the copy is not whole: %v", err)
	}
}

func TestPrepareFails(t *testing.T) {
	full := t.TempDir()
	if err := os.Mkdir(filepath.Join(full, "a"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		list prepare.List
		want string
	}{
		"no directory": {prepare.List{Directory: filepath.Join(full, "none")},
			"the directory for the tests cannot be opened: no such file or directory"},
		"in the way": {prepare.List{Directory: full, Files: []prepare.File{{Name: "a"}}}, `"a" cannot be written for the tests: `},
		"no program": {prepare.List{Directory: full, Program: "tool"}, `"tool" cannot be written for the tests: no such file or directory`},
	} {
		if err := prepare.Prepare(tc.list, filepath.Join(full, "none")); err == nil || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestReadListHostile(t *testing.T) {
	file := func(name string) string {
		b, err := json.Marshal(job.PackedFile{Name: name, Content: "AAAA"})
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for name, tc := range map[string]struct{ variable, value, want string }{
		"relative":         {"PREPARE_DIRECTORY", "tools", "must be an absolute path"},
		"a program above":  {"PREPARE_PROGRAM", "../tool", "must be a name without a folder"},
		"a file above":     {"PREPARE_FILE_0", file("../a"), "must be JSON with a name without a folder"},
		"the folder":       {"PREPARE_FILE_0", file("."), "must be JSON with a name without a folder"},
		"a file in a path": {"PREPARE_FILE_0", file("a/b"), "must be JSON with a name without a folder"},
		"no name":          {"PREPARE_FILE_0", file(""), "must be JSON with a name without a folder"},
		"no JSON":          {"PREPARE_FILE_0", "{", "must be JSON with a name without a folder"},
		"no content":       {"PREPARE_FILE_0", file("a"), "cannot be read"},
	} {
		env := map[string]string{"PREPARE_DIRECTORY": "/tools", tc.variable: tc.value}
		if l, err := prepare.ReadList(func(name string) (string, bool) { v, ok := env[name]; return v, ok }); err == nil ||
			!strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %+v, %v", name, l, err)
		}
	}
}
