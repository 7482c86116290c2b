package outcome

import (
	"path/filepath"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// TestUnexplainedObject reads the recorded Jobs: events need to be read only if neither the Job nor its pods say what
// they wait for.
func TestUnexplainedObject(t *testing.T) {
	want := map[string]string{"quota": "the Job", "secret-volume-missing": "the pod"}
	files, err := filepath.Glob("testdata/recorded/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded Jobs: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(name, func(t *testing.T) {
			j, pods := recorded(t, file)
			j.UID = "the Job"
			for i := range pods {
				pods[i].UID = "the pod"
			}
			if got := string(UnexplainedObject(j, pods)); got != want[name] {
				t.Errorf("want %q, got %q", want[name], got)
			}
		})
	}
}

// TestUnexplainedJob tests a Job whose pods are created and deleted.
func TestUnexplainedJob(t *testing.T) {
	const uid = "the Job"
	cases := map[string]struct {
		reason string
		change func(*batchv1.Job)
		want   string
	}{
		"NoPod":       {"the first one was refused", func(*batchv1.Job) {}, uid},
		"NoSecondPod": {"the next one was refused", func(j *batchv1.Job) { j.Status.Failed = 1 }, uid},
		"Terminating": {"the next one comes when it is gone", func(j *batchv1.Job) { j.Status.Terminating = new(int32(1)) }, ""},
		"Ready":       {"all is well", active(1), ""},
	}
	for name, tc := range cases {
		j := newJob(tc.change)
		j.UID = uid
		if got := string(UnexplainedObject(j, nil)); got != tc.want {
			t.Errorf("%s: %s: got %q, want %q", name, tc.reason, got, tc.want)
		}
	}
}

func TestWithWarning(t *testing.T) {
	const fix = ". Fix that, or the jobTemplate of the Trigger."
	j := newJob(func(j *batchv1.Job) { j.CreationTimestamp = after(0) })
	before := doing("Waiting for the pod to be created.")
	cases := map[string]struct {
		reason, warning, want string
		hopeless              bool
	}{
		"none": {reason: "Kubernetes warned of nothing", want: before.Condition.Message},
		"quota": {reason: "the pod's name has another end at each attempt", warning: `Error creating: pods "smoke-4kq2z-x7zkd" is forbidden: exceeded quota: pods, requested: pods=1, used: pods=2, limited: pods=2`,
			want: "The pod cannot start: exceeded quota: pods, requested: pods=1, used: pods=2, limited: pods=2. The quota has room again when other pods have ended."},
		"quota of what is not said": {reason: "it would be refused again", warning: `Error creating: pods "smoke-x" is forbidden: failed quota: pods: must specify limits.cpu for: test`,
			want: "The pod cannot start: failed quota: pods: must specify limits.cpu for: test. Set that in the jobTemplate of the Trigger, or give the namespace a LimitRange with a default.", hopeless: true},
		"policy": {reason: "a policy's own sentence", warning: `Error creating: admission webhook "policy.example.com" denied the request: no limits.`,
			want: `The pod cannot start: admission webhook "policy.example.com" denied the request: no limits` + fix, hopeless: true},
		"security": {reason: "a Pod Security Standard does not change by itself",
			warning: `Error creating: pods "smoke-x" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot != true`,
			want:    `The pod cannot start: violates PodSecurity "restricted:latest": runAsNonRoot != true` + fix, hopeless: true},
		"account": {reason: "neither does a missing ServiceAccount",
			warning: `Error creating: pods "smoke-x" is forbidden: error looking up service account demo/tests: serviceaccount "tests" not found`,
			want:    `The pod cannot start: error looking up service account demo/tests: serviceaccount "tests" not found` + fix, hopeless: true},
		"webhook down": {reason: "it may come back",
			warning: `Error creating: Internal error occurred: failed calling webhook "policy.example.com": connection refused`,
			want:    `The pod cannot start: Internal error occurred: failed calling webhook "policy.example.com": connection refused` + fix},
		"volume": {reason: "the kubelet's message", warning: `MountVolume.SetUp failed for volume "shop" : secret "shop" not found`,
			want: `The pod cannot start: MountVolume.SetUp failed for volume "shop" : secret "shop" not found` + fix},
		"sandbox": {reason: "the sandbox has another id at each attempt", warning: `failed to setup network for sandbox "` + strings.Repeat("0a", 32) + `": no address`,
			want: `The pod cannot start: failed to setup network for sandbox "…": no address` + fix},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			state := before.WithWarning(j, tc.warning)
			c := state.Condition
			if c.Message != tc.want || c.Reason != v1alpha1.ReasonRunning {
				t.Errorf("%s:\nwant %s\ngot  %s (%s)", tc.reason, tc.want, c.Message, c.Reason)
			}
			if got := !state.HopelessSince.IsZero(); got != tc.hopeless {
				t.Errorf("hopeless: %t, want %t", got, tc.hopeless)
			}
			if again := state.WithWarning(j, tc.warning); again.Condition.Message != c.Message {
				t.Errorf("the same warning twice: %s", again.Condition.Message)
			}
		})
	}
}
