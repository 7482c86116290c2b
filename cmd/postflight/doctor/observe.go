package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/cmd/postflight/access"
	"github.com/postflight-dev/postflight/internal/core/deployment/codehost"
	"github.com/postflight-dev/postflight/internal/core/doctor"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/core/text/apierror"
	"github.com/postflight-dev/postflight/internal/core/text/version"
	"github.com/postflight-dev/postflight/internal/transfer"
)

const (
	leaseName = "postflight"

	// leaseRenewal is longer than a leader with the default lease takes to renew it.
	leaseRenewal = 4 * time.Second

	// leaseLooks are made in that time.
	leaseLooks = 4
)

// manager finds the installation. Its Deployment has the label of its component, whatever the chart calls it.
func (o *Options) manager(ctx context.Context) (inst installation, found []doctor.Finding, err error) {
	deployments := &appsv1.DeploymentList{}
	component := client.MatchingLabels{"app.kubernetes.io/component": "manager"}
	if err := o.Client.List(ctx, deployments, client.InNamespace(o.Namespace), component); err != nil {
		return inst, nil, err
	}
	i := slices.IndexFunc(deployments.Items, func(d appsv1.Deployment) bool {
		return slices.Equal(doctor.Container(&d).Command, []string{"manager"})
	})
	if i < 0 {
		leader, err := o.process(ctx)
		return inst, []doctor.Finding{doctor.NoManager(o.Namespace, leader)}, err
	}
	inst.deployment = &deployments.Items[i]
	selector, err := metav1.LabelSelectorAsSelector(inst.deployment.Spec.Selector)
	if err != nil {
		return inst, nil, err
	}
	pods := &corev1.PodList{}
	if err := o.Client.List(ctx, pods, client.InNamespace(o.Namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return inst, nil, err
	}
	inst.pods = pods.Items
	return inst, doctor.Manager(inst.deployment, inst.pods, version.Get().Version), nil
}

// process returns the holder of the Lease, if there is no Deployment, or "". A Lease may outlast its holder, so it has to be renewed during
// the check.
func (o *Options) process(ctx context.Context) (leader string, err error) {
	lease := &coordinationv1.Lease{}
	if err := o.Client.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: leaseName}, lease); err != nil {
		return "", apierror.IgnoreNotFound(err)
	}
	latest := o.renewal(ctx, lease)
	if latest == nil {
		return "", nil
	}
	leader, _ = doctor.Holder(latest, latest.Spec.RenewTime.Time)
	return leader, nil
}

func (o *Options) rights(ctx context.Context, inst installation) ([]doctor.Finding, error) {
	if inst.deployment == nil {
		return nil, nil
	}
	account := accountOf(inst.deployment)
	questions := doctor.Rights(o.Namespace, watched(inst.deployment))
	var denied []authorizationv1.ResourceAttributes
	for _, q := range questions {
		allowed, err := o.AccountMay(ctx, o.Namespace, account, q)
		if err != nil {
			return nil, err
		}
		if !allowed {
			denied = append(denied, q)
		}
	}
	return []doctor.Finding{doctor.MissingRights("The account "+account, len(questions), denied)}, nil
}

// accountOf is that of the manager.
func accountOf(d *appsv1.Deployment) string {
	return cmp.Or(d.Spec.Template.Spec.ServiceAccountName, "default")
}

func (o *Options) policies(ctx context.Context, inst installation) ([]doctor.Finding, error) {
	if inst.deployment == nil {
		return nil, nil
	}
	policies, bindings := &admissionv1.ValidatingAdmissionPolicyList{}, &admissionv1.ValidatingAdmissionPolicyBindingList{}
	if err := errors.Join(o.Client.List(ctx, policies), o.Client.List(ctx, bindings)); err != nil {
		return nil, err
	}
	return doctor.Policies(access.UserOfAccount(o.Namespace, accountOf(inst.deployment)), policies.Items, bindings.Items), nil
}

// watched are the only namespaces that the manager watches; without any, it watches all.
func watched(d *appsv1.Deployment) []string {
	return strings.FieldsFunc(doctor.Flag(d, "watch-namespaces"), func(r rune) bool { return r == ',' })
}

func (o *Options) leader(ctx context.Context, inst installation) ([]doctor.Finding, error) {
	if inst.deployment == nil || doctor.Flag(inst.deployment, "leader-elect") == "false" {
		return nil, nil
	}
	lease := &coordinationv1.Lease{}
	namespace := cmp.Or(doctor.Flag(inst.deployment, "leader-election-namespace"), o.Namespace)
	err := o.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: leaseName}, lease)
	if apierrors.IsNotFound(err) {
		lease, err = nil, nil
	}
	if err != nil {
		return nil, err
	}
	now := o.Clock.Now()
	if renewed := o.renewed(ctx, lease, now); renewed != nil {
		lease, now = renewed, renewed.Spec.RenewTime.Time
	}
	return []doctor.Finding{doctor.Leader(lease, inst.pods, now)}, nil
}

// renewed looks again at a Lease that seems to have expired: the clock of this machine may be wrong. It returns nil if
// the Lease is not renewed, or did not seem to have expired.
func (o *Options) renewed(ctx context.Context, lease *coordinationv1.Lease, now time.Time) *coordinationv1.Lease {
	if lease == nil || lease.Spec.RenewTime == nil || now.Sub(lease.Spec.RenewTime.Time) < leaseRenewal {
		return nil
	}
	return o.renewal(ctx, lease)
}

// renewal waits for the next renewal of a Lease; nil if there is none in time.
func (o *Options) renewal(ctx context.Context, lease *coordinationv1.Lease) *coordinationv1.Lease {
	latest := &coordinationv1.Lease{}
	for range leaseLooks {
		if transfer.Sleep(ctx, leaseRenewal/leaseLooks) != nil {
			return nil
		}
		err := o.Client.Get(ctx, client.ObjectKeyFromObject(lease), latest)
		if err == nil && latest.Spec.RenewTime != nil && !latest.Spec.RenewTime.Equal(lease.Spec.RenewTime) {
			return latest
		}
	}
	return nil
}

// replicas asks each pod, through the API server.
func (o *Options) replicas(ctx context.Context, inst installation) (found []doctor.Finding, err error) {
	for _, p := range inst.pods {
		if p.Status.Phase != corev1.PodRunning || p.DeletionTimestamp != nil {
			continue
		}
		for _, c := range doctor.Checks {
			status, body, err := o.ask(ctx, &p, c.Path)
			if err != nil {
				return found, fmt.Errorf("%w. The API server may not reach the port of the probes, because of a NetworkPolicy: "+
					"`kubectl port-forward -n %s %s 8082`, and open http://localhost:8082/readyz/store", err, p.Namespace, p.Name)
			}
			found = append(found, doctor.Replica(p.Name, c, status, body))
		}
	}
	return found, nil
}

// ask returns an error if the pod did not answer.
func (o *Options) ask(ctx context.Context, p *corev1.Pod, path string) (status int, body string, err error) {
	err = o.Pods.CoreV1().RESTClient().Get().Namespace(p.Namespace).Resource("pods").Name(fmt.Sprintf("%s:%d", p.Name, probesPort(p))).
		SubResource("proxy").Suffix("readyz" + path).Do(ctx).Error()
	var answer apierrors.APIStatus
	if cause, ok := apierrors.StatusCause(err, metav1.CauseTypeUnexpectedServerResponse); ok && errors.As(err, &answer) {
		return int(answer.Status().Code), cause.Message, nil // the API server itself would answer with a Status
	}
	return http.StatusOK, "", err
}

func probesPort(p *corev1.Pod) int32 {
	for _, c := range p.Spec.Containers {
		for _, port := range c.Ports {
			if port.Name == "probes" {
				return port.ContainerPort
			}
		}
	}
	return 8082
}

// certificates looks at the Secrets that the manager mounts.
func (o *Options) certificates(ctx context.Context, inst installation) (found []doctor.Finding, err error) {
	if inst.deployment == nil || doctor.Flag(inst.deployment, "tls-cert-file") == "" {
		return nil, nil
	}
	for _, v := range inst.deployment.Spec.Template.Spec.Volumes {
		if v.Secret == nil {
			continue
		}
		secret := &corev1.Secret{}
		if err := o.Client.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: v.Secret.SecretName}, secret); err != nil {
			return found, err
		}
		if content, has := secret.Data[corev1.TLSCertKey]; has && len(v.Secret.Items) == 0 {
			found = append(found, doctor.Certificate(secret.Name, content, o.Clock.Now()))
		}
	}
	return found, nil
}

// teams does not look at Teams that come from the values of the chart.
func (o *Options) teams(ctx context.Context, inst installation) ([]doctor.Finding, error) {
	keys := &v1alpha1.APIKeyList{}
	if err := o.Client.List(ctx, keys); err != nil {
		return nil, err
	}
	found := doctor.Keys(keys.Items, o.Clock.Now())
	if inst.deployment != nil && len(watched(inst.deployment)) > 0 {
		return found, nil
	}
	teams := &v1alpha1.TeamList{}
	if err := o.Client.List(ctx, teams); err != nil {
		return found, err
	}
	triggers := &v1alpha1.TriggerList{}
	if err := o.Client.List(ctx, triggers); err != nil {
		return found, err
	}
	return append(doctor.Teams(teams.Items, keys.Items, triggers.Items, o.Clock.Now()), found...), nil
}

// trustPolicies does not look at Teams that come from the values of the chart, or if the flags of the manager are not known.
func (o *Options) trustPolicies(ctx context.Context, inst installation) ([]doctor.Finding, error) {
	policies, teams := &v1alpha1.TrustPolicyList{}, &v1alpha1.TeamList{}
	if err := o.Client.List(ctx, policies); err != nil {
		return nil, err
	}
	if inst.deployment == nil || len(watched(inst.deployment)) > 0 {
		return doctor.TrustPolicies(policies.Items, nil, ""), nil
	}
	if err := o.Client.List(ctx, teams); err != nil {
		return nil, err
	}
	gitHub := hostURL(inst.deployment, codehost.Of(v1alpha1.GitHub))
	return doctor.TrustPolicies(policies.Items, teams.Items, report.HostOf(v1alpha1.GitHub, gitHub)), nil
}

// environments needs Clusters only at a hub.
func (o *Options) environments(ctx context.Context, _ installation) ([]doctor.Finding, error) {
	all, clusters := &v1alpha1.EnvironmentList{}, &v1alpha1.ClusterList{}
	if err := o.Client.List(ctx, all); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(all.Items, func(e v1alpha1.Environment) bool { return e.Spec.Cluster != "" }) {
		if err := o.Client.List(ctx, clusters); err != nil {
			return nil, err
		}
	}
	return doctor.Environments(all.Items, clusters.Items), nil
}

func (o *Options) triggerClasses(ctx context.Context, _ installation) ([]doctor.Finding, error) {
	classes, triggers := &v1alpha1.TriggerClassList{}, &v1alpha1.TriggerList{}
	if err := errors.Join(o.Client.List(ctx, classes), o.Client.List(ctx, triggers)); err != nil {
		return nil, err
	}
	return doctor.TriggerClasses(classes.Items, triggers.Items), nil
}

// hostURL returns the API of a code host that the manager uses.
func hostURL(d *appsv1.Deployment, host codehost.Host) string {
	return cmp.Or(hostFlag(d, host, "url"), host.URL)
}

func hostFlag(d *appsv1.Deployment, host codehost.Host, name string) string {
	return doctor.Flag(d, strings.ToLower(string(host.Name))+"-"+name)
}
