package workloads

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRollout has objects in the form that the controllers of each kind write, shortened to the fields that tell how far they are.
func TestRollout(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, object string
		want           rollout
	}{
		"Deployment complete": {"all pods are new and available", deployment(`
			observedGeneration: 4, replicas: 3, updatedReplicas: 3, readyReplicas: 3, availableReplicas: 3,
			conditions: [{type: Available, status: "True"}, {type: Progressing, status: "True", reason: NewReplicaSetAvailable}]`),
			rollout{revision: "7", ready: true}},
		"Deployment in progress": {"it counts the new ones", deployment(`
			observedGeneration: 4, replicas: 4, updatedReplicas: 2, readyReplicas: 3, availableReplicas: 3,
			conditions: [{type: Available, status: "True"}, {type: Progressing, status: "True", reason: ReplicaSetUpdated}]`),
			rollout{revision: "7", message: "2 of 3 replicas of the Deployment shop have it."}},
		"Deployment with old pods": {"both answer requests", deployment(`
			observedGeneration: 4, replicas: 4, updatedReplicas: 3, readyReplicas: 4, availableReplicas: 4`),
			rollout{revision: "7", message: "The Deployment shop is being rolled out: Pending termination: 1."}},
		"Deployment not observed": {"the status is of the spec before", deployment(`
			observedGeneration: 3, replicas: 3, updatedReplicas: 3, readyReplicas: 3, availableReplicas: 3`),
			rollout{revision: "7", message: "The Deployment shop is being rolled out."}},
		"Deployment failed": {"its deadline has passed", deployment(`
			observedGeneration: 4, replicas: 4, updatedReplicas: 1, readyReplicas: 3, availableReplicas: 3,
			conditions: [{type: Progressing, status: "False", reason: ProgressDeadlineExceeded, message: 'ReplicaSet "shop-1" has timed out progressing.'}]`),
			rollout{revision: "7", failed: true, message: "The rollout of the Deployment shop failed: Progress deadline exceeded."}},
		"Deployment new": {"no controller has seen it", deployment(""),
			rollout{revision: "7", message: "0 of 3 replicas of the Deployment shop have it."}},
		"Deployment paused": {"it goes no further by itself", strings.Replace(deployment(`observedGeneration: 4, replicas: 3, readyReplicas: 3, availableReplicas: 3`), "replicas: 3", "replicas: 3, paused: true", 1),
			rollout{revision: "7", message: "The rollout of the Deployment shop is paused."}},
		"Deployment scaled to 0": {"nothing runs that could be tested", strings.Replace(deployment(`
			observedGeneration: 4, conditions: [{type: Available, status: "True"}, {type: Progressing, status: "True", reason: NewReplicaSetAvailable}]`), "replicas: 3", "replicas: 0", 1),
			rollout{revision: "7", message: "The Deployment shop is scaled to 0."}},
		"Deployment being deleted": {"it is about to disappear", strings.Replace(deployment(`observedGeneration: 4`), "generation: 4,", `generation: 4, deletionTimestamp: "2026-11-20T12:00:00Z",`, 1),
			rollout{message: "The Deployment shop is being deleted."}},
		"Deployment without a revision": {"the controller has not written it yet", strings.Replace(deployment(""), "deployment.kubernetes.io/revision", "other", 1),
			rollout{revision: "4", message: "0 of 3 replicas of the Deployment shop have it."}},
		"Deployment malformed": {"an API server without the schema of the kind would store it", deployment(`observedGeneration: four`),
			rollout{revision: "7", message: "The status of the Deployment shop cannot be read: looking up status.observedGeneration from resource: .status.observedGeneration accessor error: four is of the type string, expected int64."}},
		"Deployment with malformed conditions": {"nor these", deployment(`observedGeneration: 4, conditions: [1]`),
			rollout{revision: "7", message: "The status of the Deployment shop cannot be read: cannot restore struct from: int64."}},

		"StatefulSet complete": {"the update is the current revision", statefulSet("", `currentReplicas: 3, updatedReplicas: 3, readyReplicas: 3, currentRevision: b, updateRevision: b`),
			rollout{revision: "b", ready: true}},
		"StatefulSet in progress": {"one pod after the other", statefulSet("", `currentReplicas: 2, updatedReplicas: 1, readyReplicas: 3, currentRevision: a, updateRevision: b`),
			rollout{revision: "b", message: "1 of 3 replicas of the StatefulSet shop have it."}},
		"StatefulSet not ready": {"the newest pod starts", statefulSet("", `currentReplicas: 3, updatedReplicas: 3, readyReplicas: 2, currentRevision: b, updateRevision: b`),
			rollout{revision: "b", message: "The StatefulSet shop is being rolled out: Ready: 2/3."}},
		"StatefulSet with a partition": {"kstatus calls it complete, but two pods are old", statefulSet("rollingUpdate: {partition: 2}", `currentReplicas: 2, updatedReplicas: 1, readyReplicas: 3, currentRevision: a, updateRevision: b`),
			rollout{revision: "b", message: "1 of 3 replicas of the StatefulSet shop have it."}},
		"StatefulSet behind its partition": {"the partition has come down to 0", statefulSet("rollingUpdate: {partition: 0}", `currentReplicas: 3, updatedReplicas: 3, readyReplicas: 3, currentRevision: b, updateRevision: b`),
			rollout{revision: "b", ready: true}},
		"StatefulSet by hand": {"kstatus calls it complete, but nobody has deleted a pod", statefulSet("type: OnDelete", `currentReplicas: 3, readyReplicas: 3, currentRevision: a, updateRevision: b`),
			rollout{revision: "b", message: "0 of 3 replicas of the StatefulSet shop have it."}},
		"StatefulSet by hand, complete": {"the current revision never follows", statefulSet("type: OnDelete", `updatedReplicas: 3, readyReplicas: 3, currentRevision: a, updateRevision: b`),
			rollout{revision: "b", ready: true}},
		"StatefulSet by hand, starting": {"the last pod starts", statefulSet("type: OnDelete", `updatedReplicas: 3, readyReplicas: 2, currentRevision: a, updateRevision: b`),
			rollout{revision: "b", message: "The StatefulSet shop is being rolled out: StatefulSet is using the ondelete update strategy."}},

		"DaemonSet complete":      {"on all nodes", daemonSet(`desiredNumberScheduled: 2, currentNumberScheduled: 2, updatedNumberScheduled: 2, numberAvailable: 2, numberReady: 2`), rollout{revision: "3", ready: true}},
		"DaemonSet in progress":   {"on one of two", daemonSet(`desiredNumberScheduled: 2, currentNumberScheduled: 2, updatedNumberScheduled: 1, numberAvailable: 2, numberReady: 2`), rollout{revision: "3", message: "1 of 2 replicas of the DaemonSet shop have it."}},
		"DaemonSet without nodes": {"no node is selected", daemonSet(`desiredNumberScheduled: 0, currentNumberScheduled: 0, numberReady: 0`), rollout{revision: "3", ready: true}},

		"Rollout healthy":               {"the canary is stable", argo(`phase: Healthy, observedGeneration: "5"`), rollout{revision: "2", ready: true}},
		"Rollout paused":                {"a step waits for somebody", argo(`phase: Paused, message: CanaryPauseStep, observedGeneration: "5"`), rollout{revision: "2", message: "The Rollout shop is being rolled out: CanaryPauseStep."}},
		"Rollout progressing":           {"its message is a sentence", argo(`phase: Progressing, message: more replicas need to be updated, observedGeneration: "5"`), rollout{revision: "2", message: "The Rollout shop is being rolled out: more replicas need to be updated."}},
		"Rollout degraded":              {"its deadline has passed", argo(`phase: Degraded, message: 'ProgressDeadlineExceeded: ReplicaSet "shop-2" has timed out progressing.', observedGeneration: "5"`), rollout{revision: "2", failed: true, message: `The rollout of the Rollout shop failed: ProgressDeadlineExceeded: ReplicaSet "shop-2" has timed out progressing.`}},
		"Rollout aborted":               {"somebody did", argo(`phase: Degraded, message: "RolloutAborted: Rollout aborted update to revision 2", abort: true, observedGeneration: "5"`), rollout{revision: "2", failed: true, message: "The rollout of the Rollout shop failed: RolloutAborted: Rollout aborted update to revision 2."}},
		"Rollout not observed":          {"the phase is of the spec before", argo(`phase: Healthy, observedGeneration: "4"`), rollout{revision: "2", message: "The Rollout shop is being rolled out."}},
		"Rollout new":                   {"no controller has seen it", argo(""), rollout{revision: "2", message: "The Rollout shop is being rolled out."}},
		"Rollout of an old controller":  {"before 1.0, it wrote a hash and no phase", argo(`observedGeneration: 5c8b8b7c8f, readyReplicas: 3`), rollout{revision: "2", message: "The Rollout shop is being rolled out."}},
		"Rollout of a Deployment":       {"its pods are those of another object", argoRef("2", `phase: Healthy, observedGeneration: "5", workloadObservedGeneration: "2"`), rollout{revision: "2", ready: true}},
		"Rollout of a newer Deployment": {"the phase is of the Deployment before", argoRef("3", `phase: Healthy, observedGeneration: "5", workloadObservedGeneration: "2"`), rollout{revision: "2", message: "The Rollout shop is being rolled out."}},

		"Application healthy":     {"and what Git has", application(`sync: {status: Synced, revision: 5ca1ab1e}, health: {status: Healthy}, operationState: {phase: Succeeded}`), rollout{revision: "5ca1ab1e", ready: true}},
		"Application progressing": {"pods start", application(`sync: {status: Synced, revision: 5ca1ab1e}, health: {status: Progressing}`), rollout{revision: "5ca1ab1e", message: "The Application shop is Synced and Progressing."}},
		"Application out of sync": {"Git has something newer", application(`sync: {status: OutOfSync, revision: 5ca1ab1e}, health: {status: Healthy}`), rollout{revision: "5ca1ab1e", message: "The Application shop is OutOfSync and Healthy."}},
		"Application degraded":    {"a rollout failed", application(`sync: {status: Synced, revision: 5ca1ab1e}, health: {status: Degraded, message: 'Deployment "shop" exceeded its progress deadline.'}`), rollout{revision: "5ca1ab1e", failed: true, message: `The Application shop is degraded: Deployment "shop" exceeded its progress deadline.`}},
		"Application suspended":   {"a canary waits", application(`sync: {status: Synced, revision: 5ca1ab1e}, health: {status: Suspended}`), rollout{revision: "5ca1ab1e", message: "The Application shop is Synced and Suspended."}},
		"Application syncing":     {"the health is of what was there before", application(`sync: {status: Synced, revision: 5ca1ab1e}, health: {status: Healthy}, operationState: {phase: Running}`), rollout{revision: "5ca1ab1e", message: "The Application shop is being synced."}},
		"Application compared":    {"with the source that it has", application(`sync: {status: Synced, revision: 5ca1ab1e, comparedTo: {source: {path: shop}}}, health: {status: Healthy}`), rollout{revision: "5ca1ab1e", message: "The Application shop has not been compared with its new source."}},
		"Application new":         {"no controller has seen it", application(""), rollout{message: "The Application shop is not synced and of unknown health."}},

		"Kustomization applied": {"Flux has conditions that kstatus knows", flux("Kustomization", `observedGeneration: 2, lastAppliedRevision: "main@sha1:5ca1ab1e", conditions: [{type: Ready, status: "True", reason: ReconciliationSucceeded}]`), rollout{revision: "main@sha1:5ca1ab1e", ready: true}},
		"Kustomization reconciling": {"it waits for the health of what it applied", flux("Kustomization", `observedGeneration: 2, lastAppliedRevision: "main@sha1:5ca1ab1e",
			conditions: [{type: Reconciling, status: "True", message: "Running health checks with a timeout of 1m0s."}, {type: Ready, status: Unknown}]`),
			rollout{revision: "main@sha1:5ca1ab1e", message: "The Kustomization shop is being rolled out: Running health checks with a timeout of 1m0s."}},
		"Kustomization not ready": {"it is tried again", flux("Kustomization", `observedGeneration: 2, conditions: [{type: Ready, status: "False", reason: ArtifactFailed, message: 'GitRepository "shop" not found'}]`),
			rollout{revision: "2", message: `The Kustomization shop is being rolled out: GitRepository "shop" not found.`}},
		"HelmRelease stalled": {"it is not tried again", flux("HelmRelease", `observedGeneration: 2, conditions: [{type: Stalled, status: "True", reason: RetriesExceeded, message: Failed to upgrade after 3 attempt(s)}]`),
			rollout{revision: "2", failed: true, message: "The rollout of the HelmRelease shop failed: Failed to upgrade after 3 attempt(s)."}},
		"HelmRelease without words": {"a condition may have no message", flux("HelmRelease", `observedGeneration: 2, conditions: [{type: Stalled, status: "True"}]`),
			rollout{revision: "2", failed: true, message: "The rollout of the HelmRelease shop failed: its controller says no more."}},
		"HelmRelease suspended": {"nobody looks at its newest spec", flux("HelmRelease", `observedGeneration: 1, conditions: [{type: Ready, status: "True"}]`),
			rollout{revision: "2", message: "The HelmRelease shop is being rolled out."}},

		"another kind ready":     {"by the condition that most kinds have", flux("Service", `conditions: [{type: Ready, status: "True"}]`), rollout{revision: "2", ready: true}},
		"another kind not ready": {"it says why", flux("Service", `conditions: [{type: Ready, status: "False", message: Revision "shop-2" failed}]`), rollout{revision: "2", message: `The Service shop is being rolled out: Revision "shop-2" failed.`}},
		"another kind malformed": {"its status is no map", strings.Replace(flux("Service", ""), "status: {}", "status: fine", 1), rollout{revision: "2",
			message: "The status of the Service shop cannot be read: looking up status.observedGeneration from resource: .status.observedGeneration accessor error: fine is of the type string, expected map[string]interface{}."}},
	} {
		t.Run(name, func(t *testing.T) {
			o := objectOf(t, tc.object)
			if diff := cmp.Diff(tc.want, rolloutOf(o), cmp.AllowUnexported(rollout{})); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
			if Slim(o); rolloutOf(o) != tc.want {
				t.Errorf("without what Slim removes: %+v", rolloutOf(o))
			}
		})
	}
}

func deployment(status string) string {
	return flow(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: shop, generation: 4, annotations: {deployment.kubernetes.io/revision: "7"}},
		spec: {replicas: 3, progressDeadlineSeconds: 600}, status: {` + status + `}}`)
}

func statefulSet(strategy, status string) string {
	return flow(`{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: shop, generation: 4},
		spec: {replicas: 3, updateStrategy: {` + strategy + `}}, status: {observedGeneration: 4, replicas: 3, ` + status + `}}`)
}

func daemonSet(status string) string {
	return flow(`{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: shop, generation: 4, annotations: {deprecated.daemonset.template.generation: "3"}},
		status: {observedGeneration: 4, ` + status + `}}`)
}

func argo(status string) string {
	return flow(`{apiVersion: argoproj.io/v1alpha1, kind: Rollout, metadata: {name: shop, generation: 5, annotations: {rollout.argoproj.io/revision: "2"}},
		spec: {replicas: 3, strategy: {canary: {}}}, status: {` + status + `}}`)
}

// argoRef is a Rollout whose pods are those of a Deployment of some generation.
func argoRef(generation, status string) string {
	o := strings.Replace(argo(status), "canary: {}}", "canary: {}}, workloadRef: {apiVersion: apps/v1, kind: Deployment, name: shop}", 1)
	return strings.Replace(o, `revision: "2"`, `revision: "2", rollout.argoproj.io/workload-generation: "`+generation+`"`, 1)
}

func application(status string) string {
	return flow(`{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: shop, generation: 9}, spec: {project: default}, status: {` + status + `}}`)
}

func flux(kind, status string) string {
	group := map[string]string{"Kustomization": "kustomize.toolkit.fluxcd.io/v1", "HelmRelease": "helm.toolkit.fluxcd.io/v2", "Service": "serving.knative.dev/v1"}[kind]
	return flow(`{apiVersion: ` + group + `, kind: ` + kind + `, metadata: {name: shop, generation: 2}, spec: {}, status: {` + status + `}}`)
}

// flow is YAML, and not JSON, of a text that may be indented with tabs.
func flow(text string) string { return "---\n" + strings.ReplaceAll(text, "\t", " ") }
