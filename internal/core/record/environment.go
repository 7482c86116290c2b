package record

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// EnvironmentOf returns an Environment as the HTTP API shows it, without the URL of its page, and whether it settles.
func EnvironmentOf(team string, e *v1alpha1.Environment, now time.Time) httpapi.EnvironmentStatus {
	s := httpapi.EnvironmentStatus{
		Name: e.Name, Team: team, Namespace: e.Namespace, Cluster: e.Spec.Cluster, URL: e.Spec.URL, Deployed: []httpapi.Deployed{},
	}
	if ephemeral := e.Spec.Ephemeral; ephemeral != nil {
		s.URL, s.Ephemeral, s.ExpiresAt = ephemeral.DeploymentURL, true, new(ephemeral.ExpiresAt.UTC())
	}
	if c := meta.FindStatusCondition(e.Status.Conditions, v1alpha1.ConditionReady); c != nil && c.Status != metav1.ConditionUnknown {
		s.Ready, s.Message = new(c.Status == metav1.ConditionTrue), c.Message
	}
	if until := e.HeldUntil(now); !until.IsZero() {
		s.Hold = &httpapi.EnvironmentHold{Until: until.UTC(), Reason: e.Spec.Hold.Reason, HeldBy: e.Annotations[v1alpha1.AnnotationHeldBy]}
	}
	for i := range e.Status.Deployed {
		s.Deployed = append(s.Deployed, deployedOf(&e.Status.Deployed[i]))
	}
	return s
}

func deployedOf(d *v1alpha1.Deployed) httpapi.Deployed {
	v := httpapi.Deployed{
		Repository: d.Repository, Service: d.Service, SHA: d.SHA, Branch: d.Branch, DeploymentType: d.DeploymentType, Since: utc(d.Since),
		ReportedBy: string(d.ReportedBy), Ready: d.Ready, Message: d.Message, URL: d.URL,
	}
	if p := d.Previous; p != nil {
		v.Previous = &httpapi.PreviousDeployment{SHA: p.SHA, Since: utc(p.Since)}
	}
	for _, w := range d.Workloads {
		workload := httpapi.DeployedWorkload{
			Kind: w.Kind, Namespace: w.Namespace, Name: w.Name, Revision: w.Revision, SHA: w.SHA, Ready: w.Ready, Message: w.Message,
		}
		for _, digest := range w.Digests {
			workload.Digests = append(workload.Digests, httpapi.ImageDigest(digest))
		}
		v.Workloads = append(v.Workloads, workload)
	}
	return v
}

func utc(at *metav1.Time) *time.Time {
	if at == nil {
		return nil
	}
	return new(at.UTC())
}

// EnvironmentsAfter returns up to limit Environments by name, of those after the name, and whether there are more. It ends a page
// early that has more than so many workloads, which can be large.
func EnvironmentsAfter(after string, all []*v1alpha1.Environment, limit, workloads int) (page []*v1alpha1.Environment, more bool) {
	rest := slices.DeleteFunc(slices.Clone(all), func(e *v1alpha1.Environment) bool { return e.Name <= after })
	slices.SortFunc(rest, func(a, b *v1alpha1.Environment) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Namespace, b.Namespace))
	})
	seen := 0
	for i, e := range rest {
		if i == limit || seen > workloads {
			return rest[:i], true
		}
		for _, d := range e.Status.Deployed {
			seen += len(d.Workloads)
		}
	}
	return rest, false
}
