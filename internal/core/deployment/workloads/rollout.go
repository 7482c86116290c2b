package workloads

import (
	"cmp"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

// rollout is how far the newest revision of an object is.
type rollout struct {
	revision string
	ready    bool
	failed   bool   // it stays incomplete until a person changes something
	message  string // how far it is, as a sentence; empty if it is ready
}

// rolloutOf knows what kstatus does, and the kinds of Argo, which follow other conventions.
func rolloutOf(o *unstructured.Unstructured) rollout {
	if o.GetDeletionTimestamp() != nil {
		return rollout{message: capital(title(o)) + " is being deleted."}
	}
	switch kind := o.GroupVersionKind().GroupKind(); kind {
	case schema.GroupKind{Group: "argoproj.io", Kind: "Rollout"}:
		return argoRollout(o)
	case schema.GroupKind{Group: "argoproj.io", Kind: "Application"}:
		return argoApplication(o)
	default:
		return byStatus(o, revisionOf(o, kind))
	}
}

func byStatus(o *unstructured.Unstructured, revision string) rollout {
	result, err := status.Compute(o)
	if scaledToZero(o) {
		return rollout{revision: revision, message: capital(title(o)) + " is scaled to 0."}
	}
	switch {
	case err != nil:
		return rollout{revision: revision, message: fmt.Sprintf("The status of %s cannot be read: %s.", title(o), err)}
	case result.Status == status.CurrentStatus && !partial(o):
		return rollout{revision: revision, ready: true}
	case result.Status == status.FailedStatus:
		return rollout{revision: revision, failed: true, message: fmt.Sprintf("The rollout of %s failed: %s.", title(o), clause(result.Message))}
	default:
		return rollout{revision: revision, message: progress(o, clause(result.Message))}
	}
}

// partial reports whether pods of a StatefulSet have an older revision, or are not ready. For kstatus, it is current anyway if it has a
// partition, or if a person has to delete its pods.
func partial(o *unstructured.Unstructured) bool {
	if o.GroupVersionKind().GroupKind() != (schema.GroupKind{Group: "apps", Kind: "StatefulSet"}) {
		return false
	}
	wanted, _ := count(o, "spec", "replicas")
	updated, _ := count(o, "status", "updatedReplicas")
	ready, _ := count(o, "status", "readyReplicas")
	return ready < wanted || updated < wanted && text(o, "status", "updateRevision") != text(o, "status", "currentRevision")
}

// scaledToZero objects run nothing that could be tested.
func scaledToZero(o *unstructured.Unstructured) bool {
	wanted, found := count(o, "spec", "replicas")
	return found && wanted == 0
}

// clause is a message for the end of a sentence.
func clause(message string) string {
	return cmp.Or(strings.TrimRight(message, ". "), "its controller says no more")
}

// progress counts replicas where there are any.
func progress(o *unstructured.Unstructured, message string) string {
	if paused, _, _ := unstructured.NestedBool(o.Object, "spec", "paused"); paused {
		return fmt.Sprintf("The rollout of %s is paused.", title(o))
	}
	wanted, found := count(o, "spec", "replicas")
	if o.GetKind() == "DaemonSet" {
		wanted, found = count(o, "status", "desiredNumberScheduled")
	}
	if observed, isSet := count(o, "status", "observedGeneration"); isSet && observed < o.GetGeneration() {
		return capital(title(o)) + " is being rolled out."
	}
	updated, isSet := count(o, "status", "updatedReplicas")
	if !isSet {
		updated, _ = count(o, "status", "updatedNumberScheduled")
	}
	if found && updated < wanted {
		return fmt.Sprintf("%d of %d replicas of %s have it.", updated, wanted, title(o))
	}
	return fmt.Sprintf("%s is being rolled out: %s.", capital(title(o)), message)
}

func count(o *unstructured.Unstructured, path ...string) (int64, bool) {
	n, found, err := unstructured.NestedInt64(o.Object, path...)
	return n, found && err == nil
}

func text(o *unstructured.Unstructured, path ...string) string {
	value, _, _ := unstructured.NestedString(o.Object, path...) // a malformed one is absent
	return value
}

// revisionOf changes with what is rolled out, and with nothing else where the kind says so.
func revisionOf(o *unstructured.Unstructured, kind schema.GroupKind) string {
	generation := strconv.FormatInt(o.GetGeneration(), 10)
	switch kind.Kind {
	case "Deployment":
		return cmp.Or(o.GetAnnotations()["deployment.kubernetes.io/revision"], generation)
	case "StatefulSet":
		return cmp.Or(text(o, "status", "updateRevision"), generation)
	case "DaemonSet":
		return cmp.Or(o.GetAnnotations()["deprecated.daemonset.template.generation"], generation)
	default:
		return cmp.Or(text(o, "status", "lastAppliedRevision"), generation) // the former is of Flux
	}
}

// argoRollout has a phase of its own, and writes the generation as a text.
func argoRollout(o *unstructured.Unstructured) rollout {
	r := rollout{revision: o.GetAnnotations()["rollout.argoproj.io/revision"]}
	if scaledToZero(o) {
		r.message = capital(title(o)) + " is scaled to 0."
		return r
	}
	phase := text(o, "status", "phase")
	observed := text(o, "status", "observedGeneration")
	switch {
	case observed != strconv.FormatInt(o.GetGeneration(), 10) || !observedWorkload(o):
		r.message = fmt.Sprintf("%s is being rolled out.", capital(title(o)))
	case phase == "Healthy":
		r.ready = true
	case phase == "Degraded":
		r.failed, r.message = true, fmt.Sprintf("The rollout of %s failed: %s.", title(o), clause(cmp.Or(text(o, "status", "message"), phase)))
	default:
		r.message = fmt.Sprintf("%s is being rolled out: %s.", capital(title(o)),
			clause(cmp.Or(text(o, "status", "message"), phase, "it has no status")))
	}
	return r
}

// observedWorkload reports whether a Rollout has seen the newest generation of the Deployment that has its pods, if one has.
func observedWorkload(o *unstructured.Unstructured) bool {
	_, ofOther, _ := unstructured.NestedMap(o.Object, "spec", "workloadRef") // a malformed one is absent
	return !ofOther || o.GetAnnotations()["rollout.argoproj.io/workload-generation"] == text(o, "status", "workloadObservedGeneration")
}

// stale reports whether the status of an Application is of another source. Argo CD has no observedGeneration.
func stale(o *unstructured.Unstructured) bool {
	for _, field := range []string{"source", "sources"} {
		current, _, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", field) // a malformed one is absent
		compared, _, _ := unstructured.NestedFieldNoCopy(o.Object, "status", "sync", "comparedTo", field)
		if compared != nil && !reflect.DeepEqual(current, compared) {
			return true
		}
	}
	return false
}

// argoApplication is deployed when its last sync is what Git has, and healthy.
func argoApplication(o *unstructured.Unstructured) rollout {
	r := rollout{revision: text(o, "status", "sync", "revision")}
	sync, health := text(o, "status", "sync", "status"), text(o, "status", "health", "status")
	switch {
	case text(o, "status", "operationState", "phase") == "Running":
		r.message = fmt.Sprintf("%s is being synced.", capital(title(o)))
	case stale(o):
		r.message = fmt.Sprintf("%s has not been compared with its new source.", capital(title(o)))
	case sync == "Synced" && health == "Healthy":
		r.ready = true
	case health == "Degraded":
		r.failed, r.message = true, fmt.Sprintf("%s is degraded: %s.", capital(title(o)), clause(text(o, "status", "health", "message")))
	default:
		r.message = fmt.Sprintf("%s is %s and %s.", capital(title(o)), cmp.Or(sync, "not synced"), cmp.Or(health, "of unknown health"))
	}
	return r
}
