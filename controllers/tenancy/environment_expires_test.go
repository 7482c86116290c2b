package controllers_test

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

func TestEphemeralEnvironmentExpires(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(anEnvironment("pr-1", ephemeral(w.clock.Now().Add(10*time.Minute))))
	w.create(aSuite("run", 0, at("pr-1")), aSuite("elsewhere", 0))
	w.runs("run")
	w.runs("elsewhere")

	w.clock.moveOn(20 * time.Minute) // less than the timeout of the runs
	w.change(anEnvironment("pr-1"), func(o client.Object) { o.SetLabels(map[string]string{"look": "again"}) })
	w.stopping("run")
	w.must(w.Client.Get(context.Background(), w.key("pr-1"), &v1alpha1.Environment{})) // as long as its run's pods
	w.stops("run")
	w.reaches("run", v1alpha1.ReasonCanceled, "because its ephemeral Environment expired")
	w.gone(&v1alpha1.Environment{}, "pr-1")
	w.reaches("elsewhere", v1alpha1.ReasonRunning, "The tests are running")
	w.must(w.Client.Get(context.Background(), w.key("staging"), &v1alpha1.Environment{}))
}

// TestEphemeralEnvironmentIsTerminated as the HTTP API does it: the runs say who did.
func TestEphemeralEnvironmentIsTerminated(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(anEnvironment("pr-1", ephemeral(w.clock.Now().Add(time.Hour))))
	w.create(aSuite("run", 0, at("pr-1")))
	w.runs("run")
	w.change(anEnvironment("pr-1"), func(o client.Object) {
		o.(*v1alpha1.Environment).Spec.Ephemeral.ExpiresAt = metav1.NewTime(w.clock.Now().Truncate(time.Second))
		o.SetAnnotations(map[string]string{v1alpha1.AnnotationTerminatedBy: "the API key ci"})
	})
	w.stopping("run")
	w.stops("run")
	w.reaches("run", v1alpha1.ReasonCanceled, "Canceled by the API key ci, which ended its ephemeral Environment.")
	w.gone(&v1alpha1.Environment{}, "pr-1")
}

func TestEphemeralEnvironmentIsDeletedOnTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(anEnvironment("pr-1", ephemeral(time.Now().Add(2*time.Second))))
	w.gone(&v1alpha1.Environment{}, "pr-1")
}

func TestRenewalKeepsAnEphemeralEnvironment(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(anEnvironment("pr-1", ephemeral(w.clock.Now().Add(10*time.Minute))))
	w.create(aSuite("run", 0, at("pr-1")))
	w.runs("run")
	w.change(anEnvironment("pr-1"), func(o client.Object) {
		o.(*v1alpha1.Environment).Spec.Ephemeral.ExpiresAt = metav1.NewTime(w.clock.Now().Add(time.Hour))
	})
	w.clock.moveOn(20 * time.Minute)
	w.change(anEnvironment("pr-1"), func(o client.Object) { o.SetLabels(map[string]string{"look": "again"}) })
	w.create(anEnvironment("pr-2", ephemeral(w.clock.Now()))) // whose end shows that the manager has reconciled
	w.gone(&v1alpha1.Environment{}, "pr-2")
	w.must(w.Client.Get(context.Background(), w.key("pr-1"), &v1alpha1.Environment{}))
	w.reaches("run", v1alpha1.ReasonRunning, "The tests are running")
}
