package tenancy

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/fairness"
	"github.com/postflight-dev/postflight/internal/kube/index"
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
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), batchv1.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	indexes := &fakeIndexes{fake.NewClientBuilder().WithScheme(scheme)}
	if err := index.Setup(t.Context(), indexes); err != nil {
		t.Fatal(err)
	}
	reader := indexes.WithObjects(
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

// fakeIndexes makes the fake client have the indexes that the manager's cache has.
type fakeIndexes struct{ *fake.ClientBuilder }

func (x *fakeIndexes) IndexField(_ context.Context, o client.Object, field string, extract client.IndexerFunc) error {
	x.ClientBuilder = x.WithIndex(o, field, extract)
	return nil
}
