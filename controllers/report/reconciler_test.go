package report_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr/funcr"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/report"
	"github.com/postflight-dev/postflight/test/build"
	"github.com/postflight-dev/postflight/test/codehost"
	"github.com/postflight-dev/postflight/test/tier"
	"github.com/postflight-dev/postflight/test/world"
)

// TestRerun: another attempt of a commit has the same check, and the end of the older attempt, reported late, does not
// replace it.
func TestRerun(t *testing.T) {
	t.Parallel()
	w := newReportWorld(t)
	w.Start(build.Suite("first", 0, build.OfTrigger("token"), tests(build.Commit(1))))
	w.shows(w.gitHub, build.Commit(1), "pending")
	w.gitHub.Fail(&codehost.Fault{Status: 500})
	w.Cancel("first", "")
	w.Stops("first")
	w.reports("first", v1alpha1.ReasonReportFailed, "GitHub failed (500)")
	w.Start(build.Suite("second", 1, build.OfTrigger("token"), tests(build.Commit(1)), attempt(2)))
	w.gitHub.Fail(nil)
	w.Passes("second")
	w.reports("second", v1alpha1.ReasonPosted, "")
	w.reports("first", v1alpha1.ReasonNewerAttempt, "second")
	writes := w.gitHub.Writes()
	if last := writes[len(writes)-1]; last.State != "success" || last.URL != "https://ci.example.com/runs/"+w.NS+"/second" {
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
	w.Create(build.Secret("ungranted", build.Token("s3cret")), build.Secret("postflight-gitlab-2", build.Token("s3cret")))
	w.Create(
		build.Trigger("ungranted", reportsTo(v1alpha1.GitHub, "acme/shop", "ungranted")),
		build.Trigger("lost", reportsTo(v1alpha1.GitHub, "acme/shop", "lost")),
		build.Trigger("bare", reportsTo(v1alpha1.GitHub, "acme/shop", "")),
		build.Trigger("wrong", reportsTo(v1alpha1.GitLab, "group/project", gitHubSecret)),
	)
	for trigger, want := range map[string]struct{ reason, message string }{
		"ungranted": {v1alpha1.ReasonReportFailed, "may not read the Secret ungranted. Allow it with a RoleBinding"},
		"lost":      {v1alpha1.ReasonReportFailed, "The Secret lost, which spec.repository of the Trigger names, does not exist"},
		"bare":      {v1alpha1.ReasonNotConfigured, "the manager has none of its own for GitHub"},
		"wrong":     {v1alpha1.ReasonReportFailed, "it has no key token"},
	} {
		t.Run(trigger, func(*testing.T) {
			w.Start(build.Suite(trigger, 0, build.OfTrigger(trigger), tests(build.Commit(1))))
			w.Passes(trigger)
			w.Reaches(trigger, v1alpha1.ReasonPassed, "")
			w.reports(trigger, want.reason, want.message)
		})
	}
	t.Run("short", func(*testing.T) {
		w.Start(build.Suite("short", 0))
		w.Passes("short")
		w.reports("short", v1alpha1.ReasonNoCommit, "full SHA")
	})
	t.Run("elsewhere", func(*testing.T) {
		w.Start(build.Suite("elsewhere", 0, tests(build.Commit(2)), func(s *v1alpha1.Suite) { s.Spec.Deployment.Repository = "../../evil" }))
		w.Passes("elsewhere")
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
	w.Create(build.Trigger("late", reportsTo(v1alpha1.GitHub, "acme/shop", "ungranted")))
	w.Start(build.Suite("late", 0, build.OfTrigger("late"), tests(build.Commit(1))))
	w.Passes("late")
	w.Reaches("late", v1alpha1.ReasonPassed, "")
	w.reports("late", v1alpha1.ReasonReportFailed, "may not read")
	w.patchTrigger("late", func(t *v1alpha1.Trigger) { t.Spec.Repository.Credentials.SecretRef.Name = gitHubSecret })
	w.shows(w.gitHub, build.Commit(1), "success")
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
			host := w.CodeHosts.Hosts[service]
			host.Own = own
			w.CodeHosts.Hosts[service] = host
		}
	}, beganEarly)
	gitHub, gitLab := report.HostOf(v1alpha1.GitHub, w.gitHub.URL), report.HostOf(v1alpha1.GitLab, w.gitLab.URL)
	w.Create(build.Trigger("own", reportsTo(v1alpha1.GitHub, "acme/shop", "")))
	w.Create(build.Trigger("own-lab", reportsTo(v1alpha1.GitLab, "group/sub/project", "")))
	runs := 0
	ends := func(trigger, reason, says string, listed ...string) {
		t.Helper()
		w.Change(build.Team(w.NS, ""), func(o client.Object) { o.(*v1alpha1.Team).Spec.Repositories = listed })
		name := fmt.Sprintf("run-%d", runs)
		w.Start(build.Suite(name, runs, build.OfTrigger(trigger), tests(build.Commit(runs))))
		w.Passes(name)
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
	w.shows(w.gitHub, build.Commit(runs-1), "in_progress", "success")
	ends("own", v1alpha1.ReasonPosted, "", gitHub+"/acme/*")
	w.shows(w.gitHub, build.Commit(runs-1), "in_progress", "success")
	ends("own-lab", v1alpha1.ReasonPosted, "", gitLab+"/group/*")
	w.shows(w.gitLab, build.Commit(runs-1), "running", "success")
}

// TestReporterAndRunWriteApart: the two reconcilers write one status, and each owns its fields.
func TestReporterAndRunWriteApart(t *testing.T) {
	t.Parallel()
	w := newReportWorld(t)
	w.Start(build.Suite("owned", 0, tests(build.Commit(1))))
	w.Passes("owned")
	s := w.reports("owned", v1alpha1.ReasonPosted, "")
	if s.Status.Report == nil || s.Status.Report.Phase != v1alpha1.ReportCompleted || s.Status.Report.CheckID == 0 || s.Status.Report.Repository != "acme/shop" {
		t.Errorf("the report is %+v", s.Status.Report)
	}
	if s.State() != v1alpha1.ReasonPassed || s.Status.CompletionTime == nil || meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionStalled) != nil {
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

// TestNoErrorsOnTheUsualWay: three reconcilers write the status of a run when it ends. None of them is in the way of
// another one, and nobody reads of an error.
func TestNoErrorsOnTheUsualWay(t *testing.T) {
	t.Parallel()
	runs := 30
	if tier.Gate() {
		runs = 8
	}
	var mu sync.Mutex
	var errors []string
	w := newReportWorld(t, func(w *reportWorld) {
		w.Clock.Stop() // on a slow machine, the manager would look why a pod does not start
		w.Archive, w.NodeName = world.NewArchive(), w.Node(t, world.PrintsName)
		w.Log = funcr.New(func(_, line string) {
			mu.Lock()
			defer mu.Unlock()
			if strings.Contains(line, `"error"=`) {
				errors = append(errors, line)
			}
		}, funcr.Options{}).GetSink()
	})
	name := func(i int) string { return fmt.Sprint("run-", i) }
	for i := range runs {
		w.Create(build.Suite(name(i), i%30, build.OfTrigger("lab"), tests(fmt.Sprintf("%040x", i))))
	}
	for i := range runs {
		w.Runs(name(i))
	}
	for i := range runs {
		w.Exits(name(i), 1)
	}
	for i := range runs {
		w.ArchivedAs(name(i), v1alpha1.ReasonSaved, "")
		w.reports(name(i), v1alpha1.ReasonPosted, "")
	}
	w.Stop()
	if len(errors) > 0 {
		t.Errorf("%d errors were logged, such as:\n%s", len(errors), errors[0])
	}
	fmt.Printf("WRITES status_writes_per_run=%.1f\n", float64(w.Wire.Count("PATCH suites/status"))/float64(runs))
}
