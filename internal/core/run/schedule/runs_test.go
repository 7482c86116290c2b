package schedule

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/build"
)

func minutes(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }

// has is what an Environment has of a repository since so many minutes after noon.
func has(repository, sha string, since int) v1alpha1.Deployed {
	return v1alpha1.Deployed{Repository: repository, SHA: sha, Branch: "main", DeploymentType: "staging",
		Since: new(metav1.NewTime(minutes(since)))}
}

func onBranch(d v1alpha1.Deployed, branch string) v1alpha1.Deployed {
	d.Branch = branch
	return d
}

func ofService(d v1alpha1.Deployed, name string) v1alpha1.Deployed {
	d.Service = name
	return d
}

// aRun of the Trigger e2e, received so many minutes after noon.
func aRun(repository, sha string, minute int, change ...func(*v1alpha1.Suite)) *v1alpha1.Suite {
	s := &v1alpha1.Suite{ObjectMeta: metav1.ObjectMeta{Name: "run-" + sha, CreationTimestamp: metav1.NewTime(minutes(minute)),
		Annotations: map[string]string{}}}
	s.Spec.Trigger.Name, s.Spec.Environment = "e2e", "staging"
	s.Spec.ReceivedAt = new(metav1.NewMicroTime(minutes(minute)))
	s.Spec.Deployment = v1alpha1.Deployment{Repository: repository, SHA: sha, Branch: "main"}
	return build.With(s, change...)
}

func ended(s *v1alpha1.Suite) { s.Status.Conditions = []metav1.Condition{v1alpha1.Passed("")} }

func scheduled(s *v1alpha1.Suite) {
	s.Annotations[v1alpha1.AnnotationScheduledFor] = "2026-11-20T03:00:00Z"
}

func TestRuns(t *testing.T) {
	type all = []v1alpha1.Deployed
	const newer = "The run run-b of a newer deployment has not ended."
	none := func(*v1alpha1.Trigger) {}
	matching := func(repositories ...string) func(*v1alpha1.Trigger) {
		return func(t *v1alpha1.Trigger) { t.Spec.Match.Repositories = repositories }
	}
	expression := func(text string) func(*v1alpha1.Trigger) {
		return func(t *v1alpha1.Trigger) { t.Spec.Match.Expression = text }
	}
	superseding := func(p v1alpha1.SupersedePolicy) func(*v1alpha1.Trigger) {
		return func(t *v1alpha1.Trigger) { t.Spec.Supersede = p }
	}
	for name, tc := range map[string]struct {
		reason   string
		trigger  func(*v1alpha1.Trigger)
		deployed all
		suites   []*v1alpha1.Suite
		want     []string // the commits
		why      string
	}{
		"one":                      {"it is tested", none, all{has("shop", "a", 0)}, nil, []string{"a"}, ""},
		"one without a repository": {"a pipeline need not name it", none, all{has("", "a", 0)}, nil, []string{"a"}, ""},
		"only the schedule": {"it matches as if it were notified", func(t *v1alpha1.Trigger) {
			t.Spec.Schedule.Only,
				t.Spec.Match.Repositories = true, []string{"shop"}
		}, all{has("shop", "a", 0), has("docs", "b", 5)}, nil, []string{"a"}, ""},
		"nothing":                 {"there is nothing to test", none, nil, nil, nil, "status.deployed of the Environment is empty"},
		"several commits at once": {"which one?", none, all{has("shop", "", 0)}, nil, nil, "matches nothing of what is deployed in staging"},
		"another repository": {"the Trigger is not for it", matching("shop"), all{has("docs", "a", 0)}, nil,
			nil, "matches nothing of what is deployed in staging"},
		"a repository of two": {"the Trigger is for one", matching("shop"), all{has("docs", "a", 5), has("shop", "b", 0)},
			nil, []string{"b"}, ""},
		"two of one stream": {"the last deployment has superseded the other", none, all{has("docs", "a", 0), has("shop", "b", 5)},
			nil, []string{"b"}, ""},
		"two of one stream, swapped": {"the order of the status does not matter", none, all{has("docs", "a", 5), has("shop", "b", 0)}, nil,
			[]string{"a"}, ""},
		"two services": {"each has a stream of its own", superseding(v1alpha1.SupersedeEnvironment),
			all{ofService(has("shop", "a", 0), "cart"), ofService(has("shop", "b", 5), "mail")}, nil, []string{"a", "b"}, ""},
		"a newer one of another service": {"it replaces nothing of this one", none, all{ofService(has("shop", "a", 0), "cart")},
			[]*v1alpha1.Suite{aRun("shop", "b", 5, func(s *v1alpha1.Suite) { s.Spec.Deployment.Service = "mail" })}, []string{"a", "b"}, ""},
		"two branches": {"both have a run after each deployment",
			none, all{has("docs", "a", 0), onBranch(has("shop", "b", 5), "dev")}, nil, []string{"a", "b"}, ""},
		"two branches, one stream": {"the Environment has one run", superseding(v1alpha1.SupersedeEnvironment),
			all{has("docs", "a", 0), onBranch(has("shop", "b", 5), "dev")}, nil, []string{"b"}, ""},
		"two without a stream": {"each is tested", superseding(v1alpha1.SupersedeNone), all{has("docs", "a", 0), has("shop", "b", 5)},
			nil, []string{"a", "b"}, ""},
		"a branch": {"it is known", expression("notification.branch == 'main' && notification.deployment_type == 'staging'"),
			all{has("shop", "a", 0)}, nil, []string{"a"}, ""},
		"an expression of variables": {"they are not known", expression("notification.variables['region'] == 'eu'"), all{has("shop", "a", 0)},
			nil, nil, "a deployment URL and variables are absent"},
		"an invalid expression": {"the Ready condition says so", expression("((("), all{has("shop", "a", 0)}, nil, nil, "matches nothing"},
		"tested before": {"it is tested again", none, all{has("shop", "a", 0)}, []*v1alpha1.Suite{aRun("shop", "a", 0, ended)},
			[]string{"a"}, ""},
		"a newer deployment": {"it supersedes the one that is deployed", none, all{has("shop", "a", 0)},
			[]*v1alpha1.Suite{aRun("shop", "b", 5)}, nil, newer},
		"a newer one, ended": {"it may have failed, and what is deployed counts", none, all{has("shop", "a", 0)},
			[]*v1alpha1.Suite{aRun("shop", "b", 5, ended)}, []string{"a"}, ""},
		"an older deployment": {"it was before", none, all{has("shop", "a", 5)}, []*v1alpha1.Suite{aRun("shop", "b", 0)}, []string{"a"},
			""},
		"one of another repository": {"its deployment is the last one of the stream", none, all{has("shop", "a", 0)},
			[]*v1alpha1.Suite{aRun("docs", "b", 5)}, []string{"b"}, ""},
		"one of another Trigger": {"it has its own schedule", none, all{has("shop", "a", 0)},
			[]*v1alpha1.Suite{aRun("shop", "b", 5, func(s *v1alpha1.Suite) { s.Spec.Trigger.Name = "smoke" })}, []string{"a"}, ""},
		"another commit's schedule": {"it is no deployment", none, all{has("shop", "a", 0)}, []*v1alpha1.Suite{aRun("shop", "b", 5, scheduled)},
			[]string{"a"}, ""},
		"a newer one of two": {"the other is tested", superseding(v1alpha1.SupersedeNone), all{has("docs", "c", 0), has("shop", "a", 0)},
			[]*v1alpha1.Suite{aRun("shop", "b", 5)}, []string{"c"}, newer},
	} {
		t.Run(name, func(t *testing.T) {
			e := &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Name: "staging"}, Status: v1alpha1.EnvironmentStatus{Deployed: tc.deployed}}
			for i := range e.Status.Deployed {
				d := e.Status.Deployed[i]
				e.Spec.Workloads = append(e.Spec.Workloads, v1alpha1.Workload{Name: "web", Repository: d.Repository, Service: d.Service})
				e.Status.Deployed[i].Workloads = []v1alpha1.DeployedWorkload{{Name: "web", UID: "uid-web"}}
			}
			expectRuns(t, tc.reason, Observed{Trigger: aTrigger(tc.trigger), Environment: e, Team: &v1alpha1.Team{}, Suites: tc.suites}, tc.want, tc.why)
		})
	}
}

// expectRuns wants runs of commits, and a part of why there are no others.
func expectRuns(t *testing.T, reason string, o Observed, commits []string, says string) {
	t.Helper()
	runs, why := Runs(o)
	var got []string
	for _, r := range runs {
		got = append(got, r.Notification.SHA)
	}
	if diff := cmp.Diff(commits, got); diff != "" {
		t.Errorf("%s\n%s", reason, diff)
	}
	if says == "" && why != "" || !strings.Contains(why, says) {
		t.Errorf("%s: %q, want %q", reason, why, says)
	}
}

// TestRunsOfReplacedParts: without workloads, what may have been replaced is not tested every night.
func TestRunsOfReplacedParts(t *testing.T) {
	type all = []v1alpha1.Deployed
	cart := func(sha string, since int) v1alpha1.Deployed { return ofService(has("shop", sha, since), "cart") }
	mail := func(sha string, since int) v1alpha1.Deployed { return ofService(has("shop", sha, since), "mail") }
	const isReplaced = "is not tested until it is notified again"
	for name, tc := range map[string]struct {
		reason   string
		deployed all
		services []string // that the Trigger is for
		want     []string // the commits
		why      string
	}{
		"services":                       {"they replace none", all{cart("a", 0), mail("b", 5)}, nil, []string{"a", "b"}, ""},
		"the whole, then a service":      {"that is tested instead", all{has("shop", "a", 0), cart("b", 5)}, nil, []string{"b"}, ""},
		"the whole, then its commit":     {"it is still there", all{has("shop", "a", 0), cart("a", 5)}, nil, []string{"a", "a"}, ""},
		"services, then the whole":       {"they may have been replaced", all{cart("a", 0), mail("b", 0), has("shop", "c", 5)}, nil, []string{"c"}, "a of cart in shop " + isReplaced},
		"both, of services":              {"nothing else says why", all{cart("a", 0), has("shop", "c", 5)}, []string{"cart"}, nil, "c of shop was deployed later"},
		"a service is notified again":    {"the whole is not", all{cart("d", 9), mail("b", 0), has("shop", "c", 5)}, nil, []string{"d"}, "b of mail in shop " + isReplaced},
		"another repository, no service": {"it has commits of its own", all{has("docs", "c", 5), cart("a", 0)}, nil, []string{"c", "a"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Name: "staging"}, Status: v1alpha1.EnvironmentStatus{Deployed: tc.deployed}}
			trigger := aTrigger(func(t *v1alpha1.Trigger) {
				t.Spec.Match.Services, t.Spec.Supersede = tc.services, v1alpha1.SupersedeNone
			})
			expectRuns(t, tc.reason, Observed{Trigger: trigger, Environment: e, Team: &v1alpha1.Team{}}, tc.want, tc.why)
		})
	}
}

// TestNewerWithoutRepository: a notification without a repository counts for the repository that the workloads name.
func TestNewerWithoutRepository(t *testing.T) {
	e := &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Name: "staging"},
		Status: v1alpha1.EnvironmentStatus{Deployed: []v1alpha1.Deployed{has("shop", "a", 0)}}}
	o := Observed{Trigger: aTrigger(), Environment: e, Team: &v1alpha1.Team{}, Suites: []*v1alpha1.Suite{aRun("", "b", 5)}}
	if all, why := Runs(o); len(all) != 1 || all[0].Notification.SHA != "b" {
		t.Errorf("without workloads, what was notified last is deployed: %v, %q", all, why)
	}
	e.Spec.Workloads = []v1alpha1.Workload{{Name: "web", Repository: "shop"}}
	e.Status.Deployed[0].Workloads = []v1alpha1.DeployedWorkload{{Name: "web", UID: "uid-web"}}
	if all, why := Runs(o); len(all) != 0 || why != "The run run-b of a newer deployment has not ended." {
		t.Errorf("with a workload: %v, %q", all, why)
	}
}

// TestNoRuns: without a team or an Environment, nothing can run.
func TestNoRuns(t *testing.T) {
	e := &v1alpha1.Environment{Status: v1alpha1.EnvironmentStatus{Deployed: []v1alpha1.Deployed{has("shop", "a", 0)}}}
	suspended := &v1alpha1.Team{Spec: v1alpha1.TeamSpec{Suspended: true}}
	for want, o := range map[string]Observed{
		"No Team claims this namespace, or several do.":        {Trigger: aTrigger(), Environment: e},
		"The team is suspended.":                               {Trigger: aTrigger(), Environment: e, Team: suspended},
		`There is no Environment "staging" in this namespace.`: {Trigger: aTrigger(), Team: &v1alpha1.Team{}},
	} {
		if all, why := Runs(o); len(all) > 0 || why != want {
			t.Errorf("%v, %q, want %q", all, why, want)
		}
	}
}

// TestNotificationIsOfTheLastRun: what the code host needs comes from the last run, but nothing that may be outdated.
func TestNotificationIsOfTheLastRun(t *testing.T) {
	e := &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Name: "staging"},
		Status: v1alpha1.EnvironmentStatus{Deployed: []v1alpha1.Deployed{has("shop", "a", 0)}}}
	last := aRun("shop", "a", 5, ended)
	last.Spec.Deployment.HostingService, last.Spec.Deployment.CommitMessage, last.Spec.Deployment.PipelineID = v1alpha1.GitLab, "Fix", 7
	last.Spec.Deployment.URL, last.Spec.Variables = "https://blue.example.com", map[string]string{"A": "b"}
	others := []*v1alpha1.Suite{aRun("shop", "a", 0, ended), last, aRun("docs", "a", -9, ended), aRun("shop", "b", -9, ended)}
	all, why := Runs(Observed{Trigger: aTrigger(), Environment: e, Team: &v1alpha1.Team{}, Suites: others})
	if len(all) != 1 {
		t.Fatal(all, why)
	}
	n := all[0].Notification
	if n.HostingService != v1alpha1.GitLab || n.CommitMessage != "Fix" || n.PipelineID != 7 || n.DeploymentURL != "" || n.Variables != nil ||
		n.Repository != "shop" || n.Branch != "main" {
		t.Errorf("%+v", n)
	}
}

// TestRunsAfterRollback: good passed, bad failed, good was deployed again, and its old result was the answer. The schedule tests good,
// whatever the status says yet.
func TestRunsAfterRollback(t *testing.T) {
	good, bad := aRun("shop", "good", 0, ended), aRun("shop", "bad", 10, ended)
	good.Status.AnsweredAgainAt = new(metav1.NewMicroTime(minutes(20)))
	e := &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Name: "staging"},
		Status: v1alpha1.EnvironmentStatus{Deployed: []v1alpha1.Deployed{has("shop", "bad", 10)}}}
	all, why := Runs(Observed{Trigger: aTrigger(), Environment: e, Team: &v1alpha1.Team{}, Suites: []*v1alpha1.Suite{good, bad}})
	if len(all) != 1 || all[0].Notification.SHA != "good" || !all[0].DeployedAt.Equal(minutes(20)) {
		t.Errorf("%+v, %q", all, why)
	}
}
