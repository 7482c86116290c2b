package fetch_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"

	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/pod/fetch"
)

func TestReadList(t *testing.T) {
	good := `{"path":"a/b.apk","url":"https://s3.example.com/x?secret","etag":"e","size":5}`
	for name, tc := range map[string]struct {
		env  map[string]string
		want fetch.List
		bad  bool
	}{
		"no files": {env: map[string]string{"FETCH_DIRECTORY": "/in"}, want: fetch.List{Directory: "/in"}},
		"two files": {env: map[string]string{"FETCH_DIRECTORY": "/in", "FETCH_FILE_0": good, "FETCH_FILE_1": good, "FETCH_CA": "pem"},
			want: fetch.List{Directory: "/in", CA: "pem", Files: []job.File{{Path: "a/b.apk", URL: "https://s3.example.com/x?secret", ETag: "e",
				Size: 5}, {Path: "a/b.apk", URL: "https://s3.example.com/x?secret", ETag: "e", Size: 5}}}},
		"directory is missing": {env: map[string]string{"FETCH_FILE_0": good}, bad: true},
		"file is not JSON":     {env: map[string]string{"FETCH_DIRECTORY": "/in", "FETCH_FILE_0": "secret"}, bad: true},
		"URL is missing":       {env: map[string]string{"FETCH_DIRECTORY": "/in", "FETCH_FILE_0": `{"path":"a.apk"}`}, bad: true},
		"path leads out": {env: map[string]string{"FETCH_DIRECTORY": "/in", "FETCH_FILE_0": strings.Replace(good, "a/b", "../b", 1)},
			bad: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := fetch.ReadList(func(key string) (string, bool) { v, ok := tc.env[key]; return v, ok })
			if tc.bad {
				if fetch.KindOf(err) != fetch.BadList || strings.Contains(err.Error(), "secret") {
					t.Errorf("%v", err)
				}
				return
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
}

// TestListOfAJob: what job.WithInputs writes is what is read here.
func TestListOfAJob(t *testing.T) {
	file := job.File{Path: "größe $(HOME) $$/a+b.apk", URL: "https://s3.example.com/$x?a=b&c=d", ETag: "abc", Size: 7}
	j := job.WithInputs(&batchv1.Job{}, job.Inputs{Directory: "/run-inputs", CA: "-----BEGIN $", Files: []job.File{file}})
	env := map[string]string{}
	for _, entry := range j.Spec.Template.Spec.InitContainers[0].Env {
		env[entry.Name] = strings.ReplaceAll(entry.Value, "$$", "$") // as the kubelet does
	}
	got, err := fetch.ReadList(func(key string) (string, bool) { v, ok := env[key]; return v, ok })
	if err != nil || len(got.Files) != 1 || got.Files[0] != file || got.Directory != "/run-inputs" || got.CA != "-----BEGIN $" {
		t.Errorf("%+v, %v", got, err)
	}
}
