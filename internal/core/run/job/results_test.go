package job

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/text/mask"
)

var collector = Collector{Image: "postflight:1", URL: "http://postflight.postflight-system.svc", CA: "-----BEGIN CERTIFICATE-----"}

// wantsResults is a Trigger with results: {}, as it was stored before the defaults existed.
func wantsResults(t *v1alpha1.Trigger) { t.Spec.Results = &v1alpha1.Results{} }

func grace(seconds int64) func(*v1alpha1.Trigger) {
	return func(t *v1alpha1.Trigger) { pod(t).TerminationGracePeriodSeconds = &seconds }
}

// withResults is the pod of a Trigger that also needs inputs.
func withResults(c *Collector, change ...func(*v1alpha1.Trigger)) corev1.PodSpec {
	trigger := newTrigger(append([]func(*v1alpha1.Trigger){wantsResults}, change...)...)
	j := WithInputs(Build(newSuite(), trigger, newEnvironment()), inputs)
	return WithResults(j, ResultsOf(trigger, c)).Spec.Template.Spec
}

func TestWithResults(t *testing.T) {
	got := withResults(&collector, func(t *v1alpha1.Trigger) {
		pod(t).InitContainers = []corev1.Container{{Name: "proxy", RestartPolicy: new(corev1.ContainerRestartPolicyAlways)}}
		pod(t).Volumes = []corev1.Volume{{Name: "cache"}}
		t.Spec.Variables = v1alpha1.Variables{"POSTFLIGHT_RESULTS_DIR": "/no"}
	})
	var order []string
	for c := range Containers(&got) {
		order = append(order, c.Name)
	}
	if diff := cmp.Diff([]string{CollectContainer, FetchContainer, "proxy", "test"}, order); diff != "" {
		t.Fatalf("the collector stops last: -want, +got:\n%s", diff)
	}
	writable := corev1.VolumeMount{Name: "postflight-results", MountPath: "/postflight/results"}
	for c := range Containers(&got) {
		mounts := map[string]corev1.VolumeMount{}
		for _, m := range c.VolumeMounts {
			mounts[m.Name] = m
		}
		directory := kubelet(c.Env)["POSTFLIGHT_RESULTS_DIR"]
		switch c.Name {
		case CollectContainer:
			continue
		case FetchContainer:
			if _, sees := mounts["postflight-results"]; sees || directory != "" {
				t.Errorf("the download needs no results, and has %q, %v", directory, mounts)
			}
		default:
			if directory != "/postflight/results" || cmp.Diff(writable, mounts["postflight-results"]) != "" {
				t.Errorf("container %q has %q, %v", c.Name, directory, mounts)
			}
		}
		if _, sees := mounts["postflight-token"]; sees {
			t.Errorf("container %q sees the token", c.Name)
		}
	}
	volumes := map[string]corev1.VolumeSource{}
	for _, v := range got.Volumes {
		volumes[v.Name] = v.VolumeSource
	}
	want := map[string]corev1.VolumeSource{
		"cache":              {},
		"postflight-inputs":  {EmptyDir: &corev1.EmptyDirVolumeSource{}},
		"postflight-results": {EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: new(resource.MustParse("4Gi"))}},
		"postflight-token": {Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{
			ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Audience: "postflight-collect", ExpirationSeconds: new(int64(3600)), Path: "token"},
		}}}},
	}
	if diff := cmp.Diff(want, volumes); diff != "" {
		t.Errorf("volumes: -want, +got:\n%s", diff)
	}
}

func TestCollectContainer(t *testing.T) {
	got := withResults(&collector).InitContainers[0]
	want := corev1.Container{
		Name: "postflight-collect", Image: "postflight:1", Command: []string{"/collect", "results"},
		Env: []corev1.EnvVar{
			{Name: "POSTFLIGHT_COLLECT_BUDGET", Value: "55s"},
			{Name: "POSTFLIGHT_COLLECT_CA", Value: "-----BEGIN CERTIFICATE-----"},
			{Name: "POSTFLIGHT_COLLECT_TOKEN", Value: "/var/run/secrets/postflight/token"},
			{Name: "POSTFLIGHT_COLLECT_URL", Value: "http://postflight.postflight-system.svc"},
			{Name: "POSTFLIGHT_RESULTS_DIR", Value: "/results"},
		},
		RestartPolicy: new(corev1.ContainerRestartPolicyAlways),
		VolumeMounts: []corev1.VolumeMount{
			{Name: "postflight-results", MountPath: "/results", ReadOnly: true},
			{Name: "postflight-token", MountPath: "/var/run/secrets/postflight", ReadOnly: true},
		},
		Resources: got.Resources,
		SecurityContext: &corev1.SecurityContext{
			RunAsNonRoot: new(true), AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true),
			Capabilities:   &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			SeccompProfile: &corev1.SeccompProfile{Type: "RuntimeDefault"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if got.Resources.Requests.Name(name, "").IsZero() || got.Resources.Limits.Name(name, "").IsZero() {
			t.Errorf("a quota on %s refuses the container: %+v", name, got.Resources)
		}
	}
}

// TestSecretsOfResults: the collector masks what the variables of the run have as a secret. The value arrives byte for byte.
func TestSecretsOfResults(t *testing.T) {
	trigger := newTrigger(wantsResults)
	r := ResultsOf(trigger, &collector)
	r.Secrets = mask.NewValues([]string{`quo"te$(HOME)`, "hunter2"})
	env := WithResults(Build(newSuite(), trigger, newEnvironment()), r).Spec.Template.Spec.InitContainers[0].Env
	want := corev1.EnvVar{Name: "POSTFLIGHT_COLLECT_MASK", Value: "quo\"te$$(HOME)\nhunter2"}
	if !slices.Contains(env, want) {
		t.Errorf("%+v, want %+v", env, want)
	}
}

func TestGraceOfResults(t *testing.T) {
	for name, tc := range map[string]struct {
		reason    string
		collector *Collector
		change    []func(*v1alpha1.Trigger)
		grace     *int64
		budget    string
	}{
		"Silent":        {"the default of Kubernetes is short for an upload", &collector, nil, new(int64(60)), "55s"},
		"Long":          {"the template knows better", &collector, []func(*v1alpha1.Trigger){grace(600)}, new(int64(600)), "9m55s"},
		"Short":         {"half of it is left", &collector, []func(*v1alpha1.Trigger){grace(4)}, new(int64(4)), "2s"},
		"None":          {"the kubelet gives 2 s at least", &collector, []func(*v1alpha1.Trigger){grace(0)}, new(int64(0)), "1s"},
		"NothingIsKept": {"the tests alone need what Kubernetes gives them", nil, nil, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := withResults(tc.collector, tc.change...)
			if diff := cmp.Diff(tc.grace, got.TerminationGracePeriodSeconds); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
			if budget := kubelet(got.InitContainers[0].Env)["POSTFLIGHT_COLLECT_BUDGET"]; budget != tc.budget {
				t.Errorf("%s: the budget is %q, want %q", tc.reason, budget, tc.budget)
			}
		})
	}
}

// Without a store, the tests find the same directory and variable, and nothing has a token.
func TestResultsWithoutStore(t *testing.T) {
	got := withResults(nil, func(t *v1alpha1.Trigger) {
		t.Spec.Results = &v1alpha1.Results{Directory: "/out", SizeLimit: new(resource.MustParse("1Gi"))}
	})
	test := got.Containers[0]
	if values(test)["POSTFLIGHT_RESULTS_DIR"] != "/out" || test.VolumeMounts[len(test.VolumeMounts)-1].MountPath != "/out" {
		t.Errorf("the tests have %v, %v", test.Env, test.VolumeMounts)
	}
	if len(got.InitContainers) != 1 || len(got.Volumes) != 2 || got.Volumes[1].EmptyDir.SizeLimit.String() != "1Gi" {
		t.Errorf("want only the download and the directory: %v, %v", got.InitContainers, got.Volumes)
	}
}

func TestCheckTemplate(t *testing.T) {
	mount := func(path string) func(*v1alpha1.Trigger) {
		return func(t *v1alpha1.Trigger) {
			pod(t).Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "reports", MountPath: path}}
		}
	}
	volume := func(name string) func(*v1alpha1.Trigger) {
		return func(t *v1alpha1.Trigger) { pod(t).Volumes = []corev1.Volume{{Name: name}} }
	}
	called := func(name string) func(*v1alpha1.Trigger) {
		return func(t *v1alpha1.Trigger) { pod(t).InitContainers = []corev1.Container{{Name: name}} }
	}
	directory := func(results, inputs string) func(*v1alpha1.Trigger) {
		return func(t *v1alpha1.Trigger) {
			t.Spec.Results, t.Spec.Inputs = &v1alpha1.Results{Directory: results}, &v1alpha1.Inputs{Directory: inputs}
		}
	}
	type changes []func(*v1alpha1.Trigger)
	for name, tc := range map[string]struct {
		reason string
		change changes
		want   string // in the sentence; empty: a Job can be created
	}{
		"Good":              {"nothing collides", changes{wantsResults, mount("/reports"), volume("reports")}, ""},
		"NoResults":         {"the names are free", changes{mount("/postflight/results"), volume("postflight-results")}, ""},
		"OwnCollector":      {"a name of Postflight's", changes{called("postflight-collect")}, "container named postflight-collect"},
		"OwnProbe":          {"a name of Postflight's", changes{called("postflight-ready")}, "container named postflight-ready"},
		"OwnFetch":          {"a name of Postflight's", changes{called("postflight-fetch")}, "container named postflight-fetch"},
		"OwnVolume":         {"a name of Postflight's", changes{wantsResults, volume("postflight-results")}, "volume named postflight-results"},
		"OwnToken":          {"a name of Postflight's", changes{wantsResults, volume("postflight-token")}, "volume named postflight-token"},
		"SamePath":          {"two mounts at one path", changes{wantsResults, mount("/postflight/results/")}, `mounts the volume "reports" at /postflight/results`},
		"DeeperMount":       {"its files are kept elsewhere", changes{wantsResults, mount("/postflight/results/cache")}, ""},
		"BesideInputs":      {"two directories", changes{directory("/a/results", "/a/inputs")}, ""},
		"LikeInputs":        {"only the names are alike", changes{directory("/run-inputs-2", "/run-inputs")}, ""},
		"SameAsInputs":      {"one is read-only", changes{directory("/run", "/run")}, "are inside one another"},
		"InInputs":          {"nobody can write there", changes{directory("/run-inputs/results", "")}, "are inside one another"},
		"InputsAmongThem":   {"the inputs would be uploaded again", changes{directory("/run", "/run/inputs")}, "are inside one another"},
		"InputsInDefaultOf": {"the defaults count", changes{directory("", "/postflight")}, "/postflight/results and spec.inputs.directory /postflight"},
	} {
		t.Run(name, func(t *testing.T) {
			got := CheckTemplate(newTrigger(tc.change...))
			if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("%s: %q, want %q in it", tc.reason, got, tc.want)
			}
		})
	}
}
