package report

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/internal/kube/index"
	"github.com/postflight-dev/postflight/internal/kube/reconcile"
)

// The problem says why there are no credentials.
func (r *Reconciler) credentials(
	ctx context.Context, o report.Observation, target report.Target,
) (c report.Credentials, problem *metav1.Condition, err error) {
	host, known := r.Config.Hosts[target.Host]
	if !known { // of a later version
		return c, notReported(v1alpha1.ReasonNotConfigured,
			"Nothing is posted, because this version of the manager does not know the code host %s of spec.repository of the Trigger.",
			target.Host), nil
	}
	if ref := o.Trigger.Spec.Repository.Credentials; ref != nil {
		key := client.ObjectKey{Namespace: o.Suite.Namespace, Name: ref.SecretRef.Name}
		c, why, err := reconcile.CodeHostCredentials(ctx, r.Live, target.Host, key, "spec.repository of the Trigger")
		if why != "" {
			problem = notReported(v1alpha1.ReasonReportFailed, "%s", why)
		}
		return c, problem, err
	}
	if host.Own == nil {
		return c, notReported(v1alpha1.ReasonNotConfigured,
			"Nothing is posted, because spec.repository of the Trigger names no credentials, and the manager has none of its own for %s.",
			target.Host), nil
	}
	team, err := index.Owner(ctx, r, o.Suite.Namespace)
	if err != nil {
		return c, nil, err
	}
	if problem := refused(target, host.Name, team); problem != nil {
		return c, problem, nil
	}
	if c, err = host.Own(); err != nil {
		return c, notReported(v1alpha1.ReasonReportFailed, "The manager cannot read its own credentials for %s.", target.Host), nil
	}
	return c, nil, nil
}

// refused returns why the manager's own credentials of a host are not for the repository of a target, or nil.
func refused(target report.Target, host string, team *v1alpha1.Team) *metav1.Condition {
	var entries []string
	if team != nil {
		entries = team.Spec.Repositories
	}
	switch {
	case report.Allowed(target, host, entries):
		return nil
	case report.ListedWithoutHost(target, entries):
		return notReported(v1alpha1.ReasonNotConfigured,
			"Nothing is posted, because spec.repositories of the Team allows %s only without its host, which means GitHub. "+
				"List %s/%[1]s, or name credentials in the Trigger.", target.Repository, host)
	default:
		return notReported(v1alpha1.ReasonNotConfigured,
			"Nothing is posted, because spec.repositories of the Team does not list %s/%s, so that the manager's own credentials are not used. "+
				"List it, or name credentials in the Trigger.", host, target.Repository)
	}
}

func credentialsSource(o report.Observation, target report.Target) string {
	if ref := o.Trigger.Spec.Repository.Credentials; ref != nil {
		return fmt.Sprintf("%s %s/%s", target.Host, o.Suite.Namespace, ref.SecretRef.Name)
	}
	return string(target.Host)
}

// While a host is down, hundreds of runs ask every second: waits spares each of them reading the same Secret.
func (r *Reconciler) waits(o report.Observation, target report.Target, share int) time.Duration {
	last, known := r.lastBudgets.Load(credentialsSource(o, target))
	if !known {
		return 0
	}
	delay := last.(*report.Budget).Wait(share, r.Clock.Now())
	if delay > report.ShortWait {
		return 0
	}
	return delay
}

func (r *Reconciler) budgetOf(o report.Observation, target report.Target, credentials report.Credentials) *report.Budget {
	limits := r.Config.Hosts[target.Host].Limits
	budget := r.budgets.Of(string(target.Host)+" "+credentials.Key(), limits, r.Clock.Now())
	r.lastBudgets.Store(credentialsSource(o, target), budget)
	return budget
}

func notReported(reason, format string, args ...any) *metav1.Condition {
	return new(v1alpha1.NotReported(reason, fmt.Sprintf(format, args...)))
}
