package verdict

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/test/build"
)

const sha = "5ca1ab1e0ddba115ca1ab1e0ddba115ca1ab1e0d"

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// run of a Trigger passed a minute after it was received, that many minutes after noon.
func run(trigger, name string, minutes int, change ...func(*v1alpha1.Suite)) *v1alpha1.Suite {
	at := noon.Add(time.Duration(minutes) * time.Minute)
	return build.With(&v1alpha1.Suite{
		ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: name, CreationTimestamp: metav1.NewTime(at)},
		Spec: v1alpha1.SuiteSpec{Trigger: v1alpha1.TriggerReference{Name: trigger}, Environment: "staging", Origin: v1alpha1.OriginNotification,
			Deployment: v1alpha1.Deployment{SHA: sha}, ReceivedAt: new(metav1.NewMicroTime(at))},
		Status: v1alpha1.SuiteStatus{Conditions: []metav1.Condition{v1alpha1.Passed("")}, CompletionTime: new(metav1.NewTime(at.Add(time.Minute)))},
	}, change...)
}

func siblings(names ...string) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) { s.Spec.Siblings = names }
}

func service(name string) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) { s.Spec.Deployment.Service = name }
}

func by(o v1alpha1.Origin) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) { s.Spec.Origin = o }
}

func canceled(s *v1alpha1.Suite) {
	s.Status.Conditions = []metav1.Condition{v1alpha1.Canceled("By ada.")}
}

// answered notes a deployment with other variables, that many minutes after noon.
func answered(minutes int) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) {
		s.Status.AnsweredOther = &v1alpha1.OtherDeployment{NotifiedAt: metav1.NewTime(noon.Add(time.Duration(minutes) * time.Minute)),
			Differs: []v1alpha1.Difference{v1alpha1.DifferentVariables}}
	}
}

// ask asks in an Environment with the Triggers smoke and load, an hour after noon.
func ask(runs ...*v1alpha1.Suite) Verdict {
	q := Question{Environment: &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "staging"}},
		Commit: commit.New("", "", sha), Suites: runs, Now: noon.Add(time.Hour)}
	for _, name := range []string{"smoke", "load"} {
		q.Triggers = append(q.Triggers, &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: name}})
	}
	return Of(q)
}

// starts shows what a verdict would start: the run that is repeated, or +Trigger and the run that shows its deployment, or why nothing is.
func starts(v Verdict) string {
	parts := []string{string(v.State)}
	for _, s := range v.Starts() {
		switch {
		case s.Problem != "":
			parts = append(parts, fmt.Sprintf("!%s", s.Problem))
		case s.Rerun != "":
			parts = append(parts, s.Rerun)
		default:
			parts = append(parts, "+"+strings.TrimSpace(s.Trigger+" "+s.Service)+" of "+s.Tests)
		}
	}
	return strings.Join(parts, ", ")
}

func TestStarts(t *testing.T) {
	const untested = "!The run a would test what it tested before. Notify the deployment again, and request a rerun: only the notification has what differs."
	for name, tc := range map[string]struct {
		reason string
		runs   []*v1alpha1.Suite
		want   string
	}{
		"passed":                   {"nothing is missing", []*v1alpha1.Suite{run("smoke", "a", 0)}, "passed"},
		"a sibling without a run":  {"it matched", []*v1alpha1.Suite{run("smoke", "a", 0, siblings("load"))}, "none, +load of a"},
		"a sibling that is gone":   {"no such Trigger is left", []*v1alpha1.Suite{run("smoke", "a", 0, siblings("gone"))}, "passed"},
		"both have runs":           {"nothing is missing", []*v1alpha1.Suite{run("smoke", "a", 0, siblings("load")), run("load", "b", 0, siblings("smoke"))}, "passed"},
		"a sibling of one service": {"each service has its own tests", []*v1alpha1.Suite{run("smoke", "a", 0, service("cart"), siblings("load")), run("load", "b", 0, service("cart"), siblings("smoke")), run("smoke", "c", 1, service("pay"), siblings("load"))}, "none, +load pay of c"},
		"a service matched fewer":  {"it is another service", []*v1alpha1.Suite{run("smoke", "a", 0, service("cart"), siblings("load")), run("load", "b", 0, service("cart"), siblings("smoke")), run("smoke", "c", 1, service("pay"))}, "passed"},
		"a schedule after that":    {"it shows less of the deployment", []*v1alpha1.Suite{run("smoke", "a", 0, siblings("load")), run("smoke", "b", 5, by(v1alpha1.OriginSchedule))}, "none, +load of a"},
		"canceled":                 {"it has no result", []*v1alpha1.Suite{run("smoke", "a", 0, canceled)}, "none, a"},
		"canceled twice":           {"an earlier attempt cannot be repeated", []*v1alpha1.Suite{run("smoke", "b", 1, canceled), run("smoke", "a", 0, canceled)}, "none, b"},
		"of other variables":       {"a rerun would test the old ones", []*v1alpha1.Suite{run("smoke", "a", 0, answered(5))}, "stale, " + untested},
		"canceled, of others":      {"a rerun would test the old ones", []*v1alpha1.Suite{run("smoke", "a", 0, canceled, answered(5))}, "none, " + untested},
	} {
		if diff := cmp.Diff(tc.want, starts(ask(tc.runs...))); diff != "" {
			t.Errorf("%s: %s\n%s", name, tc.reason, diff)
		}
	}
}

// TestUntestedDeployment: what was deployed last has other variables than what a run tested. Only a run of a deployment tests them.
func TestUntestedDeployment(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		runs   []*v1alpha1.Suite
		want   State
	}{
		"the only run":               {"it tested others", []*v1alpha1.Suite{run("smoke", "a", 0, answered(5))}, Stale},
		"a rerun":                    {"it tests what the first did", []*v1alpha1.Suite{run("smoke", "a", 0, answered(5)), run("smoke", "b", 10, by(v1alpha1.OriginRerun))}, Stale},
		"a retry":                    {"it tests what the first did", []*v1alpha1.Suite{run("smoke", "a", 0, answered(5)), run("smoke", "b", 10, by(v1alpha1.OriginRetry))}, Stale},
		"a deployment":               {"it tests what is there", []*v1alpha1.Suite{run("smoke", "a", 0, answered(5)), run("smoke", "b", 10)}, Passed},
		"a deployment before":        {"it was replaced", []*v1alpha1.Suite{run("smoke", "a", 0, answered(15)), run("smoke", "b", 10)}, Stale},
		"a deployment, and another":  {"that is not tested", []*v1alpha1.Suite{run("smoke", "a", 0, answered(5)), run("smoke", "b", 10, answered(20))}, Stale},
		"a deployment of a neighbor": {"its runs say nothing of this Trigger", []*v1alpha1.Suite{run("smoke", "a", 0, answered(5)), run("load", "b", 10)}, Stale},
	} {
		if got := ask(tc.runs...); got.State != tc.want {
			t.Errorf("%s: %s: %s, want %s", name, tc.reason, got.State, tc.want)
		}
	}
}
