package doctor

import (
	"fmt"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

const (
	checkLeader  = "leader"
	nothingLeads = "No run starts or ends until a replica leads. See the logs of the manager, and the Lease postflight in its namespace."
)

// Leader says who reconciles. Lease is nil if there is none.
func Leader(lease *coordinationv1.Lease, pods []corev1.Pod, now time.Time) Finding {
	if lease == nil {
		return failure(checkLeader, "Install the chart or config/rbac again, which have it.", "The Lease postflight is missing.")
	}
	holder, problem := Holder(lease, now)
	if problem != "" {
		return failure(checkLeader, nothingLeads, "Nothing leads: %s", problem)
	}
	age := plaintext.Duration(max(0, now.Sub(lease.Spec.RenewTime.Time)))
	if !slices.ContainsFunc(pods, func(p corev1.Pod) bool { return p.Name == holder }) {
		return warning(checkLeader, "If nothing else runs the manager, wait until the Lease expires.",
			"%s leads, which is no pod of the Deployment; it renewed the Lease %s ago.", holder, age)
	}
	return ok(checkLeader, "%s leads, and renewed the Lease %s ago.", holder, age)
}

// Holder returns the replica that leads, or why none does, as a part of a sentence.
func Holder(lease *coordinationv1.Lease, now time.Time) (name, problem string) {
	spec := lease.Spec
	if spec.HolderIdentity == nil || *spec.HolderIdentity == "" || spec.RenewTime == nil || spec.LeaseDurationSeconds == nil {
		return "", "nobody holds the Lease."
	}
	age, lasts := max(0, now.Sub(spec.RenewTime.Time)), time.Duration(*spec.LeaseDurationSeconds)*time.Second
	if age > lasts {
		return "", fmt.Sprintf("%s renewed the Lease %s ago, and it lasts %s.", *spec.HolderIdentity, plaintext.Duration(age),
			plaintext.Duration(lasts))
	}
	return *spec.HolderIdentity, ""
}
