package workloads

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/build"
)

// noon is when the tests begin.
var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func minutes(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }

func at(n int) *metav1.Time { return new(metav1.NewTime(minutes(n))) }

// objectOf reads an object as the API server would send it.
func objectOf(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	json, err := yaml.ToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(json); err != nil {
		t.Fatal(err)
	}
	return u
}

type fields = map[string]any

// aDeployment has three replicas, a revision of its own for each commit, and all that a complete rollout has.
func aDeployment(name, sha string, change ...func(*unstructured.Unstructured)) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: fields{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": fields{
			"name": name, "namespace": "shop", "uid": "uid-" + name, "generation": int64(4),
			"annotations": fields{"deployment.kubernetes.io/revision": "r-" + sha},
		},
		"spec": fields{
			"replicas": int64(3), "progressDeadlineSeconds": int64(600), "selector": fields{"matchLabels": fields{"app": name}},
			"template": fields{"metadata": fields{"annotations": fields{AnnotationSHA: sha}}, "spec": fields{"containers": []any{fields{"name": "web", "image": "registry.example.com/" + name}}}},
		},
		"status": fields{
			"observedGeneration": int64(4), "replicas": int64(3), "updatedReplicas": int64(3), "readyReplicas": int64(3), "availableReplicas": int64(3),
			"conditions": []any{
				fields{"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable"},
				fields{"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"},
			},
		},
	}}
	return build.With(u, change...)
}

// set writes a field, and creates the maps around it.
func set(value any, path ...string) func(*unstructured.Unstructured) {
	return func(u *unstructured.Unstructured) {
		if err := unstructured.SetNestedField(u.Object, value, path...); err != nil {
			panic(err)
		}
	}
}

// rolling is a Deployment whose rollout has reached one replica.
func rolling(u *unstructured.Unstructured) { set(int64(1), "status", "updatedReplicas")(u) }

func failed(u *unstructured.Unstructured) {
	rolling(u)
	set([]any{fields{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}}, "status", "conditions")(u)
}

func branched(branch string) func(*unstructured.Unstructured) {
	return set(branch, "spec", "template", "metadata", "annotations", "branch")
}

var anEnvironment = v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "staging"}}

// workload is one of the repository, whose branch is in an annotation.
func workload(repository, name string) v1alpha1.Workload {
	return v1alpha1.Workload{Name: name, Repository: repository, Branch: &v1alpha1.WorkloadValue{Annotation: "branch"}}
}

func found(repository string, o *unstructured.Unstructured) Found {
	w := workload(repository, o.GetName())
	return Found{Workload: w, Source: SourceOf(&anEnvironment, w), Object: o}
}

func ofService(name string, f Found) Found {
	f.Workload.Service = name
	return f
}

func service(name string) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) { s.Name, s.Spec.Deployment.Service = s.Name+"-"+name, name }
}

func missing(repository, name string) Found {
	w := workload(repository, name)
	s := SourceOf(&anEnvironment, w)
	return Found{Workload: w, Source: s, Problem: NothingFound(w, s)}
}

// notify is a run of a notification that was received so many minutes after noon.
func notify(repository, sha string, minute int, change ...func(*v1alpha1.Suite)) *v1alpha1.Suite {
	s := &v1alpha1.Suite{ObjectMeta: metav1.ObjectMeta{Name: sha, UID: types.UID(sha), CreationTimestamp: *at(minute)}}
	s.Spec.ReceivedAt = new(metav1.NewMicroTime(minutes(minute)))
	s.Spec.Environment = anEnvironment.Name
	s.Spec.Deployment = v1alpha1.Deployment{Repository: repository, SHA: sha, Branch: "main", Type: "push"}
	return build.With(s, change...)
}

func scheduled(s *v1alpha1.Suite) {
	s.Annotations = map[string]string{v1alpha1.AnnotationScheduledFor: "2026-11-20T03:00:00Z"}
}

func rerun(s *v1alpha1.Suite) { s.Annotations = map[string]string{v1alpha1.AnnotationRerunBy: "anna"} }
