package hub_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/view"
	"github.com/postflight-dev/postflight/internal/core/view/environment"
	"github.com/postflight-dev/postflight/internal/core/view/hub"
)

// varied is a team with most of what pages show.
func varied() hub.Subject {
	s := subject(3, 2, 0)
	s.Triggers[2].Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Message: "Bad glob."}}
	quarantined := suite("q", "t000", "e000", time.Hour, v1alpha1.Passed("Good."))
	quarantined.Status.Results.Quarantined = 1
	running := suite("r", "t001", "e000", 3*time.Minute, v1alpha1.Running("It runs."))
	running.Status.CompletionTime = nil
	running.Spec.Deployment.Service = "pay"
	s.Runs = []*v1alpha1.Suite{running, suite("n", "t001", "e001", 20*time.Minute, v1alpha1.Queued("Position 2.")), quarantined,
		suite("f", "t000", "e000", 5*time.Hour, v1alpha1.TimedOut("Too slow.")), suite("o", "t001", "e001", 9*time.Hour, v1alpha1.Failed("1 of 3."))}
	e := s.Environments[0]
	e.Spec.URL = "https://e000.example.com"
	e.Spec.Hold = &v1alpha1.EnvironmentHold{Until: metav1.NewTime(noon.Add(time.Hour)), Reason: "We look."}
	e.Spec.Settle = &v1alpha1.EnvironmentSettle{Quiet: metav1.Duration{Duration: time.Hour}}
	for _, repository := range []string{"acme/a", "acme/b", "acme/c", "acme/d", "acme/e"} {
		e.Status.Deployed = append(e.Status.Deployed, v1alpha1.Deployed{Repository: repository, SHA: "5ca1ab1e", Branch: "main",
			Since: new(metav1.NewTime(noon.Add(-time.Hour))), Ready: new(false), Message: "1 of 2 workloads has it."})
	}
	return s
}

func answer(s hub.Subject) hub.Answer {
	return hub.Answer{Cluster: "staging", URL: "https://staging.example.com", AnsweredAt: noon, Took: 12 * time.Millisecond,
		Overview: new(hub.OverviewOf(s, noon))}
}

// TestOneAnswer: a hub shows of a team what the pages of the cluster show, with the name of the cluster and links to it.
func TestOneAnswer(t *testing.T) {
	s := varied()
	elsewhere := cmp.Options{cmpopts.IgnoreFields(view.Row{}, "Cluster", "URL", "Namespace"),
		cmpopts.IgnoreFields(view.Tests{}, "Failures", "More"), cmpopts.EquateEmpty()} // lists show none of these
	if diff := cmp.Diff(view.Board(s.Triggers, s.Runs, noon), hub.Board(nil, []hub.Answer{answer(s)}, noon), elsewhere); diff != "" {
		t.Errorf("the board at the cluster (-) and at the hub (+):\n%s", diff)
	}
	shown := func(all []environment.Summary) (lean []environment.Summary) {
		for _, e := range all {
			e.Deployed = append([]environment.Deployed(nil), e.First()...)
			for i := range e.Deployed {
				d := e.Deployed[i]
				e.Deployed[i] = environment.Deployed{Repository: d.Repository, Service: d.Service, Commit: &view.Link{Text: d.Commit.Text},
					Branch: d.Branch, Since: d.Since, Ready: d.Ready, Message: d.Message}
			}
			if e.Latest != nil {
				e.Latest = &view.Run{Row: e.Latest.Row, Commit: &view.Link{Text: e.Latest.Commit.Text}}
			}
			if len(e.Deployed) > 0 {
				e.Latest = nil // pages show one or the other
			}
			if e.URL != nil {
				e.URL = &view.Link{Text: e.URL.Text}
			}
			lean = append(lean, e)
		}
		return lean
	}
	here, there := environment.SummariesOf(s.Environments, s.Runs, noon), hub.Environments(nil, nil, []hub.Answer{answer(s)}, noon)
	if here[0].Others() != 2 || there[0].Others() != 2 || here[0].Hold == "" || here[0].Settling == "" {
		t.Errorf("%d and %d others, %q, %q", here[0].Others(), there[0].Others(), here[0].Hold, here[0].Settling)
	}
	if diff := cmp.Diff(shown(here), shown(there), elsewhere,
		cmpopts.IgnoreFields(environment.Summary{}, "Cluster", "PageURL", "DeployedOmitted")); diff != "" {
		t.Errorf("the Environments at the cluster (-) and at the hub (+):\n%s", diff)
	}
	all := hub.TeamsOf([]hub.Team{{Here: view.TeamRow{Name: "acme", Namespace: "acme"}, Empty: true, Answers: []hub.Answer{answer(s)}}}, nil, noon)
	row := view.TeamOf("acme", "acme", s.Triggers, s.Runs, noon)
	if want := view.TeamsOf([]view.TeamRow{row}, nil, noon).Sentence; all.Sentence != want || row.Look == "" {
		t.Errorf("%q, want %q", all.Sentence, want)
	}
	row.Name, row.Namespace, row.Waiting, row.Trigger = "", "", 0, "" // the group has the name, and the page shows no more
	if diff := cmp.Diff(row, all.Groups[0].Lines[0].TeamRow, elsewhere); diff != "" || len(all.Groups[0].Lines) != 1 {
		t.Errorf("the row at the cluster (-) and at the hub (+):\n%s", diff)
	}
}

// TestLinks: a link of a cluster leads to the cluster, whatever it says.
func TestLinks(t *testing.T) {
	for raw, want := range map[string]string{
		"https://staging.example.com/pf/runs/acme/q": "https://staging.example.com/pf/runs/acme/q",
		"http://Staging.example.com/other":           "http://Staging.example.com/other",
		"https://evil.example.com/":                  "",
		"https://staging.example.com.evil.example/":  "",
		"https://staging.example.com@evil.example/":  "",
		"https://x:y@staging.example.com/":           "",
		"//evil.example.com/":                        "",
		"/runs/acme/q":                               "",
		"javascript:alert(1)":                        "",
		"javascript://staging.example.com/%0aalert":  "",
		"": "",
	} {
		a := answer(varied())
		a.URL = "https://staging.example.com/pf/"
		for i := range a.Overview.Runs {
			a.Overview.Runs[i].URL = raw
		}
		for _, tile := range hub.Board(nil, []hub.Answer{a}, noon) {
			if want == "" {
				want = "https://staging.example.com/pf/runs/acme/q"
			}
			if tile.ID == "q" && tile.URL != want {
				t.Errorf("%q leads to %q, want %q", raw, tile.URL, want)
			}
		}
	}
}

// TestTeamsOfClusters: the sentence counts all clusters, and what needs a look comes first.
func TestTeamsOfClusters(t *testing.T) {
	silent := hub.Answer{Cluster: "edge", Problem: "does not answer: refused"}
	old := answer(varied())
	old.Cluster, old.AnsweredAt, old.Problem = "prod-us", noon.Add(-4*time.Minute), "did not answer within 10s"
	good := hub.Answer{Cluster: "prod-eu", AnsweredAt: noon, Took: 3 * time.Second, Overview: &httpapi.Overview{Namespace: "pay"}}
	for name, tc := range map[string]struct {
		reason   string
		teams    []hub.Team
		sentence string
		lines    string
		clusters string
	}{
		"no cluster": {"The page is that of before.", []hub.Team{{Here: view.TeamRow{Name: "pay"}}}, "Nothing fails in 1 team.", "pay: hub", ""},
		"one is old": {"It says how old.", []hub.Team{{Here: view.TeamRow{Name: "acme", Queued: 0}, Answers: []hub.Answer{good, old}},
			{Here: view.TeamRow{Name: "aaa", Namespace: "aaa"}, Empty: true, Answers: []hub.Answer{good}}},
			"1 Trigger of acme does not work, and 1 fails. Nothing fails in the other team. Waiting in a queue: 1 run, the oldest for 20m 00s. " +
				"The cluster prod-us has not answered for 4 minutes; what is shown of it is that old.",
			"acme: prod-us 4 minutes ago, hub, prod-eu; aaa: prod-eu", "prod-us no answer for 4 minutes, prod-eu 2 teams, 3s"},
		"one is unknown": {"Nothing is known of it.", []hub.Team{{Here: view.TeamRow{Name: "pay"}, Empty: true, Answers: []hub.Answer{silent, good}}},
			"Nothing fails in 1 team. The cluster edge has not answered yet.", "pay: edge Nothing is known: it does not answer: refused., prod-eu",
			"edge no answer yet, prod-eu 1 team, 3s"},
		"two": {"They are named.", []hub.Team{{Here: view.TeamRow{Name: "pay"}, Empty: true, Answers: []hub.Answer{silent, old}}},
			"1 Trigger of pay does not work, and 1 fails. Waiting in a queue: 1 run, the oldest for 20m 00s. 2 clusters do not answer: edge, prod-us.",
			"pay: prod-us 4 minutes ago, edge Nothing is known: it does not answer: refused.",
			"edge no answer yet, prod-us no answer for 4 minutes"},
	} {
		t.Run(name, func(t *testing.T) {
			all := hub.TeamsOf(tc.teams, nil, noon)
			var groups, clusters []string
			for _, g := range all.Groups {
				var lines []string
				for _, l := range g.Lines {
					at := l.Cluster
					if at == "" {
						at = "hub"
					}
					lines = append(lines, strings.TrimSpace(at+" "+l.Age+l.Unknown))
				}
				groups = append(groups, g.Name+": "+strings.Join(lines, ", "))
			}
			for _, c := range all.Clusters {
				clusters = append(clusters, c.Name+" "+c.Text)
			}
			if all.Sentence != tc.sentence || strings.Join(groups, "; ") != tc.lines || strings.Join(clusters, ", ") != tc.clusters {
				t.Errorf("%s got\n%q\n%q\n%q, want\n%q\n%q\n%q", tc.reason, all.Sentence, groups, clusters, tc.sentence, tc.lines, tc.clusters)
			}
		})
	}
}
