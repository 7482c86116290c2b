package outcome

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
)

func active(ready int32) func(*batchv1.Job) {
	return func(j *batchv1.Job) { j.Status.Active, j.Status.Ready = 1, &ready }
}

func restarting(p *corev1.Pod) {
	p.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	p.Status.ContainerStatuses[0].LastTerminationState = exit(5, 9, "broken")
}

const (
	follow = "The tests are running. Follow them: postflight runs logs smoke-1 -n acme -f, or kubectl logs -n acme job/smoke-1 -f"
	setUp  = "The pod is being set up: volumes, network, images. If that takes long: kubectl describe pod -n acme smoke-1-x"
)

func TestRunningJob(t *testing.T) {
	cases := map[string]struct {
		reason string
		job    *batchv1.Job
		pods   []corev1.Pod
		begun  bool // a container of the tests runs, or has run
		want   string
	}{
		"New": {
			reason: "A Job whose pod does not come is refused one, which only its events tell.",
			job:    newJob(),
			want:   "Waiting for the pod to be created. If that takes long, a quota or an admission policy refuses it: kubectl describe job -n acme smoke-1",
		},
		"Replacing": {
			reason: "A pod that is being deleted is no pod that was refused.",
			job:    newJob(func(j *batchv1.Job) { j.Status.Terminating = new(int32(1)) }),
			want:   "The pod is being deleted.",
		},
		"ManagedByAnother": {
			reason: "Kubernetes leaves it alone, and so does its deadline.",
			job:    newJob(func(j *batchv1.Job) { j.Spec.ManagedBy = new("example.com/multikueue") }),
			want:   `Waiting for "example.com/multikueue", which manages the Job, to start it; if it does not, the run ends by its startTimeout. If it is not installed, correct spec.managedBy in the jobTemplate of the Trigger.`,
		},
		"Starting": {
			reason: "Without its pods a Job tells little.",
			job:    newJob(active(0)),
			want:   "The pod is starting.",
		},
		"Ready": {
			reason: "It tells that one is ready, for which the pods need not be listed.",
			job:    newJob(active(1)),
			begun:  true,
			want:   follow,
		},
		"Running": {
			reason: "The words are the same with the pod and without.",
			job:    newJob(active(1)),
			pods:   []corev1.Pod{newPod(corev1.PodRunning, container("test", runs))},
			begun:  true,
			want:   follow,
		},
		"BetweenAttempts": {
			reason: "The next pod waits for the Job's back-off.",
			job:    newJob(func(j *batchv1.Job) { j.Status.Failed = 1 }),
			pods:   []corev1.Pod{newPod(corev1.PodFailed, container("test", exit(1, 9, "")))},
			begun:  true,
			want:   "A pod failed, and the Job starts another, as its backoffLimit allows.",
		},
		"NotCounted": {
			reason: "Kubernetes lists a pod that failed before it counts it.",
			job: newJob(func(j *batchv1.Job) {
				j.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Failed: []types.UID{"uid"}}
			}),
			begun: true,
			want:  "A pod failed, and the Job starts another, as its backoffLimit allows.",
		},
		"Ended": {
			reason: "The Job has not counted its pod yet.",
			job:    newJob(active(0)),
			pods:   []corev1.Pod{newPod(corev1.PodSucceeded, container("test", exit(0, 9, "")))},
			begun:  true,
			want:   "The pod has ended.",
		},
		"FailureTarget": {
			reason: "A Job that is about to fail has pods that still run, so the run has not ended.",
			job:    newJob(with(batchv1.JobFailureTarget, batchv1.JobReasonBackoffLimitExceeded, "")),
			pods:   []corev1.Pod{newPod(corev1.PodFailed, container("test", exit(1, 9, "")))},
			begun:  true,
			want:   "The run did not pass; its pods are stopping.",
		},
		"Deadline": {
			reason: "The same at the end of its time.",
			job:    newJob(with(batchv1.JobFailureTarget, batchv1.JobReasonDeadlineExceeded, "")),
			begun:  true,
			want:   "The run took longer than its timeout of 30m; its pods are stopping.",
		},
		"SuccessCriteriaMet": {
			reason: "A Job that is about to be complete has pods too.",
			job:    newJob(with(batchv1.JobSuccessCriteriaMet, batchv1.JobReasonSuccessPolicy, "")),
			begun:  true,
			want:   "Every container exited with 0; the pods are stopping.",
		},
		"Deleted": {
			reason: "The Job goes when its pods have gone.",
			job:    newJob(active(1), func(j *batchv1.Job) { j.DeletionTimestamp = new(after(9)) }),
			begun:  true,
			want:   "The Job is being deleted; its pods are stopping.",
		},
		"OneBlocked": {
			reason: "Of several pods the one that cannot start holds the run up.",
			job:    newJob(active(1)),
			pods: []corev1.Pod{
				newPod(corev1.PodRunning, named("a"), container("test", runs)),
				newPod(corev1.PodPending, named("b"), container("test", waits("ErrImageNeverPull", ""))),
			},
			begun: true,
			want:  `The pod cannot start: the image "acme/tests:1" of container "test" is not on the node, and its imagePullPolicy is Never.`,
		},
		"OneRunning": {
			reason: "Of several pods the one that runs is worth following.",
			job:    newJob(active(1)),
			pods: []corev1.Pod{
				newPod(corev1.PodPending, named("a"), container("test", waits("ContainerCreating", ""))),
				newPod(corev1.PodRunning, named("b"), container("test", runs)),
			},
			begun: true,
			want:  follow,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			slices.Reverse(tc.pods)
			if diff := cmp.Diff(unfinishedState(tc.begun, tc.want), Observe(tc.job, tc.pods).Condition); diff != "" {
				t.Errorf("%s\nObserve(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestStartingPod(t *testing.T) {
	backOff := `Back-off pulling image "acme/tests:1": ErrImagePull: rpc error: code = NotFound desc = failed to pull and unpack image "acme/tests:1": failed to resolve reference "acme/tests:1": not found`
	notFound := `The pod cannot start: the image "acme/tests:1" of container "test" cannot be pulled: not found. Check its name and tag, and the imagePullSecrets.`
	cases := map[string]struct {
		reason string
		pod    corev1.Pod
		begun  bool // a container of the tests runs, or has run
		want   string
	}{
		"Unscheduled": {
			reason: "The scheduler has not looked at it.",
			pod:    newPod(corev1.PodPending, func(p *corev1.Pod) { p.Spec.NodeName = "" }),
			want:   "Waiting for the pod to be scheduled.",
		},
		"Unschedulable": {
			reason: "The scheduler knows best why.",
			pod:    newPod(corev1.PodPending, podCondition(corev1.PodScheduled, corev1.ConditionFalse, "Unschedulable", "0/3 nodes are available: 3 Insufficient cpu.")),
			want:   "The pod cannot start: no node can take it: 0/3 nodes are available: 3 Insufficient cpu.",
		},
		"Gated": {
			reason: "A gate says nothing but that it is closed.",
			pod:    newPod(corev1.PodPending, podCondition(corev1.PodScheduled, corev1.ConditionFalse, "SchedulingGated", "Scheduling is blocked due to non-empty scheduling gates")),
			want:   "The pod cannot start: its scheduling gates are closed, and only their owner can open them.",
		},
		"Creating": {
			reason: "That a volume is missing is only in the pod's events.",
			pod:    newPod(corev1.PodPending, podCondition(corev1.PodScheduled, corev1.ConditionTrue, "", ""), container("test", waits("ContainerCreating", ""))),
			want:   setUp,
		},
		"ErrImagePull": {
			reason: "The image and the registry's answer, without the wrapping.",
			pod:    newPod(corev1.PodPending, container("test", waits("ErrImagePull", `rpc error: code = NotFound desc = failed to pull and unpack image "acme/tests:1": failed to resolve reference "acme/tests:1": not found`))),
			want:   notFound,
		},
		"ImagePullBackOff": {
			reason: "A kubelet takes turns in pulling and waiting; the words stay the same, and the status is not written each time.",
			pod:    newPod(corev1.PodPending, container("test", waits("ImagePullBackOff", backOff))),
			want:   notFound,
		},
		"ImagePullWithoutMessage": {
			reason: "The reason stands in for the message.",
			pod:    newPod(corev1.PodPending, container("test", waits("ImagePullBackOff", ""))),
			want:   `The pod cannot start: the image "acme/tests:1" of container "test" cannot be pulled: ImagePullBackOff. Check its name and tag, and the imagePullSecrets.`,
		},
		"InvalidImageName": {
			reason: "The name is the template's, though hostile.",
			pod: newPod(corev1.PodPending, container("test", waits("InvalidImageName", "couldn't parse image name")), func(p *corev1.Pod) {
				p.Spec.Containers[0].Image = "A\x1b[1m\n:"
			}),
			want: `The pod cannot start: the image "A; :" of container "test" cannot be pulled: couldn't parse image name. Check its name and tag, and the imagePullSecrets.`,
		},
		"InitImage": {
			reason: "An init container comes first, and is named as one.",
			pod: newPod(corev1.PodPending, initContainer("migrate", waits("ErrImagePull", "denied")),
				container("test", waits("PodInitializing", ""))),
			want: `The pod cannot start: the image "acme/migrate:1" of init container "migrate" cannot be pulled: denied. Check its name and tag, and the imagePullSecrets.`,
		},
		"MissingSecret": {
			reason: "A Secret or ConfigMap that the container asks for is missing.",
			pod:    newPod(corev1.PodPending, container("test", waits("CreateContainerConfigError", `secret "shop" not found`))),
			want:   `The pod cannot start: container "test" cannot be configured: secret "shop" not found. Create what is missing, or correct the jobTemplate of the Trigger.`,
		},
		"Another": {
			reason: "What else may keep a container from starting, and what later versions may think of.",
			pod:    newPod(corev1.PodPending, container("test", waits("CreateContainerError", "context deadline exceeded"))),
			want:   `The pod cannot start: container "test" waits (CreateContainerError): context deadline exceeded.`,
		},
		"Fetching": {
			reason: "A large file takes its time.",
			pod:    newPod(corev1.PodPending, initContainer(job.FetchContainer, runs), container("test", waits("PodInitializing", ""))),
			want:   "The input files are being downloaded. Follow it: postflight runs logs smoke-1 -n acme -c postflight-fetch -f, or kubectl logs -n acme smoke-1-x -c postflight-fetch -f",
		},
		"Initializing": {
			reason: "So may an init container; a sidecar that runs is no reason to wait.",
			pod:    newPod(corev1.PodPending, sidecar("proxy", runs), initContainer("migrate", runs), container("test", waits("PodInitializing", ""))),
			want:   `The init container "migrate" is running. Follow it: postflight runs logs smoke-1 -n acme -c migrate -f, or kubectl logs -n acme smoke-1-x -c migrate -f`,
		},
		"WithSidecar": {
			reason: "The tests run beside it.",
			pod:    newPod(corev1.PodRunning, sidecar("proxy", runs), container("test", runs)),
			begun:  true,
			want:   follow,
		},
		"SidecarCrashes": {
			reason: "A sidecar that does not start keeps the tests from starting.",
			pod:    newPod(corev1.PodPending, sidecar("proxy", exit(2, 9, "no route")), container("test", waits("PodInitializing", ""))),
			want:   `The init container "proxy" fails, and is restarted. It last exited with code 2: no route`,
		},
		"CrashLoopBackOff": {
			reason: "The kubelet's message counts seconds; how the container ended does not change.",
			pod:    newPod(corev1.PodRunning, container("test", waits("CrashLoopBackOff", "back-off 40s restarting failed container")), restarting),
			begun:  true,
			want:   `The container "test" fails, and is restarted. It last exited with code 5: broken`,
		},
		"BetweenRestarts": {
			reason: "Between two starts the container is shown as terminated.",
			pod:    newPod(corev1.PodRunning, container("test", exit(6, 19, "")), restarting),
			begun:  true,
			want:   `The container "test" fails, and is restarted. It last exited with code 6.`,
		},
		"CrashLoopUnknown": {
			reason: "A kubelet that restarted has forgotten.",
			pod:    newPod(corev1.PodRunning, container("test", waits("CrashLoopBackOff", ""))),
			begun:  true,
			want:   `The container "test" fails, and is restarted.`,
		},
		"Restarted": {
			reason: "A container that runs again is running.",
			pod:    newPod(corev1.PodRunning, container("test", runs), restarting),
			begun:  true,
			want:   follow,
		},
		"Lagging": {
			reason: "A proxy that was injected as a plain container never ends by itself.",
			pod:    newPod(corev1.PodRunning, container("test", exit(0, 9, "")), container("proxy", runs)),
			begun:  true,
			want:   `A container has ended, and the run continues until container "proxy" ends too.`,
		},
		"Deleted": {
			reason: "Somebody stops the pod.",
			pod:    newPod(corev1.PodRunning, deleted(9), container("test", runs)),
			begun:  true,
			want:   "The pod is being deleted.",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			want := unfinishedState(tc.begun, tc.want)
			got := Observe(newJob(active(0)), []corev1.Pod{tc.pod}).Condition
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s\nObserve(...): -want, +got:\n%s", tc.reason, diff)
			}
			if got.LastTransitionTime != (metav1.Time{}) {
				t.Error("a pure function knows no time")
			}
		})
	}
}

// TestStartingSince: the time to start the tests counts from the last attempt, because a run may be interrupted.
func TestStartingSince(t *testing.T) {
	created := func(seconds int) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.CreationTimestamp = after(seconds) }
	}
	suspended := func(status corev1.ConditionStatus, since int) func(*batchv1.Job) {
		return func(j *batchv1.Job) {
			j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobSuspended, Status: status, LastTransitionTime: after(since)}}
			j.Spec.Suspend = new(status == corev1.ConditionTrue)
		}
	}
	unscheduled := func(p *corev1.Pod) { p.Spec.NodeName = "" }
	cases := map[string]struct {
		reason string
		job    *batchv1.Job
		pods   []corev1.Pod
		want   metav1.Time
	}{
		"New":       {"Nothing was tried before.", newJob(), nil, after(1)},
		"Suspended": {"A queueing system interrupted the run.", newJob(suspended(corev1.ConditionTrue, 1200)), nil, after(1200)},
		"Resumed":   {"It goes on.", newJob(suspended(corev1.ConditionFalse, 1500)), nil, after(1500)},
		"Replaced": {"The failure of a pod that is gone was not counted.", newJob(active(0)),
			[]corev1.Pod{newPod(corev1.PodPending, unscheduled, created(1300))}, after(1300)},
		"Running": {"They have started.", newJob(active(1)), nil, metav1.Time{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.job.CreationTimestamp = after(1)
			if got := Observe(tc.job, tc.pods).StartingSince; !got.Equal(tc.want.Time) {
				t.Errorf("%s want %s, got %s", tc.reason, tc.want, got)
			}
		})
	}
}

// TestKeepRunning: a run does not go back to Starting, and its startTimeout does not end it, while its Job waits
// to replace a pod.
func TestKeepRunning(t *testing.T) {
	fresh := Observe(newJob(func(j *batchv1.Job) { j.CreationTimestamp = after(1) }), nil)
	if s := fresh.KeepRunning(v1alpha1.Running("They run.")); s.Condition.Reason != v1alpha1.ReasonRunning || s.Condition.Message != "They run." || !s.StartingSince.IsZero() {
		t.Errorf("a run that was Running is %+v", s)
	}
	if s := fresh.KeepRunning(v1alpha1.Queued("")); s.Condition.Reason != v1alpha1.ReasonStarting || s.StartingSince.IsZero() {
		t.Errorf("a run that was Queued is %+v", s)
	}
}

// TestStrippedJobKeepsUncountedPods: the cache has what shows that tests have run.
func TestStrippedJobKeepsUncountedPods(t *testing.T) {
	j := newJob(func(j *batchv1.Job) {
		j.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Failed: []types.UID{"uid"}}
	})
	if c := Observe(StripJob(j), nil).Condition; c.Reason != v1alpha1.ReasonRunning {
		t.Errorf("a run whose failed pod is not counted yet is %s", c.Reason)
	}
}

// TestHopelessContainer: what a kubelet may get over by itself does not end a run.
func TestHopelessContainer(t *testing.T) {
	cases := map[string]struct {
		waits    corev1.ContainerState
		hopeless bool
	}{
		"MissingKey":     {waits("CreateContainerConfigError", "couldn't find key url in ConfigMap acme/shop"), true},
		"InvalidImage":   {waits("InvalidImageName", "couldn't parse image name"), true},
		"CacheNotSynced": {waits("CreateContainerConfigError", "failed to sync secrets cache: timed out waiting for the condition"), false},
		"UnknownTag":     {waits("ImagePullBackOff", `Back-off pulling image "acme/e2e:1": ErrImagePull: rpc error: code = NotFound desc = failed to pull and unpack image`), true},
		"FirstPull":      {waits("ErrImagePull", "rpc error: code = NotFound desc = failed to pull and unpack image"), false},
		"UnknownHost":    {waits("ImagePullBackOff", "dial tcp: lookup registry.acme.test on 10.96.0.10:53: no such host"), true},
		"Pulling":        {waits("ImagePullBackOff", `Back-off pulling image "acme/e2e:1"`), false},
		"Unreachable":    {waits("ErrImagePull", "dial tcp 10.0.0.1:443: i/o timeout"), false},
		"Refused":        {waits("ErrImagePull", "unexpected status: 503 Service Unavailable"), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := Observe(newJob(active(0)), []corev1.Pod{newPod(corev1.PodPending, container("test", tc.waits))}).HopelessSince
			if got.IsZero() == tc.hopeless {
				t.Errorf("hopeless since %s, want hopeless: %t", got, tc.hopeless)
			}
		})
	}
}

// TestUnknownImageMayBePushed: the wait counts from when the kubelet turned to this image, which may be long after it began with the first.
func TestUnknownImageMayBePushed(t *testing.T) {
	unknown := container("test", waits("ImagePullBackOff", "rpc error: code = NotFound desc = no such image"))
	first := after(400)
	started := container("db", corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: first}})
	initialized := after(10)
	for name, tc := range map[string]struct {
		pod  corev1.Pod
		want time.Time
	}{
		"the only image":   {newPod(corev1.PodPending, unknown), initialized.Add(pushPatience)},
		"the second image": {newPod(corev1.PodPending, started, unknown), first.Add(pushPatience)},
	} {
		t.Run(name, func(t *testing.T) {
			tc.pod.Status.Conditions = append(tc.pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodInitialized, Status: corev1.ConditionTrue, LastTransitionTime: initialized})
			if got := Observe(newJob(active(0)), []corev1.Pod{tc.pod}).HopelessSince; !got.Equal(tc.want) || pushPatience < time.Minute {
				t.Errorf("hopeless since %s, want %s", got, tc.want)
			}
		})
	}
}

func unfinishedState(begun bool, message string) metav1.Condition {
	if begun {
		return v1alpha1.Running(message)
	}
	return v1alpha1.Starting(message)
}

func TestUnconfirmed(t *testing.T) {
	ended := newJob(backoffExceeded) // at second 42
	running, exited := container("test", runs), container("test", exit(1, 40, ""))
	for name, tc := range map[string]struct {
		reason string
		job    *batchv1.Job
		pod    corev1.Pod
		second int
		want   bool
	}{
		"Confirmed":     {"All is known.", ended, newPod(corev1.PodFailed, exited), 43, false},
		"Running":       {"The kubelet has written only the phase.", ended, newPod(corev1.PodFailed, running), 43, true},
		"Sidecar":       {"The collector may report until it ends.", ended, newPod(corev1.PodFailed, exited, sidecar("collect", runs)), 43, true},
		"Evicted":       {"Its log would be lost.", ended, newPod(corev1.PodFailed, running, podReason("Evicted", "")), 43, false},
		"Late":          {"The node is gone.", ended, newPod(corev1.PodFailed, running), 72, false},
		"ClockIsBehind": {"Waiting is bounded by the wrong clock, too.", ended, newPod(corev1.PodFailed, running), 11, false},
		"NeverStarted":  {"It never ran.", ended, newPod(corev1.PodFailed, container("test", waits("PodInitializing", ""))), 43, false},
		"PodRuns":       {"Not all pods of a Job that has ended have to stop.", ended, newPod(corev1.PodRunning, running), 43, false},
		"Deleted":       {"It is removed with what it knows.", ended, newPod(corev1.PodFailed, running, deleted(40)), 43, false},
		"JobRuns":       {"Another pod may follow.", newJob(), newPod(corev1.PodFailed, running), 43, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Unconfirmed(tc.job, []corev1.Pod{tc.pod}, after(tc.second).Time); got != tc.want {
				t.Errorf("%s\nUnconfirmed = %t, want %t", tc.reason, got, tc.want)
			}
		})
	}
}
