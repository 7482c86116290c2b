package workloads

import (
	"cmp"
	"slices"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// notificationOf returns whether the Triggers have to be notified of what a repository has now. They are if a rollout has brought another
// commit to workloads that were known before. What ran already when the Environment named it is no deployment; nor is an image of equal
// digest with another tag.
func notificationOf(before, now v1alpha1.Deployed, says names, team *v1alpha1.Team) v1alpha1.RolloutNotification {
	silent := team == nil || team.Spec.Suspended
	switch {
	case !says.notify:
		return ""
	case before.Since != nil && sameCommit(before, now):
		if before.Notification == v1alpha1.NotificationPending && silent {
			return ""
		}
		return before.Notification
	case now.Ready == nil || !*now.Ready:
		return ""
	case silent || !knownBefore(before, now) || undone(before, now) || says.byTag && sameImages(before, now):
		return ""
	default:
		return v1alpha1.NotificationPending
	}
}

// sameCommit reports whether a repository has the commit that it had. A tag that is its beginning named it.
func sameCommit(before, now v1alpha1.Deployed) bool {
	return now.SHA == before.SHA || before.SHA != "" && now.SHA == completeSHA(before.SHA, now.SHA)
}

// undone reports whether the workloads went back to their commit before all of them had another one.
func undone(before, now v1alpha1.Deployed) bool {
	return before.SHA == "" && before.Previous != nil && before.Previous.SHA == now.SHA
}

// knownBefore reports whether one of the workloads was seen before, in whatever state.
func knownBefore(before, now v1alpha1.Deployed) bool {
	return slices.ContainsFunc(now.Workloads, func(w v1alpha1.DeployedWorkload) bool { return earlier(before.Workloads, w) != nil })
}

// earlier returns what was known of a workload, or nil. It may have been deleted and created again.
func earlier(before []v1alpha1.DeployedWorkload, now v1alpha1.DeployedWorkload) *v1alpha1.DeployedWorkload {
	i := slices.IndexFunc(before, func(w v1alpha1.DeployedWorkload) bool {
		return w.Kind == now.Kind && w.Namespace == now.Namespace && w.Name == now.Name && w.UID != ""
	})
	if i < 0 {
		return nil
	}
	return &before[i]
}

// unseen keeps which object it was, and its images, because another commit of it may be seen later.
func (f Found) unseen(e *v1alpha1.Environment) v1alpha1.DeployedWorkload {
	w := v1alpha1.DeployedWorkload{Kind: f.Source.Kind, Namespace: f.Source.Namespace, Name: f.Workload.Name}
	for _, d := range e.Status.Deployed {
		if recorded := earlier(d.Workloads, w); recorded != nil && keyOf(d) == f.partOf() {
			w.UID, w.Revision, w.Digests = recorded.UID, recorded.Revision, recorded.Digests
		}
	}
	w.Message = plaintext.Line(f.Problem, maxWorkloadText)
	return w
}

// sameImages compares with the images of the commit before. A workload that had the new commit before the others has its digests already.
func sameImages(before, now v1alpha1.Deployed) bool {
	if before.Notification == v1alpha1.NotificationPending || len(now.Workloads) != len(before.Workloads) {
		return false // no notification has told of the images
	}
	return !slices.ContainsFunc(now.Workloads, func(w v1alpha1.DeployedWorkload) bool {
		last := earlier(before.Workloads, w)
		return last == nil || last.Ready && last.SHA != before.SHA || len(w.Digests) == 0 || !slices.Equal(last.Digests, w.Digests)
	})
}

// RolloutKey identifies a rollout among those of its commit in an Environment. A rollback may bring back the revisions of objects.
func RolloutKey(d v1alpha1.Deployed) string {
	return v1alpha1.RolloutKeyPrefix + since(d).UTC().Format(time.RFC3339)
}

// Notification returns what CI would have sent.
func Notification(e *v1alpha1.Environment, d v1alpha1.Deployed) *notification.Notification {
	n := &notification.Notification{
		Branch: d.Branch, SHA: d.SHA, DeploymentType: d.DeploymentType, Repository: d.Repository, Service: d.Service,
		HostingService: v1alpha1.GitHub,
	}
	for _, w := range e.Spec.Workloads {
		if commit.SameRepository(w.Repository, d.Repository) {
			n.HostingService = cmp.Or(w.HostingService, n.HostingService)
		}
	}
	return n
}

// RolloutChanged reports whether more than progress has changed of workloads: which they are, what they have, whether it is ready, or who
// was told.
func RolloutChanged(before, now []v1alpha1.Deployed) bool {
	ofWorkloads := func(all []v1alpha1.Deployed) []v1alpha1.Deployed {
		return slices.DeleteFunc(slices.Clone(all), func(d v1alpha1.Deployed) bool { return len(d.Workloads) == 0 })
	}
	return !slices.EqualFunc(ofWorkloads(before), ofWorkloads(now), func(a, b v1alpha1.Deployed) bool {
		ready := func(d v1alpha1.Deployed) bool { return d.Ready != nil && *d.Ready }
		return keyOf(a) == keyOf(b) && a.SHA == b.SHA && a.Notification == b.Notification &&
			since(a).Equal(since(b)) && ready(a) == ready(b) &&
			slices.EqualFunc(a.Workloads, b.Workloads, func(v, w v1alpha1.DeployedWorkload) bool { return v.UID == w.UID })
	})
}
