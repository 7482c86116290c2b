package suite_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/world"
)

// TestTriggerClass: one line in the class gives the runs of all its Triggers another image, and leaves those that run as they are.
func TestTriggerClass(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	class := &v1alpha1.TriggerClass{ObjectMeta: metav1.ObjectMeta{Name: w.NS + "-web"}}
	class.Spec.Timeout = &metav1.Duration{Duration: 10 * time.Minute}
	class.Spec.Variables = v1alpha1.Variables{"LEVEL": "info"}
	class.Spec.JobTemplate.Spec.Template.Spec.Containers = []corev1.Container{{Name: "test", Image: "e2e:1"}}
	t.Cleanup(func() { _ = w.Client.Delete(context.Background(), class) })
	trigger := build.Trigger("inherits", func(t *v1alpha1.Trigger) {
		t.Spec.TriggerClassName, t.Spec.Timeout = class.Name, nil
		t.Spec.JobTemplate.Spec.Template.Spec.Containers = []corev1.Container{{Name: "test", Args: []string{"--grep", "smoke"}}}
	})
	w.Create(trigger)
	w.Ready(trigger, "False", "Incomplete", `The TriggerClass "`+class.Name+`" of the Trigger "inherits" does not exist.`)
	of := func(s *v1alpha1.Suite) { s.Spec.Trigger.Name = "inherits" }
	w.Create(build.Suite("first", 0, of))
	w.Reaches("first", v1alpha1.ReasonQueued, "Waiting for the TriggerClass.")

	w.Must(w.Client.Create(context.Background(), class))
	w.Ready(trigger, "True", "Watching", "")
	j := w.HasJob("first")
	c := j.Spec.Template.Spec.Containers[0]
	if c.Image != "e2e:1" || len(c.Args) != 2 || j.Annotations[v1alpha1.AnnotationTimeout] != "10m0s" {
		t.Errorf("timeout %s, container %+v", j.Annotations[v1alpha1.AnnotationTimeout], c)
	}
	if !slices.Contains(c.Env, corev1.EnvVar{Name: "LEVEL", Value: "info"}) {
		t.Errorf("variables %v", c.Env)
	}
	w.Runs("first")
	w.Reaches("first", v1alpha1.ReasonRunning, "")

	w.Change(class, func(client.Object) { class.Spec.JobTemplate.Spec.Template.Spec.Containers[0].Image = "e2e:2" })
	later := 0
	w.Eventually("a run that starts later has the new image", func() string {
		later++
		name := fmt.Sprintf("later-%d", later)
		w.Create(build.Suite(name, later, of))
		if image := w.HasJob(name).Spec.Template.Spec.Containers[0].Image; image != "e2e:2" {
			return image
		}
		return ""
	})
	if again := w.HasJob("first"); again.UID != j.UID || again.Spec.Template.Spec.Containers[0].Image != "e2e:1" {
		t.Errorf("the run that ran has another Job: %+v", again.ObjectMeta)
	}
	if s := w.Reaches("first", v1alpha1.ReasonRunning, ""); s.Finished() {
		t.Errorf("it ended: %+v", s.Status)
	}

	w.Delete(class)
	w.Ready(trigger, "False", "Incomplete", "does not exist")
	w.Passes("first")
	w.Reaches("first", v1alpha1.ReasonPassed, "The tests passed")
}
