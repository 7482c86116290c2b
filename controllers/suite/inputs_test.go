package suite

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/core/run/lifecycle"
)

// shelf is a store with one file. If it is closed, it refuses connections.
type shelf struct {
	closed   bool
	lifetime time.Duration
}

func (s *shelf) Stat(_ context.Context, team *v1alpha1.Team, path string) (v1alpha1.SuiteInput, error) {
	switch {
	case s.closed:
		return v1alpha1.SuiteInput{}, errors.New("it refuses connections")
	case team.Name+"/"+path != "acme/app.apk":
		return v1alpha1.SuiteInput{}, fs.ErrNotExist
	default:
		return v1alpha1.SuiteInput{Path: path, Size: 5, ETag: "etag"}, nil
	}
}

func (s *shelf) SignDownload(_ context.Context, team, path string, lifetime time.Duration) (string, error) {
	s.lifetime = lifetime
	return "https://s3.example.com/" + team + "/" + path + "?X-Amz-Signature=secret", nil
}

// inputsWorld is a reconciler with teams, a store and a Suite whose APP names a file.
func inputsWorld(store Inputs, app string) (*Reconciler, lifecycle.Observation) {
	r := &Reconciler{
		Config:      Config{Inputs: InputsConfig{Store: store, Image: "postflight:1"}},
		limitRanges: newLimitRanges(fake.NewClientBuilder().Build(), clock.RealClock{}),
	}
	trigger := &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Name: "mobile", Namespace: "acme-tests"}}
	trigger.Spec.Inputs = &v1alpha1.Inputs{Variables: []string{"APP"}}
	trigger.Spec.Timeout = &metav1.Duration{Duration: time.Hour}
	trigger.Spec.JobTemplate.Spec.Template.Spec.Containers = []corev1.Container{{Name: "test"}}
	s := &v1alpha1.Suite{ObjectMeta: metav1.ObjectMeta{Name: "mobile-1", Namespace: "acme-tests"}, Spec: v1alpha1.SuiteSpec{Variables: map[string]string{"APP": app}}}
	acme := &v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: "acme"}, Spec: v1alpha1.TeamSpec{Namespace: "acme-tests"}}
	return r, lifecycle.Observation{Suite: s, Definition: lifecycle.Definition{Trigger: trigger, Environment: &v1alpha1.Environment{}, Team: acme}}
}

func TestFindInputs(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		store  Inputs
		app    string
		found  int
		want   lifecycle.Inputs // without Found
	}{
		"Found":      {reason: "By its fileLocation.", store: &shelf{}, app: "acme/app.apk", found: 1},
		"Playground": {reason: "By its path.", store: &shelf{}, app: "app.apk", found: 1},
		"NotNeeded":  {reason: "A run without files needs no store."},
		"Missing":    {reason: "The result names the file.", store: &shelf{}, app: "other.apk", want: lifecycle.Inputs{Missing: []string{"other.apk"}}},
		"OtherTeam":  {reason: "The key always starts with the team's own prefix.", store: &shelf{}, app: "evil/app.apk", want: lifecycle.Inputs{Missing: []string{"evil/app.apk"}}},
		"Traversal":  {reason: "It is rejected before a request to the store.", store: &shelf{closed: true}, app: "../evil/app.apk", want: lifecycle.Inputs{Invalid: `The variable APP does not name an input file: "../evil/app.apk" must not contain the segment "..". Give it the fileLocation or the playgroundFileLocation of an upload.`}},
		"StoreDown":  {reason: "It may come back.", store: &shelf{closed: true}, app: "app.apk", want: lifecycle.Inputs{Unavailable: "it refuses connections"}},
		"NoStore":    {reason: "Waiting does not help.", app: "app.apk", want: lifecycle.Inputs{NoStore: true}},
	} {
		t.Run(name, func(t *testing.T) {
			r, o := inputsWorld(tc.store, tc.app)
			got := *r.findInputs(t.Context(), o)
			if len(got.Found) != tc.found {
				t.Errorf("%s\nfound %+v", tc.reason, got.Found)
			}
			got.Found, got.Limit, got.Directory, got.Rewritten = nil, 0, "", nil
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestJobWithoutFiles: the directory is there for tests that look into it, even if no variable names a file.
func TestJobWithoutFiles(t *testing.T) {
	r, o := inputsWorld(&shelf{}, "")
	o.Inputs = r.findInputs(t.Context(), o)
	j, problem, err := r.buildJob(t.Context(), o)
	if err != nil || problem != "" {
		t.Fatal(problem, err)
	}
	pod := j.Spec.Template.Spec
	if mounts := pod.Containers[0].VolumeMounts; len(pod.InitContainers) != 0 || len(mounts) != 1 || mounts[0].MountPath != "/run-inputs" {
		t.Errorf("init containers: %+v, mounts: %+v", pod.InitContainers, mounts)
	}
}

// TestJobWithInputs: the Job downloads the files that were found, with URLs that are valid for as long as the run.
func TestJobWithInputs(t *testing.T) {
	store := &shelf{}
	r, o := inputsWorld(store, "acme/app.apk")
	o.Inputs = r.findInputs(t.Context(), o)
	j, problem, err := r.buildJob(t.Context(), o)
	if err != nil || problem != "" {
		t.Fatal(problem, err)
	}
	pod := j.Spec.Template.Spec
	if len(pod.InitContainers) != 1 || pod.InitContainers[0].Name != job.FetchContainer || pod.InitContainers[0].Image != "postflight:1" {
		t.Fatalf("init containers: %+v", pod.InitContainers)
	}
	env := map[string]string{}
	for _, e := range append(pod.InitContainers[0].Env, pod.Containers[0].Env...) {
		env[e.Name] = e.Value
	}
	var file job.File
	if err := json.Unmarshal([]byte(env["FETCH_FILE_0"]), &file); err != nil || file != (job.File{Path: "app.apk", URL: "https://s3.example.com/acme/app.apk?X-Amz-Signature=secret", ETag: "etag", Size: 5}) {
		t.Errorf("%+v, %v", file, err)
	}
	if env["APP"] != "/run-inputs/app.apk" || env["RUN_INPUTS_DIR"] != "/run-inputs" {
		t.Errorf("the test sees APP=%s RUN_INPUTS_DIR=%s", env["APP"], env["RUN_INPUTS_DIR"])
	}
	if store.lifetime <= time.Hour {
		t.Errorf("the URL is valid for %s, and the run may take an hour", store.lifetime)
	}
	if got := inputsOf(o.Suite, j); got == nil || len(got.Found) != 1 || got.Found[0] != o.Inputs.Found[0] {
		t.Errorf("after a crash: %+v", got)
	}
}
