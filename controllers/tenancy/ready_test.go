package tenancy_test

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/world"
)

func TestMain(m *testing.M) { world.Main(m) }

func TestTeamReady(t *testing.T) {
	t.Parallel()
	w := world.Empty(t)
	w.StartManager(w.NS+"-of-it", w.NS+"-of-suspended")
	ctx := context.Background()
	missing := build.Team(w.NS+"-missing", w.NS+"-of-it")
	first, second := build.Team(w.NS+"-first", w.NS), build.Team(w.NS+"-second", w.NS)
	suspended := build.Team(w.NS+"-suspended", w.NS+"-of-suspended", func(t *v1alpha1.Team) { t.Spec.Suspended = true })
	of := func(name string) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}

	w.Create(missing)
	w.Ready(missing, "False", "NamespaceMissing", w.NS+"-of-it")
	w.Must(w.Client.Create(ctx, of(w.NS+"-of-it")))
	w.Ready(missing, "True", "Active", "")

	w.Create(first)
	w.Ready(first, "True", "Active", "")
	w.Create(second)
	w.Ready(first, "False", "NamespaceClaimedTwice", second.Name)
	w.Ready(second, "False", "NamespaceClaimedTwice", first.Name)
	w.Must(w.Client.Delete(ctx, second))
	w.Ready(first, "True", "Active", "")

	w.Must(w.Client.Create(ctx, of(w.NS+"-of-suspended")))
	w.Create(suspended)
	w.Ready(suspended, "True", "Suspended", "403")
}

func TestAPIKeyReady(t *testing.T) {
	t.Parallel()
	w := world.Empty(t)
	other := w.Namespace(t)
	w.StartManager(other)
	ctx := context.Background()
	until := func(d time.Duration) func(*v1alpha1.APIKey) {
		return func(k *v1alpha1.APIKey) { k.Spec.ExpiresAt = new(metav1.NewTime(time.Now().Add(d))) }
	}
	good, expired, expiring := build.APIKey("a1"), build.APIKey("a2", until(-time.Hour)), build.APIKey("a3", until(3*time.Second))
	suspended := build.APIKey("a4", func(k *v1alpha1.APIKey) { k.Spec.Suspended = true })
	w.Create(good, expired, expiring, suspended)
	w.Ready(good, "False", "NoTeam", w.NS)
	w.Create(build.Team(w.NS, ""))
	w.Ready(good, "True", "Accepted", w.NS)
	w.Ready(expired, "False", "Expired", "401")
	w.Ready(suspended, "False", "Suspended", "401")
	w.Ready(expiring, "False", "Expired", "401") // by itself, once the time comes

	copied := build.APIKey("copied", func(k *v1alpha1.APIKey) { k.Spec.SHA256, k.Namespace = good.Spec.SHA256, other })
	named := build.APIKey("a5", func(k *v1alpha1.APIKey) { k.Spec.NamesNamespace = true })
	namedCopy := build.APIKey("named-copy", func(k *v1alpha1.APIKey) { k.Spec.SHA256, k.Namespace = named.Spec.SHA256, other })
	w.Create(copied, named, namedCopy)
	w.Ready(copied, "False", "NoTeam", other)
	w.Ready(good, "True", "Accepted", "") // a namespace without a Team affects no other
	w.Create(build.Team(other, ""))
	w.Ready(copied, "False", "UsedTwice", "postflight keys create")
	w.Ready(good, "False", "UsedTwice", "postflight keys create")
	w.Ready(named, "True", "Accepted", "if it names the namespace")
	w.Must(w.Client.Delete(ctx, build.Team(other, "")))
	w.Ready(good, "True", "Accepted", "")
	w.Must(w.Client.Delete(ctx, copied))

	old := build.APIKey("old", until(3*time.Second), func(k *v1alpha1.APIKey) { k.Spec.SHA256 = good.Spec.SHA256 })
	w.Create(old)
	w.Ready(good, "False", "Revoked", "401") // when the other one has expired
	w.Must(w.Client.Delete(ctx, old))
	w.Ready(good, "True", "Accepted", "")
	w.Create(build.Team(w.NS+"-too", w.NS))
	w.Ready(good, "False", "NamespaceClaimedTwice", "Several Teams")
}
