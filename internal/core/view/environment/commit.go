package environment

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/codehost"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/deployment/ledger"
	"github.com/postflight-dev/postflight/internal/core/run/rerun"
	"github.com/postflight-dev/postflight/internal/core/run/suite"
	"github.com/postflight-dev/postflight/internal/core/run/verdict"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
	"github.com/postflight-dev/postflight/internal/core/view"
)

// CommitSubject is what the page of a commit in an Environment is made of.
type CommitSubject struct {
	Verdict verdict.Verdict
	Reviews []*v1alpha1.DeploymentReview // of the namespace
	Gates   []v1alpha1.DeploymentGate    // of the namespace
	Sites   codehost.Sites
}

// CommitPage is the verdict of a commit in an Environment, and why.
type CommitPage struct {
	Namespace, Environment string
	Revision               string // whole
	SHA                    string // as people read it
	State                  view.State
	Sentence, Advice       string
	Command                string // that asks again, in a terminal
	CanStart               bool   // something is missing or stale, and the commit is still there

	Commit        *view.Link
	Part          string // the repository, and perhaps the service, that was asked about
	Branch        string
	CommitMessage string
	CommitAuthor  string
	PullRequest   *view.Link
	There         Presence
	Images        []Image
	MoreImages    int
	Rule          Rule
	Required      []Required
	Asked         []Asked
	MoreAsked     int
}

// Presence is when an Environment had a commit.
type Presence struct {
	Since, Until *view.Time // nil: not known, and still
	Next         string     // the revision that replaced it
	NextSHA      string     // as people read it
}

// Image is what a container of a workload ran while the commit was tested.
type Image struct{ Workload, Container, Short, Whole string }

// Rule is what a verdict requires, in words.
type Rule struct{ Triggers, Ages string }

// CommitPageOf returns the page of a commit.
func CommitPageOf(o CommitSubject) CommitPage {
	v := o.Verdict
	revision := plaintext.Line(v.Commit.Revision, maxRevision)
	p := CommitPage{
		Namespace: v.Environment.Namespace, Environment: v.Environment.Name,
		Revision: v.Commit.Revision, SHA: commit.ShortSHA(revision), State: VerdictLookOf(v.State).State,
		Sentence: v.Sentence(), Advice: v.Advice(), Command: commandOf(v), CanStart: canStart(v),
		Commit: view.Commit(v1alpha1.Deployment{SHA: revision, Repository: v.Commit.Repository}), Part: v.Commit.String(),
		There: presenceOf(v), Rule: ruleOf(v), Required: requiredOf(v),
	}
	if s := v.Newest; s != nil {
		d := s.Spec.Deployment
		p.Commit, p.PullRequest = view.Commit(d), view.PullRequest(d)
		p.Branch, p.CommitMessage, p.CommitAuthor = d.Branch, d.CommitMessage, d.CommitAuthor
	}
	p.Images, p.MoreImages = imagesOf(v)
	p.Asked, p.MoreAsked = askedOf(o)
	return p
}

// maxRevision is the bound of the schema, in bytes.
const maxRevision = 128

// Title names the page.
func (p CommitPage) Title() string { return p.SHA + " on " + p.Environment }

// commandOf quotes what anyone may have written.
func commandOf(v verdict.Verdict) string {
	command := "postflight gate --sha " + plaintext.ShellQuote(plaintext.Line(v.Commit.Revision, maxRevision)) +
		" --environment " + v.Environment.Name
	for _, flag := range [][2]string{{"repository", v.Commit.Repository}, {"service", v.Commit.Service}} {
		if value := suite.ShownRepository(flag[1]); value != "" {
			command += " --" + flag[0] + " " + plaintext.ShellQuote(value)
		}
	}
	return command + " --wait"
}

// canStart reports whether runs of what is missing would still test the commit.
func canStart(v verdict.Verdict) bool {
	return v.Newest != nil && v.Startable() && rerun.Obstacle(v.Newest, ledger.Of(v.Environment, v.Suites)) == ""
}

func presenceOf(v verdict.Verdict) Presence {
	there := Presence{Since: view.TimeOf(v.Deployed, v.Now)}
	if r := v.Replaced; r != nil {
		there.Until, there.Next = view.TimeOf(r.At, v.Now), r.Revision
		there.NextSHA = suite.ShownSHA(cmp.Or(r.Revision, "another version"))
	}
	return there
}

func ruleOf(v verdict.Verdict) Rule {
	shown := v.Required()
	rule := Rule{Triggers: "all Triggers that matched"}
	switch n := len(shown.Triggers); {
	case n == 1:
		rule.Triggers = "the Trigger " + shown.Triggers[0]
	case n > 1:
		rule.Triggers = fmt.Sprintf("%d Triggers by name", n)
	}
	ages := []string{"however long ago"}
	if shown.MaxAge != "" {
		ages[0] = "at most " + shown.MaxAge + " ago"
	}
	if shown.MinAge != "" {
		ages = append(ages, "without a failure for "+shown.MinAge)
	}
	rule.Ages = strings.Join(ages, ", ")
	return rule
}

// maxImages is how many digests fit the fact without pushing the rest of the page down.
const maxImages = 4

// imagesOf returns what the workloads of the commit ran during the runs that decide, each once.
func imagesOf(v verdict.Verdict) (all []Image, more int) {
	for _, r := range v.Requirements {
		if r.Run == nil || r.Run.Status.UnderTest == nil {
			continue
		}
		for _, w := range r.Run.Status.UnderTest.Workloads {
			if w.Start == nil || !commit.SameSHA(w.Start.SHA, v.Commit.Revision) {
				continue
			}
			for _, d := range w.Start.Digests {
				image := Image{Workload: w.Kind + " " + w.Name, Container: d.Container, Short: shortDigest(d.Digest), Whole: d.Digest}
				if !slices.Contains(all, image) {
					all = append(all, image)
				}
			}
		}
	}
	shown := min(len(all), maxImages)
	return all[:shown], len(all) - shown
}

// since is the zero time without one.
func since(t *view.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.At
}
