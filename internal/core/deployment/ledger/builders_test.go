package ledger

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/build"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func minutes(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }

func micro(minute int) *metav1.MicroTime { return new(metav1.NewMicroTime(minutes(minute))) }

type change = func(*v1alpha1.Suite)

const shop = "acme/shop"

// notified is the Suite of a notification of a commit of acme/shop, so many minutes after noon.
func notified(name, sha string, minute int, changes ...change) *v1alpha1.Suite {
	s := &v1alpha1.Suite{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(minutes(minute)), Annotations: map[string]string{}}}
	s.Spec.Trigger.Name, s.Spec.Environment, s.Spec.Origin = "e2e", "staging", v1alpha1.OriginNotification
	s.Spec.ReceivedAt = micro(minute)
	s.Spec.Deployment = v1alpha1.Deployment{Repository: shop, SHA: sha, Branch: "main", Type: "staging"}
	return build.With(s, changes...)
}

func from(o v1alpha1.Origin) change { return func(s *v1alpha1.Suite) { s.Spec.Origin = o } }
func repository(name string) change {
	return func(s *v1alpha1.Suite) { s.Spec.Deployment.Repository = name }
}
func service(name string) change { return func(s *v1alpha1.Suite) { s.Spec.Deployment.Service = name } }
func branch(name string) change  { return func(s *v1alpha1.Suite) { s.Spec.Deployment.Branch = name } }
func url(u string) change        { return func(s *v1alpha1.Suite) { s.Spec.Deployment.URL = u } }
func deployedAt(minute int) change {
	return func(s *v1alpha1.Suite) { s.Spec.DeployedAt = micro(minute) }
}
func notifiedAgain(minute int) change {
	return func(s *v1alpha1.Suite) { s.Status.NotifiedAgainAt = micro(minute) }
}
func answeredAgain(minute int) change {
	return func(s *v1alpha1.Suite) { s.Status.AnsweredAgainAt = micro(minute) }
}
func request(id string) change {
	return func(s *v1alpha1.Suite) { s.Annotations[v1alpha1.AnnotationRequestID] = id }
}
func inEnvironment(uid types.UID) change {
	return func(s *v1alpha1.Suite) { s.Spec.EnvironmentUID = uid }
}
func restoredAfter(d time.Duration) change {
	return func(s *v1alpha1.Suite) { s.CreationTimestamp = metav1.NewTime(noon.Add(d)) }
}

func environment(deployed ...v1alpha1.Deployed) *v1alpha1.Environment {
	e := &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Name: "staging", UID: "uid-staging", CreationTimestamp: metav1.NewTime(minutes(-30))}}
	e.Status.Deployed = deployed
	return e
}

// withWorkloads is an Environment whose workloads are those of acme/shop.
func withWorkloads(d v1alpha1.Deployed) *v1alpha1.Environment {
	d.Workloads = []v1alpha1.DeployedWorkload{{Kind: "Deployment", Name: "web", UID: "uid-web"}}
	e := environment(d)
	e.Spec.Workloads = []v1alpha1.Workload{{Name: "web", Repository: shop}}
	return e
}

// has is what a status says of acme/shop, and what was there before.
func has(sha string, since int, before ...v1alpha1.PreviousDeployment) v1alpha1.Deployed {
	d := v1alpha1.Deployed{Repository: shop, SHA: sha, Since: new(metav1.NewTime(minutes(since))), ReportedBy: v1alpha1.ReportedByNotification}
	if len(before) > 0 {
		d.Previous = &before[0]
	}
	return d
}

// ofService is a part of a status that says the same of one service.
func ofService(name string, d v1alpha1.Deployed) v1alpha1.Deployed {
	d.Service = name
	return d
}

// withServices is an Environment with a workload for each entry of its status.
func withServices(deployed ...v1alpha1.Deployed) *v1alpha1.Environment {
	e := environment()
	for _, d := range deployed {
		d.Workloads = []v1alpha1.DeployedWorkload{{Kind: "Deployment", Name: "web-" + d.Service, UID: types.UID("uid-" + d.Service)}}
		e.Status.Deployed = append(e.Status.Deployed, d)
		e.Spec.Workloads = append(e.Spec.Workloads, v1alpha1.Workload{Name: "web-" + d.Service, Repository: shop, Service: d.Service})
	}
	return e
}

func had(sha string, since int) v1alpha1.PreviousDeployment {
	return v1alpha1.PreviousDeployment{SHA: sha, Since: new(metav1.NewTime(minutes(since)))}
}

// foundBy is a deployment that found the run; without a URL, it was to that of the Environment.
func foundBy(minute int, url string) change {
	return func(s *v1alpha1.Suite) {
		s.Status.FoundBy = append(s.Status.FoundBy, v1alpha1.FoundBy{At: *micro(minute), URL: url})
		s.Status.AnsweredAgainAt = micro(minute)
	}
}
