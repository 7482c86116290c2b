package environment_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/view/environment"
)

// noon is the middle of a day.
var noon = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

// at is when a run was received, on the day of noon.
func at(hour, minute int) func(*v1alpha1.Suite) {
	return func(s *v1alpha1.Suite) {
		received := noon.Add(time.Duration(hour-12)*time.Hour + time.Duration(minute)*time.Minute)
		s.CreationTimestamp, s.Spec.ReceivedAt = metav1.NewTime(received), new(metav1.NewMicroTime(received))
	}
}

func again(s *v1alpha1.Suite) {
	s.Annotations = map[string]string{v1alpha1.AnnotationRerunBy: "anna@example.com"}
}

func nightly(s *v1alpha1.Suite) {
	s.Annotations = map[string]string{v1alpha1.AnnotationScheduledFor: "2026-11-25T03:00:00Z"}
}

// drawn writes lanes as name: title | title.
func drawn(lanes []environment.Lane) string {
	var all []string
	for _, l := range lanes {
		var titles []string
		for _, b := range l.Bars {
			titles = append(titles, b.Title)
		}
		all = append(all, l.Name+": "+strings.Join(titles, " | "))
	}
	return strings.Join(all, "\n")
}

// TestDeploymentsOfADay: the status knows the present deployment, and the runs know those before.
func TestDeploymentsOfADay(t *testing.T) {
	since := func(sha string, hour, minute int) v1alpha1.Deployed {
		return v1alpha1.Deployed{Repository: "acme/shop", SHA: sha, Branch: "main",
			Since: new(metav1.NewTime(noon.Add(time.Duration(hour-12)*time.Hour + time.Duration(minute)*time.Minute)))}
	}
	after := func(d v1alpha1.Deployed, sha string, hour, minute int) v1alpha1.Deployed {
		d.Previous = &v1alpha1.PreviousDeployment{SHA: sha, Since: since("", hour, minute).Since}
		return d
	}
	shop := func(sha string, hour, minute int, more ...func(*v1alpha1.Suite)) *v1alpha1.Suite {
		return run(fmt.Sprintf("%s-%d", sha, hour), passed, append([]func(*v1alpha1.Suite){testOf("acme/shop", sha), at(hour, minute)}, more...)...)
	}
	spelled := func(s *v1alpha1.Suite) { s.Spec.Deployment.Repository = "Acme/Shop" }
	for name, tc := range map[string]struct {
		reason string
		status []v1alpha1.Deployed
		runs   []*v1alpha1.Suite // newest first
		want   string
	}{
		"nothing":               {"", nil, nil, ""},
		"the status":            {"", []v1alpha1.Deployed{since("b", 9, 0)}, nil, "acme/shop: b on main, since 09:00"},
		"of the day before":     {"", []v1alpha1.Deployed{since("b", -3, 0)}, nil, "acme/shop: b on main, since 24 November, 21:00"},
		"runs":                  {"Two Triggers test one deployment.", nil, []*v1alpha1.Suite{shop("b", 10, 0), shop("b", 9, 59), shop("a", 8, 0)}, "acme/shop: a on main, since 08:00 until 09:59 | b on main, since 09:59"},
		"a rollback":            {"", nil, []*v1alpha1.Suite{shop("a", 10, 0), shop("b", 9, 0), shop("a", 8, 0)}, "acme/shop: a on main, since 08:00 until 09:00 | b on main, since 09:00 until 10:00 | a on main, since 10:00"},
		"a schedule":            {"Nobody deployed a again.", nil, []*v1alpha1.Suite{shop("a", 10, 0, nightly), shop("b", 9, 0), shop("a", 8, 0)}, "acme/shop: a on main, since 08:00 until 09:00 | b on main, since 09:00"},
		"a rerun":               {"Nobody deployed a again.", nil, []*v1alpha1.Suite{shop("a", 10, 0, again), shop("b", 9, 0), shop("a", 8, 0)}, "acme/shop: a on main, since 08:00 until 09:00 | b on main, since 09:00"},
		"a rollout":             {"The notification came before it was complete.", []v1alpha1.Deployed{since("b", 9, 4)}, []*v1alpha1.Suite{shop("b", 9, 0), shop("a", 8, 0)}, "acme/shop: a on main, since 08:00 until 09:04 | b on main, since 09:04"},
		"a rollout in progress": {"c was notified, and is not complete.", []v1alpha1.Deployed{since("b", 9, 4)}, []*v1alpha1.Suite{shop("c", 11, 0), shop("a", 8, 0)}, "acme/shop: a on main, since 08:00 until 09:04 | b on main, since 09:04"},
		"a rollout before":      {"No notification was of it.", []v1alpha1.Deployed{after(since("c", 10, 0), "b", 9, 0)}, []*v1alpha1.Suite{shop("a", 8, 0)}, "acme/shop: a on main, since 08:00 until 09:00 | b, since 09:00 until 10:00 | c on main, since 10:00"},
		"another spelling":      {"It is one repository.", []v1alpha1.Deployed{since("b", 9, 4)}, []*v1alpha1.Suite{shop("b", 9, 0, spelled), shop("a", 8, 0), shop("0", 7, 0, spelled)}, "Acme/Shop: 0 on main, since 07:00 until 08:00 | a on main, since 08:00 until 09:04 | b on main, since 09:04"},
		"another environment":   {"", nil, []*v1alpha1.Suite{shop("a", 8, 0, of("smoke", "production", "main"))}, ""},
		"several commits":       {"Workloads disagree.", []v1alpha1.Deployed{since("", 9, 0)}, nil, "acme/shop: several commits on main, since 09:00"},
	} {
		t.Run(name, func(t *testing.T) {
			d := pageAt(noon, staging(tc.status...), tc.runs...).Day
			if got := drawn(d.Deployments); got != tc.want {
				t.Errorf("%s Got\n%s\nwant\n%s", tc.reason, got, tc.want)
			}
		})
	}
}

func TestTestsOfADay(t *testing.T) {
	runs := []*v1alpha1.Suite{
		run("open", running, at(11, 55), started(time.Minute)),
		run("waiting", v1alpha1.Queued(""), at(11, 50), byTrigger("visual")),
		run("beside", failed, at(9, 1), ran(0, 10*time.Minute)),
		run("first", passed, at(9, 0), ran(time.Minute, 10*time.Minute)),
		run("yesterday", passed, at(-5, 0), ran(0, time.Minute)),
	}
	d := environment.DayOf(staging(), runs, nil, environment.ParseDay("", noon), noon)
	want := "smoke: smoke: Failed at 09:01, 10m 00s, " + sha[:8] + " | smoke: Passed at 09:01, 10m 00s, " + sha[:8] + " | smoke: Running at 11:56, 4m 00s, " + sha[:8] + "\n" +
		"visual: visual: Queued at 11:50, " + sha[:8]
	if got := drawn(d.Tests); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	smoke := d.Tests[0]
	if smoke.Bars[0].Y == smoke.Bars[1].Y || smoke.Bars[2].Y > smoke.Height/2 || smoke.Bars[0].Height <= smoke.Bars[1].Height {
		t.Errorf("runs at the same time are below each other, and the failed one is higher: %+v", smoke)
	}
	for _, lane := range append(d.Tests, d.Deployments...) {
		for _, b := range lane.Bars {
			if b.X < 0 || b.X+b.Width > 100.001 || b.Width <= 0 || b.Y+b.Height > lane.Height {
				t.Errorf("%s leaves its lane: %+v", b.Title, b)
			}
		}
	}
	if d.Name != "Today" || d.Previous == nil || d.Previous.Date != "2026-11-24" || d.Next != nil {
		t.Errorf("%s, before %v, after %v", d.Name, d.Previous, d.Next)
	}
	if n := len(d.Events); n != 5 || d.Events[n-1].Run.ID != "open" || d.Events[n-1].To != nil || d.Events[0].Run != nil {
		t.Errorf("the table has %d rows: %+v", n, d.Events)
	}
	if len(d.Ticks) == 0 || d.Ticks[0].Label != "10:00" {
		t.Errorf("ticks: %v", d.Ticks)
	}
}

func TestOtherDays(t *testing.T) {
	runs := []*v1alpha1.Suite{run("c", passed, at(8, 0), ran(0, time.Minute)), run("b", passed, at(-5, 0), ran(0, time.Minute)), run("a", passed, at(-50, 0), ran(0, time.Minute))}
	for text, tc := range map[string]struct{ name, before, after string }{
		"":           {"Today", "2026-11-24", ""},
		"2026-11-25": {"Today", "2026-11-24", ""},
		"2026-11-26": {"Today", "2026-11-24", ""},
		"yesterday":  {"Today", "2026-11-24", ""},
		"2026-11-24": {"Tuesday, 24 November 2026", "2026-11-22", ""},
		"2026-11-23": {"Monday, 23 November 2026", "2026-11-22", "2026-11-24"},
		"2026-11-22": {"Sunday, 22 November 2026", "", "2026-11-24"},
		"0001-01-01": {"Monday, 1 January 0001", "", "2026-11-22"},
	} {
		d := environment.DayOf(staging(), runs, nil, environment.ParseDay(text, noon), noon)
		date := func(l *environment.DayLink) string {
			if l == nil {
				return ""
			}
			return l.Date
		}
		if d.Name != tc.name || date(d.Previous) != tc.before || date(d.Next) != tc.after {
			t.Errorf("%q is %s, before %s, after %s", text, d.Name, date(d.Previous), date(d.Next))
		}
	}
}

func TestManyRunsOfADay(t *testing.T) {
	var runs []*v1alpha1.Suite
	for i := range 250 {
		runs = append(runs, run(fmt.Sprint(i), passed, at(11, 0), ran(0, time.Minute)))
	}
	d := environment.DayOf(staging(), runs, nil, environment.ParseDay("", noon), noon)
	if bars := len(d.Tests[0].Bars); bars != 200 || d.Omitted != 50 || d.Tests[0].Height > 100 {
		t.Errorf("%d bars, %d omitted, %.0f high", bars, d.Omitted, d.Tests[0].Height)
	}
}

// TestArchivedDay: a day whose runs are gone is drawn from the archive, until what the status knows.
func TestArchivedDay(t *testing.T) {
	begin := environment.ParseDay("2026-11-20", noon)
	line := func(sha string, hour int, until *time.Time) httpapi.Deployment {
		return httpapi.Deployment{Repository: "acme/shop", SHA: sha, Branch: "main", Since: begin.Add(time.Duration(hour) * time.Hour), Until: until}
	}
	ended := func(hour int) *time.Time { return new(begin.Add(time.Duration(hour) * time.Hour)) }
	now := v1alpha1.Deployed{Repository: "acme/shop", SHA: "a", Since: new(metav1.NewTime(noon))}
	for name, tc := range map[string]struct {
		reason   string
		archived []httpapi.Deployment // newest first
		status   []v1alpha1.Deployed
		want     string
	}{
		"two":       {"Another one followed on the next day.", []httpapi.Deployment{line("b", 9, ended(30)), line("a", 8, ended(9)), line("0", -5, ended(8))}, []v1alpha1.Deployed{now}, "acme/shop: a on main, since 08:00 until 09:00 | b on main, since 09:00 until 21 November, 06:00"},
		"the same":  {"It was deployed again, after others.", []httpapi.Deployment{line("a", 9, ended(30))}, []v1alpha1.Deployed{now}, "acme/shop: a on main, since 09:00 until 21 November, 06:00"},
		"to now":    {"It is the present one.", []httpapi.Deployment{line("a", 9, nil)}, []v1alpha1.Deployed{{Repository: "acme/shop", SHA: "a", Branch: "main", Since: new(metav1.NewTime(begin.Add(9 * time.Hour)))}}, "acme/shop: a on main, since 09:00"},
		"spelled":   {"It is one repository.", []httpapi.Deployment{line("a", 9, ended(30))}, []v1alpha1.Deployed{{Repository: "Acme/Shop", SHA: "b", Branch: "main", Since: new(metav1.NewTime(begin.Add(10 * time.Hour)))}}, "acme/shop: a on main, since 09:00 until 10:00 | b on main, since 10:00"},
		"deleted":   {"Nothing followed at once.", []httpapi.Deployment{line("a", 9, ended(10))}, []v1alpha1.Deployed{now}, "acme/shop: a on main, since 09:00 until 10:00"},
		"forgotten": {"The status has no such repository.", []httpapi.Deployment{line("a", 9, ended(10))}, nil, "acme/shop: a on main, since 09:00 until 10:00"},
	} {
		t.Run(name, func(t *testing.T) {
			d := environment.DayOf(staging(tc.status...), nil, tc.archived, begin, noon)
			if got := drawn(d.Deployments); got != tc.want {
				t.Errorf("%s Got\n%s\nwant\n%s", tc.reason, got, tc.want)
			}
		})
	}
}
