package replay

import (
	"cmp"
	"slices"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/match"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// Comparison is of a changed Trigger with what there is now. It counts, and is for one goroutine.
type Comparison struct {
	Counts   httpapi.ReplayedTrigger
	changed  side
	existing *side // nil: compare with what matched then
}

type side struct {
	matcher     *match.Matcher // nil: matches nothing
	environment string
}

// New compares a changed Trigger with the one of its name, or nil. The error is a *match.CompileError of the changed one.
func New(changed, existing *v1alpha1.Trigger) (*Comparison, error) {
	matcher, err := match.Compile(changed)
	if err != nil {
		return nil, err
	}
	c := &Comparison{
		Counts:  httpapi.ReplayedTrigger{Trigger: changed.Name, Environment: changed.Spec.Environment, ComparedWith: httpapi.ReplayOfHistory},
		changed: side{matcher, changed.Spec.Environment},
	}
	if existing != nil {
		c.Counts.ComparedWith = httpapi.ReplayOfTrigger
		matcher, err := match.Compile(existing)
		if err != nil {
			matcher = nil
		}
		c.existing = &side{matcher, existing.Spec.Environment}
	}
	return c, nil
}

// Add counts a notification, and returns what becomes of it; nil: nothing changes.
func (c *Comparison) Add(n *record.Notification) *httpapi.ReplayChange {
	before, after := c.before(n), c.changed.judge(n)
	if after.Problem != "" {
		c.Counts.Failed++
		c.Counts.Failure = cmp.Or(c.Counts.Failure, plaintext.Line(after.Problem, maxCause))
	}
	if after.Verdict == match.Yes {
		c.Counts.Matched++
	}
	if before.Verdict == match.Yes {
		c.Counts.MatchedBefore++
	}
	var change string
	switch {
	case before.Verdict == match.Unknown || after.Verdict == match.Unknown:
		c.Counts.Unknown++
		change = httpapi.ReplayUnknown
	case before.Verdict == after.Verdict:
		return nil
	case after.Verdict == match.Yes:
		c.Counts.Starts++
		change = httpapi.ReplayStarts
	default:
		c.Counts.Stops++
		change = httpapi.ReplayStops
	}
	return c.changeOf(n, change, sortedUnion(before.Reads, after.Reads))
}

func sortedUnion(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

func (c *Comparison) before(n *record.Notification) match.Judgment {
	if c.existing != nil {
		return c.existing.judge(n)
	}
	matched, known := n.MatchedBy(c.Counts.Trigger)
	switch {
	case !known:
		return match.Judgment{Verdict: match.Unknown}
	case matched:
		return match.Judgment{Verdict: match.Yes}
	default:
		return match.Judgment{}
	}
}

func (s *side) judge(n *record.Notification) match.Judgment {
	if s.matcher == nil || n.Environment != "" && n.Environment != s.environment {
		return match.Judgment{}
	}
	return s.matcher.Judge(n.Notification(), n.Withheld)
}

func (c *Comparison) changeOf(n *record.Notification, change string, reads []string) *httpapi.ReplayChange {
	r := &httpapi.ReplayChange{
		Trigger: c.Counts.Trigger, Change: change, At: n.At, Way: n.Way,
		Repository: n.Repository, Service: n.Service, Branch: n.Branch, SHA: n.SHA,
		DeploymentType: n.DeploymentType, DeploymentURL: n.DeploymentURL,
		PullRequestNumber: n.PullRequestNumber, CommitMessage: n.CommitMessage, Withheld: reads,
	}
	if matched, known := n.MatchedBy(c.Counts.Trigger); known {
		r.MatchedThen = &matched
	}
	return r
}
