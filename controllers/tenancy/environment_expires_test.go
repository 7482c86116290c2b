package tenancy_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/world"
)

func TestEphemeralEnvironmentExpires(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Create(build.Environment("pr-1", build.Ephemeral(w.Clock.Now().Add(10*time.Minute))))
	w.Create(build.Suite("run", 0, build.InEnvironment("pr-1")), build.Suite("elsewhere", 0))
	w.Runs("run")
	w.Runs("elsewhere")

	w.Clock.MoveOn(20 * time.Minute) // less than the timeout of the runs
	w.Change(build.Environment("pr-1"), func(o client.Object) { o.SetLabels(map[string]string{"look": "again"}) })
	w.Stopping("run")
	w.Read(build.Environment("pr-1")) // as long as its run's pods
	w.Stops("run")
	w.Reaches("run", v1alpha1.ReasonCanceled, "because its ephemeral Environment expired")
	w.Gone(&v1alpha1.Environment{}, "pr-1")
	w.Reaches("elsewhere", v1alpha1.ReasonRunning, "The tests are running")
	w.Read(build.Environment("staging"))
}

// TestEphemeralEnvironmentIsTerminated as the HTTP API does it: the runs say who did.
func TestEphemeralEnvironmentIsTerminated(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Create(build.Environment("pr-1", build.Ephemeral(w.Clock.Now().Add(time.Hour))))
	w.Start(build.Suite("run", 0, build.InEnvironment("pr-1")))
	w.Change(build.Environment("pr-1"), func(o client.Object) {
		o.(*v1alpha1.Environment).Spec.Ephemeral.ExpiresAt = metav1.NewTime(w.Clock.Now().Truncate(time.Second))
		o.SetAnnotations(map[string]string{v1alpha1.AnnotationTerminatedBy: "the API key ci"})
	})
	w.Stopping("run")
	w.Stops("run")
	w.Reaches("run", v1alpha1.ReasonCanceled, "Canceled by the API key ci, which ended its ephemeral Environment.")
	w.Gone(&v1alpha1.Environment{}, "pr-1")
}

func TestEphemeralEnvironmentIsDeletedOnTime(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Create(build.Environment("pr-1", build.Ephemeral(time.Now().Add(2*time.Second))))
	w.Gone(&v1alpha1.Environment{}, "pr-1")
}

func TestRenewalKeepsAnEphemeralEnvironment(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	w.Create(build.Environment("pr-1", build.Ephemeral(w.Clock.Now().Add(10*time.Minute))))
	w.Start(build.Suite("run", 0, build.InEnvironment("pr-1")))
	w.Change(build.Environment("pr-1"), func(o client.Object) {
		o.(*v1alpha1.Environment).Spec.Ephemeral.ExpiresAt = metav1.NewTime(w.Clock.Now().Add(time.Hour))
	})
	w.Clock.MoveOn(20 * time.Minute)
	w.Change(build.Environment("pr-1"), func(o client.Object) { o.SetLabels(map[string]string{"look": "again"}) })
	w.Create(build.Environment("pr-2", build.Ephemeral(w.Clock.Now()))) // whose end shows that the manager has reconciled
	w.Gone(&v1alpha1.Environment{}, "pr-2")
	w.Read(build.Environment("pr-1"))
	w.Reaches("run", v1alpha1.ReasonRunning, "The tests are running")
}
