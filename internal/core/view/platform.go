package view

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/doctor"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// Fact is a figure or a name with what explains it.
type Fact struct {
	Name, Value, Detail string
	Bad                 bool
}

// LeaderOf says which replica starts and ends runs. Lease is nil if there is none; err is why it cannot be read.
func LeaderOf(lease *coordinationv1.Lease, err error, now time.Time) Fact {
	f := Fact{Name: "Leader"}
	if err != nil || lease == nil {
		f.Value, f.Detail, f.Bad = "unknown", "The Lease cannot be read. See why: postflight doctor", true
		return f
	}
	holder, problem := doctor.Holder(lease, now)
	if problem != "" {
		f.Value, f.Detail, f.Bad = "none", "No run starts or ends: "+problem, true
		return f
	}
	if f.Value = holder; lease.Spec.AcquireTime != nil {
		f.Detail = "for " + Span(now.Sub(lease.Spec.AcquireTime.Time))
	}
	return f
}

// StoreOf says whether files can be kept. Problem is why they cannot, or "". The runs that wait are not in the archive yet.
func StoreOf(problem string, waiting int) Fact {
	f := Fact{Name: "Store", Value: "reachable"}
	if problem != "" {
		f.Value, f.Detail, f.Bad = "unavailable", problem+". ", true
	}
	if waiting > 0 {
		f.Detail += plaintext.Count(waiting, "run") + " to be archived"
	}
	return f
}

// KeysOf counts the keys that have expired, or will soon, and names the first.
func KeysOf(keys []v1alpha1.APIKey, now time.Time) Fact {
	left := func(k v1alpha1.APIKey) time.Duration { return k.Spec.ExpiresAt.Sub(now) }
	soon := slices.DeleteFunc(slices.Clone(keys), func(k v1alpha1.APIKey) bool {
		return k.Spec.Suspended || k.Spec.ExpiresAt == nil || left(k) >= doctor.ExpiresSoon
	})
	f := Fact{Name: "Keys that expire soon", Value: fmt.Sprint(len(soon))}
	if len(soon) == 0 {
		return f
	}
	first := slices.MinFunc(soon, func(a, b v1alpha1.APIKey) int { return cmp.Compare(left(a), left(b)) })
	f.Detail = fmt.Sprintf("%s/%s in %s", first.Namespace, first.Name, Span(left(first)))
	if left(first) <= 0 {
		f.Bad, f.Detail = true, fmt.Sprintf("%s/%s expired %s", first.Namespace, first.Name, plaintext.Ago(first.Spec.ExpiresAt.Time, now))
	}
	return f
}
