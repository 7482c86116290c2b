package replay

import (
	"slices"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/match"
	"github.com/postflight-dev/postflight/internal/core/record"
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
	before, readBefore := c.before(n)
	after, readAfter := c.changed.judge(n)
	if after == match.Yes {
		c.Counts.Matched++
	}
	if before == match.Yes {
		c.Counts.MatchedBefore++
	}
	var change string
	switch {
	case before == match.Unknown || after == match.Unknown:
		c.Counts.Unknown++
		change = httpapi.ReplayUnknown
	case before == after:
		return nil
	case after == match.Yes:
		c.Counts.Starts++
		change = httpapi.ReplayStarts
	default:
		c.Counts.Stops++
		change = httpapi.ReplayStops
	}
	return c.changeOf(n, change, sortedUnion(readBefore, readAfter))
}

func sortedUnion(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

func (c *Comparison) before(n *record.Notification) (v match.Verdict, reads []string) {
	if c.existing != nil {
		return c.existing.judge(n)
	}
	switch matched, known := n.MatchedBy(c.Counts.Trigger); {
	case !known:
		return match.Unknown, nil
	case matched:
		return match.Yes, nil
	default:
		return match.No, nil
	}
}

func (s *side) judge(n *record.Notification) (v match.Verdict, reads []string) {
	if s.matcher == nil || n.Environment != "" && n.Environment != s.environment {
		return match.No, nil
	}
	return s.matcher.Judge(n.Notification(), n.Withheld)
}

func (c *Comparison) changeOf(n *record.Notification, change string, reads []string) *httpapi.ReplayChange {
	r := &httpapi.ReplayChange{
		Trigger: c.Counts.Trigger, Change: change, At: n.At, Way: n.Way,
		Repository: n.Repository, Branch: n.Branch, SHA: n.SHA, DeploymentType: n.DeploymentType, DeploymentURL: n.DeploymentURL,
		PullRequestNumber: n.PullRequestNumber, CommitMessage: n.CommitMessage, Withheld: reads,
	}
	if matched, known := n.MatchedBy(c.Counts.Trigger); known {
		r.MatchedThen = &matched
	}
	return r
}
