package job

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// asks lets the pods of a Trigger wait for their version.
func asks(change ...func(*v1alpha1.ReadyHTTP)) func(*v1alpha1.Trigger) {
	return func(t *v1alpha1.Trigger) {
		h := &v1alpha1.ReadyHTTP{Path: "/version", JSON: &v1alpha1.ReadyJSON{Pointer: "/commit"}}
		for _, c := range change {
			c(h)
		}
		t.Spec.Ready = &v1alpha1.Ready{HTTP: h}
	}
}

func reachable(e *v1alpha1.Environment) { e.Spec.URL = "https://staging.example.com" }

func probedJob(change ...func(*v1alpha1.Trigger)) *batchv1.Job {
	s, t, e := newSuite(), newTrigger(change...), newEnvironment(reachable)
	return WithProbe(Build(s, t, e), s, t, e, "postflight:1")
}

// TestProbeContainer: it meets the restricted Pod Security Standard, has all that a quota demands, and nothing of the tests.
func TestProbeContainer(t *testing.T) {
	j := probedJob(asks(), func(t *v1alpha1.Trigger) {
		t.Spec.Variables = v1alpha1.Variables{"TOKEN": "secret"}
		pod(t).SecurityContext = &corev1.PodSecurityContext{RunAsUser: new(int64(0))}
	})
	got := j.Spec.Template.Spec.InitContainers[0]
	want := corev1.Container{
		Name: "postflight-ready", Image: "postflight:1", Command: []string{"/collect", "ready"},
		Args:      []string{"--path=/version", "--status=200", "--json=/commit", "--successes=3", "--interval=2s", "--timeout=10m0s"},
		Env:       []corev1.EnvVar{{Name: "POSTFLIGHT_SHA", Value: "cafe"}, {Name: "URL", Value: "https://staging.example.com"}},
		Resources: ownResources("10m", "64Mi"),
		SecurityContext: &corev1.SecurityContext{
			RunAsUser: new(int64(fetchUser)), RunAsNonRoot: new(true), AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true),
			Capabilities:   &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			SeccompProfile: &corev1.SeccompProfile{Type: "RuntimeDefault"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestProbeArguments: kubelets expand $(NAME).
func TestProbeArguments(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*v1alpha1.ReadyHTTP)
		url    string
		want   []string
	}{
		"a header": {func(h *v1alpha1.ReadyHTTP) { h.JSON, h.Header = nil, "X-Version" }, "https://staging.example.com",
			[]string{"--path=/version", "--status=200", "--header=X-Version", "--successes=3", "--interval=2s", "--timeout=10m0s"}},
		"all": {func(h *v1alpha1.ReadyHTTP) {
			h.Path, h.Status, h.Successes, h.Interval = "/v?a=$(TOKEN)", 204, 5, &metav1.Duration{Duration: time.Minute}
		}, "https://staging.example.com",
			[]string{"--path=/v?a=$$(TOKEN)", "--status=204", "--json=/commit", "--successes=5", "--interval=1m0s", "--timeout=10m0s"}},
		"another server": {func(h *v1alpha1.ReadyHTTP) { h.Path, h.URL, h.JSON = "", "http://shop.shop.svc/version", nil }, "http://shop.shop.svc/version",
			[]string{"--status=200", "--successes=3", "--interval=2s", "--timeout=10m0s"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := probedJob(asks(tc.change)).Spec.Template.Spec.InitContainers[0]
			if diff := cmp.Diff(tc.want, c.Args); diff != "" || values(c)["URL"] != tc.url {
				t.Errorf("-want +got:\n%s\nURL %s", diff, values(c)["URL"])
			}
		})
	}
}

// TestProbeComesFirst of all containers that the template has, and shares nothing with them.
func TestProbeComesFirst(t *testing.T) {
	s, e := newSuite(), newEnvironment(reachable)
	trigger := newTrigger(asks(), func(t *v1alpha1.Trigger) {
		t.Spec.Results = &v1alpha1.Results{}
		pod(t).InitContainers = []corev1.Container{{Name: "proxy", RestartPolicy: new(corev1.ContainerRestartPolicyAlways)}, {Name: "migrate"}}
	})
	build := func() *batchv1.Job { return Build(s, trigger, e) }
	collector := &Collector{Image: "postflight:1"}
	for name, tc := range map[string]struct {
		job  *batchv1.Job
		want []string
	}{
		"alone":       {build(), []string{ReadyContainer, "proxy", "migrate", "test"}},
		"with inputs": {WithInputs(build(), inputs), []string{FetchContainer, ReadyContainer, "proxy", "migrate", "test"}},
		"with results": {WithResults(build(), ResultsOf(trigger, collector)),
			[]string{CollectContainer, ReadyContainer, "proxy", "migrate", "test"}},
		"with both": {WithResults(WithInputs(build(), inputs), ResultsOf(trigger, collector)),
			[]string{CollectContainer, FetchContainer, ReadyContainer, "proxy", "migrate", "test"}},
	} {
		t.Run(name, func(t *testing.T) {
			before := tc.job.DeepCopy()
			got := WithProbe(tc.job, s, trigger, e, "postflight:1")
			var order []string
			for c := range Containers(&got.Spec.Template.Spec) {
				order = append(order, c.Name)
				if c.Name == ReadyContainer && (len(c.VolumeMounts) > 0 || len(c.Env) != 2 || len(c.EnvFrom) > 0) {
					t.Errorf("it shares with the tests: %+v", c)
				}
			}
			if diff := cmp.Diff(tc.want, order); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if diff := cmp.Diff(before, tc.job); diff != "" {
				t.Errorf("the argument has changed:\n%s", diff)
			}
		})
	}
}

// TestProbeIsNotRetried by pods that a Job may create after failures of its tests.
func TestProbeIsNotRetried(t *testing.T) {
	spec := func(change func(*batchv1.JobSpec)) func(*v1alpha1.Trigger) {
		return func(t *v1alpha1.Trigger) { change(&t.Spec.JobTemplate.Spec) }
	}
	full := make([]batchv1.PodFailurePolicyRule, 20)
	for name, tc := range map[string]struct {
		reason string
		change func(*batchv1.JobSpec)
		want   int // rules; ours is the first
		ours   bool
	}{
		"no repetition": {"The Job fails anyway.", func(*batchv1.JobSpec) {}, 0, false},
		"repetitions":   {"They are for tests.", func(s *batchv1.JobSpec) { s.BackoffLimit = new(int32(2)) }, 1, true},
		"shards":        {"The others would wait as long.", func(s *batchv1.JobSpec) { s.CompletionMode = new(batchv1.IndexedCompletion) }, 1, true},
		"rules of its own": {"The first that fits counts.", func(s *batchv1.JobSpec) {
			s.BackoffLimit = new(int32(2))
			s.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: full[:3]}
		}, 4, true},
		"no room": {"Kubernetes refuses more.", func(s *batchv1.JobSpec) {
			s.BackoffLimit = new(int32(2))
			s.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: full}
		}, 20, false},
		"early replacement": {"Kubernetes refuses both together.", func(s *batchv1.JobSpec) {
			s.BackoffLimit = new(int32(2))
			s.PodReplacementPolicy = new(batchv1.TerminatingOrFailed)
		}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			policy := probedJob(asks(), spec(tc.change)).Spec.PodFailurePolicy
			if policy == nil {
				policy = &batchv1.PodFailurePolicy{}
			}
			ours := len(policy.Rules) > 0 && policy.Rules[0].OnExitCodes != nil && *policy.Rules[0].OnExitCodes.ContainerName == ReadyContainer
			if len(policy.Rules) != tc.want || ours != tc.ours {
				t.Errorf("%s got %+v", tc.reason, policy.Rules)
			}
		})
	}
}

// TestStartLimitLeavesTimeToTheProbe: neither the manager nor a kubelet ends a run that waits for its version.
func TestStartLimitLeavesTimeToTheProbe(t *testing.T) {
	plain := newTrigger()
	j := probedJob(asks())
	if got, want := StartLimit(j), plain.StartTimeout()+10*time.Minute; got != want {
		t.Errorf("the tests may take %s to start, want %s", got, want)
	}
	if got, want := *j.Spec.Template.Spec.ActiveDeadlineSeconds, int64((plain.RunTimeout()+plain.StartTimeout()+10*time.Minute)/time.Second); got != want {
		t.Errorf("pods have %d s, want %d", got, want)
	}
	if TimeLimit(j) != plain.RunTimeout() {
		t.Errorf("the tests may take %s", TimeLimit(j))
	}
}

func TestCheckProbe(t *testing.T) {
	for name, tc := range map[string]struct {
		reason      string
		image       string
		change      func(*v1alpha1.Trigger)
		environment func(*v1alpha1.Environment)
		suite       func(*v1alpha1.Suite)
		want        string // in the sentence; empty: it can be asked
	}{
		"good": {reason: "There is a URL.", environment: reachable},
		"of a preview": {
			reason: "The notification has the URL.", suite: func(s *v1alpha1.Suite) { s.Spec.Deployment.URL = "https://pr-1.example.com" },
		},
		"of its own": {
			reason: "The URL is elsewhere.", change: asks(func(h *v1alpha1.ReadyHTTP) { h.Path, h.URL = "", "https://example.com/v" }),
		},
		"no URL": {reason: "Where is it?", want: `has only a path, and the run has no URL. Set the url of Environment "staging"`},
		"a URL of a variable": {
			reason: "Tests get it as well, in whatever form.", suite: func(s *v1alpha1.Suite) { s.Spec.Variables = v1alpha1.Variables{"URL": "staging"} },
			want: `cannot be asked: "staging" is no absolute http or https URL`,
		},
		"no image": {reason: "Without a store, nobody told the manager.", image: "none", environment: reachable, want: "set --image"},
		"OnFailure": {reason: "Kubernetes would restart it without end.", environment: reachable, want: "restartPolicy is Never",
			change: func(t *v1alpha1.Trigger) { asks()(t); pod(t).RestartPolicy = corev1.RestartPolicyOnFailure }},
	} {
		t.Run(name, func(t *testing.T) {
			trigger, environment, s := newTrigger(asks()), newEnvironment(), newSuite()
			if tc.change != nil {
				trigger = newTrigger(tc.change)
			}
			if tc.environment != nil {
				tc.environment(environment)
			}
			if tc.suite != nil {
				tc.suite(s)
			}
			image := "postflight:1"
			if tc.image != "" {
				image = ""
			}
			got := CheckProbe(s, trigger, environment, image)
			if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("%s got %q, want %q in it", tc.reason, got, tc.want)
			}
		})
	}
}

func TestProbeURL(t *testing.T) {
	for name, tc := range map[string]struct{ base, path, want string }{
		"a path":              {"https://example.com", "/version", "https://example.com/version"},
		"below a path":        {"https://example.com/shop/", "/version", "https://example.com/shop/version"},
		"a query":             {"https://example.com/?a=b", "/version?full=1", "https://example.com/version?full=1"},
		"escaped":             {"https://example.com", "/a%2Fb%20c/", "https://example.com/a%2Fb%20c/"},
		"none":                {"https://example.com/version?x=1#top", "", "https://example.com/version?x=1"},
		"a user":              {"https://ben:secret@example.com", "/version", "https://example.com/version"},
		"another host":        {"https://example.com", "//evil.example.com/version", "https://example.com/version"},
		"upwards":             {"https://example.com/shop", "/../version", "https://example.com/version"},
		"no host":             {"https://", "/version", ""},
		"no scheme":           {"example.com", "/version", ""},
		"another scheme":      {"ftp://example.com", "/version", ""},
		"a path that is none": {"https://example.com", "/%zz", ""},
	} {
		t.Run(name, func(t *testing.T) {
			u, err := ProbeURL(tc.base, tc.path)
			got := ""
			if err == nil {
				got = u.String()
			}
			if got != tc.want {
				t.Errorf("got %q (%v), want %q", got, err, tc.want)
			}
		})
	}
}
