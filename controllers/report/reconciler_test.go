package controllers_test

import (
	"context"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/test/codehost"
)

// TestRerun: another attempt of a commit has the same check, and the end of the older attempt, reported late, does not
// replace it.
func TestRerun(t *testing.T) {
	t.Parallel()
	w := newReportWorld(t)
	w.create(aSuite("first", 0, of("token"), tests(commit(1))))
	w.runs("first")
	w.shows(w.gitHub, commit(1), "pending")
	w.gitHub.Fail(&codehost.Fault{Status: 500})
	w.cancel("first", "")
	w.stops("first")
	w.reports("first", v1alpha1.ReasonReportFailed, "GitHub failed (500)")
	w.create(aSuite("second", 1, of("token"), tests(commit(1)), attempt(2)))
	w.runs("second")
	w.gitHub.Fail(nil)
	w.passes("second")
	w.reports("second", v1alpha1.ReasonPosted, "")
	w.reports("first", v1alpha1.ReasonNewerAttempt, "second")
	writes := w.gitHub.Writes()
	if last := writes[len(writes)-1]; last.State != "success" || last.URL != "https://ci.example.com/runs/"+w.ns+"/second" {
		t.Errorf("the last write is %+v", last)
	}
	for _, write := range writes {
		if write.Name != "postflight/token (staging)" {
			t.Errorf("the name is %q", write.Name)
		}
	}
}

// TestNotReported: a run that cannot be reported says why, and goes on.
func TestNotReported(t *testing.T) {
	t.Parallel()
	w := newReportWorld(t)
	w.create(aSecret("ungranted", asToken("s3cret")), aSecret("postflight-gitlab-2", asToken("s3cret")))
	w.create(
		aTrigger("ungranted", reportsTo(v1alpha1.GitHub, "acme/shop", "ungranted")),
		aTrigger("lost", reportsTo(v1alpha1.GitHub, "acme/shop", "lost")),
		aTrigger("bare", reportsTo(v1alpha1.GitHub, "acme/shop", "")),
		aTrigger("wrong", reportsTo(v1alpha1.GitLab, "group/project", gitHubSecret)),
	)
	for trigger, want := range map[string]struct{ reason, message string }{
		"ungranted": {v1alpha1.ReasonReportFailed, "may not read the Secret ungranted. Allow it with a RoleBinding"},
		"lost":      {v1alpha1.ReasonReportFailed, "The Secret lost, which spec.repository of the Trigger names, does not exist"},
		"bare":      {v1alpha1.ReasonNotConfigured, "the manager has none of its own for GitHub"},
		"wrong":     {v1alpha1.ReasonReportFailed, "it has no key token"},
	} {
		t.Run(trigger, func(*testing.T) {
			w.create(aSuite(trigger, 0, of(trigger), tests(commit(1))))
			w.runs(trigger)
			w.passes(trigger)
			w.reaches(trigger, v1alpha1.ReasonPassed, "")
			w.reports(trigger, want.reason, want.message)
		})
	}
	t.Run("short", func(*testing.T) {
		w.create(aSuite("short", 0))
		w.runs("short")
		w.passes("short")
		w.reports("short", v1alpha1.ReasonNoCommit, "full SHA")
	})
	t.Run("elsewhere", func(*testing.T) {
		w.create(aSuite("elsewhere", 0, tests(commit(2)), func(s *v1alpha1.Suite) { s.Spec.Deployment.Repository = "../../evil" }))
		w.runs("elsewhere")
		w.passes("elsewhere")
		w.reports("elsewhere", v1alpha1.ReasonOtherRepository, "../../evil")
	})
	if requests := append(w.gitHub.Requests(), w.gitLab.Requests()...); len(requests) > 0 {
		t.Errorf("the hosts got %q", requests)
	}
}

// TestGrantComesLater: what a Trigger lacks is looked for again when it changes.
func TestGrantComesLater(t *testing.T) {
	t.Parallel()
	w := newReportWorld(t)
	w.create(aTrigger("late", reportsTo(v1alpha1.GitHub, "acme/shop", "ungranted")))
	w.create(aSuite("late", 0, of("late"), tests(commit(1))))
	w.runs("late")
	w.passes("late")
	w.reaches("late", v1alpha1.ReasonPassed, "")
	w.reports("late", v1alpha1.ReasonReportFailed, "may not read")
	late := &v1alpha1.Trigger{}
	w.must(w.Client.Get(context.Background(), w.key("late"), late))
	was := late.DeepCopy()
	late.Spec.Repository.Credentials.SecretRef.Name = gitHubSecret
	w.must(w.Client.Patch(context.Background(), late, client.MergeFrom(was)))
	w.shows(w.gitHub, commit(1), "success")
	w.reports("late", v1alpha1.ReasonPosted, "")
}

// TestOwnCredentials: the manager posts with its own credentials of a host only where the Team lists the repository on this host.
func TestOwnCredentials(t *testing.T) {
	t.Parallel()
	app := func() (report.Credentials, error) {
		return report.Credentials{AppID: codehost.AppID, PrivateKey: codehost.AppKey()}, nil
	}
	w := newReportWorld(t, func(w *reportWorld) {
		token := func() (report.Credentials, error) { return report.Credentials{Token: w.gitLab.Token()}, nil }
		for service, own := range map[v1alpha1.HostingService]func() (report.Credentials, error){v1alpha1.GitHub: app, v1alpha1.GitLab: token} {
			host := w.hosts.Hosts[service]
			host.Own = own
			w.hosts.Hosts[service] = host
		}
	}, beganEarly)
	gitHub, gitLab := report.HostOf(v1alpha1.GitHub, w.gitHub.URL), report.HostOf(v1alpha1.GitLab, w.gitLab.URL)
	w.create(aTrigger("own", reportsTo(v1alpha1.GitHub, "acme/shop", "")))
	w.create(aTrigger("own-lab", reportsTo(v1alpha1.GitLab, "group/sub/project", "")))
	runs := 0
	ends := func(trigger, reason, says string, listed ...string) {
		t.Helper()
		team := &v1alpha1.Team{}
		w.must(w.Client.Get(context.Background(), client.ObjectKey{Name: w.ns}, team))
		was := team.DeepCopy()
		team.Spec.Repositories = listed
		w.must(w.Client.Patch(context.Background(), team, client.MergeFrom(was)))
		name := fmt.Sprintf("run-%d", runs)
		w.create(aSuite(name, runs, of(trigger), tests(commit(runs))))
		w.runs(name)
		w.passes(name)
		w.reports(name, reason, says)
		runs++
	}
	ends("own", v1alpha1.ReasonNotConfigured, "spec.repositories of the Team does not list "+gitHub+"/acme/shop")
	ends("own", v1alpha1.ReasonNotConfigured, "does not list "+gitHub+"/acme/shop", gitLab+"/acme/shop")
	ends("own-lab", v1alpha1.ReasonNotConfigured, "does not list "+gitLab+"/group/sub/project", gitHub+"/group/*")
	ends("own-lab", v1alpha1.ReasonNotConfigured, "allows group/sub/project only without its host, which means GitHub. List "+gitLab+"/group/sub/project", "group/*")
	if requests := append(w.gitHub.Requests(), w.gitLab.Requests()...); len(requests) > 0 {
		t.Fatalf("the hosts got %q", requests)
	}
	ends("own", v1alpha1.ReasonPosted, "", "acme/*")
	w.shows(w.gitHub, commit(runs-1), "in_progress", "success")
	ends("own", v1alpha1.ReasonPosted, "", gitHub+"/acme/*")
	w.shows(w.gitHub, commit(runs-1), "in_progress", "success")
	ends("own-lab", v1alpha1.ReasonPosted, "", gitLab+"/group/*")
	w.shows(w.gitLab, commit(runs-1), "running", "success")
}

// TestReporterAndRunWriteApart: the two reconcilers write one status, and each owns its fields.
func TestReporterAndRunWriteApart(t *testing.T) {
	t.Parallel()
	w := newReportWorld(t)
	w.create(aSuite("owned", 0, tests(commit(1))))
	w.runs("owned")
	w.passes("owned")
	s := w.reports("owned", v1alpha1.ReasonPosted, "")
	if s.Status.Report == nil || s.Status.Report.Phase != v1alpha1.ReportCompleted || s.Status.Report.CheckID == 0 || s.Status.Report.Repository != "acme/shop" {
		t.Errorf("the report is %+v", s.Status.Report)
	}
	if !s.Passed() || s.Status.CompletionTime == nil || meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionStalled) != nil {
		t.Errorf("the status is %+v", s.Status)
	}
	owners := map[string]bool{}
	for _, f := range s.ManagedFields {
		owners[f.Manager+"/"+f.Subresource] = true
	}
	if !owners["postflight-report/status"] {
		t.Errorf("the owners are %v", owners)
	}
}
