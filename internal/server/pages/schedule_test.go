package pages_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// TestSchedulePages: the page of a Trigger shows its schedule, and that of a run which time of it started the run.
func TestSchedulePages(t *testing.T) {
	three := metav1.NewTime(time.Date(2026, 11, 25, 3, 0, 0, 0, time.UTC))
	objects := samples()
	for _, o := range objects {
		if trigger, ok := o.(*v1alpha1.Trigger); ok && trigger.Name == "mobile" {
			trigger.Spec.Schedule = &v1alpha1.TriggerSchedule{Cron: "0 3 * * *", TimeZone: "Europe/Berlin", Only: true}
			trigger.Status.Schedule = &v1alpha1.ScheduleStatus{LastTime: &three, NextTime: &three, Message: "Nothing <b>is</b> deployed."}
		}
	}
	nightly := run{id: "nightly", trigger: "mobile", environment: "device-lab", branch: "main", sha: "5ca1ab1e", ago: minute,
		condition: v1alpha1.Passed("")}.suite()
	nightly.Annotations = map[string]string{v1alpha1.AnnotationScheduledFor: "2026-11-25T03:00:00Z"}
	h := newWorld(t, append(objects, nightly))
	b := h.browser(t, actKey)
	for path, want := range map[string][]string{
		"/triggers/shop/mobile": {"<code>0 3 * * * Europe/Berlin</code>", "next Wed 25 Nov, 03:00 UTC", "none, only the schedule",
			"Wed 25 Nov, 03:00 UTC: not all runs were started. Nothing &lt;b&gt;is&lt;/b&gt; deployed."},
		"/triggers/shop":     {"none, only the schedule"},
		"/runs/shop/nightly": {"<dt>Started by</dt><dd>the schedule of the Trigger, for 2026-11-25T03:00:00Z</dd>"},
	} {
		page := b.get(path)
		for _, text := range want {
			if !strings.Contains(page.body, text) {
				t.Errorf("%s: %d, without %q", path, page.code, text)
			}
		}
	}
}
