package tenancy

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/fairness"
	"github.com/postflight-dev/postflight/test/fakeclient"
)

// TestKeyExpiry: the next end of a key is known by team, if the key works until then.
func TestKeyExpiry(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	key := func(namespace, name string, seconds int, change ...func(*v1alpha1.APIKey)) client.Object {
		k := &v1alpha1.APIKey{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		k.Spec.ExpiresAt = new(metav1.NewTime(now.Add(time.Duration(seconds) * time.Second)))
		for _, c := range change {
			c(k)
		}
		return k
	}
	team := func(name string) client.Object { return &v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: name}} }
	reader := fakeclient.Builder(t).WithObjects(
		team("acme"), team("shop"), team("late"), team("calm"),
		key("acme", "later", 500), key("acme", "next", 300), key("acme", "expired", 0),
		key("acme", "suspended", 100, func(k *v1alpha1.APIKey) { k.Spec.Suspended = true }),
		key("acme", "deleted", 100, func(k *v1alpha1.APIKey) {
			k.DeletionTimestamp, k.Finalizers = new(metav1.NewTime(now)), []string{"example.com/kept"}
		}),
		key("shop", "ci", 200), key("late", "ci", 700), key("calm", "ci", 1, func(k *v1alpha1.APIKey) { k.Spec.ExpiresAt = nil }),
		key("nobody", "ci", 50),
	).Build()
	teams := fairness.NewLabels(1)
	teams.Of("acme")
	collector := KeyExpiry{reader, teams, clocktesting.NewFakePassiveClock(now)}
	want := `# HELP postflight_team_key_expiry_timestamp_seconds When the next of the team's API keys that work stops working, in seconds since 1970; absent if none will.
# TYPE postflight_team_key_expiry_timestamp_seconds gauge
postflight_team_key_expiry_timestamp_seconds{team="acme"} 1.0003e+06
postflight_team_key_expiry_timestamp_seconds{team="other"} 1.0002e+06
`
	if err := testutil.CollectAndCompare(collector, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}
