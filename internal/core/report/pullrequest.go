package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/run/failure"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// PullRequest is a pull or merge request of the repository.
type PullRequest struct {
	Number      int64
	URL         string
	Branch, SHA string // of its head
	Open        bool
	Fork        bool // the head is of another repository, or of one that is gone
}

// ChoosePullRequest returns the first open one whose head was deployed, or nil. Several may have the same head.
func ChoosePullRequest(found []PullRequest, t Target) *PullRequest {
	slices.SortFunc(found, func(a, b PullRequest) int { return int(a.Number - b.Number) })
	for _, p := range found {
		if p.Open && commit.NormalSHA(p.SHA) == commit.NormalSHA(t.SHA) && (t.Branch == "" || p.Branch == t.Branch) {
			return &p
		}
	}
	return nil
}

// PullRequestURL returns a URL that pages may link to, or "".
func PullRequestURL(raw string) string {
	if link := webURL(raw); len(link) <= maxPullRequestURL && !strings.ContainsAny(link, "<>|`\\ ") {
		return link
	}
	return ""
}

// PullRequestNumber returns the number that was notified for a run, or found; 0 if it is not known.
func PullRequestNumber(s *v1alpha1.Suite) int64 {
	if n := s.Spec.Deployment.PullRequestNumber; n != 0 || s.Status.Report == nil {
		return n
	}
	return PullRequestOn(*s.Status.Report).Number
}

// Comment is the text about a pull request.
type Comment struct {
	Marker string
	Body   string
	ID     int64 // 0 if no run knows it
	Shows  bool  // false: a later run has the row
}

// CommentOf returns the comment that shows a run and the others of the pull request in its namespace.
func CommentOf(self Run, others []Run, number int64, o Options) Comment {
	same := func(s *v1alpha1.Suite) bool { return belongs(s, self.Suite, number) }
	runs := related(self, others, showsComments, same)
	c := Comment{Marker: marker(self.Suite.Namespace, o.ClusterName)}
	b := &strings.Builder{}
	fmt.Fprintf(b, "%s\n| Tests | Environment | Commit | Outcome |\n|---|---|---|---|\n", c.Marker)
	for i, r := range runs {
		c.Shows = c.Shows || r.Suite.Name == self.Suite.Name
		c.ID = older(c.ID, commentID(r))
		if i < maxRows {
			b.WriteString(row(r.Suite, o))
		}
	}
	if more := len(runs) - maxRows; more > 0 {
		fmt.Fprintf(b, "\nand %d more\n", more)
	}
	if answer := plaintext.CodeSpan(lastAnswer(append([]Run{self}, others...), same).Text, maxAnswer); answer != "" {
		fmt.Fprintf(b, "\n%s\n", answer)
	}
	c.Body = b.String()
	return c
}

func commentID(r Run) int64 {
	target, _ := TargetOf(r.Suite, r.Trigger)
	return PullRequestOn(PostedTo(r.Suite, target)).CommentID
}

func older(a, b int64) int64 {
	if a == 0 || b == 0 {
		return a + b
	}
	return min(a, b)
}

// belongs reports whether a run is about the pull request of a known run. Without a number, the branch and commit decide.
func belongs(s, known *v1alpha1.Suite, number int64) bool {
	if s.Name == known.Name {
		return true
	}
	if n := PullRequestNumber(s); n != 0 {
		return n == number
	}
	a, b := s.Spec.Deployment, known.Spec.Deployment
	return a.Branch == b.Branch && commit.Of(a).SameRevision(commit.Of(b))
}

// marker identifies comments of this namespace and cluster, which are DNS labels.
func marker(namespace, cluster string) string {
	if cluster != "" {
		namespace = cluster + "/" + namespace
	}
	return "<!-- postflight " + namespace + " -->"
}

// row escapes no names of Triggers, Environments and namespaces: they are DNS labels.
func row(s *v1alpha1.Suite, o Options) string {
	name := s.Spec.Trigger.Name
	if page := pageOf(s, o); page != "" {
		name = fmt.Sprintf("[%s](<%s>)", name, page)
	}
	if service := s.Spec.Deployment.Service; service != "" {
		name += " " + cell(service, maxShown)
	}
	sha := cell(fmt.Sprintf("%.12s", s.Spec.Deployment.SHA), maxShown)
	return fmt.Sprintf("| %s | %s | %s | %s |\n", name, s.Spec.Environment, sha, outcomeCell(s))
}

func outcomeCell(s *v1alpha1.Suite) string {
	if !s.Finished() {
		return phaseInWords(s)
	}
	return outcome(s) + ": " + cell(failure.Summary(s), maxRowMessage)
}

// cell replaces bars, which end a cell even in code.
func cell(text string, limit int) string {
	return plaintext.CodeSpan(strings.ReplaceAll(text, "|", "¦"), limit)
}
