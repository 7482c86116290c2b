package deployed

import (
	"cmp"
	"slices"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/notification"
)

// notificationOf returns whether the Triggers have to be notified of what a repository has now. They are if a rollout has brought another
// commit to workloads that were known before. What ran already when the Environment named it is no deployment; nor is an image of equal
// digest with another tag.
func notificationOf(was, is v1alpha1.Deployed, says names, team *v1alpha1.Team) v1alpha1.RolloutNotification {
	switch {
	case !says.notify:
		return ""
	case is.SHA == was.SHA && was.Since != nil:
		return was.Notification
	case is.Ready == nil || !*is.Ready:
		return ""
	case team == nil || team.Spec.Suspended || !knownBefore(was, is) || says.byTag && sameImages(was, is):
		return ""
	default:
		return v1alpha1.NotificationPending
	}
}

// knownBefore reports whether one of the workloads was seen before, in whatever state.
func knownBefore(was, is v1alpha1.Deployed) bool {
	return slices.ContainsFunc(is.Workloads, func(w v1alpha1.DeployedWorkload) bool { return earlier(was, w) != nil })
}

// earlier returns what was known of a workload, or nil. It may have been deleted and created again.
func earlier(was v1alpha1.Deployed, is v1alpha1.DeployedWorkload) *v1alpha1.DeployedWorkload {
	i := slices.IndexFunc(was.Workloads, func(w v1alpha1.DeployedWorkload) bool {
		return w.Kind == is.Kind && w.Namespace == is.Namespace && w.Name == is.Name && w.UID != ""
	})
	if i < 0 {
		return nil
	}
	return &was.Workloads[i]
}

func sameImages(was, is v1alpha1.Deployed) bool {
	return len(is.Workloads) == len(was.Workloads) && !slices.ContainsFunc(is.Workloads, func(w v1alpha1.DeployedWorkload) bool {
		before := earlier(was, w)
		return before == nil || len(w.Digests) == 0 || !slices.Equal(before.Digests, w.Digests)
	})
}

// RolloutKey identifies a rollout among all: the objects, and their revisions.
func RolloutKey(d v1alpha1.Deployed) string {
	key := "rollout"
	for _, w := range d.Workloads {
		key += "/" + string(w.UID) + "." + w.Revision
	}
	return key
}

// Notification returns what CI would have sent.
func Notification(e *v1alpha1.Environment, d v1alpha1.Deployed) *notification.Notification {
	n := &notification.Notification{
		Branch: d.Branch, SHA: d.SHA, DeploymentType: d.DeploymentType, Repository: d.Repository, HostingService: v1alpha1.GitHub,
	}
	for _, w := range e.Spec.Workloads {
		if w.Repository == d.Repository {
			n.HostingService = cmp.Or(w.HostingService, n.HostingService)
		}
	}
	return n
}
