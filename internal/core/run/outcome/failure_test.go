package outcome

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
)

// again ends a message about a run that is worth repeating.
const rerunAdvice = " " + results.RerunAdvice

func disruptionTarget(reason, message string) func(*corev1.Pod) {
	return podCondition(corev1.DisruptionTarget, corev1.ConditionTrue, reason, message)
}

var outcomeOfAFailedPodCases = map[string]struct {
	reason string
	pod    corev1.Pod
	want   metav1.Condition
}{
	"Message": {
		reason: "The termination log of the tests explains most.",
		pod:    newPod(corev1.PodFailed, container("test", exit(3, 9, "GET /cart: 500\n"))),
		want:   v1alpha1.Failed(`Container "test" exited with code 3: GET /cart: 500`),
	},
	"NoMessage": {
		reason: "Without it, the message says how to read the log.",
		pod:    newPod(corev1.PodFailed, container("test", exit(1, 9, ""))),
		want:   v1alpha1.Failed(`Container "test" exited with code 1` + logHint),
	},
	"Signal": {
		reason: "A code that stands for something is explained.",
		pod:    newPod(corev1.PodFailed, container("test", exit(139, 9, ""))),
		want:   v1alpha1.Failed(`Container "test" exited with code 139 (SIGSEGV)` + logHint),
	},
	"InitContainer": {
		reason: "An init container is named as one; the tests have not started.",
		pod: newPod(corev1.PodFailed, initContainer("migrate", exit(4, 9, "no database")),
			container("test", waits("PodInitializing", ""))),
		want: v1alpha1.Failed(`Init container "migrate" exited with code 4: no database`),
	},
	"Fetch": {
		reason: "A file that is missing is no failure of the tests; the message names the file.",
		pod:    newPod(corev1.PodFailed, initContainer(job.FetchContainer, exit(1, 9, "builds/shop.apk: not found"))),
		want:   v1alpha1.Error("The input files could not be downloaded: builds/shop.apk: not found"),
	},
	"FetchNoMessage": {
		reason: "Nor is a download that was killed.",
		pod:    newPod(corev1.PodFailed, initContainer(job.FetchContainer, exitFor("OOMKilled", 137, 9, ""))),
		want:   v1alpha1.Error("The input files could not be downloaded: code 137 (out of memory)."),
	},
	"Prepare": {
		reason: "Nor is a node without room for the files of the tests.",
		pod:    newPod(corev1.PodFailed, initContainer(job.PrepareContainer, exit(1, 9, `"timings.json" cannot be written for the tests: no space left on device`))),
		want:   v1alpha1.Error(`The files for the tests could not be put in place: "timings.json" cannot be written for the tests: no space left on device.` + rerunAdvice),
	},
	"OutOfMemory": {
		reason: "The limit is what a person has to change.",
		pod: newPod(corev1.PodFailed, initContainer("migrate", exit(0, 1, "")), container("test", exitFor("OOMKilled", 137, 9, "")), func(p *corev1.Pod) {
			p.Spec.InitContainers[0].Resources.Limits = memory("64Mi")
			p.Spec.Containers[0].Resources.Limits = memory("512Mi")
		}),
		want: v1alpha1.Failed(`The container "test" was killed because it needed more memory than its limit of 512Mi. Raise resources.limits.memory in the jobTemplate of the Trigger.`),
	},
	"OutOfMemoryOfPod": {
		reason: "A limit may be the pod's.",
		pod: newPod(corev1.PodFailed, container("test", exitFor("OOMKilled", 137, 9, "")), func(p *corev1.Pod) {
			p.Spec.Resources = &corev1.ResourceRequirements{Limits: memory("1Gi")}
		}),
		want: v1alpha1.Failed(`The container "test" was killed because it needed more memory than its limit of 1Gi. Raise resources.limits.memory in the jobTemplate of the Trigger.`),
	},
	"OutOfMemoryOfNode": {
		reason: "Without a limit the node ran out of memory.",
		pod:    newPod(corev1.PodFailed, container("test", exitFor("OOMKilled", 137, 9, ""))),
		want:   v1alpha1.Failed(`The container "test" was killed because its node ran out of memory. Set resources.requests.memory in the jobTemplate of the Trigger to what the tests need.`),
	},
	"StartError": {
		reason: "A command that is not there has not tested anything.",
		pod:    newPod(corev1.PodFailed, container("test", exitFor("StartError", 128, 9, `exec: "nope": not found in $PATH`))),
		want:   v1alpha1.Error(`The container "test" could not be started, so check its command and its image: exec: "nope": not found in $PATH`),
	},
	"StatusUnknown": {
		reason: "A kubelet that lost a container says so.",
		pod:    newPod(corev1.PodFailed, container("test", exitFor("ContainerStatusUnknown", 137, 9, "The container could not be located"))),
		want:   v1alpha1.Error(`The end of the container "test" was lost with its node.` + rerunAdvice),
	},
	"FirstContainer": {
		reason: "The first container that fails is the cause of the others.",
		pod: newPod(corev1.PodFailed, container("browser", exit(9, 20, "connection lost")),
			container("test", exit(3, 10, "assertion")), container("proxy", exitFor("Completed", 0, 5, ""))),
		want: v1alpha1.Failed(`Container "test" exited with code 3: assertion`),
	},
	"Sidecar": {
		reason: "How a sidecar ends says nothing, even if it ends first.",
		pod:    newPod(corev1.PodFailed, sidecar("proxy", exit(9, 5, "bye")), container("test", exit(3, 10, "assertion"))),
		want:   v1alpha1.Failed(`Container "test" exited with code 3: assertion`),
	},
	"Evicted": {
		reason: "A node that runs out of room takes it from the pod.",
		pod: newPod(corev1.PodFailed, container("test", exit(137, 9, "")), podReason("Evicted", "The node was low on resource: memory. "),
			disruptionTarget("TerminationByKubelet", "The node was low on resources.")),
		want: v1alpha1.Error("The cluster stopped the pod before its tests ended: The node was low on resource: memory (Evicted)." + rerunAdvice),
	},
	"EvictedForTheUseOfOthers": {
		reason: "Names in the message may hold any word.",
		pod: newPod(corev1.PodFailed, podReason("Evicted", "The node was low on resource: memory. Container exceed was using 2Gi."),
			disruptionTarget("TerminationByKubelet", "")),
		want: v1alpha1.Error("The cluster stopped the pod before its tests ended: The node was low on resource: memory. Container exceed was using 2Gi (Evicted)." + rerunAdvice),
	},
	"EvictedForItsOwnUse": {
		reason: "A pod that fills its own limit of disk has to be given more, like one out of memory.",
		pod:    newPod(corev1.PodFailed, container("test", exit(137, 9, "")), podReason("Evicted", `Container test exceeded its local ephemeral storage limit "1Gi". `)),
		want:   v1alpha1.Failed(`The pod was stopped because it needed more disk than its limit. Container test exceeded its local ephemeral storage limit "1Gi". Raise that limit in the jobTemplate of the Trigger.`),
	},
	"Preempted": {
		reason: "The scheduler made room for a pod that matters more.",
		pod: newPod(corev1.PodFailed, deleted(8), container("test", exit(143, 9, "interrupted")),
			disruptionTarget("PreemptionByScheduler", "default-scheduler: preempting to accommodate a higher priority pod")),
		want: v1alpha1.Error("The cluster stopped the pod before its tests ended: default-scheduler: preempting to accommodate a higher priority pod (PreemptionByScheduler)." + rerunAdvice),
	},
	"NoLongerDisrupted": {
		reason: "A disruption that did not come about is none.",
		pod: newPod(corev1.PodFailed, container("test", exit(3, 9, "assertion")),
			podCondition(corev1.DisruptionTarget, corev1.ConditionFalse, "", "")),
		want: v1alpha1.Failed(`Container "test" exited with code 3: assertion`),
	},
	"Rejected": {
		reason: "A node may refuse the pod before any container exists.",
		pod:    newPod(corev1.PodFailed, podReason("OutOfcpu", "Pod was rejected: Node didn't have enough resource: cpu")),
		want:   v1alpha1.Error("The cluster stopped the pod before its tests ended: Pod was rejected: Node didn't have enough resource: cpu (OutOfcpu)." + rerunAdvice),
	},
	"RejectedWithoutMessage": {
		reason: "A reason alone is better than nothing.",
		pod:    newPod(corev1.PodFailed, podReason("NodeAffinity", "")),
		want:   v1alpha1.Error("The cluster stopped the pod before its tests ended: NodeAffinity." + rerunAdvice),
	},
	"Deleted": {
		reason: "Somebody deleted the pod, and its container ended because of that.",
		pod:    newPod(corev1.PodFailed, deleted(8), container("test", exit(143, 9, "interrupted"))),
		want:   v1alpha1.Error("The pod was deleted before its tests ended." + rerunAdvice),
	},
	"DeletedAfterwards": {
		reason: "The pod was deleted after its tests had failed.",
		pod:    newPod(corev1.PodFailed, deleted(60), container("test", exit(3, 9, "assertion"))),
		want:   v1alpha1.Failed(`Container "test" exited with code 3: assertion`),
	},
	"DeletedBeforeItStarted": {
		reason: "A pod may be deleted before it has a container.",
		pod:    newPod(corev1.PodFailed, deleted(8)),
		want:   v1alpha1.Error("The pod was deleted before its tests ended." + rerunAdvice),
	},
	"Restarted": {
		reason: "Where a container restarts in place, the failure is the one before the deletion.",
		pod: newPod(corev1.PodRunning, deleted(20), container("test", exit(143, 21, "")), func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0].LastTerminationState = exit(5, 9, "broken")
		}),
		want: v1alpha1.Failed(`Container "test" exited with code 5: broken`),
	},
	"Silent": {
		reason: "If the pod gives no reason, the message says how to find it.",
		pod:    newPod(corev1.PodFailed),
		want:   v1alpha1.Error("The pod failed, and does not say why: kubectl describe pod -n acme smoke-1-x"),
	},
	"Hostile": {
		reason: "The output of tests is untrusted, and becomes one line of plain text.",
		pod:    newPod(corev1.PodFailed, container("test", exit(1, 9, "\x1b[31mred\x1b[0m\x1b]0;title\x07\r\n\tline\u202e2\xff\x00\n"))),
		want:   v1alpha1.Failed(`Container "test" exited with code 1: red; line2` + "\uFFFD"),
	},
}

func TestOutcomeOfAFailedPod(t *testing.T) {
	for name, tc := range outcomeOfAFailedPodCases {
		t.Run(name, func(t *testing.T) {
			got := written(Observe(newJob(backoffExceeded), []corev1.Pod{tc.pod}))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nObserve(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
