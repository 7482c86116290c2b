package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/codehost"
	"github.com/postflight-dev/postflight/internal/core/doctor"
	"github.com/postflight-dev/postflight/internal/core/doctor/reach"
)

const (
	// podWithin bounds a pod that tries addresses, with the pull of its image.
	podWithin = 90 * time.Second

	podEvery = 500 * time.Millisecond

	// deleteWithin is for the Job, even after an interrupt.
	deleteWithin = 10 * time.Second
)

// reach lets a pod try the addresses that pods of runs and the manager need.
func (o *Options) reach(ctx context.Context, inst installation) ([]doctor.Finding, error) {
	if o.podIn == "" || inst.deployment == nil {
		return nil, nil
	}
	urls, err := o.addresses(ctx, inst.deployment)
	if err != nil {
		return nil, err
	}
	j := reachJob(o.podIn, inst.deployment, urls)
	if err := o.Client.Create(ctx, j); err != nil {
		return nil, err
	}
	defer o.remove(ctx, j)
	message, err := o.awaitMessage(ctx, j)
	if err != nil {
		return []doctor.Finding{doctor.NoReach(o.podIn, err.Error())}, nil
	}
	results, err := reach.Parse(message)
	if err != nil {
		return nil, fmt.Errorf("the pod left no results, but %q", message)
	}
	var found []doctor.Finding
	for _, r := range results {
		found = append(found, doctor.Reach(o.podIn, r))
	}
	return found, nil
}

// addresses are those of Postflight, its store, its code host and the webhooks, as far as flags and objects show them.
func (o *Options) addresses(ctx context.Context, d *appsv1.Deployment) ([]string, error) {
	urls := []string{cmp.Or(doctor.Flag(d, "pod-url"), "http://postflight."+o.Namespace+".svc"), doctor.Flag(d, "store-endpoint")}
	for _, host := range codehost.All() {
		if cmp.Or(hostFlag(d, host, "app-id"), hostFlag(d, host, "token-file")) != "" {
			urls = append(urls, hostURL(d, host))
		}
	}
	webhooks, err := o.webhooks(ctx, d)
	if err != nil {
		return nil, err
	}
	urls = append(urls, webhooks...)
	urls = slices.DeleteFunc(urls, func(url string) bool { return url == "" })
	if len(urls) > reach.MaxURLs {
		o.Console.Note("Only the first %d of %d addresses are tried.", reach.MaxURLs, len(urls))
	}
	return urls[:min(len(urls), reach.MaxURLs)], nil
}

// webhooks are where those of the Team of the namespace go, or, in the namespace of the manager, those of all Teams: no team
// may learn the receivers of another one.
func (o *Options) webhooks(ctx context.Context, d *appsv1.Deployment) (urls []string, err error) {
	if len(watched(d)) > 0 {
		return nil, nil
	}
	teams := &v1alpha1.TeamList{}
	if err := o.Client.List(ctx, teams); err != nil {
		return nil, err
	}
	for _, t := range teams.Items {
		if o.podIn != o.Namespace && o.podIn != t.NamespaceName() {
			continue
		}
		for _, w := range t.Spec.Webhooks {
			urls = append(urls, origin(w.URL))
		}
	}
	slices.Sort(urls)
	return slices.Compact(urls), nil
}

// origin is all of a URL that a connection needs. The rest may be secret, and a Job can be read by many.
func origin(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// reachJob is a Job that every namespace accepts, with the image that pods of runs have.
func reachJob(namespace string, d *appsv1.Deployment, urls []string) *batchv1.Job {
	limit, never, kept, no, yes := int64(podWithin.Seconds()), int32(0), int32(300), false, true
	little := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("64Mi")}
	spec := corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, AutomountServiceAccountToken: &no,
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot: &yes, SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		Containers: []corev1.Container{{
			Name: "reach", Image: doctor.Container(d).Image, ImagePullPolicy: doctor.Container(d).ImagePullPolicy,
			Command:   append([]string{"/collect", "reach"}, urls...),
			Resources: corev1.ResourceRequirements{Requests: little, Limits: little}, // for quotas that want them
			SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: &no, ReadOnlyRootFilesystem: &yes, Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			},
		}},
	}
	if namespace == d.Namespace {
		spec.ImagePullSecrets = d.Spec.Template.Spec.ImagePullSecrets
	}
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "postflight-doctor-"},
		Spec: batchv1.JobSpec{
			BackoffLimit: &never, ActiveDeadlineSeconds: &limit, TTLSecondsAfterFinished: &kept,
			Template: corev1.PodTemplateSpec{Spec: spec},
		},
	}
}

// awaitMessage returns the termination message of the pod, or why there is none.
func (o *Options) awaitMessage(ctx context.Context, j *batchv1.Job) (message string, err error) {
	why := "it has not been created within " + podWithin.String()
	err = wait.PollUntilContextTimeout(ctx, podEvery, podWithin, true, func(ctx context.Context) (bool, error) {
		pods := &corev1.PodList{}
		if err := o.Client.List(ctx, pods, client.InNamespace(j.Namespace), client.MatchingLabels{batchv1.JobNameLabel: j.Name}); err != nil {
			return false, err
		}
		for _, p := range pods.Items {
			why = "it is " + string(p.Status.Phase)
			for _, c := range p.Status.ContainerStatuses {
				if c.State.Waiting != nil {
					why = strings.TrimSpace(c.State.Waiting.Reason + " " + c.State.Waiting.Message)
				}
				if c.State.Terminated != nil {
					message = c.State.Terminated.Message
					return true, nil
				}
			}
		}
		return false, nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return "", errors.New(why)
	}
	return message, err
}

func (o *Options) remove(ctx context.Context, j *batchv1.Job) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deleteWithin)
	defer cancel()
	if err := o.Client.Delete(ctx, j, client.PropagationPolicy(metav1.DeletePropagationBackground)); client.IgnoreNotFound(err) != nil {
		o.Console.Note("Warning: the Job %s stays in the namespace %s: %s", j.Name, j.Namespace, err)
	}
}
