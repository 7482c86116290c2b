package replicas

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	k8sclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/tier"
)

// backedUp are kinds in the order in which Velero restores them.
var backedUp = []schema.GroupVersionKind{
	{Group: "batch", Version: "v1", Kind: "Job"},
	v1alpha1.GroupVersion.WithKind("APIKey"),
	v1alpha1.GroupVersion.WithKind("Environment"),
	v1alpha1.GroupVersion.WithKind("Suite"),
	v1alpha1.GroupVersion.WithKind("Team"),
	v1alpha1.GroupVersion.WithKind("Trigger"),
}

// TestRestore: a backup of all objects starts nothing again, neither in an empty cluster nor in one that lives, and
// keys work at once.
func TestRestore(t *testing.T) {
	tier.All(t, "it needs a second API server")
	s := apiserver.Alone(t)
	tm := newTeam(t, s)
	all := replicas(t, s, kubeconfigOf(t, s.Manager(t)), 1)
	tm.awaitNotifiable(all)
	for _, branch := range []string{"first", "second", "third"} {
		tm.awaitRun(all[0], branch, branch)
	}
	living := tm.awaitRun(all[0], "living", "newest")
	tm.awaitState(living, v1alpha1.ReasonStarting)

	empty := apiserver.Own(t, apiserver.Options{})
	restored := &team{t: t, s: empty, namespace: tm.namespace, key: tm.key}
	there := replicas(t, empty, kubeconfigOf(t, empty.Manager(t)), 1)
	backup := tm.backup()
	if _, err := empty.Kubectl(t, "create", "namespace", tm.namespace); err != nil {
		t.Fatal(err)
	}
	for _, o := range backup {
		restored.create(o)
	}
	suites := restored.suites()
	if len(suites) != 5 {
		t.Fatalf("%d Suites were restored, want 5", len(suites))
	}
	for _, run := range suites {
		restored.awaitState(run.Name, v1alpha1.ReasonCanceled)
	}
	again := restored.awaitRun(there[0], "living", "newest")
	restored.awaitState(again, v1alpha1.ReasonStarting)
	if jobs := restored.jobs(); len(jobs) != 1 || jobs[0] != again {
		t.Errorf("Jobs %q in the new cluster, want %s alone", jobs, again)
	}

	before := len(tm.jobs())
	trigger := tm.trigger("smoke")
	tm.get(trigger)
	lost := rawSuite(trigger, "lost")
	lost.Spec.SupersedeKey = "living/staging"
	lost.Labels[v1alpha1.LabelRestored] = "true"
	lost.Spec.ReceivedAt.Time = lost.Spec.ReceivedAt.Add(-backupAge)
	tm.create(lost)
	tm.awaitState(lost.Name, v1alpha1.ReasonCanceled)
	next := tm.awaitRun(all[0], "living", "next") // its end shows that the stream was looked at after the restore
	superseded := &v1alpha1.Suite{ObjectMeta: tm.meta(living)}
	poll.True(t, "the end of "+living, func() bool { tm.get(superseded); return superseded.Status.SupersededBy != "" })
	if superseded.Status.SupersededBy != next || len(tm.jobs()) > before+1 {
		t.Errorf("%s is superseded by %q, want %s; %d Jobs, had %d", living, superseded.Status.SupersededBy, next, len(tm.jobs()), before)
	}
	t.Logf("RESTORE suites=%d canceled=%d jobs=%d", len(suites), len(suites), len(restored.jobs()))
}

// backupAge is how old a backup is. Nobody restores one that is younger than a notification can be held.
const backupAge = 5 * time.Minute

// awaitRun sends a notification until the replica knows the key and the Trigger.
func (tm *team) awaitRun(r *replica, branch, sha string) (name string) {
	tm.t.Helper()
	poll.True(tm.t, "a run of "+branch, func() bool {
		a, err := notify(tm.t.Context(), r.URL, tm.key, `{"branch":"`+branch+`","sha":"`+sha+`"}`)
		if err != nil || a.Status != 200 || len(a.Results) != 1 || a.Results[0].Created == "" {
			return false
		}
		name = a.Results[0].Created
		return true
	})
	return name
}

// backup is what Velero makes of the team: objects without status, without what the API server sets, and without those
// that it should leave out.
func (tm *team) backup() (objects []*unstructured.Unstructured) {
	tm.t.Helper()
	for _, kind := range backedUp {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		if err := tm.s.Client.List(tm.t.Context(), list, tm.own(kind)...); err != nil {
			tm.t.Fatal(err)
		}
		for i := range list.Items {
			if o := &list.Items[i]; o.GetLabels()["velero.io/exclude-from-backup"] == "" {
				objects = append(objects, tm.stripped(o))
			}
		}
	}
	return objects
}

// own selects the objects of the team.
func (tm *team) own(kind schema.GroupVersionKind) []k8sclient.ListOption {
	if kind.Kind == "Team" {
		return []k8sclient.ListOption{k8sclient.MatchingFields{"metadata.name": tm.namespace}}
	}
	return []k8sclient.ListOption{k8sclient.InNamespace(tm.namespace)}
}

func (tm *team) stripped(o *unstructured.Unstructured) *unstructured.Unstructured {
	tm.t.Helper()
	unstructured.RemoveNestedField(o.Object, "status")
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"} {
		unstructured.RemoveNestedField(o.Object, "metadata", field)
	}
	labels := o.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[v1alpha1.LabelRestoredByVelero] = "nightly"
	o.SetLabels(labels)
	if text, ok, _ := unstructured.NestedString(o.Object, "spec", "receivedAt"); ok {
		const form = "2006-01-02T15:04:05.000000Z07:00"
		received, err := time.Parse(form, text)
		if err != nil {
			tm.t.Fatal(err)
		}
		if err := unstructured.SetNestedField(o.Object, received.Add(-backupAge).Format(form), "spec", "receivedAt"); err != nil {
			tm.t.Fatal(err)
		}
	}
	return o
}

func (tm *team) jobs() (names []string) {
	tm.t.Helper()
	list := &batchv1.JobList{}
	if err := tm.s.Client.List(tm.t.Context(), list, k8sclient.InNamespace(tm.namespace)); err != nil {
		tm.t.Fatal(err)
	}
	for _, j := range list.Items {
		names = append(names, j.Name)
	}
	return names
}
