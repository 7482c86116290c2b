package report_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/report"
)

func TestCommentOf(t *testing.T) {
	self := named("smoke-2", "smoke", 2, in(v1alpha1.Failed("exit 1")), failed(40, 3))
	others := []report.Run{
		named("smoke-1", "smoke", 1, in(v1alpha1.Passed("ok"))),
		named("preview-1", "smoke", 1, in(v1alpha1.Error("no image")), func(s *v1alpha1.Suite) { s.Spec.Environment = "preview" }),
		named("e2e-1", "e2e", 1, in(v1alpha1.Running(""))),
		named("load-1", "load", 1, in(v1alpha1.Queued(""))),
	}
	got := report.CommentOf(self, others, 5, report.Options{PublicURL: "https://ci.example.com", ClusterName: "eu"})
	want := strings.Join([]string{
		"<!-- postflight eu/acme -->",
		"| Tests | Environment | Commit | Outcome |",
		"|---|---|---|---|",
		"| [smoke](<https://ci.example.com/runs/acme/preview-1>) | preview | `5ca1ab1e5ca1` | Could not run: `no image.` |",
		"| [e2e](<https://ci.example.com/runs/acme/e2e-1>) | staging | `5ca1ab1e5ca1` | The tests are running |",
		"| [load](<https://ci.example.com/runs/acme/load-1>) | staging | `5ca1ab1e5ca1` | Queued |",
		"| [smoke](<https://ci.example.com/runs/acme/smoke-2>) | staging | `5ca1ab1e5ca1` | Failed: `exit 1.` |",
		"",
	}, "\n")
	if diff := cmp.Diff(report.Comment{Marker: "<!-- postflight eu/acme -->", Body: want, Shows: true}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if late := report.CommentOf(others[0], append(others[1:], self), 5, report.Options{}); late.Shows {
		t.Error("a run that a later one replaced is still shown")
	}
	if plain := report.CommentOf(self, nil, 5, report.Options{}); !strings.Contains(plain.Body, "\n| smoke | staging |") || plain.Marker != "<!-- postflight acme -->" {
		t.Errorf("without a public URL and a cluster name, got:\n%s", plain.Body)
	}
}

func TestWhoBelongsToAPullRequest(t *testing.T) {
	number := func(n int64) func(*v1alpha1.Suite) {
		return func(s *v1alpha1.Suite) { s.Spec.Deployment.PullRequestNumber = n }
	}
	on := func(branch, sha string) func(*v1alpha1.Suite) {
		return func(s *v1alpha1.Suite) { s.Spec.Deployment.Branch, s.Spec.Deployment.SHA = branch, sha }
	}
	ofRepository := func(repository string, r report.Run) report.Run {
		r.Trigger.Spec.Repository.Name = repository
		return r
	}
	other := strings.Repeat("a", 40)
	cases := map[string]struct {
		run  report.Run
		want bool
	}{
		"of its number":                     {named("b", "e2e", 0, number(5), on("x", other)), true},
		"of another number":                 {named("b", "e2e", 0, number(6)), false},
		"found before":                      {named("b", "e2e", 0, on("x", other), shown(v1alpha1.ReportInProgress)), true},
		"of the commit, and not found yet":  {named("b", "e2e", 0), true},
		"of another commit of the branch":   {named("b", "e2e", 0, on("main", other)), false},
		"of another branch with the commit": {named("b", "e2e", 0, on("x", sha)), false},
		"of the repository, spelled so":     {ofRepository("Acme/Shop", named("b", "e2e", 0, number(5))), true},
		"of another repository":             {ofRepository("acme/other", named("b", "e2e", 0, number(5))), false},
		"of a Trigger that is gone":         {report.Run{Suite: named("b", "e2e", 0, number(5)).Suite}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := report.CommentOf(named("a", "smoke", 0), []report.Run{tc.run}, 5, report.Options{})
			if got := strings.Contains(c.Body, "| e2e |"); got != tc.want || !c.Shows {
				t.Errorf("got %t:\n%s", got, c.Body)
			}
		})
	}
}

func TestCommentIDIsShared(t *testing.T) {
	comment := func(id int64) func(*v1alpha1.Suite) {
		return func(s *v1alpha1.Suite) {
			shown(v1alpha1.ReportInProgress)(s)
			s.Status.Report.PullRequest.CommentID = id
		}
	}
	others := []report.Run{named("b", "e2e", 0, comment(9)), named("c", "load", 0, comment(8))}
	if c := report.CommentOf(named("a", "smoke", 0), others, 5, report.Options{}); c.ID != 8 {
		t.Errorf("got the comment %d, want the older one of those that are known", c.ID)
	}
}

// TestHostileComment: what a notification or a test wrote is in code spans, and cannot leave its cell.
func TestHostileComment(t *testing.T) {
	for _, text := range snippets {
		self := named("a", "smoke", 0, in(v1alpha1.Error(text)), func(s *v1alpha1.Suite) {
			s.Spec.Deployment.Branch, s.Spec.Deployment.URL = text, text
		})
		body := report.CommentOf(self, nil, 5, report.Options{}).Body
		_, table, _ := strings.Cut(body, "\n")
		rows := strings.Split(strings.TrimSuffix(table, "\n"), "\n")
		if len(rows) != 3 || strings.Count(rows[2], "|") != 5 {
			t.Errorf("%q changes the table:\n%s", text, body)
		}
		plain := prose(table)
		for _, marker := range markers {
			if marker != "|" && strings.Contains(plain, marker) {
				t.Errorf("%q puts %q into the comment:\n%s", text, marker, body)
			}
		}
	}
}

func TestSizeOfComment(t *testing.T) {
	var others []report.Run
	for i := range 80 {
		others = append(others, named(fmt.Sprint("b-", i), fmt.Sprintf("%063d", i), 0, in(v1alpha1.Error(strings.Repeat("`", 32768)))))
	}
	body := report.CommentOf(named("a", "smoke", 0), others, 5, report.Options{PublicURL: "https://" + strings.Repeat("h", 220)}).Body
	if len(body) > 65536 || !strings.HasSuffix(body, "\nand 31 more\n") {
		t.Errorf("the comment has %d bytes and ends with %q", len(body), body[len(body)-40:])
	}
}

func TestPullRequestInChecks(t *testing.T) {
	with := func(number int64, service v1alpha1.HostingService, url string) *v1alpha1.Suite {
		return aSuite(shown(v1alpha1.ReportInProgress), func(s *v1alpha1.Suite) {
			s.Status.Report.HostingService = service
			s.Status.Report.PullRequest.Number, s.Status.Report.PullRequest.URL = number, url
		})
	}
	notified := aSuite(func(s *v1alpha1.Suite) { s.Spec.Deployment.PullRequestNumber = 5 })
	for name, tc := range map[string]struct {
		suite *v1alpha1.Suite
		want  string
	}{
		"found on GitHub": {with(5, v1alpha1.GitHub, "https://github.com/acme/shop/pull/5"), "Pull request [#5](<https://github.com/acme/shop/pull/5>)\n"},
		"found on GitLab": {with(5, v1alpha1.GitLab, "https://gitlab.com/a/b/-/merge_requests/5"), "Pull request [!5](<https://gitlab.com/a/b/-/merge_requests/5>)\n"},
		"notified":        {notified, "Pull request `#5`\n"},
		"not a page":      {with(5, v1alpha1.GitHub, "javascript:alert(1)"), "Pull request `#5`\n"},
		"with a bracket":  {with(5, v1alpha1.GitHub, "https://x>)[a](https://evil"), "Pull request `#5`\n"},
		"none":            {with(0, v1alpha1.GitHub, ""), ""},
	} {
		t.Run(name, func(t *testing.T) {
			summary := report.Of(tc.suite, report.Options{}).Summary
			if tc.want == "" && strings.Contains(summary, "Pull request") || !strings.Contains(summary, tc.want) {
				t.Errorf("got:\n%s", summary)
			}
		})
	}
}
