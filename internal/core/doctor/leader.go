package doctor

import (
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/postflight-dev/postflight/internal/core/plaintext"
)

const (
	checkLeader  = "leader"
	nothingLeads = "No run starts or ends until a replica leads. See the logs of the manager, and `kubectl get lease postflight -o yaml` in its namespace."
)

// Leader says who reconciles. Lease is nil if there is none.
func Leader(lease *coordinationv1.Lease, pods []corev1.Pod, now time.Time) Finding {
	if lease == nil {
		return failure(checkLeader, "Install the chart or config/rbac again, which have it.", "The Lease postflight is missing.")
	}
	spec := lease.Spec
	if spec.HolderIdentity == nil || *spec.HolderIdentity == "" || spec.RenewTime == nil || spec.LeaseDurationSeconds == nil {
		return failure(checkLeader, nothingLeads, "Nothing leads: nobody holds the Lease.")
	}
	age := max(0, now.Sub(spec.RenewTime.Time))
	if lasts := time.Duration(*spec.LeaseDurationSeconds) * time.Second; age > lasts {
		return failure(checkLeader, nothingLeads, "Nothing leads: %s renewed the Lease %s ago, and it lasts %s.", *spec.HolderIdentity, plaintext.Duration(age), plaintext.Duration(lasts))
	}
	isHolder := func(p corev1.Pod) bool { return p.Name == *spec.HolderIdentity }
	if !slices.ContainsFunc(pods, isHolder) {
		return warning(checkLeader, "If nothing else runs the manager, wait until the Lease expires.",
			"%s leads, which is no pod of the Deployment; it renewed the Lease %s ago.", *spec.HolderIdentity, plaintext.Duration(age))
	}
	return ok(checkLeader, "%s leads, and renewed the Lease %s ago.", *spec.HolderIdentity, plaintext.Duration(age))
}
