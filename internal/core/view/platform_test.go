package view_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/view"
)

func TestLeaderOf(t *testing.T) {
	lease := func(holder string, renewed time.Duration) *coordinationv1.Lease {
		return &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &holder, LeaseDurationSeconds: new(int32(14)),
			AcquireTime: new(metav1.NewMicroTime(now.Add(-6 * 24 * time.Hour))), RenewTime: new(metav1.NewMicroTime(now.Add(-renewed))),
		}}
	}
	for name, tc := range map[string]struct {
		reason string
		lease  *coordinationv1.Lease
		err    error
		want   view.Fact
	}{
		"it leads":   {"", lease("postflight-7j4w8", 3*time.Second), nil, view.Fact{Value: "postflight-7j4w8", Detail: "for 6 days"}},
		"it is late": {"the lease has expired", lease("postflight-7j4w8", time.Minute), nil, view.Fact{Value: "none", Detail: "No run starts or ends: postflight-7j4w8 renewed the Lease 1m ago, and it lasts 14s.", Bad: true}},
		"nobody":     {"it was released", lease("", 0), nil, view.Fact{Value: "none", Detail: "No run starts or ends: nobody holds the Lease.", Bad: true}},
		"unreadable": {"the API server is unavailable", nil, errors.New("timeout"), view.Fact{Value: "unknown", Detail: "The Lease cannot be read. See why: postflight doctor", Bad: true}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.want.Name = "Leader"
			if diff := cmp.Diff(tc.want, view.LeaderOf(tc.lease, tc.err, now)); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
		})
	}
}

func TestStoreOf(t *testing.T) {
	for name, tc := range map[string]struct {
		problem string
		waiting int
		want    view.Fact
	}{
		"it answers":   {"", 0, view.Fact{Value: "reachable"}},
		"runs wait":    {"", 1, view.Fact{Value: "reachable", Detail: "1 run to be archived"}},
		"it is silent": {"it does not answer", 0, view.Fact{Value: "unavailable", Detail: "it does not answer. ", Bad: true}},
		"both at once": {"it does not answer", 3, view.Fact{Value: "unavailable", Detail: "it does not answer. 3 runs to be archived", Bad: true}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.want.Name = "Store"
			if diff := cmp.Diff(tc.want, view.StoreOf(tc.problem, tc.waiting)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestKeysOf(t *testing.T) {
	key := func(name string, left time.Duration, changes ...func(*v1alpha1.APIKey)) v1alpha1.APIKey {
		k := v1alpha1.APIKey{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "pay"}}
		if left != 0 {
			k.Spec.ExpiresAt = new(metav1.NewTime(now.Add(left)))
		}
		for _, change := range changes {
			change(&k)
		}
		return k
	}
	suspended := func(k *v1alpha1.APIKey) { k.Spec.Suspended = true }
	const day = 24 * time.Hour
	for name, tc := range map[string]struct {
		reason string
		keys   []v1alpha1.APIKey
		want   view.Fact
	}{
		"none":    {"most do not expire, or later", []v1alpha1.APIKey{key("a", 0), key("b", 90*day), key("c", day, suspended)}, view.Fact{Value: "0"}},
		"some":    {"the first one is named", []v1alpha1.APIKey{key("b", 9*day), key("ci", 6*day)}, view.Fact{Value: "2", Detail: "pay/ci in 6 days"}},
		"expired": {"its pipeline is refused", []v1alpha1.APIKey{key("b", 9*day), key("ci", -2*time.Hour)}, view.Fact{Value: "2", Detail: "pay/ci expired 2 hours ago", Bad: true}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.want.Name = "Keys that expire soon"
			if diff := cmp.Diff(tc.want, view.KeysOf(tc.keys, now)); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
		})
	}
}
