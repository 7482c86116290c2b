package fakecluster

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Deployment is a workload with one pod, and acts as its controller and its kubelet. Each step may be repeated after a failure.
type Deployment struct {
	Client          client.Client
	Namespace, Name string

	revision int
}

const revisionAnnotation = "deployment.kubernetes.io/revision"

func (d *Deployment) key() client.ObjectKey {
	return client.ObjectKey{Namespace: d.Namespace, Name: d.Name}
}

func (d *Deployment) labels() map[string]string { return map[string]string{"app": d.Name} }

// Next is the revision of the next rollout.
func (d *Deployment) Next() { d.revision++ }

// Set gives the pods an image, whose tag is the commit, and begins a rollout. A restart gives them the image that they have.
func (d *Deployment) Set(ctx context.Context, commit string) error {
	is := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: d.Name}}
	err := d.Client.Get(ctx, d.key(), is)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	is.Annotations = map[string]string{revisionAnnotation: fmt.Sprint(d.revision)}
	is.Spec.Replicas = new(int32(1))
	is.Spec.Selector = &metav1.LabelSelector{MatchLabels: d.labels()}
	is.Spec.Template.Labels = d.labels()
	is.Spec.Template.Annotations = map[string]string{"revision": fmt.Sprint(d.revision)}
	is.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web", Image: "registry.example.com/shop:" + commit}}
	if apierrors.IsNotFound(err) {
		return d.Client.Create(ctx, is)
	}
	return d.Client.Update(ctx, is)
}

// Complete replaces the pod, and says that the rollout is complete.
func (d *Deployment) Complete(ctx context.Context, commit string) error {
	name := fmt.Sprintf("%s-%d", d.Name, d.revision)
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: name, Labels: d.labels()},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "registry.example.com/shop:" + commit}}},
	}
	if err := d.Client.Create(ctx, p); client.IgnoreAlreadyExists(err) != nil {
		return err
	}
	if err := d.Client.Get(ctx, client.ObjectKeyFromObject(p), p); err != nil {
		return err
	}
	p.Status.Phase = corev1.PodRunning
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "web",
		ImageID: "registry.example.com/shop@sha256:" + strings.Repeat(commit[:8], 8)}}
	if err := d.Client.Status().Update(ctx, p); err != nil {
		return err
	}
	if err := d.deletePodsExcept(ctx, name); err != nil {
		return err
	}
	is := &appsv1.Deployment{}
	if err := d.Client.Get(ctx, d.key(), is); err != nil {
		return err
	}
	is.Status = appsv1.DeploymentStatus{
		ObservedGeneration: is.Generation, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1,
		Conditions: []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue},
			{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable"},
		},
	}
	return d.Client.Status().Update(ctx, is)
}

func (d *Deployment) deletePodsExcept(ctx context.Context, name string) error {
	pods := &corev1.PodList{}
	if err := d.Client.List(ctx, pods, client.InNamespace(d.Namespace), client.MatchingLabels(d.labels())); err != nil {
		return err
	}
	for i := range pods.Items {
		if pods.Items[i].Name == name {
			continue
		}
		if err := d.Client.Delete(ctx, &pods.Items[i], client.GracePeriodSeconds(0)); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}
