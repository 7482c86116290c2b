package model

import (
	"context"
	"fmt"
	"path"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/workloads"
	"github.com/postflight-dev/postflight/internal/core/run/lifecycle"
	"github.com/postflight-dev/postflight/internal/usecase/dispatch"
)

// Workloads, and what the product makes of them.

// workloadsOf name a Deployment of each watched repository, whose rollouts are notified.
func (s setup) workloadsOf() (all []v1alpha1.Workload) {
	for _, r := range s.watched() {
		repository, service := s.partOf(r)
		branch := &v1alpha1.WorkloadValue{Annotation: "branch"}
		all = append(all, v1alpha1.Workload{Name: path.Base(r), Repository: repository, Service: service, Branch: branch, Notify: true})
	}
	return all
}

// rollOut is complete at once. Postflight can see it from then on.
func (w *world) rollOut(d *deployment) {
	d.told = d.moment
	revision, name := int64(d.moment), path.Base(d.repository)
	type fields = map[string]any
	labels := fields{"app": name}
	w.objects[name] = &unstructured.Unstructured{Object: fields{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": fields{
			"name": name, "namespace": namespace, "uid": "uid-" + name, "generation": revision,
			"annotations": fields{"deployment.kubernetes.io/revision": fmt.Sprint(w.revision(d.repository) + 1)},
		},
		"spec": fields{"replicas": int64(1), "selector": fields{"matchLabels": labels}, "template": fields{
			"metadata": fields{"labels": labels, "annotations": fields{"branch": d.branch}},
			"spec":     fields{"containers": []any{fields{"name": "web", "image": "registry.example.com/" + name + ":" + d.sha}}},
		}},
		"status": fields{
			"observedGeneration": revision, "replicas": int64(1),
			"updatedReplicas": int64(1), "readyReplicas": int64(1), "availableReplicas": int64(1),
			"conditions": []any{
				fields{"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable"},
				fields{"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"},
			},
		},
	}}
}

// revision counts the rollouts of a repository.
func (w *world) revision(repository string) (n int) {
	for _, d := range w.log {
		if d.repository == repository {
			n++
		}
	}
	return n
}

func (w *world) found() (all []workloads.Found) {
	e := w.environment()
	for _, workload := range e.Spec.Workloads {
		f := workloads.Found{Workload: workload, Source: workloads.SourceOf(e, workload), Object: w.objects[workload.Name]}
		if f.Object == nil {
			f.Problem = workloads.NothingFound(workload, f.Source)
		}
		all = append(all, f)
	}
	return all
}

func (w *world) versions() []v1alpha1.TestedWorkload { return workloads.Versions(w.found()) }

// compareWorkloads is the action CompareWorkloads.
func (w *world) compareWorkloads(o *lifecycle.Observation) {
	tested := workloads.Tested(o.UnderTest.Start, w.versions())
	o.UnderTest.Moved = !workloads.StillThere(tested, o.Suite.Spec.Deployment)
	o.UnderTest.Another = workloads.Another(tested, o.Suite.Spec.Deployment)
	o.Compared(tested)
}

// observeEnvironment is the controller of Environments.
func (w *world) observeEnvironment() error {
	e := w.environment()
	o := workloads.Observed{Environment: e, Team: w.team, Found: w.found(), Suites: w.store.all(), Now: w.clock.Now()}
	is := e.DeepCopy()
	is.Status.Deployed, _ = workloads.Status(o)
	w.store.put(is)
	for i, d := range is.Status.Deployed {
		if d.Notification != v1alpha1.NotificationPending {
			continue
		}
		w.tick()
		result, err := w.Dispatch(context.Background(), dispatch.Request{
			Team: w.team, Notification: workloads.Notification(is, d), IdempotencyKey: workloads.RolloutKey(d), RequestID: w.id("rollout"),
			ReceivedAt: w.clock.Now(), Origin: dispatch.FromRollout(is.Name),
		})
		if err != nil {
			return err
		}
		w.say("the rollout of %s is notified", d.SHA[:min(6, len(d.SHA))])
		for _, r := range result.Triggers {
			w.say("  %s %s", r.Decision, r.SuiteID)
		}
		is = w.environment()
		is.Status.Deployed[i].Notification = v1alpha1.NotificationSent
		w.store.put(is)
		w.count("rollout")
	}
	return nil
}
