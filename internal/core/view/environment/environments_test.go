package environment_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/view"
	"github.com/postflight-dev/postflight/internal/core/view/environment"
)

// TestLastDeployment: a run that somebody started again tests what was deployed before.
func TestLastDeployment(t *testing.T) {
	deployed := func(sha string) func(*v1alpha1.Suite) {
		return func(s *v1alpha1.Suite) { s.Spec.Deployment.SHA = sha }
	}
	again := func(s *v1alpha1.Suite) {
		s.Annotations = map[string]string{v1alpha1.AnnotationRerunBy: "anna@example.com"}
	}
	for name, tc := range map[string]struct {
		reason string
		runs   []*v1alpha1.Suite // newest first
		want   string
	}{
		"nothing":     {"It is new.", nil, ""},
		"a newer one": {"", []*v1alpha1.Suite{run("b", passed, deployed("bbbb")), run("a", passed, deployed("aaaa"))}, "bbbb"},
		"a schedule":  {"Nobody deployed a again.", []*v1alpha1.Suite{run("a2", passed, deployed("aaaa"), nightly), run("b", passed, deployed("bbbb")), run("a", failed, deployed("aaaa"))}, "bbbb"},
		"a rerun":     {"Nobody deployed a again.", []*v1alpha1.Suite{run("a2", passed, deployed("aaaa"), again), run("b", passed, deployed("bbbb")), run("a", failed, deployed("aaaa"))}, "bbbb"},
		"reruns only": {"The run of the deployment was deleted.", []*v1alpha1.Suite{run("a2", passed, deployed("aaaa"), again)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			staging := &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Name: "staging", Namespace: "shop"}}
			e := environment.SummariesOf([]*v1alpha1.Environment{staging}, tc.runs, now)[0]
			got := ""
			if e.Latest != nil {
				got = e.Latest.SHA
			}
			if got != tc.want {
				t.Errorf("%s Got %q, want %q", tc.reason, got, tc.want)
			}
			if row := view.TeamOf("acme", "acme", nil, tc.runs, now); (row.Deployed != nil) != (tc.want != "") {
				t.Errorf("the team was deployed: %v", row.Deployed)
			}
		})
	}
}

func TestEnvironmentOnHold(t *testing.T) {
	hold := func(until time.Time, reason, by string) *v1alpha1.Environment {
		return &v1alpha1.Environment{
			ObjectMeta: metav1.ObjectMeta{Name: "staging", Annotations: map[string]string{v1alpha1.AnnotationHeldBy: by}},
			Spec:       v1alpha1.EnvironmentSpec{Hold: &v1alpha1.EnvironmentHold{Until: metav1.NewTime(until), Reason: reason}},
		}
	}
	soon := now.Add(time.Minute)
	clock := soon.UTC().Format("15:04 UTC")
	for name, tc := range map[string]struct {
		environment *v1alpha1.Environment
		want        string
	}{
		"not held":  {&v1alpha1.Environment{}, ""},
		"over":      {hold(now, "debugging 812", "anna@example.com"), ""},
		"held":      {hold(soon, "debugging 812", "anna@example.com"), "On hold until " + clock + " — debugging 812, by anna@example.com."},
		"no reason": {hold(soon, "", ""), "On hold until " + clock + "."},
	} {
		t.Run(name, func(t *testing.T) {
			if got := environment.SummariesOf([]*v1alpha1.Environment{tc.environment}, nil, now)[0].Hold; got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestEnvironmentSettling(t *testing.T) {
	settle := func(quiet time.Duration) *v1alpha1.Environment {
		e := &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Name: "staging"}}
		e.Spec.Settle = &v1alpha1.EnvironmentSettle{Quiet: metav1.Duration{Duration: quiet}}
		return e
	}
	received := metav1.NewMicroTime(now.Add(-time.Minute))
	run := func(environment string) *v1alpha1.Suite {
		return &v1alpha1.Suite{Spec: v1alpha1.SuiteSpec{Environment: environment, ReceivedAt: &received}}
	}
	clock := func(d time.Duration) string { return received.Add(d).UTC().Format("15:04:05 UTC") }
	for name, tc := range map[string]struct {
		environment *v1alpha1.Environment
		run         *v1alpha1.Suite
		want        string
	}{
		"without settle":   {&v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Name: "staging"}}, run("staging"), ""},
		"settled":          {settle(time.Minute), run("staging"), ""},
		"another was busy": {settle(2 * time.Minute), run("production"), ""},
		"has not settled yet": {settle(2 * time.Minute), run("staging"), "Settling: the last deployment was at " + clock(0) + "; runs start at " + clock(2*time.Minute) +
			" unless another follows, at " + clock(10*time.Minute) + " at the latest."},
	} {
		t.Run(name, func(t *testing.T) {
			if got := environment.SummariesOf([]*v1alpha1.Environment{tc.environment}, []*v1alpha1.Suite{tc.run}, now)[0].Settling; got != tc.want {
				t.Errorf("got  %q\nwant %q", got, tc.want)
			}
		})
	}
}
